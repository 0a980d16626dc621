"""What a scheduler, a world and a workload of the stream family must do.  `conformance` is the way in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.protocols import World
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import WEEK_S, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.sim.stream import StreamOptions, StreamResult, StreamScheduler, StreamWorld
from dovetail.testing.conformance import global_random_state
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_source import StreamSource, open_stream

HOUR_S = 3600.0
SETTLED = 24
"""Intervals after which a scheduler has found what is right for a rate that does not change."""


class Case(NamedTuple):
    """A short run: what goes into a world but for its seeds."""

    workload: StreamWorkload
    options: StreamOptions


def small_cases(seed: int = 0) -> list[Case]:
    """A handful: hourly and every minute, several jobs with few slots, more than can be processed, nothing at all."""
    seeds = SeedTree(seed).child("conformance")
    hourly, often = StreamOptions(), StreamOptions(interval_s=60.0, history=20)
    plain = open_stream("small-1").sequence(10 * HOUR_S, seeds.child("hourly"))
    shared = open_stream("shared").sequence(8 * HOUR_S, seeds.child("shared"))
    shared = replace(shared, slots=int(shared.op_start.sum()) + 4)
    minutes = open_stream("nexmark-q3").sequence(HOUR_S, seeds.child("minutes"))
    flood = replace(minutes, rate=minutes.rate * np.linspace(0.0, 20.0, minutes.rate.shape[1]))
    silent = replace(plain, rate=np.zeros_like(plain.rate))
    return [
        Case(plain, hourly),
        Case(shared, hourly),
        Case(minutes, often),
        Case(flood, StreamOptions(interval_s=300.0)),
        Case(silent, hourly),
    ]


def check_scheduler(make: Callable[[], StreamScheduler], *, seed: int = 0) -> None:
    """A scheduler is valid, deterministic, forgets at `reset`, leaves the view alone, says why, and says the same again
    when it is asked again."""
    for number, case in enumerate(small_cases(seed)):
        seeds = SeedTree(seed).child("world", number)
        scheduler = make()
        first, again, other = (_run(one, StreamWorld(*case, seeds), seeds) for one in (scheduler, scheduler, make()))
        assert _said(first) == _said(other), "the same seed gave other decisions"
        assert _said(first) == _said(again), "reset() did not forget: a second run took other decisions"


def check_settles(make: Callable[[], StreamScheduler], *, interval_s: float = HOUR_S) -> Ints:
    """At a rate that does not change, and without noise, a scheduler comes to rest; with which parallelism."""
    bins = int(2 * SETTLED * interval_s / 60.0)
    workload = open_stream("small-1").sequence(60.0 * bins, SeedTree(0))
    workload = replace(workload, rate=np.full((1, bins), float(workload.rate.mean())))
    world = StreamWorld(workload, StreamOptions(interval_s=interval_s, noise=0.0), SeedTree(0))
    result = _run(make(), world, SeedTree(0))
    late = np.flatnonzero(result.rescaled.any(axis=1))
    assert not (late >= SETTLED).any(), f"rescaled in intervals {late.tolist()} although the rate does not change"
    last: Ints = result.parallelism[-1]
    return last


def check_world(make: Callable[[StreamWorkload, StreamOptions, SeedTree], World[StreamView, StreamDecision]]) -> None:
    """A world offers valid read-only views, refuses what is invalid without changing, does as it is told, and ends."""
    for number, case in enumerate(small_cases()):
        workload, options = case
        world, rng = make(workload, options, SeedTree(number)), np.random.default_rng(number)
        info = StreamWorld(workload, options, SeedTree(number)).info
        expected, time_s = workload.op_start, 0.0
        asked = int(workload.duration_s / options.interval_s + 1e-9) - 1
        for _ in range(asked):
            view = world.advance()
            assert view is not None, f"the world came to an end at {time_s:g} s; expected {asked} decisions"
            assert abs(view.time_s - time_s - options.interval_s) < 1e-6, "decisions are not an interval apart"
            time_s = view.time_s
            _check_view(view, case)
            assert np.array_equal(view.parallelism, expected), "the parallelism is not what was decided"
            decisions = _drawn(view, info, rng)
            for wrong in _invalid(view, info, decisions):
                _must_refuse(world, view, wrong)
            expected = view.parallelism.copy()
            for decision in decisions:
                expected[decision.operator] = decision.parallelism
            try:
                world.apply(decisions)
            except InvalidDecision as error:
                raise AssertionError(f"the world refused valid decisions: {error}") from error
        assert world.advance() is None, "the world does not come to an end"


def check_workload(source: StreamSource) -> None:
    """The same seed gives the same sequence, of jobs that a world takes."""
    duration_s = min(source.duration_s, 4 * HOUR_S)
    first, again = (source.sequence(duration_s, SeedTree(5)) for _ in range(2))
    for name in ("rate", "clock_s", "op_service_s", "op_selectivity", "op_max", "op_start", "edge_from", "edge_to"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), f"the same seed gave another {name}"
    assert abs(first.duration_s - duration_s) < 1e-6, f"{first.duration_s:g} s of rates; expected {duration_s:g} s"
    assert first.num_jobs == source.jobs, f"{first.num_jobs} jobs; expected {source.jobs}"
    try:
        StreamWorld(first, StreamOptions(), SeedTree(0))
    except ConfigError as error:
        raise AssertionError(str(error)) from error


# --- schedulers ---------------------------------------------------------------------------------------------------


def _run(scheduler: StreamScheduler, world: StreamWorld, seeds: SeedTree) -> StreamResult:
    """Run to the end with every assumption about a scheduler checked at every decision."""
    state = global_random_state()
    scheduler.reset(world.info_for(scheduler), seeds.child("scheduler").generator())
    while (view := world.advance()) is not None:
        before = [np.array(part) for part in view]
        decisions = scheduler.decide(view)
        for decision in decisions:
            _check_decision(decision)
        assert repr(list(decisions)) == repr(list(scheduler.decide(view))), "asked again, it decided something else"
        for name, part, old in zip(view._fields, view, before, strict=True):
            assert np.array_equal(np.asarray(part), old), f"decide() changed view.{name}"
        try:
            world.apply(decisions)
        except InvalidDecision as error:
            raise AssertionError(str(error)) from error
    assert global_random_state() == state, "decide() or reset() used numpy's global random state"
    return world.result()


def _check_decision(decision: Any) -> None:
    assert isinstance(decision, StreamDecision), f"{decision!r} is not a StreamDecision"
    assert decision.reason in Reason.__members__.values(), f"{decision.reason!r} is not a Reason"
    assert decision.reason != Reason.UNSTATED, "a decision must say why: give it a Reason"


def _said(result: StreamResult) -> tuple[str, bytes]:
    """Decisions, and what came of them: as text, so that what was not said (nan) is equal to itself."""
    return repr(result.decision_rows), result.parallelism.tobytes()


# --- worlds -------------------------------------------------------------------------------------------------------


def _check_view(view: StreamView, case: Case) -> None:
    for name, part in zip(view._fields, view, strict=True):
        assert not (isinstance(part, np.ndarray) and part.flags.writeable), f"view.{name} can be written to"
    workload, options = case
    rows = min(options.history, round(view.time_s / options.snapshot_s))
    for name, part in view._asdict().items():
        if name.startswith("op_") or name in ("job_rate", "job_latency_s", "job_lag", "job_down_share"):
            columns = workload.num_operators if name.startswith("op_") else workload.num_jobs
            assert part.shape == (rows, columns), f"view.{name} has the shape {part.shape}; expected {(rows, columns)}"
            assert np.isfinite(part).all() and part.min() > -1e-6, f"view.{name} is below 0, or no number"
    assert 0.0 <= view.clock_s < WEEK_S, f"clock_s is {view.clock_s}; expected seconds of a week"
    assert (view.op_busy + view.op_blocked <= 1.0 + 1e-6).all(), "busy or held up for more than all of the time"
    assert (view.job_down_share <= 1.0 + 1e-9).all(), "a job stood still for more than all of the time"
    assert ((view.parallelism >= 1) & (view.parallelism <= workload.op_max)).all(), "a parallelism that nobody may have"
    assert int(view.parallelism.sum()) <= workload.slots, "more instances than slots"


def _drawn(view: StreamView, info: StreamInfo, rng: np.random.Generator) -> list[StreamDecision]:
    """Now and then nothing; else some operators, within the slots."""
    if rng.random() < 0.3:
        return []
    wanted = view.parallelism.copy()
    for operator in np.flatnonzero(rng.random(len(wanted)) < 0.5).tolist():
        room = int(info.slots - wanted.sum() + wanted[operator])
        wanted[operator] = rng.integers(1, min(int(info.operator_max[operator]), room), endpoint=True)
    # in the order of what is given up first, so that it does not matter whether a world counts as it reads
    order = np.argsort(wanted - view.parallelism, kind="stable").tolist()
    return [
        StreamDecision(i, int(wanted[i]), Reason.DRAWN_AT_RANDOM) for i in order if wanted[i] != view.parallelism[i]
    ]


def _invalid(view: StreamView, info: StreamInfo, valid: Sequence[StreamDecision]) -> Iterator[list[StreamDecision]]:
    """Answers that break one rule each; the valid ones come first in some, so that a world must undo them."""
    count = len(view.parallelism)
    yield [StreamDecision(count, 1)]  # no such operator
    yield [StreamDecision(-1, 1)]
    yield [StreamDecision(0, 0)]
    yield [StreamDecision(0, -1)]
    yield [StreamDecision(0, int(info.operator_max[0]) + 1)]
    yield [StreamDecision(0, 1), StreamDecision(0, 1)]  # named twice
    if valid:
        yield [*valid, valid[0]]
        yield [*valid, StreamDecision(count, 1)]
    if int(info.operator_max.sum()) > info.slots:
        yield [StreamDecision(i, int(most)) for i, most in enumerate(info.operator_max.tolist())]  # too many in all


def _must_refuse(world: World[StreamView, StreamDecision], view: StreamView, decisions: list[StreamDecision]) -> None:
    before = [np.array(part) for part in view]
    try:
        world.apply(decisions)
    except InvalidDecision:
        after = world.advance()
        assert after is not None, f"the world ended when it refused {decisions}"
        for name, part, old in zip(view._fields, after, before, strict=True):
            assert np.array_equal(np.asarray(part), old), f"the world refused {decisions}, but view.{name} has changed"
        return
    raise AssertionError(f"the world took invalid decisions: {decisions}")
