"""Our own format of elastic workloads: checked in full before it is used."""

from __future__ import annotations

from pathlib import Path

from dovetail.core.errors import ConfigError, Fault, InvalidWorkload
from dovetail.workloads.elastic_check import elastic_faults
from dovetail.workloads.elastic_schema import ELASTIC_LAYOUT
from dovetail.workloads.elastic_setting import ElasticSetting
from dovetail.workloads.elastic_source import ElasticSource
from dovetail.workloads.elastic_tables import elastic_from_tables, read_setting
from dovetail.workloads.readers.directory import load_tables, placed
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.schema import MANIFEST
from dovetail.workloads.tables import Tables


def read_elastic(path: Path) -> ElasticSource:
    """The workload in this directory; `InvalidWorkload` with all faults if anything is wrong with it."""
    return _source(*_load(path, sealed=True))


def read_edited_elastic(path: Path) -> Imported[ElasticSource]:
    """The same for tables that were changed since their manifest was written: checksums are not compared."""
    return Imported(_source(*_load(path, sealed=False)), ("checksums of the manifest were not compared",))


def find_elastic_faults(path: Path) -> list[Fault]:
    """Everything that is wrong with the workload in this directory."""
    return _load(path, sealed=True)[3]


def _source(name: str, setting: ElasticSetting | None, tables: Tables, faults: list[Fault]) -> ElasticSource:
    if faults or setting is None:
        raise InvalidWorkload(faults)
    return elastic_from_tables(name, setting, tables)


def _load(path: Path, *, sealed: bool) -> tuple[str, ElasticSetting | None, Tables, list[Fault]]:
    manifest, tables, faults = load_tables(path, ELASTIC_LAYOUT, sealed=sealed)
    if manifest is None:
        return "", None, {}, faults
    values, setting = manifest.get("setting"), None
    if isinstance(values, dict):
        try:
            setting = read_setting(values, "setting")
        except ConfigError as error:
            faults.append(Fault(MANIFEST, None, "setting", str(error), "as `dovetail workload generate` writes it"))
    else:
        faults.append(Fault(MANIFEST, None, "setting", "no setting", "slots, slot_s, servers and jobs"))
    if setting is not None:
        faults += elastic_faults(setting, tables, unread={fault.file for fault in faults if fault.file not in tables})
    return manifest["name"], setting, tables, [placed(path, fault) for fault in faults]
