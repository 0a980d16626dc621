"""Reader of arrival series: how many jobs came in each slot.  What the file is, is seen from what is in it:

    JSON                     a list of counts, or an object of named lists, of which `pattern` names one
    one value per line       counts, a slot each; with `times` the seconds of single arrivals instead
    two columns              time, count, with or without a header line: times rise by a fixed step, and steps that are
                             not there had no arrivals
    seven or nine columns    the Alibaba trace of 2018 (its hour sample, or batch_task.csv): the arrivals of its jobs

Times are seconds, or dates such as 2019-05-01 12:30:00 (UTC unless they say otherwise).  Single arrivals are counted
in slots of `slot_s` from the first one on.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dovetail.core.delimited import read_text, refusal, split_rows
from dovetail.core.elastic import Floats
from dovetail.core.errors import ConfigError, DovetailError, Fault, InvalidWorkload, UnknownName
from dovetail.workloads.elastic_setting import MAX_SLOT_S, MAX_SLOTS

_EXPECTED = "arrival counts: JSON lists, a count per line, or time,count"
_SLOT_S = 1200.0


@dataclass(frozen=True)
class ArrivalCounts:
    """Arrivals per slot, and what the person who reads them should know."""

    counts: tuple[float, ...]
    notes: tuple[str, ...] = ()


def read_counts(
    path: Path, *, pattern: str | None = None, slot_s: float | None = None, times: bool = False
) -> ArrivalCounts:
    """The series in this file; every fault of it is listed."""
    if slot_s is not None and not 0 < slot_s <= MAX_SLOT_S:
        raise ConfigError(f"slot length is {slot_s:g}; expected seconds above 0, {MAX_SLOT_S:g} at most")
    text = read_text(path, _EXPECTED)
    if text.lstrip()[:1] in ("[", "{"):
        if times:
            raise ConfigError(f"{path}: times are one per line of a text file, and this is JSON")
        found = _from_json(path, text, pattern)
    else:
        if pattern is not None:
            raise ConfigError(f"{path}: a pattern names a list of a JSON object, and this is no JSON")
        found = _from_rows(path, text, slot_s or _SLOT_S, times)
    if not any(found.counts):
        raise refusal(path, None, "no arrivals: all counts are 0", "at least one arrival")
    if len(found.counts) > MAX_SLOTS:
        raise refusal(path, None, f"{len(found.counts):,} slots", f"{MAX_SLOTS:,} at most; longer slots help")
    return found


def _from_json(path: Path, text: str, pattern: str | None) -> ArrivalCounts:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refusal(path, None, f"not JSON: {error}", _EXPECTED) from None
    notes: tuple[str, ...] = ()
    if isinstance(content, dict):
        if not content:
            raise refusal(path, None, "an object without any series", _EXPECTED)
        if pattern is None and len(content) > 1:
            raise DovetailError(f"{path} has {len(content)} series; choose a pattern: {', '.join(map(str, content))}")
        key = next(iter(content)) if pattern is None else pattern
        if key not in content:
            raise UnknownName("pattern", key, content)
        content, notes = content[key], (f"pattern {key} of {len(content)}",)
    elif pattern is not None:
        raise ConfigError(f"{path} has one series without a name; leave the pattern out")
    if not isinstance(content, list) or not content:
        raise refusal(path, None, "not a list of counts", _EXPECTED)
    faults: list[Fault] = []
    counts = []
    for place, value in enumerate(content):
        number = not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < 1e300
        if not number:
            problem = f"entry {place}: {str(value)[:40]!r} is not a count"
            faults.append(Fault(str(path), None, pattern, problem, "numbers from 0"))
        counts.append(float(value) if number else 0.0)
    if faults:
        raise InvalidWorkload(faults)
    return ArrivalCounts(tuple(counts), notes)


def _from_rows(path: Path, text: str, slot_s: float, times: bool) -> ArrivalCounts:
    rows = split_rows(path, text)
    width = len(rows[0][1])
    if width in (7, 9):
        return _alibaba(path, slot_s)
    if width not in (1, 2):
        raise refusal(path, rows[0][0], f"{width} columns", "1 (counts), 2 (time, count), 7 or 9 (Alibaba 2018)")
    if times and width != 1:
        raise ConfigError(f"{path}: times are one per line, and this has {width} columns")
    if len(rows) > 1 and not all(_number("time", value) is not None for value in rows[0][1]):
        rows = rows[1:]  # a header line
    columns = _columns(path, rows, ("time", "count")[-width:] if not times else ("time",))
    if times:
        return _counted(columns[0], slot_s)
    return ArrivalCounts(tuple(columns[0].tolist())) if width == 1 else _by_time(path, rows, *columns)


def _columns(path: Path, rows: list[tuple[int, list[str]]], names: tuple[str, ...]) -> list[Floats]:
    faults = []
    values = np.zeros((len(rows), len(names)))
    for place, (line, texts) in enumerate(rows):
        if len(texts) != len(names):
            faults.append(Fault(str(path), line, None, f"{len(texts)} columns", f"{len(names)}"))
            continue
        for column, (name, text) in enumerate(zip(names, texts, strict=True)):
            value = _number(name, text)
            if value is None or value < 0:
                problem = f"not a number from 0{' or a date' if name == 'time' else ''}: {text[:40]!r}"
                faults.append(Fault(str(path), line, name, problem, "0 or more"))
            else:
                values[place, column] = value
    if faults:
        raise InvalidWorkload(faults)
    return list(values.T)


def _by_time(path: Path, rows: list[tuple[int, list[str]]], time: Floats, count: Floats) -> ArrivalCounts:
    gap = np.diff(time)
    faults = [
        Fault(str(path), rows[place + 1][0], "time", "not later than the row before", "times that rise")
        for place in np.flatnonzero(gap <= 0)
    ]
    if faults:
        raise InvalidWorkload(faults)
    if not gap.size:
        return ArrivalCounts(tuple(count.tolist()))
    steps = gap / gap.min()
    off = np.abs(steps - np.round(steps)) > 1e-6
    if off.any():
        place = int(off.argmax())
        problem = f"{gap[place]:g} after the row before is no multiple of the smallest step, {gap.min():g}"
        raise refusal(path, rows[place + 1][0], problem, "times on a grid")
    at = np.concatenate(([0], np.cumsum(np.round(steps)))).astype(np.int64)
    if at[-1] >= MAX_SLOTS:
        raise refusal(path, None, f"{at[-1] + 1:,} slots", f"{MAX_SLOTS:,} at most")
    counts = np.zeros(at[-1] + 1)
    counts[at] = count
    empty = counts.size - at.size
    return ArrivalCounts(tuple(counts.tolist()), (f"{empty} slots without a row had no arrivals",) if empty else ())


def _alibaba(path: Path, slot_s: float) -> ArrivalCounts:
    from dovetail.workloads.readers.alibaba2018_csv import read_rows

    rows = read_rows(path, strict=False)
    if rows.faults:
        raise InvalidWorkload(rows.faults)
    arrival_s = np.full(len(rows.job_name), np.inf)
    np.minimum.at(arrival_s, rows.job, rows.start_s)
    known = arrival_s[~rows.unfinished]
    if not known.size:
        raise refusal(path, None, "no job finished", "at least one")
    left_out = int(rows.unfinished.sum())
    note = (f"{left_out} jobs that did not finish were left out",) if left_out else ()
    found = _counted(known, slot_s)
    return ArrivalCounts(found.counts, (*found.notes, *note))


def _counted(time_s: Floats, slot_s: float) -> ArrivalCounts:
    slot = np.floor((time_s - time_s.min()) / slot_s + 1e-9)
    if slot.max() >= MAX_SLOTS:
        raise DovetailError(f"arrivals span {slot.max() + 1:,.0f} slots of {slot_s:g} s; take longer slots")
    counts = np.bincount(slot.astype(np.int64)).astype(np.float64)
    return ArrivalCounts(tuple(counts.tolist()), (f"{time_s.size:,} arrivals counted in slots of {slot_s:g} s",))


def _number(name: str, text: str) -> float | None:
    """The value of a field; None if there is none to be read."""
    try:
        value = float(text)
        return value if math.isfinite(value) and "_" not in text else None
    except ValueError:
        if name != "time":
            return None
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
