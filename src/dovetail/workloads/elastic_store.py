"""Writes an elastic workload directory: all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dovetail.core.config import to_plain
from dovetail.core.errors import InvalidWorkload
from dovetail.workloads.elastic_check import elastic_faults
from dovetail.workloads.elastic_schema import ELASTIC_LAYOUT
from dovetail.workloads.elastic_source import ElasticSource
from dovetail.workloads.elastic_tables import elastic_to_tables, setting_of
from dovetail.workloads.store import require_target, write_tables


def write_elastic(
    source: ElasticSource, path: Path, *, provenance: Mapping[str, Any] | None = None, force: bool = False
) -> dict[str, Any]:
    """Stores the source in a new directory and returns its manifest; see `store.write_source`."""
    require_target(path, force=force)
    tables, setting = elastic_to_tables(source), setting_of(source)
    faults = elastic_faults(setting, tables)
    if faults:
        raise InvalidWorkload(faults)
    plain = to_plain(setting)
    return write_tables(ELASTIC_LAYOUT, source.name, tables, path, provenance=provenance, setting=plain, force=force)
