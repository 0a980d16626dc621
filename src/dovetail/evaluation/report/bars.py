"""What a Gantt chart draws: tasks that follow each other without a gap, merged into bars."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Bools, Floats, Ints
from dovetail.records.dag import DagRun

MAX_BARS_RUN = 200_000  # one chart draws no more
MAX_BARS_PAGE = 640_000  # all charts of a page together: keeps the file below about 5 MB
_TOGETHER_S = 1e-6  # tasks closer than this follow each other


@dataclass(frozen=True, eq=False)
class Bars:
    """B bars, executor by executor, in order of start."""

    executor: Ints  # (B,)
    job: Ints  # (B,)
    stage: Ints  # (B,) within its job
    wave: Ints  # (B,) of the first task: 0 fresh, 1 first, 2 rest, -1 not known
    tasks: Ints  # (B,) how many were merged
    lost: Bools  # (B,) a task cut short by a failure; never merged
    start_s: Floats  # (B,)
    end_s: Floats  # (B,)

    def __len__(self) -> int:
        return len(self.executor)


def merge_tasks(run: DagRun) -> Bars:
    """Back-to-back tasks of one stage on one executor become one bar."""
    tasks = run.tasks
    order = np.lexsort((tasks.end_s, tasks.start_s, tasks.executor))
    executor, job, stage = tasks.executor[order], tasks.job[order], tasks.stage[order]
    start_s, end_s, lost = tasks.start_s[order], tasks.end_s[order], tasks.lost[order]
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = (
        (np.diff(executor) != 0)
        | (np.diff(job) != 0)
        | (np.diff(stage) != 0)
        | (start_s[1:] - end_s[:-1] > _TOGETHER_S)
        | lost[1:]
        | lost[:-1]
    )
    at = np.flatnonzero(first)
    last = np.append(at[1:], order.size) - 1 if at.size else at
    return Bars(
        executor=executor[at],
        job=job[at],
        stage=stage[at],
        wave=tasks.wave[order][at],
        tasks=last - at + 1,
        lost=lost[at],
        start_s=start_s[at],
        end_s=end_s[last],
    )


def cut(bars: Bars, limit: int) -> tuple[Bars, float | None]:
    """The first `limit` bars by start, and the time from which on none are left (None: all are there)."""
    if len(bars) <= limit:
        return bars, None
    until_s = float(np.partition(bars.start_s, limit)[limit])
    keep = bars.start_s < until_s
    columns: dict[str, NDArray[Any]] = {name: column[keep] for name, column in vars(bars).items()}
    return Bars(**columns), until_s


def share_out(sizes: list[int]) -> list[int]:
    """How many bars each run may draw; what small runs leave of the page's limit goes to the others."""
    left, limits = MAX_BARS_PAGE, [0] * len(sizes)
    for done, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        limits[place] = min(MAX_BARS_RUN, left // (len(sizes) - done))
        left -= min(limits[place], sizes[place])
    return limits


def pack(bars: Bars, executors: int, tick_s: float) -> str:
    """Bars as text for the page: deflated little-endian columns, times in ticks.

    In order: bars of each executor, then of each bar the gap before it, length, job, stage, tasks (all u32)
    and wave + 1, with 4 for lost (u8).  A gap counts from the end of the executor's last bar.
    """
    start = np.rint(bars.start_s / tick_s).astype(np.int64)
    end = np.maximum(np.rint(bars.end_s / tick_s).astype(np.int64), start)
    before = np.zeros_like(start)
    same = np.diff(bars.executor) == 0
    before[1:][same] = end[:-1][same]
    columns = (
        np.bincount(bars.executor, minlength=executors).astype("<u4"),
        np.maximum(start - before, 0).astype("<u4"),
        (end - start).astype("<u4"),
        bars.job.astype("<u4"),
        bars.stage.astype("<u4"),
        bars.tasks.astype("<u4"),
        (np.clip(bars.wave, -1, 2) + 1 + 4 * bars.lost).astype("<u1"),
    )
    return deflate(b"".join(column.tobytes() for column in columns))


def deflate(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 6)).decode("ascii")


def tick_for(makespan_s: float) -> float:
    """Milliseconds, unless the run is so long that they do not fit 31 bits."""
    return max(1e-3, makespan_s / 2**31)
