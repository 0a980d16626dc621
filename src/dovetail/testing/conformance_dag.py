"""What a scheduler, a world and a workload of the dag family must do.  `conformance` is the way in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dovetail.core.dag import DagDecision, DagView, ExecutorClass, HasKernel, Reason
from dovetail.core.errors import InvalidDecision, InvalidWorkload, StalledWorld
from dovetail.core.protocols import World
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import DagOptions, DagResult, DagScheduler, DagWorld
from dovetail.testing.conformance import global_random_state
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.check import check_source
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import DagSource, open_source

MOST_STEPS = 1_000_000
FOUR_CLASSES = tuple(ExecutorClass(3, cpu=1.0, memory=memory) for memory in (0.25, 0.5, 0.75, 1.0))


def small_workloads(seed: int = 0) -> list[tuple[DagWorkload, DagOptions]]:
    """A handful of short sequences: batched, Poisson, failing executors, several classes of executor."""
    seeds = SeedTree(seed).child("conformance")
    tpch = open_source("tpch-like")
    joins = open_source("fork-joins")
    return [
        (tpch.sequence(5, Arrivals(), seeds.child("batch")), DagOptions(executors=10)),
        (
            tpch.sequence(6, Arrivals("poisson", interval_s=10.0), seeds.child("poisson")),
            DagOptions(executors=8),
        ),
        (
            joins.sequence(5, Arrivals("poisson", interval_s=5.0), seeds.child("failures")),
            DagOptions(
                executors=6,
                mean_time_to_failure_s=40.0,
                repair_s=5.0,
                straggler_probability=0.05,
                straggler_factor=4.0,
            ),
        ),
        (
            open_source("tpch-like:memory=true").sequence(4, Arrivals(), seeds.child("classes")),
            DagOptions(classes=FOUR_CLASSES),
        ),
    ]


def check_scheduler(make: Callable[[], DagScheduler], *, seed: int = 0) -> None:
    """A scheduler is complete, valid, deterministic, leaves the view alone, and its kernel (if any) agrees with it."""
    for number, (workload, options) in enumerate(small_workloads(seed)):
        seeds = SeedTree(seed).child("world", number)
        first = _run_in_python(make(), DagWorld(workload, options, seeds, record=True), seeds)
        again = _run_in_python(make(), DagWorld(workload, options, seeds, record=True), seeds)
        assert first.decision_log.tobytes() == again.decision_log.tobytes(), "the same seed gave other decisions"
        scheduler = make()
        world = DagWorld(workload, options, seeds, record=True)
        scheduler.reset(world.info_for(scheduler), seeds.child("scheduler").generator())
        kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
        if kernel is not None:
            try:
                world.run_kernel(kernel)
            except (InvalidDecision, StalledWorld) as error:
                raise AssertionError(f"the kernel: {error}") from error
            _assert_same_decisions(first, world.result())


def _assert_same_decisions(python: DagResult, compiled: DagResult) -> None:
    ours, theirs = python.decision_log, compiled.decision_log
    for i in range(min(len(ours), len(theirs))):
        assert ours[i] == theirs[i], f"decision {i}: Python says {ours[i]}, the kernel says {theirs[i]}"
    assert len(ours) == len(theirs), f"{len(ours)} decisions in Python, {len(theirs)} by the kernel"


def _run_in_python(scheduler: DagScheduler, world: DagWorld, seeds: SeedTree) -> DagResult:
    """Run to the end with every assumption about a scheduler checked at every decision."""
    state = global_random_state()
    scheduler.reset(world.info_for(scheduler), seeds.child("scheduler").generator())
    for view in _views(world):
        before = [np.array(part) for part in view]
        decisions = scheduler.decide(view)
        _check_decisions(decisions)
        for name, part, old in zip(view._fields, view, before, strict=True):
            assert np.array_equal(np.asarray(part), old, equal_nan=True), f"decide() changed view.{name}"
        try:
            world.apply(decisions)
        except (InvalidDecision, StalledWorld) as error:
            raise AssertionError(str(error)) from error
    assert global_random_state() == state, "decide() or reset() used numpy's global random state"
    return world.result()


def _views(world: DagWorld) -> Iterator[DagView]:
    while (view := world.advance()) is not None:
        yield view


def _check_decisions(decisions: Sequence[DagDecision]) -> None:
    for decision in decisions:
        assert isinstance(decision, DagDecision), f"{decision!r} is not a DagDecision"
        assert decision.reason in Reason.__members__.values(), f"{decision.reason!r} is not a Reason"
        assert decision.reason != Reason.UNSTATED, "a decision must say why: give it a Reason"


def check_world(make: Callable[[DagWorkload, DagOptions, SeedTree], World[DagView, DagDecision]]) -> None:
    """A world offers valid read-only views, refuses what is invalid without changing, and gets all jobs done."""
    for number, (workload, options) in enumerate(small_workloads()):
        rng = np.random.default_rng(number)
        world = make(workload, options, SeedTree(number))
        time_s, steps = 0.0, 0
        seen: set[int] = set()
        while (view := world.advance()) is not None:
            steps += 1
            assert steps < MOST_STEPS, "the world does not come to an end"
            assert view.time_s >= time_s, "time went backwards"
            time_s = view.time_s
            seen.update(view.job_id.tolist())
            for name, part in zip(view._fields, view, strict=True):
                assert not (isinstance(part, np.ndarray) and part.flags.writeable), f"view.{name} can be written to"
            assert view.stage_valid.any(), "asked for a decision although no stage may be chosen"
            assert view.source_executors == view.source_by_class.sum() > 0, "asked although nothing is on offer"
            stage = int(rng.choice(np.flatnonzero(view.stage_valid)))
            held = int(view.job_executors[view.stage_job[stage]])
            if steps % 50 == 1:
                executors = sum(kind.count for kind in options.executor_classes())
                beyond = DagDecision(len(view.stage_id), held + 1)
                _must_refuse(world, view, [DagDecision(stage, held)])
                _must_refuse(world, view, [DagDecision(stage, executors + 1)])
                _must_refuse(world, view, [beyond])
                _must_refuse(world, view, [DagDecision(stage, held + 1), beyond])
            decision = DagDecision(stage, held + int(rng.integers(1, view.source_executors + 1)))
            try:
                world.apply([decision])
            except InvalidDecision as error:
                raise AssertionError(f"the world refused a valid decision: {error}") from error
        missing = sorted(set(range(workload.num_jobs)) - seen)
        assert not missing, f"the world came to an end without a decision for jobs {missing}"


def _must_refuse(world: World[DagView, DagDecision], view: DagView, decisions: list[DagDecision]) -> None:
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


def check_workload(source: DagSource) -> None:
    """A workload source is valid, and the same seed gives the same sequence."""
    try:
        check_source(source)
    except InvalidWorkload as error:
        raise AssertionError(str(error)) from error
    first, again = (source.sequence(7, Arrivals("poisson", interval_s=3.0), SeedTree(5)) for _ in range(2))
    assert np.array_equal(first.arrival_s, again.arrival_s), "the same seed gave other arrivals"
    assert np.array_equal(first.job_dag, again.job_dag), "the same seed gave other jobs"
    assert (np.diff(first.arrival_s) >= 0).all(), "jobs are not in order of arrival"
