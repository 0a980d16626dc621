"""Stream workloads as Arrow tables, one per file of the canonical form, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.core.stream import Ints
from dovetail.workloads.schema import EDGES, JOBS
from dovetail.workloads.stream_jobs import StreamJobs
from dovetail.workloads.stream_rates import RateSeries, RecordedRates, read_rates
from dovetail.workloads.stream_schema import (
    JOB_NUMBERS,
    OPERATOR_INTEGERS,
    OPERATOR_NUMBERS,
    OPERATORS,
    RATES,
    STREAM_LAYOUT,
    StreamSetting,
)
from dovetail.workloads.stream_source import StreamSource
from dovetail.workloads.tables import StageKeys, Tables, integers, make_table, numbers, positions, texts


def stream_to_tables(source: StreamSource) -> Tables:
    """The tables of a source; without rates if these are drawn."""
    tables = job_tables(source.table)
    if isinstance(source.rates, RecordedRates):
        tables[RATES] = rate_table(source.rates.recorded)
    return tables


def setting_of(source: StreamSource) -> StreamSetting:
    """What the manifest keeps beside the tables."""
    setting: dict[str, Any] = {"duration_s": source.duration_s, "interval_s": source.interval_s}
    setting |= {"jitter": source.jitter, "slots": source.table.slots}
    if isinstance(source.rates, RecordedRates):
        return StreamSetting(**setting, bin_s=source.rates.bin_s, clock_s=source.rates.recorded.clock_s)
    return StreamSetting(**setting, rates=source.rates.name)


def setting_of_series(series: RateSeries) -> StreamSetting:
    return StreamSetting(series.duration_s, bin_s=series.bin_s, clock_s=series.clock_s)


def stream_from_tables(name: str, setting: StreamSetting, tables: Tables) -> StreamSource:
    """The source that these tables hold.  They must have been checked, and there must be jobs."""
    rates = recorded_rates(name, setting, tables) if setting.rates is None else read_rates(setting.rates)
    table = jobs_from_tables(tables, setting.slots or 0)
    return StreamSource(name, table, rates, setting.duration_s, setting.interval_s, setting.jitter)


def recorded_rates(name: str, setting: StreamSetting, tables: Tables) -> RecordedRates:
    """The stored rates, which must be there."""
    table = tables[RATES]
    names = pc.unique(texts(table["series"]))
    rate = numbers(table["rate"]).reshape(len(names), -1)
    series = RateSeries(tuple(names.to_pylist()), setting.bin_s or 0.0, setting.clock_s or 0.0, rate)
    return RecordedRates(name, series)


def rate_table(series: RateSeries) -> pa.Table:
    names = np.repeat(np.array(series.name, dtype=object), series.rate.shape[1])
    return make_table(STREAM_LAYOUT.tables[RATES], names, series.rate.ravel())


def job_tables(jobs: StreamJobs) -> Tables:
    job_name = np.array(jobs.job_name, dtype=object)
    op_name = np.array(jobs.op_name, dtype=object)
    op_job = job_name[jobs.op_job]
    return {
        JOBS: make_table(
            STREAM_LAYOUT.tables[JOBS],
            job_name,
            *(getattr(jobs, f"job_{name}") for name in JOB_NUMBERS),
        ),
        OPERATORS: make_table(
            STREAM_LAYOUT.tables[OPERATORS],
            op_job,
            op_name,
            *(getattr(jobs, f"op_{name}") for name in (*OPERATOR_NUMBERS, *OPERATOR_INTEGERS)),
        ),
        EDGES: make_table(
            STREAM_LAYOUT.tables[EDGES],
            op_job[jobs.edge_from],
            op_name[jobs.edge_from],
            op_name[jobs.edge_to],
            jobs.edge_share,
        ),
    }


def jobs_from_tables(tables: Tables, slots: int) -> StreamJobs:
    """`job_tables` the other way round; edges are sorted."""
    jobs, operators, edges = tables[JOBS], tables[OPERATORS], tables[EDGES]
    edge_from, edge_to = edge_ends(tables)
    order = np.lexsort((edge_from, edge_to))
    columns: dict[str, Any] = {f"job_{name}": numbers(jobs[name]) for name in JOB_NUMBERS}
    columns |= {f"op_{name}": numbers(operators[name]) for name in OPERATOR_NUMBERS}
    columns |= {f"op_{name}": integers(operators[name]) for name in OPERATOR_INTEGERS}
    return StreamJobs(
        **columns,
        job_name=tuple(jobs["job"].to_pylist()),
        op_name=tuple(operators["operator"].to_pylist()),
        op_job=positions(operators["job"], texts(jobs["job"])),
        edge_from=edge_from[order],
        edge_to=edge_to[order],
        edge_share=numbers(edges["share"])[order],
        slots=slots,
    )


def edge_ends(tables: Tables) -> tuple[Ints, Ints]:
    """(E,), (E,) rows of the operators at both ends of each edge; -1 where there is none of that name."""
    names = texts(tables[JOBS]["job"])
    operators, edges = tables[OPERATORS], tables[EDGES]
    keys = StageKeys(names, positions(operators["job"], names), operators["operator"])
    job = positions(edges["job"], names)
    return keys.rows(job, edges["from"]), keys.rows(job, edges["to"])
