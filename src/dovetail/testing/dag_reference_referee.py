"""Which decisions a round of the dag world allows, and how many executors each of them gives.

A sequence of decisions is carried out whole or not at all, so it is first played through on a draft of the
round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index

from dovetail.core.dag import DagDecision, ExecutorClass
from dovetail.core.errors import InvalidDecision
from dovetail.testing.dag_reference_state import Executor, Job, Round, Stage


@dataclass(eq=False)
class Draft:
    """A round as it would be after the decisions looked at so far."""

    on_offer: list[int]
    chosen: set[Stage]
    leaver: Executor | None
    claimed: Counter[Stage] = field(default_factory=Counter)  # tasks that those decisions start or reserve
    gained: Counter[Job] = field(default_factory=Counter)  # change in executors at home, moving or promised

    @classmethod
    def of(cls, round_: Round) -> Draft:
        return cls(list(round_.on_offer), set(round_.chosen), round_.leaver)


@dataclass(frozen=True, eq=False)
class Gift:
    """A decision that was found valid: how many executors of each class go to the stage."""

    decision: DagDecision
    stage: Stage
    by_class: list[tuple[int, int]]  # (class, executors), in the order in which classes are taken
    on_offer: int  # before this decision

    @property
    def given(self) -> int:
        return sum(count for _, count in self.by_class)


def whole_numbers(decision: DagDecision) -> DagDecision:
    """The decision, if it is one: four fields, each a whole number."""
    try:
        return DagDecision._make(map(index, decision))
    except TypeError:
        raise InvalidDecision(f"expected a DagDecision of whole numbers, not {decision!r}") from None


class Referee:
    def __init__(self, classes: Sequence[ExecutorClass], parked_reserve_nothing: bool) -> None:
        self._classes = classes
        self._parked_reserve_nothing = parked_reserve_nothing
        # smallest memory first, then smallest cpu, then lowest number
        self._class_order = sorted(range(len(classes)), key=lambda c: (classes[c].memory, classes[c].cpu, c))

    def may_be_chosen(self, draft: Draft, v: Stage) -> bool:
        def saturated(stage: Stage) -> bool:
            return stage.unclaimed <= draft.claimed[stage]

        return (
            not saturated(v)
            and all(saturated(parent) for parent in v.parents)
            and v not in draft.chosen
            and any(draft.on_offer[c] and self._fits(c, v) for c in self._class_order)
        )

    def held(self, round_: Round, draft: Draft, job: Job) -> int:
        unassigned = sum(draft.on_offer) if job is round_.job else 0
        here = job.at_home + job.moving_here + job.promised_here - job.promised_away
        return here + draft.gained[job] - unassigned

    def check(self, round_: Round, stages: Sequence[Stage], decisions: Sequence[DagDecision]) -> list[Gift]:
        """What the decisions give, one after the other; `stages` are those of the view."""
        draft = Draft.of(round_)
        gifts = []
        for decision in map(whole_numbers, decisions):
            if not 0 <= decision.stage < len(stages):
                raise InvalidDecision(f"stage {decision.stage} is not in the view, which has {len(stages)}")
            gift = self._gift(round_, draft, decision, stages[decision.stage])
            self._pencil_in(round_, draft, gift)
            gifts.append(gift)
        return gifts

    def _fits(self, executor_class: int, v: Stage) -> bool:
        kind = self._classes[executor_class]
        return kind.cpu >= v.cpu and kind.memory >= v.memory

    def _gift(self, round_: Round, draft: Draft, decision: DagDecision, v: Stage) -> Gift:
        where = f"stage {v.id} of job {v.job.number} (index {decision.stage})"
        asked = decision.executor_class
        if not -1 <= asked < len(self._classes):
            raise InvalidDecision(f"executor class {asked} is unknown; there are {len(self._classes)}")
        if not self.may_be_chosen(draft, v):
            raise InvalidDecision(f"{where} may not be chosen now; see stage_valid")
        cluster = sum(kind.count for kind in self._classes)
        if decision.limit > cluster:
            raise InvalidDecision(f"the limit is {decision.limit}, but the cluster has {cluster} executors")
        fitting = [c for c in self._class_order if self._fits(c, v) and asked in (-1, c)]
        available = sum(draft.on_offer[c] for c in fitting)
        held = self.held(round_, draft, v.job)
        wanted = min(decision.limit - held, available, v.unclaimed - draft.claimed[v])
        if wanted < 1:
            raise InvalidDecision(
                f"{where} would get no executor: the limit is {decision.limit}, its job holds {held}, and "
                f"{available} on offer are of {'a class that fits' if asked < 0 else f'class {asked}'}"
            )
        taken = dict.fromkeys(fitting, 0)
        if draft.leaver is not None and draft.leaver.executor_class in fitting:  # the one free now goes first
            taken[draft.leaver.executor_class] = 1
            wanted -= 1
        for c in fitting:
            more = min(wanted, draft.on_offer[c] - taken[c])
            taken[c] += more
            wanted -= more
        by_class = [(c, count) for c, count in taken.items() if count]
        return Gift(decision, v, by_class, sum(draft.on_offer))

    def _pencil_in(self, round_: Round, draft: Draft, gift: Gift) -> None:
        """Note on the draft what carrying out the gift will change."""
        v = gift.stage
        draft.chosen.add(v)
        for c, count in gift.by_class:
            draft.on_offer[c] -= count
        dispatched = gift.given
        if round_.group is None:
            takes_leaver = draft.leaver is not None and draft.leaver.executor_class in dict(gift.by_class)
            draft.leaver = None if takes_leaver else draft.leaver
            dispatched = 1 if takes_leaver else 0  # the others become commitments
        parks = v.job is round_.job and not v.ready
        unreserved = dispatched if parks and self._parked_reserve_nothing else 0
        draft.claimed[v] += gift.given - unreserved
        if v.job is not round_.job:
            draft.gained[v.job] += gift.given
            if round_.job is not None:
                draft.gained[round_.job] -= gift.given
