"""Dependencies written in task names: `R3_1_2` is task 3, after tasks 1 and 2 of the same job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.core.dag import Bools, Ints
from dovetail.core.errors import Fault
from dovetail.workloads.dag import block_rows, pointer
from dovetail.workloads.readers.alibaba2018_csv import Rows

_NUMBERED = re.compile(r"[A-Za-z]+([0-9]{1,6})((?:_[0-9]{1,6})*)(?:_Stg[0-9]+)?")
_ALONE = re.compile(r"task_.+|MergeTask")
_MALFORMED = -2
_EXPECTED = "letters, a number, then the numbers of earlier tasks (R3_1_2), or task_... or MergeTask"


@dataclass(frozen=True, eq=False)
class Dependencies:
    """Edges between rows of the file."""

    parent: Ints  # (E,) row
    child: Ints  # (E,) row
    num_missing_parents: int  # dependencies on tasks that the file does not have
    faults: list[Fault]


def parse_name(name: str) -> tuple[int, tuple[int, ...]]:
    """Number and parents of a task; number -1 for a task without one, -2 for a malformed name."""
    match = _NUMBERED.fullmatch(name)
    if match:
        return int(match[1]), tuple(sorted({int(p) for p in match[2].split("_") if p}))
    return (-1 if _ALONE.fullmatch(name) else _MALFORMED), ()


def read_names(file: Path, rows: Rows, *, strict: bool) -> Dependencies:
    """Looks up every parent in the job of its child.  With `strict`, one that is not there is a fault."""
    encoded = rows.task.dictionary_encode()
    code = np.asarray(encoded.indices, dtype=np.int64)
    parsed = [parse_name(name) for name in encoded.dictionary.to_pylist()]  # few names, many rows
    number = np.array([n for n, _ in parsed], dtype=np.int64)[code]
    parents_ptr = pointer(np.array([len(parents) for _, parents in parsed], dtype=np.int64))
    all_parents = np.array([p for _, parents in parsed for p in parents], dtype=np.int64)

    child = np.repeat(np.arange(code.size), np.diff(parents_ptr)[code])
    wanted = all_parents[block_rows(parents_ptr, code)]
    parent = _find(rows.job, number, rows.job[child], wanted)
    itself = parent == child
    missing = parent < 0
    faults = list(_faults(file, rows, number == _MALFORMED, "malformed task name", _EXPECTED))
    faults += _faults(
        file,
        rows,
        _again(rows.job, number, number >= 0),
        "task number used twice in its job",
        "one task each",
    )
    faults += _faults(
        file, rows, _again(rows.job, code, number == -1), "task name used twice in its job", "one task each"
    )
    own = np.zeros(code.size, dtype=np.bool_)
    own[child[itself]] = True
    faults += _faults(file, rows, own, "task waits for itself", "other tasks of the job")
    if strict:
        lacking = np.zeros(code.size, dtype=np.bool_)
        lacking[child[missing]] = True
        faults += _faults(file, rows, lacking, "waits for a task that is not in the file", "tasks of the same job")
    real = ~missing & ~itself
    return Dependencies(parent[real], child[real], int(missing.sum()), faults)


def _find(job: Ints, number: Ints, wanted_job: Ints, wanted: Ints) -> Ints:
    """Row of the task with that number in that job, -1 if there is none."""
    width = int(max(number.max(initial=0), wanted.max(initial=0))) + 1
    rows = np.flatnonzero(number >= 0)
    key = job[rows] * width + number[rows]
    order = np.argsort(key, kind="stable")
    if not order.size:
        return np.full(wanted.size, -1)
    target = wanted_job * width + wanted
    place = np.minimum(np.searchsorted(key[order], target), order.size - 1)
    return np.where(key[order][place] == target, rows[order[place]], -1)


def _again(job: Ints, what: Ints, among: Bools) -> Bools:
    """(R,) rows that repeat an earlier row's (job, what)."""
    rows = np.flatnonzero(among)
    key = job[rows] * (int(what.max(initial=0)) + 1) + what[rows]
    _, first = np.unique(key, return_index=True)
    again = np.zeros(job.size, dtype=np.bool_)
    again[np.delete(rows, first)] = True
    return again


def _faults(file: Path, rows: Rows, bad: Bools, problem: str, expected: str) -> Iterator[Fault]:
    for row in np.flatnonzero(bad):
        task = rows.task[int(row)].as_py()
        yield Fault(str(file), int(rows.line[row]), "task_name", f"{problem}: {task!r}", expected)
