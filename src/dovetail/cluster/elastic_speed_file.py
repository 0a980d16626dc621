"""Reader of measured training speeds, a tuple in each line:

    ('resnet-50', 'dist_sync', 32, 2, 3, [8.2, 8.2, 7.4], [1.9, 1.1], [0.6, 0.6, 0.6])

model, mode (`dist_sync`, `dist_async`, or without `dist_`), mini-batch (samples: of all workers together if they are in
step, of each if not), parameter servers, workers, samples per second of each worker, and then processors used by each
server and by each worker, which are not needed here and may be missing.  Lines are read as literals and never executed.
Blank lines and lines that begin with # are skipped.  A measurement in which a worker did nothing (speed 0) is left out
and counted; everything else that is wrong is a fault.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from pathlib import Path

from dovetail.cluster.elastic_speed import Mode, SpeedPoint
from dovetail.core.errors import Fault, InvalidWorkload

_MODES: dict[str, Mode] = {"sync": "sync", "dist_sync": "sync", "async": "async", "dist_async": "async"}
_FIELDS = ("model", "mode", "batch", "servers", "workers", "speeds")
_Row = tuple[tuple[str, Mode, int], int, int, list[float]]  # model, mode and batch; workers; servers; speeds
_LONGEST = 100_000  # characters of a line
_MOST = 10**6  # of any count


@dataclass(frozen=True)
class MeasuredSpeeds:
    """Points by model, mode and mini-batch (in samples), and how many lines were left out."""

    points: dict[tuple[str, Mode, int], tuple[SpeedPoint, ...]]
    left_out: int


def read_speeds(path: Path) -> MeasuredSpeeds:
    """Everything in the file; `InvalidWorkload` with all faults if anything is wrong with it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidWorkload([Fault(str(path), None, None, f"cannot be read: {error.strerror}", "a file")]) from None
    except UnicodeDecodeError as error:
        problem = f"wrong encoding: byte {error.start} is not UTF-8"
        raise InvalidWorkload([Fault(str(path), None, None, problem, "UTF-8 text")]) from None
    faults: list[Fault] = []
    points: dict[tuple[str, Mode, int], list[SpeedPoint]] = {}
    left_out = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = _read_line(str(path), number, line, faults)
        if row is None:
            continue
        key, workers, servers, speeds = row
        if min(speeds) == 0:
            left_out += 1
            continue
        points.setdefault(key, []).append(SpeedPoint(workers, servers, sum(speeds) / key[2]))
    if not points and not faults:
        faults.append(Fault(str(path), None, None, "no measured speeds", "a line for each measurement"))
    if faults:
        raise InvalidWorkload(faults)
    return MeasuredSpeeds({key: tuple(found) for key, found in points.items()}, left_out)


def _read_line(file: str, number: int, line: str, faults: list[Fault]) -> _Row | None:
    def refuse(field: str | None, problem: str, expected: str) -> _Row | None:
        faults.append(Fault(file, number, field, problem, expected))
        return None

    if len(line) > _LONGEST:
        return refuse(None, f"line of {len(line):,} characters", f"{_LONGEST:,} at most")
    try:
        row = ast.literal_eval(line.strip().rstrip(","))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return refuse(None, f"not a tuple of plain values: {line.strip()[:60]!r}", "('model', 'dist_sync', 32, ...)")
    if not isinstance(row, tuple | list) or len(row) < len(_FIELDS):
        return refuse(None, f"{line.strip()[:60]!r} is not a row", f"a tuple of {', '.join(_FIELDS)}")
    model, mode, batch, servers, workers, speeds = row[: len(_FIELDS)]
    if not isinstance(model, str) or not model.strip():
        return refuse("model", f"{model!r} is not a name", "text")
    if not isinstance(mode, str) or mode not in _MODES:
        return refuse("mode", f"unknown mode {mode!r}", f"one of {', '.join(_MODES)}")
    for name, value in (("batch", batch), ("servers", servers), ("workers", workers)):
        if not (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST):
            return refuse(name, f"{value!r} is not a whole number from 1 to {_MOST:,}", "1, 2, 3, ...")
    if not isinstance(speeds, list | tuple) or len(speeds) != workers:
        found = len(speeds) if isinstance(speeds, list | tuple) else "no list of"
        return refuse("speeds", f"{found} speeds for {workers} workers", "one of each worker")
    for speed in speeds:
        if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0 <= speed < math.inf:
            return refuse("speeds", f"{speed!r} is not a speed", "samples per second, 0 or more")
    return (model, _MODES[mode], batch), workers, servers, [float(speed) for speed in speeds]
