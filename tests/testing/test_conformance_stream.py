"""Each check of the stream conformance kit finds what it is there to find."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.sim.stream import StreamOptions, StreamWorld
from dovetail.testing import check_scheduler, check_workload, check_world
from dovetail.testing.conformance_stream import check_settles
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_source import StreamSource, open_stream

# --- schedulers ---


class InTurn:
    """The first operator has one instance and two in turn."""

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self.info = info

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        other = 2 if view.parallelism[0] == 1 else 1
        return [StreamDecision(0, other, Reason.DRAWN_AT_RANDOM)]


class HoldsStill(InTurn):
    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return ()


@pytest.mark.parametrize("make", [InTurn, HoldsStill])
def test_sound_schedulers_pass(make: type[InTurn]) -> None:
    check_scheduler(make, family="stream")


class SaysNothing(InTurn):
    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return [one._replace(reason=Reason.UNSTATED) for one in super().decide(view)]


class SaysNonsense(InTurn):
    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return [one._replace(reason=77) for one in super().decide(view)]


class SaysSomethingElse(InTurn):
    def decide(self, view: StreamView) -> Any:
        return [tuple(one) for one in super().decide(view)]


class Writes(InTurn):
    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        decisions = super().decide(view)
        mine = view.op_rate.base if view.op_rate.base is not None else view.op_rate
        mine.flags.writeable = view.op_rate.flags.writeable = True
        view.op_rate[-1, -1] += 1.0
        view.op_rate.flags.writeable = False
        return decisions


class Invalid(InTurn):
    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return [StreamDecision(len(view.parallelism), 1, Reason.DRAWN_AT_RANDOM)]


class TooMany(InTurn):
    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return [StreamDecision(i, int(most), Reason.IDLE) for i, most in enumerate(self.info.operator_max)]


class Counts(InTurn):
    asked = 0

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        self.asked += 1
        return super().decide(view) if self.asked % 2 else ()


class Remembers(InTurn):
    runs = 0

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self.runs += 1

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        return super().decide(view) if self.runs == 1 else ()


class UsesGlobalChance(InTurn):
    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        np.random.random()  # noqa: NPY002 - this is the fault


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (SaysNothing, "must say why"),
        (SaysNonsense, "77 is not a Reason"),
        (SaysSomethingElse, "is not a StreamDecision"),
        (Writes, r"decide\(\) changed view.op_rate"),
        (Invalid, "no operator"),
        (TooMany, "slots"),
        (Counts, "asked again"),
        (Remembers, r"reset\(\) did not forget"),
        (UsesGlobalChance, "global random state"),
    ],
)
def test_faulty_schedulers_are_found(make: type[InTurn], text: str) -> None:
    state = np.random.get_state()  # noqa: NPY002
    with pytest.raises(AssertionError, match=text):
        check_scheduler(make, family="stream")
    np.random.set_state(state)  # noqa: NPY002


def test_flapping_is_found() -> None:
    check_settles(HoldsStill)
    with pytest.raises(AssertionError, match="although the rate does not change"):
        check_settles(InTurn)


# --- worlds ---


class Wrapped:
    """A sound world; faulty ones override a method."""

    def __init__(self, workload: StreamWorkload, options: StreamOptions, seeds: SeedTree) -> None:
        self.world = StreamWorld(workload, options, seeds)
        self.views = 0

    def advance(self) -> StreamView | None:
        view = self.world.advance()
        self.views += 1
        return None if view is None else self.show(view)

    def show(self, view: StreamView) -> StreamView | None:
        return view

    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        self.world.apply(decisions)


def locked(values: Any) -> Any:
    values.flags.writeable = False
    return values


class Writable(Wrapped):
    def show(self, view: StreamView) -> StreamView:
        return view._replace(op_busy=view.op_busy.copy())


class StandsStill(Wrapped):
    def show(self, view: StreamView) -> StreamView:
        return view._replace(time_s=0.0)


class Forgets(Wrapped):
    def show(self, view: StreamView) -> StreamView:
        return view._replace(op_rate=locked(view.op_rate[1:].copy()))


class Overworked(Wrapped):
    def show(self, view: StreamView) -> StreamView:
        return view._replace(op_busy=locked(view.op_busy + 1.0))


class DoesOtherwise(Wrapped):
    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        self.world.apply(decisions if len(decisions) < 2 else decisions[:1])


class EndsEarly(Wrapped):
    def show(self, view: StreamView) -> StreamView | None:
        return view if view.time_s < 10_000.0 else None


class TakesAnything(Wrapped):
    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        with suppress(InvalidDecision):
            self.world.apply(decisions)


class RefusesEverything(Wrapped):
    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        raise InvalidDecision("no")


class ChangesOnRefusal(Wrapped):
    refused = 0

    def show(self, view: StreamView) -> StreamView:
        return view._replace(op_queued=locked(view.op_queued + self.refused))

    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        try:
            self.world.apply(decisions)
        except InvalidDecision:
            self.refused += 1
            raise


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Writable, "view.op_busy can be written to"),
        (StandsStill, "not an interval apart"),
        (Forgets, "view.op_rate has the shape"),
        (Overworked, "more than all of the time"),
        (DoesOtherwise, "not what was decided|took invalid decisions"),
        (EndsEarly, "came to an end"),
        (TakesAnything, "the world took invalid decisions"),
        (RefusesEverything, "refused valid decisions: no"),
        (ChangesOnRefusal, "the world refused .* but view.op_queued has changed"),
    ],
)
def test_faulty_worlds_are_found(make: type[Wrapped], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_world(make, family="stream")


def test_a_sound_world_passes() -> None:
    check_world(Wrapped, family="stream")


# --- workloads ---


class Spoilt(StreamSource):
    """A source whose sequences are changed by `spoil`."""

    drawn = 0

    def sequence(self, *args: Any) -> StreamWorkload:
        object.__setattr__(self, "drawn", self.drawn + 1)
        return self.spoil(super().sequence(*args))

    def spoil(self, workload: StreamWorkload) -> StreamWorkload:
        return workload


class OtherRates(Spoilt):
    def spoil(self, workload: StreamWorkload) -> StreamWorkload:
        return replace(workload, rate=workload.rate + self.drawn)


class TooShort(Spoilt):
    def spoil(self, workload: StreamWorkload) -> StreamWorkload:
        return replace(workload, rate=workload.rate[:, 1:])


class Impossible(Spoilt):
    def spoil(self, workload: StreamWorkload) -> StreamWorkload:
        return replace(workload, op_start=workload.op_max + 1)


@pytest.mark.parametrize(
    ("make", "text"),
    [(OtherRates, "another rate"), (TooShort, "s of rates; expected"), (Impossible, "op_start")],
)
def test_faulty_workloads_are_found(make: type[Spoilt], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check_workload(make(**vars(open_stream("small-1"))), family="stream")


def test_a_sound_workload_passes() -> None:
    check_workload(Spoilt(**vars(open_stream("small-1"))), family="stream")
