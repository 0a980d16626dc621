"""Our own format of gpu workloads: checked in full before it is used."""

from __future__ import annotations

from pathlib import Path

from dovetail.core.config import build
from dovetail.core.errors import ConfigError, Fault, InvalidWorkload
from dovetail.workloads.gpu_check import gpu_faults
from dovetail.workloads.gpu_schema import GPU_LAYOUT, GpuSetting
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.gpu_tables import gpu_from_tables
from dovetail.workloads.readers.directory import load_tables, placed
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.schema import MANIFEST
from dovetail.workloads.tables import Tables


def read_gpu(path: Path) -> GpuSource:
    """The workload in this directory; `InvalidWorkload` with all faults if anything is wrong with it."""
    return _source(*_load(path, sealed=True))


def read_edited_gpu(path: Path) -> Imported[GpuSource]:
    """The same for tables that were changed since their manifest was written: checksums are not compared."""
    return Imported(_source(*_load(path, sealed=False)), ("checksums of the manifest were not compared",))


def find_gpu_faults(path: Path) -> list[Fault]:
    """Everything that is wrong with the workload in this directory."""
    return _load(path, sealed=True)[3]


def _source(name: str, setting: GpuSetting | None, tables: Tables, faults: list[Fault]) -> GpuSource:
    if faults or setting is None:
        raise InvalidWorkload(faults)
    return gpu_from_tables(name, setting, tables)


def _load(path: Path, *, sealed: bool) -> tuple[str, GpuSetting | None, Tables, list[Fault]]:
    manifest, tables, faults = load_tables(path, GPU_LAYOUT, sealed=sealed)
    if manifest is None:
        return "", None, {}, faults
    values, setting = manifest.get("setting"), None
    if isinstance(values, dict):
        try:
            setting = build(GpuSetting, values, "setting")
        except ConfigError as error:
            faults.append(Fault(MANIFEST, None, "setting", str(error), "as `dovetail workload generate` writes it"))
    else:
        faults.append(Fault(MANIFEST, None, "setting", "no setting", "jobs and arrivals"))
    faults += gpu_faults(tables)
    return manifest["name"], setting, tables, [placed(path, fault) for fault in faults]
