"""Writes a gpu workload directory: all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.core.config import to_plain
from dovetail.core.errors import DovetailError, InvalidWorkload
from dovetail.workloads.gpu_check import gpu_faults
from dovetail.workloads.gpu_schema import GPU_LAYOUT, GpuSetting
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.gpu_tables import gpu_to_tables
from dovetail.workloads.store import require_target, write_tables


def write_gpu(
    source: GpuSource, path: Path, *, provenance: Mapping[str, Any] | None = None, force: bool = False
) -> dict[str, Any]:
    """Stores recorded jobs and their machines in a new directory and returns its manifest; see `store.write_source`."""
    require_target(path, force=force)
    if source.recorded is None:
        raise DovetailError(f"workload {source.name}: no recorded jobs to store; draw a sequence first")
    tables = gpu_to_tables(source.recorded, source.cluster)
    faults = gpu_faults(tables)
    if faults:
        raise InvalidWorkload(faults)
    plain = to_plain(GpuSetting(source.jobs, source.arrivals))
    return write_tables(GPU_LAYOUT, source.name, tables, path, provenance=provenance, setting=plain, force=force)
