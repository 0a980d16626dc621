"""Elastic workloads as Arrow tables, one per file of the canonical form, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from dovetail.core.config import build
from dovetail.core.elastic import Floats
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_jobs import ElasticRecord, ElasticTable
from dovetail.workloads.elastic_schema import (
    COUNTS,
    ELASTIC_LAYOUT,
    HISTORY,
    JOB_COLUMNS,
    KINDS,
    SERVER_DEMAND,
    UTILITY,
    WORKER_DEMAND,
)
from dovetail.workloads.elastic_setting import ElasticSetting
from dovetail.workloads.elastic_source import ElasticKind, ElasticSource, open_bundled
from dovetail.workloads.schema import JOBS
from dovetail.workloads.tables import Tables, integers, make_table, numbers


def elastic_to_tables(source: ElasticSource) -> Tables:
    """The tables of a source: those that it has something for."""
    tables: Tables = {}
    if source.recorded is not None:
        tables[JOBS] = job_table(source.recorded)
    if source.earlier is not None:
        tables[HISTORY] = job_table(source.earlier)
    if source.kinds:
        columns = zip(*((kind.name, kind.batch_s, kind.gradient_mb) for kind in source.kinds), strict=True)
        tables[KINDS] = make_table(ELASTIC_LAYOUT.tables[KINDS], *columns)
    if source.arrivals.kind == "counts":
        tables[COUNTS] = make_table(ELASTIC_LAYOUT.tables[COUNTS], source.arrivals.counts)
    return tables


def elastic_from_tables(name: str, setting: ElasticSetting, tables: Tables) -> ElasticSource:
    """The source that these tables hold.  They must have been checked."""
    counts = tuple(numbers(tables[COUNTS]["count"]).tolist()) if COUNTS in tables else ()
    made = None if setting.generator is None else open_bundled(setting.generator)
    return ElasticSource(
        name=name,
        jobs=setting.jobs,
        slots=setting.slots,
        slot_s=setting.slot_s,
        servers=setting.servers,
        arrivals=ElasticArrivals(setting.arrivals, setting.span, counts),
        generator=None if made is None else made.generator,
        generator_name=setting.generator,
        kinds=_kinds(tables[KINDS]) if KINDS in tables else (),
        recorded=record_from_table(setting.slot_s, tables[JOBS]) if JOBS in tables else None,
        earlier=record_from_table(setting.slot_s, tables[HISTORY]) if HISTORY in tables else None,
    )


def setting_of(source: ElasticSource) -> ElasticSetting:
    """What the manifest keeps beside the tables."""
    return ElasticSetting(
        jobs=source.jobs,
        slots=source.slots,
        slot_s=source.slot_s,
        servers=source.servers,
        arrivals=source.arrivals.kind,
        span=source.arrivals.span,
        generator=source.generator_name,
    )


def read_setting(values: Mapping[str, Any], place: str) -> ElasticSetting:
    """The setting of a manifest; `ConfigError` says what is wrong with it."""
    return build(ElasticSetting, values, place)


def job_table(record: ElasticRecord) -> pa.Table:
    jobs = record.jobs
    return make_table(
        JOB_COLUMNS,
        record.job_name,
        record.arrival,
        jobs.epochs,
        jobs.chunks,
        jobs.batches,
        jobs.batch_s,
        jobs.gradient_mb,
        *jobs.worker_demand.T,
        *jobs.server_demand.T,
        *jobs.utility.T,
    )


def record_from_table(slot_s: float, table: pa.Table) -> ElasticRecord:
    """`job_table` the other way round."""

    def side_by_side(names: tuple[str, ...]) -> Floats:
        return np.column_stack([numbers(table[name]) for name in names])

    jobs = ElasticTable(
        epochs=integers(table["epochs"]),
        chunks=integers(table["chunks"]),
        batches=integers(table["batches"]),
        batch_s=numbers(table["batch_s"]),
        gradient_mb=numbers(table["gradient_mb"]),
        worker_demand=side_by_side(WORKER_DEMAND),
        server_demand=side_by_side(SERVER_DEMAND),
        utility=side_by_side(UTILITY),
    )
    return ElasticRecord(slot_s, tuple(table["job"].to_pylist()), integers(table["arrival"]), jobs)


def _kinds(table: pa.Table) -> tuple[ElasticKind, ...]:
    columns = (table[name].to_pylist() for name in ("kind", "batch_s", "gradient_mb"))
    return tuple(ElasticKind(*row) for row in zip(*columns, strict=True))
