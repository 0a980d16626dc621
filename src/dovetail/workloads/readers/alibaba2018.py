"""Batch jobs of the Alibaba cluster trace of 2018, whose DAGs are written in the names of their tasks.

Two layouts, told apart by their number of columns (neither has a header line):
- `batch_task.csv` as published: task_name, instance_num, job_name, task_type, status, start_time, end_time,
  plan_cpu, plan_mem.  A job arrives when its first task starts; a duration is end_time - start_time.
- the hour sample: arrival_s, job, task_name, duration_s, cpu, memory, instances.

`R3_1_2` is task 3, to be run after tasks 1 and 2 of its job; the letters say map, reduce or join.
`task_...` and `MergeTask` have no number and no dependencies.  A task of the trace is a stage here and an
instance is a task; each job is a dag of its own.  100 units of CPU are one core.  Memory is a share of the
largest executor: demands above 1 are cut to 1.

The trace has one duration per stage.  It is stored as wave `rest` at 1 executor, from which a simulator
makes the others: `first` the same, `fresh` with its warm-up added.  The clock of the trace has a resolution
of 1 s; a duration of 0 is taken to be half of that.

Usual oddities are counted and mended: parents that are not in the trace are ignored, and in the published
layout jobs that did not finish (status, times) are left out.  `strict` makes them faults.  Malformed names,
cycles, duplicate task numbers and unreadable numbers are always faults; `skip_faulty` leaves out the jobs
that have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.core.dag import Bools, Ints
from dovetail.core.errors import Fault, InvalidWorkload
from dovetail.workloads.cycles import find_cycles
from dovetail.workloads.dag import REST, DagCatalogue, DagWorkload, pointer
from dovetail.workloads.readers.alibaba2018_csv import Rows, read_rows
from dovetail.workloads.readers.alibaba2018_names import Dependencies, read_names
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.source import DagSource

FILES = ("batch_task.csv", "sample_tasks.csv")
HALF_TICK_S = 0.5


@dataclass(frozen=True)
class Alibaba2018Options:
    """How to treat what is odd."""

    strict: bool = False
    skip_faulty: bool = False
    one_core: bool = False  # every task needs one core, whatever it asked for


def read_alibaba2018(path: Path, options: Alibaba2018Options | None = None) -> Imported[DagSource]:
    """All jobs of the trace, with the times they came at (from 0)."""
    options = options or Alibaba2018Options()
    file = _file(path)
    rows = read_rows(file, strict=options.strict)
    names = read_names(file, rows, strict=options.strict)
    faults = [*rows.faults, *names.faults, *_cycle_faults(file, rows, names)]
    if faults and not options.skip_faulty:
        raise InvalidWorkload(sorted(faults, key=lambda fault: fault.row or 0))
    faulty = _faulty_jobs(rows, faults)
    keep = ~rows.unfinished & ~faulty
    if not keep.any():
        left_out = f"no jobs: {keep.size} were read, all were left out" if keep.size else "no jobs"
        raise InvalidWorkload([Fault(str(file), None, None, left_out, "at least one complete job")])
    workload = _workload(rows, names, keep, options)
    notes = _notes(rows, names, faulty, len(faults), workload.catalogue)
    return Imported(DagSource("alibaba2018", workload.catalogue, workload), tuple(notes))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in FILES:
        if (path / name).is_file():
            return path / name
    expected = f"the file itself, or a folder with {' or '.join(FILES)}"
    raise InvalidWorkload([Fault(str(path), None, None, "no trace found", expected)])


def _cycle_faults(file: Path, rows: Rows, names: Dependencies) -> Iterator[Fault]:
    for edge, cycle in find_cycles(rows.line.size, names.parent, names.child):
        tasks = [rows.task[int(row)].as_py() for row in (*cycle, cycle[0])]
        job = rows.job_name[rows.job[cycle[0]]]
        problem = f"cycle in job {job}: {' -> '.join(tasks)}"
        line = int(rows.line[names.child[edge]])
        yield Fault(str(file), line, "task_name", problem, "tasks that do not wait for each other in a circle")


def _faulty_jobs(rows: Rows, faults: list[Fault]) -> Bools:
    """(J,) jobs with a fault in any of their rows."""
    lines = np.array([fault.row for fault in faults if fault.row is not None], dtype=np.int64)
    faulty = np.zeros(len(rows.job_name), dtype=np.bool_)
    faulty[rows.job[np.isin(rows.line, lines)]] = True
    return faulty


def _workload(rows: Rows, names: Dependencies, keep: Bools, options: Alibaba2018Options) -> DagWorkload:
    arrival_s = np.full(len(rows.job_name), np.inf)
    np.minimum.at(arrival_s, rows.job, rows.start_s)
    jobs = np.flatnonzero(keep)
    jobs = jobs[np.argsort(arrival_s[jobs], kind="stable")]
    rank = np.full(keep.size, -1)
    rank[jobs] = np.arange(jobs.size)
    stages = np.flatnonzero(keep[rows.job])
    stages = stages[np.argsort(rank[rows.job[stages]], kind="stable")]
    stage_ptr = pointer(np.bincount(rank[rows.job[stages]], minlength=jobs.size))
    names_of_jobs = tuple(rows.job_name[job] for job in jobs)
    edge_ptr, parent, child = _edges(rows, names, rank, stages, stage_ptr)
    count = stages.size
    seconds = rows.duration_s[stages]
    catalogue = DagCatalogue(
        name="alibaba2018",
        dag_name=names_of_jobs,
        stage_ptr=stage_ptr,
        stage_name=tuple(rows.task.take(stages).to_pylist()),
        num_tasks=rows.instances[stages],
        cpu=np.ones(count) if options.one_core else rows.cpu[stages] / 100.0,
        memory=np.minimum(rows.memory[stages], 1.0),
        edge_ptr=edge_ptr,
        edge_parent=parent,
        edge_child=child,
        duration_stage=np.arange(count),
        duration_wave=np.full(count, REST),
        duration_executors=np.ones(count, dtype=np.int64),
        duration_ptr=np.arange(count + 1),
        duration_s=np.where(seconds == 0, HALF_TICK_S, seconds),
    )
    return DagWorkload(
        catalogue=catalogue,
        job_name=names_of_jobs,
        job_dag=np.arange(jobs.size),
        arrival_s=arrival_s[jobs] - arrival_s[jobs[0]],
        weight=np.ones(jobs.size),
        deadline_s=np.full(jobs.size, np.inf),
    )


def _edges(rows: Rows, names: Dependencies, rank: Ints, stages: Ints, stage_ptr: Ints) -> tuple[Ints, Ints, Ints]:
    """Edges of the jobs that are kept, by job, in stage indices of the job."""
    edge_job = rank[rows.job[names.child]]
    order = np.argsort(edge_job, kind="stable")
    order = order[edge_job[order] >= 0]
    place = np.full(rows.line.size, -1)
    place[stages] = np.arange(stages.size)
    first = stage_ptr[edge_job[order]]
    edge_ptr = pointer(np.bincount(edge_job[order], minlength=stage_ptr.size - 1))
    return edge_ptr, place[names.parent[order]] - first, place[names.child[order]] - first


def _notes(rows: Rows, names: Dependencies, faulty: Bools, num_faults: int, catalogue: DagCatalogue) -> Iterator[str]:
    if names.num_missing_parents:
        yield f"{names.num_missing_parents} dependencies on tasks that are not in the trace were ignored"
    if rows.unfinished.any():
        yield f"{int(rows.unfinished.sum())} jobs that did not finish, or not at known times, were left out"
    if num_faults:
        yield f"{num_faults} faults; the {int(faulty.sum())} jobs that have them were left out"
    if zero := int((rows.duration_s == 0).sum()):
        yield f"{zero} stages of 0 s were given {HALF_TICK_S:g} s, half a tick of the trace's clock"
    if large := int((rows.memory > 1).sum()):
        yield f"{large} stages ask for more than the largest executor's memory; cut to 1"
    if catalogue.cpu.max() > 1:
        yield f"the largest demand is {catalogue.cpu.max():g} cores a task: executors need as many"
