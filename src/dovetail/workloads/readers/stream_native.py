"""Our own format of stream workloads and of rates: checked in full before it is used."""

from __future__ import annotations

from pathlib import Path

from dovetail.core.config import build
from dovetail.core.errors import ConfigError, DovetailError, Fault, InvalidWorkload
from dovetail.workloads.readers.directory import load_tables, placed
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.schema import JOBS, MANIFEST
from dovetail.workloads.stream_check import stream_faults
from dovetail.workloads.stream_rates import RecordedRates
from dovetail.workloads.stream_schema import RATES, STREAM_LAYOUT, StreamSetting
from dovetail.workloads.stream_source import StreamSource
from dovetail.workloads.stream_tables import recorded_rates, stream_from_tables
from dovetail.workloads.tables import Tables


def read_stream(path: Path) -> StreamSource:
    """The workload in this directory; `InvalidWorkload` with all faults if anything is wrong with it."""
    found = read_either(path)
    if isinstance(found, RecordedRates):
        raise DovetailError(f"workload {path}: has rates, but no jobs; name a workload, and these as its rates")
    return found


def read_series(path: Path) -> RecordedRates:
    """The rates in this directory, with or without jobs."""
    name, setting, tables = _valid(path, sealed=True)
    if RATES not in tables:
        raise DovetailError(f"rates {path}: its rates are drawn ({setting.rates}); name them instead")
    return recorded_rates(str(path) if JOBS in tables else name, setting, tables)


def read_either(path: Path) -> StreamSource | RecordedRates:
    """What is in this directory: a workload, or rates only."""
    return _source(*_valid(path, sealed=True))


def read_edited_stream(path: Path) -> Imported[StreamSource] | Imported[RecordedRates]:
    """The same for tables that were changed since their manifest was written: checksums are not compared."""
    found, notes = _source(*_valid(path, sealed=False)), ("checksums of the manifest were not compared",)
    if isinstance(found, StreamSource):
        return Imported(found, notes)
    return Imported(found, notes)


def find_stream_faults(path: Path) -> list[Fault]:
    """Everything that is wrong with the workload in this directory."""
    return _load(path, sealed=True)[3]


def _source(name: str, setting: StreamSetting, tables: Tables) -> StreamSource | RecordedRates:
    if JOBS in tables:
        return stream_from_tables(name, setting, tables)
    return recorded_rates(name, setting, tables)


def _valid(path: Path, *, sealed: bool) -> tuple[str, StreamSetting, Tables]:
    name, setting, tables, faults = _load(path, sealed=sealed)
    if faults or setting is None:
        raise InvalidWorkload(faults)
    return name, setting, tables


def _load(path: Path, *, sealed: bool) -> tuple[str, StreamSetting | None, Tables, list[Fault]]:
    manifest, tables, faults = load_tables(path, STREAM_LAYOUT, sealed=sealed)
    if manifest is None:
        return "", None, {}, faults
    values, setting = manifest.get("setting"), None
    if isinstance(values, dict):
        try:
            setting = build(StreamSetting, values, "setting")
        except ConfigError as error:
            faults.append(Fault(MANIFEST, None, "setting", str(error), "as `dovetail workload generate` writes it"))
    else:
        faults.append(Fault(MANIFEST, None, "setting", "no setting", "duration_s, slots, and rates or bin_s"))
    if setting is not None:
        faults += stream_faults(setting, tables, unread={fault.file for fault in faults if fault.file not in tables})
    return manifest["name"], setting, tables, [placed(path, fault) for fault in faults]
