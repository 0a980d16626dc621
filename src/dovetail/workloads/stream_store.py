"""Writes a stream workload directory, or one of rates only: all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.core.config import to_plain
from dovetail.core.errors import ConfigError, InvalidWorkload
from dovetail.workloads.store import require_target, write_tables
from dovetail.workloads.stream_check import stream_faults
from dovetail.workloads.stream_rates import RecordedRates
from dovetail.workloads.stream_schema import RATES, STREAM_LAYOUT, StreamSetting
from dovetail.workloads.stream_source import StreamSource
from dovetail.workloads.stream_tables import rate_table, setting_of, setting_of_series, stream_to_tables
from dovetail.workloads.tables import Tables


def write_stream(
    source: StreamSource | RecordedRates,
    path: Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Stores jobs and rates, or rates alone, in a new directory and returns its manifest; see `store.write_source`."""
    require_target(path, force=force)
    setting, tables = _parts(source)
    faults = stream_faults(setting, tables)
    if faults:
        raise InvalidWorkload(faults)
    plain = to_plain(setting)
    return write_tables(STREAM_LAYOUT, source.name, tables, path, provenance=provenance, setting=plain, force=force)


def _parts(source: StreamSource | RecordedRates) -> tuple[StreamSetting, Tables]:
    try:
        if isinstance(source, RecordedRates):
            return setting_of_series(source.recorded), {RATES: rate_table(source.recorded)}
        return setting_of(source), stream_to_tables(source)
    except ValueError as error:
        raise ConfigError(f"workload {source.name}: {error}") from error
