"""Which decisions a round allows, and how many executors each of them gives.

Decisions are carried out whole or not at all, so they are first played through on a draft of the round.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import NamedTuple

from dovetail.core.dag import DagDecision, ExecutorClass
from dovetail.core.errors import InvalidDecision
from dovetail.execution.controller.state import Executor, Job, Round, Stage


class Gift(NamedTuple):
    """A decision that was found valid: how many executors of each class go to the stage."""

    stage: Stage
    by_class: list[tuple[int, int]]  # (class, executors), in the order in which classes are taken
    on_offer: int  # before
    limit: int
    executor_class: int  # asked for, -1: any
    reason: int

    @property
    def given(self) -> int:
        return sum(count for _, count in self.by_class)


class Referee:
    def __init__(self, classes: Sequence[ExecutorClass]) -> None:
        self._classes = classes
        self._executors = sum(kind.count for kind in classes)
        # the smallest memory first, then the smallest cpu, then the lowest number
        self._class_order = sorted(range(len(classes)), key=lambda c: (classes[c].memory, classes[c].cpu, c))

    def fits(self, executor_class: int, stage: Stage) -> bool:
        kind = self._classes[executor_class]
        return kind.cpu >= stage.spec.cpus and kind.memory >= stage.spec.memory_gb

    def check(self, round_: Round, stages: Sequence[Stage], decisions: Sequence[DagDecision]) -> list[Gift]:
        """What the decisions give, one after the other; `stages` are those of the view."""
        draft = _Draft(round_)
        gifts = []
        for decision in decisions:
            try:
                number, limit, executor_class, reason = map(index, decision)
            except (TypeError, ValueError):
                raise InvalidDecision(f"expected a DagDecision of whole numbers, not {decision!r}") from None
            if not 0 <= number < len(stages):
                raise InvalidDecision(f"stage {number} is not in the view, which has {len(stages)}")
            gift = self._gift(draft, stages[number], limit, executor_class, reason)
            draft.pencil_in(gift)
            gifts.append(gift)
        return gifts

    def _gift(self, draft: _Draft, stage: Stage, limit: int, asked: int, reason: int) -> Gift:
        where = f"stage {stage.spec.name!r} of job {stage.job.number}"
        if not -1 <= asked < len(self._classes):
            raise InvalidDecision(f"executor class {asked} is unknown; there are {len(self._classes)}")
        unclaimed = draft.unclaimed(stage)
        if not unclaimed or stage in draft.chosen or any(draft.unclaimed(parent) for parent in stage.parents):
            raise InvalidDecision(f"{where} may not be chosen now; see stage_valid")
        if limit > self._executors:
            raise InvalidDecision(f"the limit is {limit}, but the cluster has {self._executors} executors")
        fitting = [c for c in self._class_order if asked in (-1, c) and draft.on_offer[c] and self.fits(c, stage)]
        available = sum(draft.on_offer[c] for c in fitting)
        held = draft.held(stage.job)
        wanted = min(limit - held, available, unclaimed)
        if wanted < 1:
            raise InvalidDecision(
                f"{where} would get no executor: the limit is {limit}, its job holds {held}, {available} on offer fit"
            )
        taken = dict.fromkeys(fitting, 0)
        if draft.leaver is not None and draft.leaver.executor_class in taken:  # the one free now goes first
            taken[draft.leaver.executor_class] = 1
            wanted -= 1
        for c in fitting:
            more = min(wanted, draft.on_offer[c] - taken[c])
            taken[c] += more
            wanted -= more
        by_class = [(c, count) for c, count in taken.items() if count]
        return Gift(stage, by_class, sum(draft.on_offer), limit, asked, reason)


class _Draft:
    """A round as it would be after the decisions looked at so far."""

    def __init__(self, round_: Round) -> None:
        self._job = round_.job
        self._from_group = round_.group is not None
        self.on_offer = list(round_.on_offer)
        self.leaver: Executor | None = round_.leaver
        self.chosen = set(round_.chosen)
        self._claimed: dict[Stage, int] = {}  # tasks that those decisions start or reserve
        self._gained: dict[Job, int] = {}

    def unclaimed(self, stage: Stage) -> int:
        return max(0, stage.unclaimed - self._claimed.get(stage, 0))

    def held(self, job: Job) -> int:
        here = job.at_home + job.moving_here + job.promised_here - job.promised_away + self._gained.get(job, 0)
        return here - sum(self.on_offer) if job is self._job else here

    def pencil_in(self, gift: Gift) -> None:
        stage, given = gift.stage, 0
        for c, count in gift.by_class:
            self.on_offer[c] -= count
            given += count
            if not self._from_group and self.leaver is not None and self.leaver.executor_class == c:
                self.leaver = None
        self.chosen.add(stage)
        self._claimed[stage] = self._claimed.get(stage, 0) + given
        if stage.job is not self._job:
            self._gained[stage.job] = self._gained.get(stage.job, 0) + given
            if self._job is not None:
                self._gained[self._job] = self._gained.get(self._job, 0) - given
