"""One scheduler on one job sequence: a cell of the matrix.

Seed k alone decides what happens: the job sequence and all chance of the world come from its tree and are the same
for every scheduler; a scheduler's own chance comes from the branch that bears its name.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.setting import OpenSetting
from dovetail.records.run import Run

TIMED_DECISIONS = 500  # of a compiled scheduler: enough for a mean, and bounded for large workloads


@dataclass(frozen=True, eq=False)
class Row:
    """What a cell came to."""

    contender: Contender
    seed: int
    metrics: Mapping[str, float]
    events: int = 0
    decisions: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)  # of this machine, so never hashed
    run: Run | None = None  # in full, if it was to be kept
    note: str = ""  # what the scheduler has to say of this run, such as how far from proven its solution is


@dataclass(frozen=True)
class Failure:
    """A cell without a result: the scheduler broke a rule, or its code."""

    contender: Contender
    seed: int
    error: str

    def __str__(self) -> str:
        return f"{self.contender.spec}, seed {self.seed}: {self.error}"


def run_cell(
    opened: OpenSetting,
    sequence: Any,
    contender: Contender,
    seed: int,
    *,
    keep: bool = False,
    timed: bool = False,
) -> Row | Failure:
    """Run it.  `keep`: return the record too; `timed`: measure decisions even if it runs compiled."""
    seeds = SeedTree(seed)
    timings: dict[str, float] = {}
    try:
        stopwatch = Stopwatch(contender.create())
        rng = seeds.child("scheduler", contender.name)
        world = opened.world(sequence, seeds, record=keep)
        start = time.thread_time()
        result = opened.run(world, stopwatch, rng.generator())
        timings["run_s"] = time.thread_time() - start
        if timed and not stopwatch.calls:  # it ran compiled
            run_python(opened.world(sequence, seeds), stopwatch, rng.generator())
        if stopwatch.calls:
            timings["decision_s"] = stopwatch.spent_s / stopwatch.calls
        kept = replace(opened.record_run(result, contender, seed), solution=stopwatch.proved) if keep else None
        metrics, events, decisions = opened.measure(result)
    except Exception as error:  # a scheduler may be anybody's code; the others shall still finish
        return Failure(contender, seed, _told(error))
    return Row(contender, seed, metrics, events, decisions, timings, kept, stopwatch.note)


class Stopwatch:
    """A scheduler, and the time it takes when it is called from Python, as a live engine would do.

    Counted is the time of this thread on a processor: workers and other programs crowd the machine.
    """

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self.CLAIRVOYANT = getattr(scheduler, "CLAIRVOYANT", False)
        self.spent_s = 0.0
        self.calls = 0

    @property
    def note(self) -> str:
        return str(getattr(self._scheduler, "note", ""))

    @property
    def proved(self) -> Mapping[str, float]:
        """What a solver knows of its solution."""
        return dict(getattr(self._scheduler, "proved", {}))

    def reset(self, info: Any, rng: np.random.Generator) -> None:
        self._scheduler.reset(info, rng)

    def kernel(self) -> Any:
        """What runs compiled, of a scheduler that has it."""
        return self._scheduler.kernel() if hasattr(self._scheduler, "kernel") else None

    def decide(self, view: Any) -> Sequence[Any]:
        start = time.thread_time()
        decisions: Sequence[Any] = self._scheduler.decide(view)
        self.spent_s += time.thread_time() - start
        self.calls += 1
        return decisions


def run_python(world: Any, scheduler: Any, rng: np.random.Generator, decisions: int = TIMED_DECISIONS) -> None:
    """The first so many decisions, uncompiled."""
    scheduler.reset(world.info_for(scheduler), rng)
    view = world.advance()
    for _ in range(decisions):
        if view is None:
            return
        world.apply(scheduler.decide(view))
        view = world.advance()


def _told(error: Exception) -> str:
    """The error in one line; for foreign code also where it came from."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, DovetailError):
        return text
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{text} ({last.filename}, line {last.lineno}, in {last.name})"
