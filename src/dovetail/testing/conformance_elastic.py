"""What a scheduler, a world and a workload of the elastic family must do.  `conformance` is the way in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import (
    BANDWIDTH,
    SERVER,
    WORKER,
    ElasticDecision,
    ElasticView,
    Floats,
    Plan,
    Reason,
    servers_needed,
)
from dovetail.core.errors import InvalidDecision
from dovetail.core.protocols import World
from dovetail.core.seeds import SeedTree
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticScheduler, ElasticWorld
from dovetail.testing.conformance import global_random_state
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_source import ElasticSource, open_elastic

SMALL = "oasis-small:epochs=[1,4],chunks=[2,6],batches=[5,20],history=30"
"""Jobs of a few dozen worker-slots."""


def small_workloads(seed: int = 0) -> list[tuple[ElasticWorkload, ElasticOptions]]:
    """A handful of short sequences: few jobs with room for all, too many at once, some of them too late."""
    seeds, source = SeedTree(seed).child("conformance"), open_elastic(SMALL)
    few, many = ElasticOptions(ElasticCluster(4, 4)), ElasticOptions(ElasticCluster(1, 2))
    return [
        (source.sequence(4, ElasticArrivals("poisson"), 12, seeds.child("room")), few),
        (source.sequence(6, ElasticArrivals("batch"), 10, seeds.child("crowd")), many),
        (source.sequence(5, ElasticArrivals("uniform", span=1.0), 8, seeds.child("late")), many),
    ]


def check_scheduler(make: Callable[[], ElasticScheduler], *, seed: int = 0) -> None:
    """A scheduler is valid, deterministic, forgets at `reset`, leaves the view alone, and says why."""
    for number, (workload, options) in enumerate(small_workloads(seed)):
        seeds = SeedTree(seed).child("world", number)
        scheduler = make()
        first, again, other = (
            _run(one, ElasticWorld(workload, options, seeds, record=True), seeds)
            for one in (scheduler, scheduler, make())
        )
        assert _said(first) == _said(other), "the same seed gave other decisions"
        assert _said(first) == _said(again), "reset() did not forget: a second run took other decisions"
        late = (first.promise >= 0) & ((first.finish < 0) | (first.finish > first.promise))
        assert not late.any(), f"promises to jobs {np.flatnonzero(late).tolist()} were not kept"


def check_world(
    make: Callable[[ElasticWorkload, ElasticOptions, SeedTree], World[ElasticView, ElasticDecision]],
) -> None:
    """A world offers valid read-only views, refuses what is invalid without changing, does the work, and ends."""
    for number, (workload, options) in enumerate(small_workloads()):
        world = make(workload, options, SeedTree(number))
        slot, steps = -1, 0
        seen: set[int] = set()
        expected: dict[int, int] = {}  # job -> work left, as it must be now; jobs with none must have gone
        while (view := world.advance()) is not None:
            steps += 1
            assert steps <= workload.slots, "the world does not come to an end"
            assert view.slot > slot, "time did not go on"
            slot = view.slot
            seen.update(view.job_id.tolist())
            _check_view(view, workload)
            left = dict(zip(view.job_id.tolist(), view.job_work_left.tolist(), strict=True))
            for job, work in expected.items():
                assert left.get(job, 0) == work, f"job {job}: {left.get(job, 0)} worker-slots left, expected {work}"
            decisions = _first_fit(view)
            for wrong in _invalid(view, decisions):
                _must_refuse(world, view, wrong)
            try:
                world.apply(decisions)
            except InvalidDecision as error:
                raise AssertionError(f"the world refused valid decisions: {error}") from error
            done = {one.job: int(one.plan.amount[one.plan.role == WORKER].sum()) for one in decisions}
            expected = {job: left[job] - done.get(place, 0) for place, job in enumerate(view.job_id.tolist())}
            expected = {job: max(work, 0) for job, work in expected.items()}
        missing = sorted(set(range(workload.num_jobs)) - seen)
        assert not missing, f"the world came to an end without showing jobs {missing}"


def check_workload(source: ElasticSource) -> None:
    """The same seed gives the same sequence, in order of arrival, within the horizon, with a history."""
    first, again = (source.sequence(7, source.arrivals, source.slots, SeedTree(5)) for _ in range(2))
    for name in ("arrival", "work", "worker_demand", "server_demand", "utility"):
        ours, theirs = getattr(first, name), getattr(again, name)
        assert np.array_equal(ours, theirs), f"the same seed gave another {name}"
    assert (np.diff(first.arrival) >= 0).all(), "jobs are not in order of arrival"
    assert 0 <= first.arrival.min() <= first.arrival.max() < source.slots, "jobs arrive outside of the horizon"
    assert (first.work >= 1).all(), "a job without work"
    assert len(first.history) >= 1, "no history to estimate prices from"


# --- schedulers ---------------------------------------------------------------------------------------------------


def _run(scheduler: ElasticScheduler, world: ElasticWorld, seeds: SeedTree) -> ElasticResult:
    """Run to the end with every assumption about a scheduler checked at every decision."""
    state = global_random_state()
    scheduler.reset(world.info_for(scheduler), seeds.child("scheduler").generator())
    while (view := world.advance()) is not None:
        before = [np.array(part) for _, part in _parts(view)]
        decisions = scheduler.decide(view)
        for decision in decisions:
            assert isinstance(decision, ElasticDecision), f"{decision!r} is not an ElasticDecision"
            assert decision.reason in Reason.__members__.values(), f"{decision.reason!r} is not a Reason"
            assert decision.reason != Reason.UNSTATED, "a decision must say why: give it a Reason"
        for (name, part), old in zip(_parts(view), before, strict=True):
            assert np.array_equal(np.asarray(part), old), f"decide() changed view.{name}"
        try:
            world.apply(decisions)
        except InvalidDecision as error:
            raise AssertionError(str(error)) from error
    assert global_random_state() == state, "decide() or reset() used numpy's global random state"
    return world.result()


def _said(result: ElasticResult) -> tuple[str, bytes]:
    """Decisions, and what stood where: as text, so that what was not said (nan) is equal to itself."""
    return repr(result.decision_log), result.used.tobytes()


def _parts(view: ElasticView) -> Iterator[tuple[str, Any]]:
    for name, part in zip(view._fields, view, strict=True):
        if isinstance(part, Plan):
            yield from ((f"{name}.{column}", values) for column, values in zip(part._fields, part, strict=True))
        else:
            yield name, part


# --- worlds -------------------------------------------------------------------------------------------------------


def _check_view(view: ElasticView, workload: ElasticWorkload) -> None:
    for name, part in _parts(view):
        assert not (isinstance(part, np.ndarray) and part.flags.writeable), f"view.{name} can be written to"
    assert len(view.job_id), "asked for decisions although there is no job"
    assert (view.job_work_left > 0).all(), "a job without work left is in the view"
    assert (view.job_arrival <= view.slot).all(), "a job is in the view before it has arrived"
    left = workload.slots - view.slot
    assert len(view.worker_free) == len(view.server_free) == left, f"expected what is free in {left} slots"
    assert min(view.worker_free.min(), view.server_free.min()) > -1e-6, "less than nothing is free"


def _first_fit(view: ElasticView) -> list[ElasticDecision]:
    """One worker for each job that fits, in this slot."""
    worker_free, server_free = view.worker_free[0].copy(), view.server_free[0].copy()
    found = []
    for job in range(len(view.job_id)):
        worker, server = view.job_worker_demand[job], view.job_server_demand[job]
        need = int(servers_needed(1, worker[BANDWIDTH], server[BANDWIDTH]))
        here, there = _host(worker_free, worker), _host(server_free, need * server)
        if here < 0 or there < 0:
            continue
        worker_free[here] -= worker
        server_free[there] -= need * server
        found.append(ElasticDecision(job, _plan(view.slot, (WORKER, here, 1), (SERVER, there, need))))
    return found


def _host(free: Floats, demand: Floats) -> int:
    fits = np.flatnonzero((free >= demand).all(axis=1))
    return int(fits[0]) if fits.size else -1


def _plan(slot: int, *rows: tuple[int, int, int]) -> Plan:
    role, host, amount = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Plan(np.full(len(rows), slot, dtype=np.int64), role, host, amount)


def _invalid(view: ElasticView, valid: Sequence[ElasticDecision]) -> Iterator[list[ElasticDecision]]:
    """Decisions that break one rule each; the valid ones come first in the last, so that a world must undo them."""
    slot, last = view.slot, view.slot + len(view.worker_free) - 1
    cap, left = int(view.job_max_workers[0]), int(view.job_work_left[0])
    hosts = len(view.worker_free[0])
    worker, server = (WORKER, 0, 1), (SERVER, 0, 1)
    yield [ElasticDecision(len(view.job_id), rejected=True)]  # no such job
    yield [ElasticDecision(0), ElasticDecision(0)]  # two for one job
    yield [ElasticDecision(0, _plan(slot, worker))]  # nobody takes the gradients
    yield [ElasticDecision(0, _plan(slot, server))]  # nobody sends any
    yield [ElasticDecision(0, _plan(slot, (WORKER, hosts, 1), server))]  # no such host
    yield [ElasticDecision(0, _plan(slot, (WORKER, 0, -1), server))]
    yield [ElasticDecision(0, _plan(last + 1, worker, server))]  # after the horizon
    yield [ElasticDecision(0, _plan(slot - 1, worker, server))]  # in the past
    yield [ElasticDecision(0, _plan(slot, (WORKER, 0, cap + 1), (SERVER, 0, cap + 1)))]  # more than it has chunks
    yield [ElasticDecision(0, _plan(slot, worker, server), rejected=True)]
    yield [ElasticDecision(0, promise=last + 1)]
    if left > 1:
        yield [ElasticDecision(0, _plan(slot, worker, server), promise=slot)]  # not complete by then
    if valid:
        yield [*valid, ElasticDecision(len(view.job_id), rejected=True)]


def _must_refuse(
    world: World[ElasticView, ElasticDecision], view: ElasticView, decisions: list[ElasticDecision]
) -> None:
    before = [np.array(part) for _, part in _parts(view)]
    try:
        world.apply(decisions)
    except InvalidDecision:
        after = world.advance()
        assert after is not None, f"the world ended when it refused {decisions}"
        for (name, part), old in zip(_parts(after), before, strict=True):
            assert np.array_equal(np.asarray(part), old), f"the world refused {decisions}, but view.{name} has changed"
        return
    raise AssertionError(f"the world took invalid decisions: {decisions}")
