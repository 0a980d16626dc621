"""The scheduler x seed matrix: every scheduler on the same job sequences, in parallel processes.

Cells are handed out seed by seed, so that a worker makes a job sequence once for all schedulers, and come
back one by one, so that little is lost when the run is interrupted.  Workers are started by `spawn`: they
share nothing with the parent, and give the same numbers however many there are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from dovetail.core.dag import HasKernel
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import OTHER, Contender
from dovetail.evaluation.matrix_cell import Failure, OpenSetting, Row, run_cell, run_python
from dovetail.evaluation.matrix_pool import run_in_processes
from dovetail.evaluation.matrix_worker import Chunk
from dovetail.sim.dag import DagWorld
from dovetail.workloads.arrivals import Arrivals

INLINE_JOBS = 2_000  # simulated jobs below which starting processes takes longer than the work
PATIENCE_S = 2.5  # loading compiled code takes less than this, compiling it takes more

Outcome = Row | Failure


@dataclass(frozen=True)
class Matrix:
    """Which cells there are, and what is done with those of the first seed."""

    contenders: tuple[Contender, ...]
    seeds: tuple[int, ...]
    keep: bool = False  # return their records
    timed: bool = True  # measure how long decisions take

    def __post_init__(self) -> None:
        if not self.contenders or not self.seeds:
            raise ConfigError("a comparison needs at least one scheduler and one seed")

    @property
    def cells(self) -> int:
        return len(self.contenders) * len(self.seeds)

    def chunks(self, is_done: Callable[[Contender, int], bool] = lambda contender, seed: False) -> list[Chunk]:
        """The cells still to be run, by seed."""
        found = []
        for seed in self.seeds:
            left = tuple(contender for contender in self.contenders if not is_done(contender, seed))
            if left:
                first = seed == self.seeds[0]
                found.append(Chunk(seed, left, keep=self.keep and first, timed=self.timed and first))
        return found


def default_workers() -> int:
    """As many as there are processors for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: int | None) -> None:
    if workers is not None and workers < 1:
        raise ConfigError(f"workers is {workers}; expected at least 1")


def run_matrix(
    opened: OpenSetting,
    chunks: Sequence[Chunk],
    *,
    workers: int | None = None,
    on_compile: Callable[[], None] = lambda: None,
) -> Generator[Outcome, None, None]:
    """Run the chunks and yield each cell's outcome, in no particular order.  Closing this ends the workers.

    With one worker everything runs in this process.  `workers=None` chooses by the size of the work.
    `on_compile` is called if getting the simulator ready takes so long that it must be compiling.
    """
    contenders = [contender for chunk in chunks for contender in chunk.contenders]
    check_workers(workers)
    if workers is None:
        workers = 1 if len(contenders) * opened.setting.jobs < INLINE_JOBS else default_workers()

    def prepare() -> None:
        warm_up(opened, contenders, on_compile)

    if min(workers, len(chunks)) > 1:
        yield from run_in_processes(opened.setting, chunks, min(workers, len(chunks)), prepare)
        return
    prepare()
    for chunk in chunks:
        sequence = opened.sequence(chunk.seed)
        for contender in chunk.contenders:
            yield run_cell(opened, sequence, contender, chunk.seed, keep=chunk.keep, timed=chunk.timed)


def warm_up(opened: OpenSetting, contenders: Iterable[Contender], on_compile: Callable[[], None]) -> None:
    """Have what the contenders need compiled and cached on disk, before several processes want it at once.

    Schedulers from outside are left alone: they are not ours to call more often than was asked for.
    """
    seeds = SeedTree(0).child("warm-up")
    ours = {contender.name: contender for contender in contenders if contender.kind != OTHER}
    ready: set[object] = set()
    with _announced(on_compile):
        sequence = opened.source.sequence(1, Arrivals("batch"), seeds)
        for contender in ours.values():
            with suppress(Exception):  # whatever is wrong comes up again, and is reported, in its cell
                scheduler = contender.create()
                world = DagWorld(sequence, opened.setting.options, seeds, record=True)
                scheduler.reset(world.info_for(scheduler), seeds.generator())
                kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
                if kernel is None or "python" not in ready:
                    run_python(world, scheduler, seeds.generator())
                    ready.add("python")
                    world = DagWorld(sequence, opened.setting.options, seeds, record=True)
                if kernel is not None and kernel.function not in ready:
                    world.run_kernel(kernel)
                    ready.add(kernel.function)


@contextmanager
def _announced(on_delay: Callable[[], None]) -> Iterator[None]:
    """Call `on_delay` if what happens inside takes longer than our patience."""
    timer = threading.Timer(PATIENCE_S, on_delay)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
