"""A run kept in full, of any family: a folder with a table for each kind of thing and a small JSON file.

A family's module (`records.dag`, ...) says which tables there are and what must hold between them.  Everything else
about reading and writing is the same for all, and here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from dovetail.core.errors import RecordError
from dovetail.records.formats import run_type
from dovetail.records.manifest import SCHEMA, canonical_params, check_run_name, read_json, write_json
from dovetail.records.parquet import read_table, write_table

RUN = "run.json"
_COMMON = {"run": str, "scheduler": str, "params": dict, "seed": int}


class Table(Protocol):
    """A table: a dataclass of columns.  `SCHEMA` has their types, and all of them but `INDEX` are fields."""

    SCHEMA: ClassVar[Mapping[str, str]]  # column -> type
    INDEX: ClassVar[str | None]  # a column that only counts the rows: 0, 1, 2, ...; it is written, not stored


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(ABC):
    """A scheduler's run over one job sequence.  A family adds its tables and facts as fields."""

    FAMILY: ClassVar[str]
    TABLES: ClassVar[Mapping[str, type[Any]]]  # field and file -> class of the table
    FACTS: ClassVar[Mapping[str, type[int] | type[float]]]  # fields that stand in run.json, all above 0

    run: str  # its folder's name, see `run_name`
    scheduler: str
    seed: int
    params: Mapping[str, Any] = field(default_factory=dict)  # what differs from the scheduler's defaults
    solution: Mapping[str, float] = field(default_factory=dict)  # of a solver: what it proved, such as bound and gap

    @property
    @abstractmethod
    def job_names(self) -> tuple[str, ...]:
        """(J,)"""

    @property
    @abstractmethod
    def end_s(self) -> float:
        """Time of the last thing that happened, from the start of the workload."""

    @abstractmethod
    def check(self, directory: Path) -> None:
        """Do the tables agree with each other?  If not, a `RecordError` that names file, row and column."""

    @property
    @abstractmethod
    def trace_threads(self) -> int:
        """Threads that this run takes in a Chrome trace."""

    @abstractmethod
    def trace(self, label: str, process: int, first_thread: int) -> Iterator[str]:
        """The events of this run in a Chrome trace, as JSON."""


def run_name(scheduler: str, seed: int, params: Mapping[str, Any] | None = None) -> str:
    """`dag-fair-spill-s0`; parameters that differ from the defaults add a short digest of themselves."""
    name = scheduler.replace("/", "-").replace("+", "-")
    if params:
        name += "-" + hashlib.sha256(canonical_params(params).encode()).hexdigest()[:8]
    return check_run_name(f"{name}-s{seed}", "run name")


def write_run(directory: Path, run: Run) -> None:
    """Write the run's folder.  It is complete or absent: it takes its name only when all files are in it."""
    part = directory.with_name(f".{directory.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name in run.TABLES:
        table: Table = getattr(run, name)
        columns = {column: getattr(table, column) for column in table.SCHEMA}
        write_table(part / f"{name}.parquet", columns, table.SCHEMA)
    facts = {name: getattr(run, name) for name in (*_COMMON, *run.FACTS)}
    if run.solution:
        facts["solution"] = dict(run.solution)
    write_json(part / RUN, {"schema": SCHEMA, "family": run.FAMILY, **facts, "params": dict(run.params)})
    if directory.exists():
        shutil.rmtree(directory)
    os.replace(part, directory)


def read_run(directory: Path) -> Run:
    """Read a run's folder, as what its family says it is, and check that its tables agree with each other."""
    directory = Path(directory)
    where = directory / RUN
    facts = read_json(where)
    if facts.get("schema") != SCHEMA:
        raise RecordError(f"{where}: schema {facts.get('schema')!r}; this version of dovetail reads {SCHEMA}")
    kind = run_type(str(facts.get("family")))
    for key, expected in {**_COMMON, **kind.FACTS}.items():
        value = facts.get(key)
        if not isinstance(value, (int, float) if expected is float else expected):
            raise RecordError(f"{where}, field {key!r}: missing or not {expected.__name__}")
    for key in kind.FACTS:
        if not facts[key] > 0:
            raise RecordError(f"{where}, field {key!r}: {facts[key]}; expected {_LEAST[kind.FACTS[key]]}")
    solution = facts.get("solution", {})
    if not isinstance(solution, dict) or not all(isinstance(value, (int, float)) for value in solution.values()):
        raise RecordError(f"{where}, field 'solution': {solution!r}; expected numbers by name, or nothing")
    run = kind(
        **{name: _read(directory, name, table) for name, table in kind.TABLES.items()},
        **{key: facts[key] for key in (*_COMMON, *kind.FACTS)},
        solution=solution,
    )
    run.check(directory)
    return run


_LEAST: Mapping[type[Any], str] = {int: "at least 1", float: "more than 0"}


def _read(directory: Path, name: str, kind: type[Any]) -> Any:
    path = directory / f"{name}.parquet"
    columns = read_table(path, kind.SCHEMA)
    if kind.INDEX is not None:
        index = columns.pop(kind.INDEX)
        if not np.array_equal(index, np.arange(index.size)):
            raise RecordError(f"{path}, column {kind.INDEX!r}: expected 0, 1, 2, ... in this order")
    return kind(**{column.name: columns[column.name] for column in fields(kind)})
