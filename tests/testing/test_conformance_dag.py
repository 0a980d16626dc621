"""Each check of the conformance kit finds what it is there to find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, Floats, Ints, Reason
from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagWorld
from dovetail.testing import check_scheduler, check_workload, check_world, conformance_dag
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import DagSource, open_source

# --- schedulers ---


def first_valid(view: DagView) -> DagDecision:
    stage = int(np.argmax(view.stage_valid))
    limit = int(view.job_executors[view.stage_job[stage]]) + 1
    return DagDecision(stage, limit, reason=Reason.FIRST_ARRIVED)


class Sound:
    """One executor to the first stage that may be chosen; passes, and is what the others spoil."""

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None: ...

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        return [first_valid(view)]


def spoilt(change: Callable[[DagView, DagDecision], Any]) -> Callable[[], Sound]:
    class Spoilt(Sound):
        def decide(self, view: DagView) -> Any:
            return change(view, first_valid(view))

    return Spoilt


def write_to_view(view: DagView, decision: DagDecision) -> list[DagDecision]:
    view.stage_mean_s.base[...] = 7.0  # the buffer behind the read-only array
    return [decision]


def use_global_chance(view: DagView, decision: DagDecision) -> list[DagDecision]:
    np.random.random()  # noqa: NPY002 - this is what is forbidden
    return [decision]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda view, decision: [tuple(decision)], "is not a DagDecision"),
        (lambda view, decision: [None], "None is not a DagDecision"),
        (lambda view, decision: [decision._replace(reason=99)], "99 is not a Reason"),
        (lambda view, decision: [decision._replace(reason=Reason.UNSTATED)], "must say why"),
        (lambda view, decision: [decision._replace(limit=0)], "the limit must be above"),
        (lambda view, decision: [decision._replace(limit=1000)], "the limit must not be above"),
        (lambda view, decision: [decision._replace(limit=decision.limit + 0.5)], "all whole numbers"),
        (lambda view, decision: [decision, decision], "already chosen in this round"),
        (lambda view, decision: [], "the scheduler declines"),
        (write_to_view, r"decide\(\) changed view.stage_mean_s"),
        (use_global_chance, "global random state"),
    ],
)
def test_wrong_decisions_are_found(change: Callable[[DagView, DagDecision], Any], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_scheduler(spoilt(change))


def test_a_scheduler_with_chance_of_its_own_is_found() -> None:
    chance = np.random.default_rng(1)  # goes on from run to run

    def any_valid(view: DagView, decision: DagDecision) -> list[DagDecision]:
        stage = int(chance.choice(np.flatnonzero(view.stage_valid)))
        limit = int(view.job_executors[view.stage_job[stage]]) + 1
        return [DagDecision(stage, limit, reason=Reason.DRAWN_AT_RANDOM)]

    with pytest.raises(AssertionError, match="the same seed gave other decisions"):
        check_scheduler(spoilt(any_valid))


def first_valid_kernel(view: DagView, params: Floats, state: Ints, out: Ints) -> int:
    """What `Sound` does, unless a parameter asks for a fault."""
    unclaimed = 0
    claimed = 0
    for v in range(view.stage_valid.size):
        if view.stage_unclaimed[v] > 0:
            unclaimed += 1
            claimed += view.stage_left[v] - view.stage_unclaimed[v]
    if params[0] == 3.0 and unclaimed == 1 and claimed > 0:
        return 0  # nothing but the last stage is left, and it gets done without help
    for v in range(view.stage_valid.size):
        if view.stage_valid[v]:
            out[0] = v
            out[1] = view.job_executors[view.stage_job[v]] + 1
            out[2] = -1
            out[3] = 1
            if params[0] == 1.0:
                out[3] = 2
            if params[0] == 2.0:
                out[1] = 0
            return 1
    return 0


class Compiled(Sound):
    def __init__(self, fault: float) -> None:
        self.fault = fault

    def kernel(self) -> DagKernel:
        return DagKernel(first_valid_kernel, np.array([self.fault]), np.zeros(1, np.int64))


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (1.0, "decision 0: Python says .*, the kernel says "),
        (2.0, "the kernel: .*the limit must be above"),
        (3.0, r"\d+ decisions in Python, \d+ by the kernel"),
    ],
)
def test_a_kernel_that_disagrees_is_found(fault: float, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_scheduler(lambda: Compiled(fault))


def test_sound_schedulers_pass() -> None:
    check_scheduler(Sound)
    check_scheduler(lambda: Compiled(0.0))


# --- worlds ---


class Wrapped:
    """A sound world; faulty ones override a method."""

    def __init__(self, workload: DagWorkload, options: DagOptions, seeds: SeedTree) -> None:
        self.world = DagWorld(workload, options, seeds)
        self.views = 0

    def advance(self) -> DagView | None:
        view = self.world.advance()
        self.views += 1
        return None if view is None else self.show(view)

    def show(self, view: DagView) -> DagView | None:
        return view

    def apply(self, decisions: Sequence[DagDecision]) -> None:
        self.world.apply(decisions)


class BackInTime(Wrapped):
    def show(self, view: DagView) -> DagView:
        return view._replace(time_s=-view.time_s)


class Writable(Wrapped):
    def show(self, view: DagView) -> DagView:
        return view._replace(job_weight=view.job_weight.copy())


class NothingToChoose(Wrapped):
    def show(self, view: DagView) -> DagView:
        none = np.zeros_like(view.stage_valid)
        none.flags.writeable = False
        return view._replace(stage_valid=none)


class NothingOnOffer(Wrapped):
    def show(self, view: DagView) -> DagView:
        return view._replace(source_executors=0)


class EndsEarly(Wrapped):
    def show(self, view: DagView) -> DagView | None:
        return view if self.views < 20 else None


class NeverEnds(Wrapped):
    """Checks decisions but carries out none."""

    def apply(self, decisions: Sequence[DagDecision]) -> None:
        try:
            self.world.apply([*decisions, DagDecision(-1, 1)])
        except InvalidDecision as error:
            if "stage -1" not in str(error) or len(decisions) > 1:
                raise


class TakesAnything(Wrapped):
    def apply(self, decisions: Sequence[DagDecision]) -> None:
        with suppress(InvalidDecision):
            self.world.apply(decisions)


class RefusesEverything(Wrapped):
    def apply(self, decisions: Sequence[DagDecision]) -> None:
        raise InvalidDecision("no")


class StopsAtTheFirstInvalid(Wrapped):
    """Carries out what comes before it."""

    def apply(self, decisions: Sequence[DagDecision]) -> None:
        for decision in decisions:
            self.world.apply([decision])
            self.world.advance()


class EndsOnRefusal(Wrapped):
    refused = False

    def show(self, view: DagView) -> DagView | None:
        return None if self.refused else view

    def apply(self, decisions: Sequence[DagDecision]) -> None:
        try:
            self.world.apply(decisions)
        except InvalidDecision:
            self.refused = True
            raise


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (BackInTime, "time went backwards"),
        (Writable, "view.job_weight can be written to"),
        (NothingToChoose, "no stage may be chosen"),
        (NothingOnOffer, "nothing is on offer"),
        (EndsEarly, r"without a decision for jobs \["),
        (NeverEnds, "does not come to an end"),
        (TakesAnything, "the world took invalid decisions"),
        (RefusesEverything, "refused a valid decision: no"),
        (StopsAtTheFirstInvalid, r"the world refused .* but view\.\w+ has changed"),
        (EndsOnRefusal, "the world ended when it refused"),
    ],
)
def test_faulty_worlds_are_found(make: type[Wrapped], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance_dag, "MOST_STEPS", 5000)
    with pytest.raises(AssertionError, match=text):
        check_world(make)


def test_a_sound_world_passes() -> None:
    check_world(Wrapped)


# --- workloads ---

SOURCE = open_source("chains")


class Drawing(DagSource):
    """A source whose n-th sequence is changed by `spoil`."""

    drawn = 0

    def sequence(self, num_jobs: int, arrivals: Arrivals, seeds: SeedTree, **more: Any) -> DagWorkload:
        object.__setattr__(self, "drawn", self.drawn + 1)
        return self.spoil(super().sequence(num_jobs, arrivals, seeds, **more))

    def spoil(self, workload: DagWorkload) -> DagWorkload:
        return workload


class OtherArrivals(Drawing):
    def spoil(self, workload: DagWorkload) -> DagWorkload:
        return replace(workload, arrival_s=workload.arrival_s + self.drawn)


class OtherJobs(Drawing):
    def spoil(self, workload: DagWorkload) -> DagWorkload:
        return replace(workload, job_dag=(workload.job_dag + self.drawn) % self.catalogue.num_dags)


class Backwards(Drawing):
    def spoil(self, workload: DagWorkload) -> DagWorkload:
        return replace(workload, arrival_s=workload.arrival_s[::-1])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (OtherArrivals, "the same seed gave other arrivals"),
        (OtherJobs, "the same seed gave other jobs"),
        (Backwards, "jobs are not in order of arrival"),
    ],
)
def test_sequences_that_do_not_repeat_are_found(make: type[Drawing], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_workload(make("odd", SOURCE.catalogue))


def test_an_invalid_catalogue_is_found() -> None:
    no_tasks = replace(SOURCE.catalogue, num_tasks=np.zeros_like(SOURCE.catalogue.num_tasks))
    with pytest.raises(AssertionError, match="stage without tasks"):
        check_workload(DagSource("empty", no_tasks))


def test_a_sound_workload_passes() -> None:
    check_workload(Drawing("sound", SOURCE.catalogue))
