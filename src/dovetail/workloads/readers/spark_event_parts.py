"""Stages, measurements and sizes in events of Spark."""

from __future__ import annotations

import json
from typing import Any

from dovetail.workloads.readers.spark_event import FaultyEvent, integer, text
from dovetail.workloads.readers.spark_log import NONE, Stage

MIB = 2**20

_UNITS = {"b": 1, "k": 2**10, "m": MIB, "g": 2**30, "t": 2**40}


def stage_of(job: int, info: dict[str, Any]) -> Stage:
    rdds = [rdd for rdd in info.get("RDD Info") or () if isinstance(rdd, dict)]
    return Stage(
        number=integer(info, "Stage ID"),
        job=job,
        num_tasks=integer(info, "Number of Tasks"),
        parents=_numbers(info, "Parent IDs"),
        name=text(info, "Stage Name", ""),
        rdd=integer(rdds[0], "RDD ID") if rdds else NONE,
        persisted=tuple(integer(rdd, "RDD ID") for rdd in rdds if _is_persisted(rdd)),
        operators=tuple(sorted({_operator(rdd) for rdd in rdds})),
        profile=integer(info, "Resource Profile Id", 0),
    )


def _numbers(info: dict[str, Any], field: str) -> tuple[int, ...]:
    values = info.get(field, [])
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise FaultyEvent(field, f"cannot be read: {str(values)[:50]}", "a list of numbers of stages")
    return tuple(values)


def _is_persisted(rdd: dict[str, Any]) -> bool:
    level = rdd.get("Storage Level")
    return isinstance(level, dict) and any(level.get(key) is True for key in ("Use Disk", "Use Memory"))


def _operator(rdd: dict[str, Any]) -> str:
    """`WholeStageCodegen (4)` without the number, which is another one in the next run; else what kind of data set."""
    scope = rdd.get("Scope")
    try:
        scope = json.loads(scope).get("name") if isinstance(scope, str) else None
    except (ValueError, AttributeError):
        scope = None
    return str(scope or rdd.get("Name") or "").partition(" (")[0]


def measured_of(metrics: dict[str, Any]) -> tuple[int, int, int]:
    """Peak of execution memory, bytes read from files, records read from files and shuffles."""
    read, shuffle = metrics.get("Input Metrics"), metrics.get("Shuffle Read Metrics")
    read, shuffle = (part if isinstance(part, dict) else {} for part in (read, shuffle))
    rows = integer(read, "Records Read", 0) + integer(shuffle, "Total Records Read", 0)
    return integer(metrics, "Peak Execution Memory", 0), integer(read, "Bytes Read", 0), rows


def shuffled_of(metrics: dict[str, Any]) -> int:
    written = metrics.get("Shuffle Write Metrics")
    return integer(written, "Shuffle Bytes Written", 0) if isinstance(written, dict) else 0


def bytes_of(size: object) -> int:
    """Of `4g` or `512m`; a number alone is in MiB; 0 for what cannot be read."""
    words = str(size).strip().lower().removesuffix("b") or "0"
    unit = _UNITS.get(words[-1])
    digits = words[:-1] if unit else words
    return int(digits) * (unit or MIB) if digits.isdigit() else 0
