"""GPU workloads as Arrow tables, one per file of the canonical form, and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster, Machine, cluster_of, gpu_type
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_schema import ANY_TYPE, GPU_LAYOUT, JOB_COLUMNS, MACHINES, GpuSetting
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.schema import JOBS
from dovetail.workloads.tables import Tables, integers, make_table, numbers, positions, texts


def gpu_to_tables(record: GpuWorkload, cluster: GpuCluster) -> Tables:
    """The tables of recorded jobs and of the machines that they are for."""
    machines = cluster.arrays()
    names = [GPU_TYPES[each].name for each in machines.type]
    columns = (machines.name, names, machines.gpus, machines.cpus, machines.memory, machines.rack)
    return {JOBS: job_table(record), MACHINES: make_table(GPU_LAYOUT.tables[MACHINES], *columns)}


def gpu_from_tables(name: str, setting: GpuSetting, tables: Tables) -> GpuSource:
    """The source that these tables hold.  They must have been checked."""
    return GpuSource(
        name=name,
        jobs=setting.jobs,
        cluster=_cluster(tables[MACHINES]),
        arrivals=setting.arrivals,
        recorded=record_from_table(tables[JOBS]),
    )


def job_table(record: GpuWorkload) -> pa.Table:
    return make_table(
        JOB_COLUMNS,
        record.job_name,
        record.arrival_s,
        np.array(record.user_name, dtype=object)[record.user],
        np.array(record.kind_name, dtype=object)[record.kind],
        record.workers,
        record.gpus,
        record.cpus,
        record.memory,
        [mask_text(int(mask)) for mask in record.types],
        record.work_s,
        record.estimate_s,
    )


def record_from_table(table: pa.Table) -> GpuWorkload:
    """`job_table` the other way round; users and kinds are numbered as they first come."""
    users, kinds, masks = (pc.unique(texts(table[name])) for name in ("user", "kind", "types"))
    by_text = np.array([text_mask(text) for text in masks.to_pylist()], np.int64)
    return GpuWorkload(
        job_name=tuple(table["job"].to_pylist()),
        arrival_s=numbers(table["arrival_s"]),
        user=positions(table["user"], users),
        kind=positions(table["kind"], kinds),
        workers=integers(table["workers"]),
        gpus=numbers(table["gpus"]),
        cpus=numbers(table["cpus"]),
        memory=numbers(table["memory"]),
        types=by_text[positions(table["types"], masks)],
        work_s=numbers(table["work_s"]),
        estimate_s=numbers(table["estimate_s"]),
        user_name=tuple(users.to_pylist()),
        kind_name=tuple(kinds.to_pylist()),
    )


def mask_text(mask: int) -> str:
    """`any`, or the names of the types between bars."""
    if mask < 0:
        return ANY_TYPE
    return "|".join(gpu.name for place, gpu in enumerate(GPU_TYPES) if mask >> place & 1)


def text_mask(text: str) -> int:
    """The other way round; `UnknownName` for a type that is none."""
    if text.strip().lower() == ANY_TYPE:
        return -1
    mask = 0
    for name in text.split("|"):
        mask |= 1 << gpu_type(name)
    return mask


def _cluster(table: pa.Table) -> GpuCluster:
    columns = (table[name].to_pylist() for name in ("machine", "type", "gpus", "cpus", "memory", "rack"))
    return cluster_of(
        tuple(
            Machine(name, GPU_TYPES[gpu_type(kind)].name, gpus, cpus, memory, rack)
            for name, kind, gpus, cpus, memory, rack in zip(*columns, strict=True)
        )
    )
