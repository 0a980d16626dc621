"""Workloads as Arrow tables, one per file of the canonical form, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.core.dag import Floats, Ints
from dovetail.workloads.dag import WAVES, DagCatalogue, DagWorkload, block_rows, pointer
from dovetail.workloads.schema import DAGS, DURATIONS, EDGES, JOBS, STAGES, TABLES, Column
from dovetail.workloads.source import DagSource

Tables = dict[str, pa.Table]

_ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "numbers": pa.list_(pa.float64()),
}


def arrow_type(column: Column) -> pa.DataType:
    """How the column is stored."""
    return _ARROW[column.kind]


def to_tables(source: DagSource) -> Tables:
    """The tables of a source; without `jobs.parquet` if no sequence was recorded."""
    catalogue = source.catalogue
    dag_name = np.array(catalogue.dag_name, dtype=object)
    stage_name = np.array(catalogue.stage_name, dtype=object)
    stage_dag = dag_name[catalogue.stage_dag]
    parent, child = catalogue.edge_rows
    seconds = pa.ListArray.from_arrays(catalogue.duration_ptr.astype(np.int32), catalogue.duration_s)
    tables = {
        DAGS: _table(DAGS, dag_name),
        STAGES: _table(STAGES, stage_dag, stage_name, catalogue.num_tasks, catalogue.cpu, catalogue.memory),
        EDGES: _table(EDGES, stage_dag[parent], stage_name[parent], stage_name[child]),
        DURATIONS: _table(
            DURATIONS,
            stage_dag[catalogue.duration_stage],
            stage_name[catalogue.duration_stage],
            np.array(WAVES, dtype=object)[catalogue.duration_wave],
            catalogue.duration_executors,
            seconds,
        ),
    }
    if source.recorded is not None:
        jobs = source.recorded
        due = pa.array(jobs.deadline_s, mask=np.isposinf(jobs.deadline_s))
        names = np.array(jobs.job_name, dtype=object)
        tables[JOBS] = _table(JOBS, names, dag_name[jobs.job_dag], jobs.arrival_s, jobs.weight, due)
    return tables


def from_tables(name: str, tables: Tables) -> DagSource:
    """The source that these tables hold.  They must have been checked."""
    stages, edges, durations = tables[STAGES], tables[EDGES], tables[DURATIONS]
    dags = texts(tables[DAGS]["dag"])
    stage_dag = positions(stages["dag"], dags)
    order = np.argsort(stage_dag, kind="stable")  # stages grouped by dag, otherwise as in the file
    row_of = np.empty_like(order)
    row_of[order] = np.arange(order.size)
    keys = StageKeys(dags, stage_dag, stages["stage"])
    stage_ptr = pointer(np.bincount(stage_dag, minlength=len(dags)))

    edge_dag = positions(edges["dag"], dags)
    by_dag = np.argsort(edge_dag, kind="stable")
    first_row = stage_ptr[edge_dag]
    parent = (row_of[keys.rows(edge_dag, edges["parent"])] - first_row)[by_dag]
    child = (row_of[keys.rows(edge_dag, edges["child"])] - first_row)[by_dag]

    group_stage = row_of[keys.rows(positions(durations["dag"], dags), durations["stage"])]
    group_wave = positions(durations["wave"], pa.array(WAVES))
    group_executors = integers(durations["executors"])
    groups = np.lexsort((group_executors, group_wave, group_stage))
    file_ptr, seconds = lists(durations["seconds"])

    catalogue = DagCatalogue(
        name=name,
        dag_name=tuple(dags.to_pylist()),
        stage_ptr=stage_ptr,
        stage_name=tuple(np.array(stages["stage"].to_pylist(), dtype=object)[order]),
        num_tasks=integers(stages["tasks"])[order],
        cpu=numbers(stages["cpu"])[order],
        memory=numbers(stages["memory"])[order],
        edge_ptr=pointer(np.bincount(edge_dag, minlength=len(dags))),
        edge_parent=parent,
        edge_child=child,
        duration_stage=group_stage[groups],
        duration_wave=group_wave[groups],
        duration_executors=group_executors[groups],
        duration_ptr=pointer(np.diff(file_ptr)[groups]),
        duration_s=seconds[block_rows(file_ptr, groups)],
    )
    recorded = _recorded(catalogue, tables[JOBS], dags) if JOBS in tables else None
    return DagSource(name, catalogue, recorded)


def _recorded(catalogue: DagCatalogue, jobs: pa.Table, dags: pa.Array) -> DagWorkload:
    return DagWorkload(
        catalogue=catalogue,
        job_name=tuple(jobs["job"].to_pylist()),
        job_dag=positions(jobs["dag"], dags),
        arrival_s=numbers(jobs["arrival_s"]),
        weight=numbers(jobs["weight"]),
        deadline_s=numbers(pc.fill_null(jobs["deadline_s"], np.inf)),
    )


class StageKeys:
    """Finds stages by (dag, name)."""

    def __init__(self, dags: pa.Array, stage_dag: Ints, stage: pa.ChunkedArray) -> None:
        self._names = pc.unique(stage)
        self._width = max(len(self._names), 1)
        key = stage_dag * self._width + positions(stage, self._names)
        self._order = np.argsort(key, kind="stable")
        self._sorted = key[self._order]

    def rows(self, dag: Ints, stage: pa.ChunkedArray) -> Ints:
        """Row of the stage in the stages table; -1 where dag is -1 or has no stage of that name."""
        code = positions(stage, self._names)
        key = dag * self._width + code
        if not self._sorted.size:
            return np.full(key.size, -1)
        place = np.minimum(np.searchsorted(self._sorted, key), self._sorted.size - 1)
        known = (code >= 0) & (dag >= 0) & (self._sorted[place] == key)
        return np.where(known, self._order[place], -1)


def texts(column: pa.ChunkedArray) -> pa.Array:
    """A text column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def positions(column: pa.ChunkedArray, values: pa.Array) -> Ints:
    """Where each entry stands in `values`; -1 if it does not."""
    found = pc.fill_null(pc.index_in(column, value_set=values), -1)
    return np.asarray(found, dtype=np.int64)


def integers(column: pa.ChunkedArray) -> Ints:
    return np.array(column.to_numpy(), dtype=np.int64)  # a copy: Arrow's own memory cannot be written to


def numbers(column: pa.ChunkedArray) -> Floats:
    """The column as numbers, NaN where it is null."""
    return np.array(column.to_numpy(), dtype=np.float64)


def lists(column: pa.ChunkedArray) -> tuple[Ints, Floats]:
    """Where each row's list starts (and the last one ends), and all their entries."""
    whole = column.combine_chunks()
    sizes = np.asarray(pc.fill_null(pc.list_value_length(whole), 0), dtype=np.int64)
    return pointer(sizes), np.array(pc.list_flatten(whole).to_numpy(zero_copy_only=False))


def make_table(columns: tuple[Column, ...], *values: Any) -> pa.Table:
    """A table of these columns, from one array each."""
    arrays = [pa.array(each, type=arrow_type(column)) for column, each in zip(columns, values, strict=True)]
    return pa.table(dict(zip((column.name for column in columns), arrays, strict=True)))


def _table(file: str, *values: Any) -> pa.Table:
    return make_table(TABLES[file], *values)
