"""Each check of the elastic conformance kit finds what it is there to find."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.elastic_toys import SMALL, Eager, Promising, Refuses

from dovetail.core.elastic import ElasticDecision, ElasticInfo, ElasticView, Reason
from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.sim.elastic import ElasticOptions, ElasticWorld
from dovetail.testing import check_scheduler, check_workload, check_world
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_source import ElasticSource, open_elastic

# --- schedulers ---


@pytest.mark.parametrize("make", [Eager, Promising, Refuses])
def test_sound_schedulers_pass(make: type[Eager]) -> None:
    check_scheduler(make, family="elastic")


class SaysNothing(Eager):
    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return [one._replace(reason=Reason.UNSTATED) for one in super().decide(view)]


class SaysNonsense(Eager):
    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return [one._replace(reason=77) for one in super().decide(view)]


class SaysSomethingElse(Eager):
    def decide(self, view: ElasticView) -> Any:
        return [tuple(one) for one in super().decide(view)]


class Writes(Eager):
    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        decisions = super().decide(view)
        view.worker_free.flags.writeable = True
        view.worker_free[0, 0, 0] += 1
        view.worker_free.flags.writeable = False
        return decisions


class Invalid(Eager):
    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return [*super().decide(view), ElasticDecision(len(view.job_id), reason=Reason.FIRST_ARRIVED)]


class Remembers(Eager):
    runs = 0

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self.runs += 1

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return super().decide(view) if self.runs == 1 else ()

    asked = 0


class Differs(Eager):
    made = 0

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        type(self).made += 1

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return super().decide(view) if self.made % 2 else ()


class UsesGlobalChance(Eager):
    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        np.random.random()  # noqa: NPY002 - this is the fault


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (SaysNothing, "must say why"),
        (SaysNonsense, "77 is not a Reason"),
        (SaysSomethingElse, "is not an ElasticDecision"),
        (Writes, r"decide\(\) changed view.worker_free"),
        (Invalid, "no job index"),
        (Remembers, r"reset\(\) did not forget"),
        (Differs, "did not forget|other decisions"),
        (UsesGlobalChance, "global random state"),
    ],
)
def test_faulty_schedulers_are_found(make: type[Eager], text: str) -> None:
    state = np.random.get_state()  # noqa: NPY002
    with pytest.raises(AssertionError, match=text):
        check_scheduler(make, family="elastic")
    np.random.set_state(state)  # noqa: NPY002


# --- worlds ---


class Wrapped:
    """A sound world; faulty ones override a method."""

    def __init__(self, workload: ElasticWorkload, options: ElasticOptions, seeds: SeedTree) -> None:
        self.world = ElasticWorld(workload, options, seeds)
        self.views = 0

    def advance(self) -> ElasticView | None:
        view = self.world.advance()
        self.views += 1
        return None if view is None else self.show(view)

    def show(self, view: ElasticView) -> ElasticView | None:
        return view

    def apply(self, decisions: Sequence[ElasticDecision]) -> None:
        self.world.apply(decisions)


class Writable(Wrapped):
    def show(self, view: ElasticView) -> ElasticView:
        return view._replace(job_work=view.job_work.copy())


class WritablePlan(Wrapped):
    def show(self, view: ElasticView) -> ElasticView:
        return view._replace(booked=view.booked._replace(amount=view.booked.amount.copy()))


class StandsStill(Wrapped):
    def show(self, view: ElasticView) -> ElasticView:
        return view._replace(slot=0)


class TooEarly(Wrapped):
    def show(self, view: ElasticView) -> ElasticView:
        later = view.job_arrival + 50
        later.flags.writeable = False
        return view._replace(job_arrival=later)


class EndsEarly(Wrapped):
    def show(self, view: ElasticView) -> ElasticView | None:
        return view if self.views < 3 else None


class TakesAnything(Wrapped):
    def apply(self, decisions: Sequence[ElasticDecision]) -> None:
        with suppress(InvalidDecision):
            self.world.apply(decisions)


class RefusesEverything(Wrapped):
    def apply(self, decisions: Sequence[ElasticDecision]) -> None:
        raise InvalidDecision("no")


class LosesWork(Wrapped):
    """A worker-slot that was done counts for nothing."""

    def show(self, view: ElasticView) -> ElasticView:
        more = view.job_work_left + (view.slot > view.job_arrival)
        more.flags.writeable = False
        return view._replace(job_work_left=more)


class ChangesOnRefusal(Wrapped):
    refused = 0

    def show(self, view: ElasticView) -> ElasticView:
        freed = view.worker_free + self.refused
        freed.flags.writeable = False
        return view._replace(worker_free=freed)

    def apply(self, decisions: Sequence[ElasticDecision]) -> None:
        try:
            self.world.apply(decisions)
        except InvalidDecision:
            self.refused += 1
            raise


class EndsOnRefusal(ChangesOnRefusal):
    def show(self, view: ElasticView) -> ElasticView | None:
        return None if self.refused else view


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Writable, "view.job_work can be written to"),
        (WritablePlan, "view.booked.amount can be written to"),
        (StandsStill, "time did not go on"),
        (TooEarly, "before it has arrived"),
        (EndsEarly, "the world ended when it refused"),
        (TakesAnything, "the world took invalid decisions"),
        (RefusesEverything, "refused valid decisions: no"),
        (LosesWork, r"worker-slots left, expected"),
        (ChangesOnRefusal, "the world refused .* but view.worker_free has changed"),
        (EndsOnRefusal, "the world ended when it refused"),
    ],
)
def test_faulty_worlds_are_found(make: type[Wrapped], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_world(make, family="elastic")


def test_a_sound_world_passes() -> None:
    check_world(Wrapped, family="elastic")


# --- workloads ---


class Spoilt(ElasticSource):
    """A source whose sequences are changed by `spoil`."""

    drawn = 0

    def sequence(self, *args: Any) -> ElasticWorkload:
        object.__setattr__(self, "drawn", self.drawn + 1)
        return self.spoil(super().sequence(*args))

    def spoil(self, workload: ElasticWorkload) -> ElasticWorkload:
        return workload


class OtherArrivals(Spoilt):
    def spoil(self, workload: ElasticWorkload) -> ElasticWorkload:
        return replace(workload, arrival=workload.arrival + self.drawn)


class Backwards(Spoilt):
    def spoil(self, workload: ElasticWorkload) -> ElasticWorkload:
        return replace(workload, arrival=workload.arrival[::-1].copy())


class TooLate(Spoilt):
    def spoil(self, workload: ElasticWorkload) -> ElasticWorkload:
        return replace(workload, arrival=workload.arrival + workload.slots)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (OtherArrivals, "another arrival"),
        (Backwards, "not in order of arrival"),
        (TooLate, "outside of the horizon"),
    ],
)
def test_faulty_workloads_are_found(make: type[Spoilt], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_workload(make(**vars(open_elastic(SMALL))), family="elastic")


def test_a_sound_workload_passes() -> None:
    check_workload(Spoilt(**vars(open_elastic(SMALL))), family="elastic")
