"""Our own format: a directory of Parquet tables and a manifest, checked in full before it is used."""

from __future__ import annotations

from pathlib import Path

from dovetail.core.errors import Fault, InvalidWorkload
from dovetail.workloads.check import table_faults
from dovetail.workloads.readers.directory import load_tables, placed
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.schema import DAG
from dovetail.workloads.source import DagSource
from dovetail.workloads.tables import Tables, from_tables


def read_source(path: Path) -> DagSource:
    """The workload in this directory; `InvalidWorkload` with all faults if anything is wrong with it."""
    name, tables, faults = _load(path, sealed=True)
    if faults:
        raise InvalidWorkload(faults)
    return from_tables(name, tables)


def read_edited(path: Path) -> Imported[DagSource]:
    """The same for tables that were changed since their manifest was written: checksums are not compared."""
    name, tables, faults = _load(path, sealed=False)
    if faults:
        raise InvalidWorkload(faults)
    return Imported(from_tables(name, tables), ("checksums of the manifest were not compared",))


def find_faults(path: Path) -> list[Fault]:
    """Everything that is wrong with the workload in this directory."""
    return _load(path, sealed=True)[2]


def _load(path: Path, *, sealed: bool) -> tuple[str, Tables, list[Fault]]:
    manifest, tables, faults = load_tables(path, DAG, sealed=sealed)
    if manifest is None:
        return "", {}, faults
    faults += table_faults(tables)
    return manifest["name"], tables, [placed(path, fault) for fault in faults]
