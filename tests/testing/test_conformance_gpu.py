"""Each check of the gpu conformance kit finds what it is there to find."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuKernel, GpuView, Place, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuWorld
from dovetail.testing import check_scheduler, check_workload, check_world
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_source import GpuSource, open_gpu

# --- schedulers ---


class Eager:
    """First come, first fit, by hand; its kernel is that of the real one."""

    def __init__(self) -> None:
        self.real = SCHEDULERS.create("gpu/fifo+first-fit")

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self.real.reset(info, rng)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return list(self.real.decide(view))


class WithKernel(Eager):
    def kernel(self) -> GpuKernel | None:
        return self.real.kernel()


@pytest.mark.parametrize("make", [Eager, WithKernel])
def test_sound_schedulers_pass(make: type[Eager]) -> None:
    check_scheduler(make, family="gpu")


class SaysNothing(Eager):
    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return [one._replace(reason=Reason.UNSTATED) for one in super().decide(view)]


class SaysNotWhere(Eager):
    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return [one._replace(place=Place.UNSTATED) for one in super().decide(view)]


class SaysNonsense(Eager):
    def decide(self, view: GpuView) -> Any:
        return [one._replace(reason=77) for one in super().decide(view)]


class SaysSomethingElse(Eager):
    def decide(self, view: GpuView) -> Any:
        return [tuple(one) for one in super().decide(view)]


class Writes(Eager):
    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        decisions = super().decide(view)
        view.machine_cpus_free.base.flags.writeable = True  # type: ignore[union-attr]
        view.machine_cpus_free.flags.writeable = True
        view.machine_cpus_free[0] += 1
        return decisions


class Invalid(Eager):
    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return [
            *super().decide(view),
            GpuDecision(10**6, np.zeros(1, np.int64), False, Reason.SHORTEST, Place.BEST_FIT),
        ]


class Lazy(Eager):
    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return []


class Remembers(Eager):
    """Says in which of its runs it is."""

    runs = 0

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self.runs += 1

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        decisions = super().decide(view)
        return [one._replace(priority=float(self.runs)) for one in decisions]


class Rolls(Eager):
    dice = np.random.default_rng(0)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return [one._replace(affinity=self.dice.random()) for one in super().decide(view)]


class RollsGlobally(Eager):
    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        np.random.random()  # noqa: NPY002 - that is what is found
        return super().decide(view)


class OtherKernel(Eager):
    def kernel(self) -> GpuKernel | None:
        other = SCHEDULERS.create("gpu/sjf+load-balance")
        other.reset(self.info, np.random.default_rng(0))
        return other.kernel()

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        self.info = info


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (SaysNothing, "must say why: give it a Reason"),
        (SaysNotWhere, "must say why there: give it a Place"),
        (SaysNonsense, "is not a Reason"),
        (SaysSomethingElse, "is not a GpuDecision"),
        (Writes, "changed view.machine_cpus_free"),
        (Invalid, "no such job"),
        (Lazy, "stalled"),
        (Remembers, "did not forget"),
        (Rolls, "the same seed gave other decisions"),
        (RollsGlobally, "global random state"),
        (OtherKernel, "Python says|Python places"),
    ],
)
def test_unsound_schedulers_are_found(make: type[Eager], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_scheduler(make, family="gpu")


# --- worlds ---


class Careless(GpuWorld):
    """Takes whatever it is told."""

    def apply(self, decisions: Sequence[GpuDecision]) -> None:
        with suppress(InvalidDecision):
            super().apply(decisions)


class Hasty(GpuWorld):
    """Carries out what comes before the refused decision."""

    def apply(self, decisions: Sequence[GpuDecision]) -> None:
        try:
            super().apply(decisions)
        except InvalidDecision:
            if len(decisions) > 1:
                super().apply(decisions[:-1])
            raise


class Writable(GpuWorld):
    def advance(self) -> GpuView | None:
        view = super().advance()
        return None if view is None else GpuView(*(part if np.isscalar(part) else np.array(part) for part in view))


class Forgetful(GpuWorld):
    """Loses the last job."""

    def __init__(self, workload: GpuWorkload, *rest: Any) -> None:
        super().__init__(workload.take(slice(0, workload.num_jobs - 1)), *rest)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Careless, "took invalid decisions"),
        (Hasty, "has changed|the world ended"),
        (Writable, "can be written to"),
        (Forgetful, "without starting jobs"),
    ],
)
def test_unsound_worlds_are_found(make: Any, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_world(make, family="gpu")


# --- workloads ---


class Moving(GpuSource):
    calls = 0

    def sequence(self, *given: Any) -> GpuWorkload:
        Moving.calls += 1
        work = super().sequence(*given)
        return replace(work, work_s=work.work_s + Moving.calls)


class Backwards(GpuSource):
    def sequence(self, *given: Any) -> GpuWorkload:
        work = super().sequence(*given)
        return replace(work, arrival_s=work.arrival_s[::-1])


class TooLarge(GpuSource):
    def sequence(self, *given: Any) -> GpuWorkload:
        work = super().sequence(*given)
        return replace(work, gpus=np.full(work.num_jobs, 64.0))


@pytest.mark.parametrize(
    ("kind", "says"),
    [(Moving, "gave another work_s"), (Backwards, "not in order of arrival"), (TooLarge, "can never start")],
)
def test_unsound_workloads_are_found(kind: type[GpuSource], says: str) -> None:
    sound = open_gpu("small")
    source = kind(sound.name, sound.jobs, sound.cluster, sound.arrivals, sound.generator, sound.generator_name)
    with pytest.raises(AssertionError, match=says):
        check_workload(source, family="gpu")
