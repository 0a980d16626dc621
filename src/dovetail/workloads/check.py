"""What makes a workload valid.  Every fault is found and placed: file, row (from 0), field."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.core.dag import Ints
from dovetail.core.errors import Fault, InvalidWorkload
from dovetail.workloads.column_check import at_rows, column_faults, duplicates, each_row
from dovetail.workloads.cycles import find_cycles
from dovetail.workloads.dag import WAVES
from dovetail.workloads.schema import DAGS, DURATIONS, EDGES, JOBS, REQUIRED, STAGES, TABLES
from dovetail.workloads.source import DagSource
from dovetail.workloads.tables import StageKeys, Tables, lists, numbers, positions, texts, to_tables


def check_source(source: DagSource) -> None:
    """Raises `InvalidWorkload` unless the source may be written, simulated and shared."""
    faults = table_faults(to_tables(source))
    if faults:
        raise InvalidWorkload(faults)


def table_faults(tables: Tables) -> list[Fault]:
    """Faults in the values of tables whose columns are complete and of the right types."""
    faults: list[Fault] = []
    for file, table in tables.items():
        faults += column_faults(file, TABLES[file], table)
    faults += _range_faults(tables)
    if all(file in tables for file in REQUIRED):
        faults += _structure_faults(tables)
    return faults


def _range_faults(tables: Tables) -> Iterator[Fault]:
    if STAGES in tables:
        stages = tables[STAGES]
        tasks = np.asarray(pc.fill_null(stages["tasks"], 1))
        yield from each_row(STAGES, "tasks", tasks < 1, "stage without tasks", "1 or more")
        cpu, memory = numbers(stages["cpu"]), numbers(stages["memory"])
        yield from each_row(STAGES, "cpu", cpu <= 0, "demand of no cores", "above 0")
        outside = (memory < 0) | (memory > 1)
        yield from each_row(STAGES, "memory", outside, "outside 0 .. 1", "a share of the largest executor")
    if DURATIONS in tables:
        yield from _duration_faults(tables[DURATIONS])
    if JOBS in tables:
        yield from _job_faults(tables[JOBS])
    if DAGS in tables and tables[DAGS].num_rows == 0:
        yield Fault(DAGS, None, None, "no jobs: the table is empty", "at least one dag")


def _duration_faults(durations: pa.Table) -> Iterator[Fault]:
    executors = np.asarray(pc.fill_null(durations["executors"], 1))
    yield from each_row(DURATIONS, "executors", executors < 1, "not a number of executors", "1 or more")
    wave = durations["wave"]
    unknown = (positions(wave, pa.array(WAVES)) < 0) & np.asarray(pc.is_valid(wave))
    yield from each_row(DURATIONS, "wave", unknown, "unknown wave", f"one of {', '.join(WAVES)}")
    ptr, seconds = lists(durations["seconds"])
    row = np.repeat(np.arange(durations.num_rows), np.diff(ptr))
    negative = np.unique(row[seconds < 0])
    yield from at_rows(DURATIONS, "seconds", negative, "negative duration", "0 seconds or more")
    empty = (np.diff(ptr) == 0) & np.asarray(pc.is_valid(durations["seconds"]))
    yield from each_row(DURATIONS, "seconds", empty, "no samples", "at least one, or leave the row out")


def _job_faults(jobs: pa.Table) -> Iterator[Fault]:
    if jobs.num_rows == 0:
        yield Fault(JOBS, None, None, "no jobs: the table is empty", "at least one job")
        return
    arrival, weight, due = numbers(jobs["arrival_s"]), numbers(jobs["weight"]), numbers(jobs["deadline_s"])
    yield from each_row(JOBS, "arrival_s", arrival < 0, "negative arrival", "0 seconds or more")
    earlier = np.r_[False, np.diff(arrival) < 0]
    yield from each_row(JOBS, "arrival_s", earlier, "earlier than the job before", "jobs in order of arrival")
    yield from each_row(JOBS, "weight", weight <= 0, "weight not above 0", "above 0 (1 = usual)")
    yield from each_row(
        JOBS, "deadline_s", due < arrival, "due before it arrives", "absolute seconds, or null for none"
    )
    yield from duplicates(JOBS, "job", (jobs["job"],))


def _structure_faults(tables: Tables) -> Iterator[Fault]:
    """Names that lead nowhere or to two things, stages that cannot run, cycles."""
    stages, edges, durations = tables[STAGES], tables[EDGES], tables[DURATIONS]
    dags = texts(tables[DAGS]["dag"])
    stage_dag = positions(stages["dag"], dags)
    keys = StageKeys(dags, stage_dag, stages["stage"])
    edge_dag, group_dag = positions(edges["dag"], dags), positions(durations["dag"], dags)
    parent, child = keys.rows(edge_dag, edges["parent"]), keys.rows(edge_dag, edges["child"])
    group_stage = keys.rows(group_dag, durations["stage"])

    yield from duplicates(DAGS, "dag", (tables[DAGS]["dag"],))
    yield from duplicates(STAGES, "stage", (stages["dag"], stages["stage"]))
    yield from duplicates(EDGES, "child", (edges["dag"], edges["parent"], edges["child"]))
    group = tuple(durations[name] for name in ("dag", "stage", "wave", "executors"))
    yield from duplicates(DURATIONS, "executors", group)

    for file, dag in ((STAGES, stage_dag), (EDGES, edge_dag), (DURATIONS, group_dag)):
        yield from each_row(file, "dag", dag < 0, "unknown dag", f"a dag of {DAGS}")
    if JOBS in tables:
        unknown = positions(tables[JOBS]["dag"], dags) < 0
        yield from each_row(JOBS, "dag", unknown, "unknown dag", f"a dag of {DAGS}")
    there = f"a stage of the same dag in {STAGES}"
    yield from each_row(EDGES, "parent", (parent < 0) & (edge_dag >= 0), "unknown stage", there)
    yield from each_row(EDGES, "child", (child < 0) & (edge_dag >= 0), "unknown stage", there)
    yield from each_row(DURATIONS, "stage", (group_stage < 0) & (group_dag >= 0), "unknown stage", there)

    without_stages = np.bincount(stage_dag[stage_dag >= 0], minlength=len(dags)) == 0
    yield from each_row(DAGS, "dag", without_stages, "dag without stages", f"at least one row in {STAGES}")
    measured = np.bincount(group_stage[group_stage >= 0], minlength=stages.num_rows)
    yield from each_row(STAGES, "stage", measured == 0, "stage without any duration", f"a row in {DURATIONS}")
    yield from _cycle_faults(stages, edges, parent, child)


def _cycle_faults(stages: pa.Table, edges: pa.Table, parent: Ints, child: Ints) -> Iterator[Fault]:
    known = np.flatnonzero((parent >= 0) & (child >= 0))
    own = known[parent[known] == child[known]]
    yield from at_rows(EDGES, "child", own, "the stage depends on itself", "a different stage")
    rest = known[parent[known] != child[known]]
    for edge, cycle in find_cycles(stages.num_rows, parent[rest], child[rest]):
        names = [stages["stage"][int(s)].as_py() for s in (*cycle, cycle[0])]
        dag = edges["dag"][int(rest[edge])].as_py()
        problem = f"cycle in dag {dag}: {' -> '.join(map(str, names))}"
        yield Fault(EDGES, int(rest[edge]), "child", problem, "stages that do not wait for each other in a circle")
