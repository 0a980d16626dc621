"""The scheduler x seed matrix: every scheduler on the same job sequences, in parallel processes.

Cells are handed out seed by seed, so that a worker makes a job sequence once for all schedulers, and come back
one by one, so that little is lost when the run is interrupted.  Workers are started by `spawn`: they share
nothing with the parent, and give the same numbers however many there are.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix_cell import DagSetting, Failure, OpenSetting, Row, run_cell, run_python
from dovetail.evaluation.matrix_worker import ONE_THREAD, Chunk, work
from dovetail.sim.dag import DagWorld, run
from dovetail.workloads.arrivals import Arrivals

INLINE_JOBS = 2_000  # simulated jobs below which starting processes takes longer than the work

Outcome = Row | Failure


@dataclass(frozen=True)
class Matrix:
    """What to run: the same setting for every contender and seed."""

    setting: DagSetting
    contenders: tuple[Contender, ...]
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.contenders or not self.seeds:
            raise ConfigError("a comparison needs at least one scheduler and one seed")

    @property
    def cells(self) -> int:
        return len(self.contenders) * len(self.seeds)

    def chunks(self, is_done: Callable[[Contender, int], bool]) -> list[Chunk]:
        """The cells still to be run, by seed; the runs of the first seed are kept in full."""
        found = []
        for seed in self.seeds:
            left = tuple(contender for contender in self.contenders if not is_done(contender, seed))
            if left:
                found.append(Chunk(seed, left, keep=seed == self.seeds[0]))
        return found


def default_workers() -> int:
    """As many as there are processors for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_matrix(
    opened: OpenSetting,
    chunks: Sequence[Chunk],
    *,
    workers: int | None = None,
    on_compile: Callable[[], None] = lambda: None,
) -> Iterator[Outcome]:
    """Run the chunks and yield each cell's outcome.  Closing the iterator ends the workers.

    With one worker everything runs in this process.  `workers=None` chooses by the size of the work.
    `on_compile` is called if getting the simulator ready takes so long that it must be compiling.
    """
    if workers is not None and workers < 1:
        raise ConfigError(f"workers is {workers}; expected at least 1")
    jobs = sum(len(chunk.contenders) for chunk in chunks) * opened.setting.jobs
    if workers is None:
        workers = 1 if jobs < INLINE_JOBS else default_workers()
    workers = min(workers, len(chunks))
    contenders = [contender for chunk in chunks for contender in chunk.contenders]
    if workers > 1:
        yield from _in_processes(opened, chunks, workers, contenders, on_compile)
        return
    warm_up(opened, contenders, on_compile)
    for chunk in chunks:
        sequence = opened.sequence(chunk.seed)
        for contender in chunk.contenders:
            yield run_cell(opened, sequence, contender, chunk.seed, keep=chunk.keep)


def warm_up(
    opened: OpenSetting, contenders: Iterable[Contender], on_compile: Callable[[], None], patience_s: float = 2.5
) -> None:
    """Have everything compiled and in the cache on disk, before several processes want it at once."""
    timer = threading.Timer(patience_s, on_compile)
    timer.daemon = True
    timer.start()
    try:
        seeds = SeedTree(0).child("warm-up")
        sequence = opened.source.sequence(1, Arrivals("batch"), seeds)
        ready: set[object] = set()
        for name in dict.fromkeys(contender.name for contender in contenders):
            contender = next(one for one in contenders if one.name == name)
            if contender.kind == "other":
                continue  # not ours to call more often than asked for
            scheduler = contender.create()
            world = DagWorld(sequence, opened.setting.options, seeds, record=True)
            ...
    finally:
        timer.cancel()
