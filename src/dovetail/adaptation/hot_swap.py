"""Changing the composition while work is running: pause, drain, transfer state, rewire, resume.

Tasks live in the world, never in a scheduler, so a swap can neither lose nor repeat one; what could be lost is what a
scheduler remembers: what a part remembers goes to the next composition that has the same part (`core.handover`, which
also serves when a whole scheduler is replaced).  All compositions are made before the run, so a swap is a matter of
microseconds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from dovetail.adaptation.composed import Composed
from dovetail.adaptation.composition import Composition
from dovetail.core.dag import DagDecision, DagInfo, DagView
from dovetail.core.handover import HasState, State
from dovetail.core.protocols import Scheduler
from dovetail.schedulers import SCHEDULERS

DagScheduler = Scheduler[DagInfo, DagView, DagDecision]


def make_scheduler(composition: Composition) -> DagScheduler:
    if composition.whole:
        made: DagScheduler = SCHEDULERS.create(composition.whole)
        return made
    return Composed.of(composition)


class Assembly:
    """All compositions, of which one is wired in.  `decide` and `swap` may be called from different threads."""

    def __init__(self, compositions: Sequence[Composition]) -> None:
        self.compositions = tuple(compositions)
        self._schedulers = [make_scheduler(composition) for composition in compositions]
        self._wired = threading.Lock()  # held while a call is in progress: taking it pauses and drains
        self._shelf: dict[str, object] = {}  # what parts that are not in use remember
        self.active = 0
        self.swaps = 0

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        for scheduler in self._schedulers:
            scheduler.reset(info, rng)
        self._shelf = {}
        self.active = self.swaps = 0

    @property
    def clairvoyant(self) -> bool:
        return any(getattr(scheduler, "CLAIRVOYANT", False) for scheduler in self._schedulers)

    @property
    def batch_s(self) -> float:
        return float(getattr(self._schedulers[self.active], "batch_s", 0.0))

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        with self._wired:
            return self._schedulers[self.active].decide(view)

    def export_state(self) -> State:
        """What any part remembers that was in use."""
        with self._wired:
            active = self._schedulers[self.active]
            return {**self._shelf, **(active.export_state() if isinstance(active, HasState) else {})}

    def import_state(self, state: State) -> Sequence[str]:
        with self._wired:
            taken = dict.fromkeys(
                name
                for scheduler in self._schedulers
                if isinstance(scheduler, HasState)
                for name in scheduler.import_state(state)
            )
            self._shelf.update({name: state[name] for name in taken})
            return tuple(taken)

    def swap(self, to: int) -> None:
        """From now on composition `to` decides.  Waits for a call in progress, never for a task."""
        with self._wired:
            if to == self.active:
                return
            before, after = self._schedulers[self.active], self._schedulers[to]
            if isinstance(before, HasState):
                self._shelf.update(before.export_state())
            if isinstance(after, HasState):
                after.import_state(self._shelf)
            self.active = to
            self.swaps += 1
