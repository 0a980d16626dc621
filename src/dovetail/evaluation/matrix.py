"""The scheduler x seed matrix: every scheduler on the same job sequences, in parallel processes.

Cells are handed out seed by seed, so that a worker makes a job sequence once for all schedulers, and come
back one by one, so that little is lost when the run is interrupted.  Workers are started by `spawn`: they
share nothing with the parent, and give the same numbers however many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from dovetail.core.errors import ConfigError
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix_cell import Failure, Row, run_cell
from dovetail.evaluation.matrix_pool import run_in_processes
from dovetail.evaluation.matrix_worker import Chunk
from dovetail.evaluation.setting import OpenSetting
from dovetail.evaluation.warm_up import warm_up

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
        families = {contender.family for contender in self.contenders}
        if len(families) > 1:
            raise ConfigError(f"schedulers of {' and '.join(sorted(families))}; expected one family in a comparison")

    @property
    def family(self) -> str:
        return self.contenders[0].family

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
        workers = 1 if len(contenders) * opened.jobs < opened.setting.INLINE_JOBS else default_workers()

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
