"""Reader of rates: how many records, or requests, came in each minute, second or hour.  What a file is is seen from it:

    a time and a count in each line     CSV, with or without a header line.  Columns are named, or those that alone can
                                        be meant: dates, or else the first of numbers; and the only other of numbers
    counts only                         between blanks or lines, `step_s` seconds each (1), from `begins` on

Times are dates such as 1995-08-28 00:01:00 (UTC unless they say otherwise), seconds since 1970, or smaller numbers of
seconds, counted from a Monday 0:00.  A file may be packed (`stream_packed`).

What is odd is mended and counted: rows out of order are sorted, and bins that have no row are joined by a line between
their neighbours.  What would have to be guessed is a fault with its line: two rows of the same time, negative counts,
times off the grid that the others make.  Bins are added up to `bin_s` (60 s, unless they are longer); what is left over
at the end is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dovetail.core.delimited import refusal, split_rows
from dovetail.core.errors import ConfigError, Fault, InvalidWorkload
from dovetail.core.stream import DAY_S, WEEK_S, Floats, Ints
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.readers.stream_packed import unpacked_text
from dovetail.workloads.readers.time_slice import time_slice
from dovetail.workloads.stream_rates import MAX_BINS, RateSeries, RecordedRates
from dovetail.workloads.stream_schema import MAX_BIN_S

_EXPECTED = "a time and a count in each line, or counts only"
_MOMENT = "seconds after the first bin (3600), a share of the bins (60%), or a date (1995-08-28)"
_MOST = 1e15  # records in a bin
_SINCE_1970_S = 1e8  # from here on a number is a time since 1970; smaller ones are counted from a Monday
BIN_S = 60.0


@dataclass(frozen=True)
class RateOptions:
    """Which part to read, and what the file does not say."""

    start: str | None = None  # the part from here: seconds after the first bin, a share (50%), or a date
    end: str | None = None  # the part to before here
    bin_s: float | None = None  # none: 60 s, or as long as the bins are
    step_s: float | None = None  # of counts without times; none: 1 s
    begins: str | None = None  # counts without times: when, as a date; none: on a Monday at 0:00
    time_column: str | None = None
    count_column: str | None = None

    def __post_init__(self) -> None:
        for name in ("bin_s", "step_s"):
            value = getattr(self, name)
            if value is not None and not (1 <= value <= MAX_BIN_S and value % 1 == 0):
                option = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{option} is {value:g}; expected whole seconds, 1 to {MAX_BIN_S:g}")


@dataclass(frozen=True, eq=False)
class _Counted:
    """Counts on a grid, without gaps."""

    step_s: float
    first_s: float  # of the first bin: since 1970, or since a Monday 0:00
    count: Floats
    dated: bool  # `first_s` is since 1970
    notes: tuple[str, ...]


def read_rates_file(path: Path, options: RateOptions | None = None) -> Imported[RecordedRates]:
    """The series in this file; every fault of it is listed."""
    options = options or RateOptions()
    text = unpacked_text(path, _EXPECTED)
    if ";" in text.partition("\n")[0]:
        raise refusal(path, 1, "values between semicolons", "values between commas, such as 60,17")
    if "," in text[:4096]:
        found = _from_rows(path, split_rows(path, text), options)
    else:
        found = _from_numbers(path, text, options)
    count, start = _part(found, options)
    if not count.size:
        raise ConfigError(f"{path}: nothing is left between --from and --to of {found.count.size:,} bins")
    bins, step_s, notes = _binned(path, count, found.step_s, options.bin_s)
    if not bins.any():
        raise refusal(path, None, "no records: all counts are 0", "at least one count above 0")
    clock_s = _clock(found, start)
    series = RateSeries((_name(path),), step_s, clock_s, bins[None, :] / step_s)
    day = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")[int(clock_s // DAY_S)]
    said = (
        f"{bins.size:,} bins of {step_s:g} s from {day} {clock_s % DAY_S / 3600:.4g} h on, "
        f"{bins.mean():.4g} records in each on average"
    )
    return Imported(RecordedRates(_name(path), series), (*found.notes, *notes, said))


def _name(path: Path) -> str:
    return path.name.partition(".")[0] or path.name


def _from_numbers(path: Path, text: str, options: RateOptions) -> _Counted:
    for name in ("time_column", "count_column"):
        if getattr(options, name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')}: {path} has no columns with names, only counts")
    words = text.split()
    header = 1 if len(words) > 1 and _number(words[0]) is None else 0
    try:
        count = np.array(words[header:], dtype=np.float64)
    except ValueError:
        count = np.array([np.nan])
    wrong = ~((count >= 0) & (count <= _MOST))
    if wrong.any():
        raise InvalidWorkload(_word_faults(path, text, header))
    begins_s = 0.0
    if options.begins is not None:
        begun = _date(options.begins)
        if begun is None:
            raise ConfigError(f"--start {options.begins}: expected a date such as 1995-07-01 or 1995-07-01 12:30:00")
        begins_s = begun
    notes = () if options.begins else ("the file has no times: taken to begin on a Monday at 0:00 (--start says when)",)
    step_s = 1.0 if options.step_s is None else options.step_s
    return _Counted(step_s, begins_s, count, options.begins is not None, notes)


def _word_faults(path: Path, text: str, skip: int) -> list[Fault]:
    faults = []
    for line, row in enumerate(text.splitlines(), start=1):
        for word in row.split():
            if skip:
                skip -= 1
                continue
            value = _number(word)
            if not _is_count(value):
                expected = f"numbers from 0 to {_MOST:g}"
                faults.append(Fault(str(path), line, "count", f"not a count: {word[:40]!r}", expected))
    return faults


def _from_rows(path: Path, rows: list[tuple[int, list[str]]], options: RateOptions) -> _Counted:
    for name in ("step_s", "begins"):
        if getattr(options, name) is not None:
            option = {"step_s": "--step-s", "begins": "--start"}[name]
            raise ConfigError(f"{option}: {path} says itself when its counts were made")
    names, rows = _header(rows)
    time_at, count_at = _columns(path, names, rows, options)
    line, time_s, count, dated = _values(path, names, rows, time_at, count_at)
    if time_s.size < 2:
        raise refusal(path, None, f"{time_s.size} rows", "two at least, to see how long a bin is")
    return _on_grid(path, names[time_at], line, time_s, count, dated)


def _header(rows: list[tuple[int, list[str]]]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    first = rows[0][1]
    if any(_number(value) is not None or _date(value) is not None for value in first):
        return [str(place + 1) for place in range(len(first))], rows  # no header line: columns are called by number
    return first, rows[1:]


def _columns(path: Path, names: list[str], rows: list[tuple[int, list[str]]], options: RateOptions) -> tuple[int, int]:
    """Where times and counts are: as said, or the only columns that can be meant."""
    said = []
    for option, name in (("--time-column", options.time_column), ("--count-column", options.count_column)):
        if name is not None and names.count(name) != 1:
            raise ConfigError(f"{option} {name}: {path} has {names.count(name)} of it; there are {', '.join(names)}")
        said.append(None if name is None else names.index(name))
    time_at, count_at = said
    if time_at is not None and time_at == count_at:
        name = options.time_column
        raise ConfigError(
            f"--time-column and --count-column are both {name}; expected two columns of {', '.join(names)}"
        )
    if not rows:
        raise refusal(path, None, "a header line only", _EXPECTED)
    sample = [values for _, values in rows[:50] if len(values) == len(names)]
    numeric = [at for at in range(len(names)) if _mostly(_number, sample, at)]
    others = [at for at in range(len(names)) if at not in numeric]
    dated = [at for at in others if _mostly(_date, sample, at)]
    if time_at is None:
        choice = dated or [at for at in numeric if at != count_at][:1]
        time_at = choice[0] if len(choice) == 1 else None
    if count_at is None:
        choice = [at for at in numeric if at != time_at]
        count_at = choice[0] if len(choice) == 1 else None
    if time_at is None or count_at is None or time_at == count_at:
        missing = "times" if time_at is None else "counts"
        expected = "--time-column and --count-column to name them"
        raise refusal(path, rows[0][0], f"cannot tell which column holds {missing}: {', '.join(names)}", expected)
    return time_at, count_at


def _mostly(read: Callable[[str], float | None], sample: list[list[str]], at: int) -> bool:
    """Whether this is what a column holds; the rows where it does not are faults of their own."""
    return 2 * sum(read(values[at]) is not None for values in sample) > len(sample)


def _values(
    path: Path, names: list[str], rows: list[tuple[int, list[str]]], time_at: int, count_at: int
) -> tuple[Ints, Floats, Floats, bool]:
    faults: list[Fault] = []
    line, time_s, count = np.zeros(len(rows), np.int64), np.zeros(len(rows)), np.zeros(len(rows))
    whole = [values for _, values in rows if len(values) == len(names)]
    dated = not _mostly(_number, whole[:50], time_at)
    for place, (number, values) in enumerate(rows):
        line[place] = number
        if len(values) != len(names):
            faults.append(Fault(str(path), number, None, f"{len(values)} columns", f"{len(names)}"))
            continue
        at, many = (_date if dated else _number)(values[time_at]), _number(values[count_at])
        if at is None:
            kind = "a date" if dated else "a number"
            faults.append(Fault(str(path), number, names[time_at], f"not {kind}: {values[time_at][:40]!r}", kind))
        if many is None or not _is_count(many):
            problem = f"not a count: {values[count_at][:40]!r}"
            faults.append(Fault(str(path), number, names[count_at], problem, f"0 to {_MOST:g}"))
            continue
        time_s[place], count[place] = at or 0.0, many
    if faults:
        raise InvalidWorkload(faults)
    return line, time_s, count, dated


def _on_grid(path: Path, name: str, line: Ints, time_s: Floats, count: Floats, dated: bool) -> _Counted:
    """Sorted, and without gaps: the usual distance between two rows is the length of a bin."""
    order = np.argsort(time_s, kind="stable")
    moved = int((np.diff(time_s) < 0).sum())
    line, time_s, count = line[order], time_s[order], count[order]
    gap = np.diff(time_s)
    faults = [
        Fault(str(path), int(line[at + 1]), name, f"the same time as in row {line[at]}", "every time once")
        for at in np.flatnonzero(gap == 0)
    ]
    if faults:
        raise InvalidWorkload(faults)
    step_s = _usual(gap)
    steps = np.round((time_s - time_s[0]) / step_s)
    off = np.abs((time_s - time_s[0]) - steps * step_s) > 1e-6 * max(1.0, step_s)
    if off.any() or step_s % 1 or not 1 <= step_s <= MAX_BIN_S:
        at = int(off.argmax())
        problem = (
            f"not a multiple of {step_s:g} s, the usual distance, after the first row"
            if off.any()
            else (f"rows are {step_s:g} s apart")
        )
        raise refusal(path, int(line[at]), problem, f"times on a grid of whole seconds, {MAX_BIN_S:g} s at most")
    if steps[-1] >= MAX_BINS:
        raise refusal(path, None, f"{steps[-1] + 1:,.0f} bins of {step_s:g} s", f"{MAX_BINS:,} at most")
    grid = np.arange(int(steps[-1]) + 1)
    notes = []
    if moved:
        notes.append(f"{moved:,} rows were earlier than the row before; sorted")
    if missing := grid.size - steps.size:
        longest = int(np.diff(steps).max()) - 1
        notes.append(
            f"{missing:,} of {grid.size:,} bins of {step_s:g} s have no row (up to {longest:,} in a row); joined by a "
            "line between their neighbours"
        )
    dated = dated or bool(time_s[0] >= _SINCE_1970_S)
    return _Counted(step_s, float(time_s[0]), np.interp(grid, steps, count), dated, tuple(notes))


def _usual(gap: Floats) -> float:
    """The distance that is there most often; the smallest of those that are there equally often."""
    distance, times = np.unique(np.round(gap, 6), return_counts=True)
    return float(distance[times.argmax()])


def _part(found: _Counted, options: RateOptions) -> tuple[Floats, int]:
    """Counts between both moments, and how many bins were before them."""
    at_s = np.arange(found.count.size, dtype=np.float64) * found.step_s
    moments = []
    for option, text in (("--from", options.start), ("--to", options.end)):
        date = None if text is None or _number(text.removesuffix("%")) is not None else _date(text)
        if date is not None:
            if not found.dated:
                raise ConfigError(f"{option} {text}: the file has no dates; expected seconds (3600) or a share (60%)")
            text = f"{max(0.0, date - found.first_s)!r}"
        moments.append(text)
    part = time_slice(at_s, *moments, expected=_MOMENT)
    return found.count[part], part.start


def _binned(path: Path, count: Floats, step_s: float, bin_s: float | None) -> tuple[Floats, float, tuple[str, ...]]:
    wanted_s = max(BIN_S, step_s) if bin_s is None else bin_s
    each = wanted_s / step_s
    if each < 1 or each % 1:
        if bin_s is None:
            return count, step_s, ()  # such as 45 s: left as they are
        raise ConfigError(f"--bin-s is {bin_s:g}; expected a multiple of {step_s:g} s, which is how {path} counts")
    whole = count.size // int(each)
    if not whole:
        raise ConfigError(f"{path}: {count.size:,} bins of {step_s:g} s do not make one of {wanted_s:g} s")
    left = count.size - whole * int(each)
    bins: Floats = count[: whole * int(each)].reshape(whole, int(each)).sum(axis=1)
    notes = (f"{left:,} bins of {step_s:g} s at the end, which do not fill one of {wanted_s:g} s, were dropped",)
    return bins, wanted_s, notes if left else ()


def _clock(found: _Counted, start: int) -> float:
    """Time of the week; 1970 began on a Thursday."""
    first_s = found.first_s + (3 * DAY_S if found.dated else 0.0)
    return (first_s + start * found.step_s) % WEEK_S


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def _is_count(value: float | None) -> bool:
    return value is not None and 0 <= value <= _MOST


def _date(text: str) -> float | None:
    """Seconds since 1970 of a date."""
    try:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
