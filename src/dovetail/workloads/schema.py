"""The canonical form of a workload on disk, version 1: a directory of Parquet tables and a manifest.

`docs/workloads.md` documents it for people; this module is the same in code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA = 1
FAMILY = "dag"
MANIFEST = "manifest.json"

DAGS = "dags.parquet"
STAGES = "stages.parquet"
EDGES = "edges.parquet"
DURATIONS = "durations.parquet"
JOBS = "jobs.parquet"  # absent from a catalogue: kinds of job, but no record of when they came


@dataclass(frozen=True)
class Column:
    """A column: `kind` is text, integer, number or numbers (a list in each row)."""

    name: str
    kind: str
    nullable: bool = False


TABLES: dict[str, tuple[Column, ...]] = {
    DAGS: (Column("dag", "text"),),
    STAGES: (
        Column("dag", "text"),
        Column("stage", "text"),
        Column("tasks", "integer"),
        Column("cpu", "number"),
        Column("memory", "number"),
    ),
    EDGES: (Column("dag", "text"), Column("parent", "text"), Column("child", "text")),
    DURATIONS: (
        Column("dag", "text"),
        Column("stage", "text"),
        Column("wave", "text"),
        Column("executors", "integer"),
        Column("seconds", "numbers"),
    ),
    JOBS: (
        Column("job", "text"),
        Column("dag", "text"),
        Column("arrival_s", "number"),
        Column("weight", "number"),
        Column("deadline_s", "number", nullable=True),
    ),
}
REQUIRED = (DAGS, STAGES, EDGES, DURATIONS)


@dataclass(frozen=True)
class Layout:
    """The canonical form of one family of workloads."""

    family: str
    tables: Mapping[str, tuple[Column, ...]]  # file -> its columns
    required: tuple[str, ...]  # files that must be there
    counted: Mapping[str, str] = field(default_factory=dict)  # what to call the rows of a file -> file


DAG = Layout(
    family=FAMILY,
    tables=TABLES,
    required=REQUIRED,
    counted={"dags": DAGS, "stages": STAGES, "edges": EDGES, "duration_groups": DURATIONS, "jobs": JOBS},
)
