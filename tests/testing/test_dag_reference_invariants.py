"""What must hold in the reference world for any workload, any options and any valid decisions."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.testing.dag_toys import ToyJob, ToyStage, toy_workload

from dovetail.core.dag import DagDecision, DagView, ExecutorClass
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.sim.dag.options import Compat, DagOptions
from dovetail.testing import ReferenceDagWorld
from dovetail.testing.dag_reference_state import State
from dovetail.workloads.dag import WAVES, DagWorkload

SECONDS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.7])
TWO_SIZES = (ExecutorClass(2, cpu=1, memory=0.5), ExecutorClass(2, cpu=2, memory=1.0))


@st.composite
def stages(draw: st.DrawFn) -> list[ToyStage]:
    result = []
    for position in range(draw(st.integers(1, 4))):
        keys = st.tuples(st.sampled_from(WAVES), st.sampled_from([1, 2, 4]))
        samples = draw(st.dictionaries(keys, st.lists(SECONDS, min_size=1, max_size=3), min_size=1, max_size=4))
        parents = tuple(p for p in range(position) if draw(st.booleans()))
        size = draw(st.sampled_from([(1.0, 0.2), (1.0, 0.8), (2.0, 0.5)]))
        result.append(ToyStage(draw(st.integers(1, 5)), samples, parents, *size))
    return result


@st.composite
def workloads(draw: st.DrawFn) -> DagWorkload:
    arrivals = sorted(draw(st.lists(st.sampled_from([0.0, 1.0, 2.5, 10.0]), min_size=1, max_size=4)))
    deadline = st.sampled_from([1.0, 5.0, float("inf")])
    return toy_workload(*(ToyJob(draw(stages()), arrival, 2.0, draw(deadline)) for arrival in arrivals))


SOUND = st.builds(
    DagOptions,
    executors=st.integers(1, 5),
    classes=st.sampled_from([(), (), TWO_SIZES]),
    moving_delay_s=st.sampled_from([0.0, 1.0, 2.5]),
    straggler_probability=st.sampled_from([0.0, 0.3]),
    straggler_factor=st.just(3.0),
    mean_time_to_failure_s=st.sampled_from([0.0, 0.0, 5.0, 20.0]),
    repair_s=st.sampled_from([0.0, 3.0]),
)
FAULTS = st.builds(Compat, st.booleans(), st.booleans(), st.booleans())


def with_faults(options: DagOptions, compat: Compat) -> DagOptions:
    """Failures go where executors idle until the next arrival: DagOptions refuses the two together."""
    mean_time_to_failure_s = 0.0 if compat.idle_until_arrival else options.mean_time_to_failure_s
    return replace(options, compat=compat, mean_time_to_failure_s=mean_time_to_failure_s)


class Rambler:
    """Any valid decision; declines with the probability given."""

    def __init__(self, seed: int, declines: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.declines = declines

    def __call__(self, view: DagView) -> list[DagDecision]:
        if self.rng.random() < self.declines:
            return []
        stage = int(self.rng.choice(np.flatnonzero(view.stage_valid)))
        held = int(view.job_executors[view.stage_job[stage]])
        return [DagDecision(stage, held + int(self.rng.integers(1, view.source_executors + 1)))]


def check_books(world: ReferenceDagWorld, view: DagView) -> None:
    """The counts that the world keeps, against a count of the things themselves."""
    stages = [stage for job in world._jobs for stage in job.stages]
    round_ = world._round
    reserved = Counter(c.target for stage in stages for c in stage.commitments)
    reserving = {State.MOVING} if world._options.compat.idle_until_arrival else {State.MOVING, State.PARKED}
    reserved.update(e.stage for e in world._executors if e.state in reserving)
    for stage in stages:
        assert stage.reservations == reserved[stage]
        assert stage.saturated_at_last_look == stage.saturated
        assert stage.tasks == stage.finished + stage.not_started + len(stage.executors)
        assert all(e.state is State.BUSY and e.stage is stage and e.home is stage.job for e in stage.executors)
        here = Counter(e.executor_class for e in stage.executors)
        assert Counter(c.executor_class for c in stage.commitments) <= here
    for index, job in enumerate(world._in_system):
        at_home = sum(e.home is job for e in world._executors)
        moving = sum(e.state is State.MOVING and e.stage.job is job for e in world._executors)
        commitments = [c for s in stages if s.job is not job for c in s.commitments if c.target.job is job]
        on_offer = sum(round_.on_offer) if round_.job is job else 0
        away = [c for s in job.stages for c in s.commitments if c.target.job is not job]
        assert view.job_executors[index] == at_home + moving + len(commitments) - len(away) - on_offer
        assert all(e.state is State.FREE and e.home is job for e in job.group.executors)
        assert all(e.state is State.PARKED and e.home is job for e in job.parked)
    assert view.source_executors == view.source_by_class.sum() == sum(round_.on_offer) > 0
    assert view.stage_valid.any()


def check_logs(world: ReferenceDagWorld, workload: DagWorkload) -> None:
    rows = world.task_log
    assert [row[6] for row in rows] == sorted(row[6] for row in rows)
    by_executor = defaultdict(list)
    ends: dict[tuple[int, int], list[float]] = defaultdict(list)
    for executor, job, stage, _, lost, start_s, end_s in rows:
        assert start_s <= end_s
        by_executor[executor].append((start_s, end_s))
        if not lost:
            ends[job, stage].append(end_s)
    for spans in by_executor.values():  # logged in order of end: one after the other
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    for job in world._jobs:
        for stage in job.stages:
            assert len(ends[job.number, stage.id]) == stage.tasks
    for _, job, stage, _, _, start_s, _ in rows:
        for parent in world._jobs[job].stages[stage].parents:
            assert start_s >= max(ends[job, parent.id])
    for row in world.decision_log:
        on_offer, given = row[3], row[7]
        assert 1 <= given <= on_offer
    spent = np.array(world.finish_s) - workload.arrival_s
    assert world.costs["jobs"] == pytest.approx(spent.sum())
    assert world.costs["weight"] == pytest.approx(2 * spent.sum())
    late = np.array(world.finish_s) - np.maximum(workload.arrival_s, workload.deadline_s)
    assert world.costs["late"] == pytest.approx(np.maximum(late, 0).sum())
    assert world.costs["time"] == pytest.approx(max(world.finish_s))
    busy_s = sum(row[6] - row[5] for row in rows)
    assert busy_s - 1e-9 <= world.costs["executors"] <= len(world._executors) * world.costs["time"] + 1e-9


def drive(world: ReferenceDagWorld, decide: Rambler) -> None:
    while (view := world.advance()) is not None:
        check_books(world, view)
        world.apply(decide(view))


@given(workloads(), SOUND, st.integers(0, 2**64 - 1), st.integers(0, 99))
def test_a_scheduler_that_never_declines_finishes_everything(workload, options, key, seed):
    world = ReferenceDagWorld(workload, options, key, key ^ 1)
    drive(world, Rambler(seed, declines=0))
    check_logs(world, workload)
    assert all(e.state is not State.BUSY for e in world._executors)


@given(workloads(), SOUND, FAULTS, st.integers(0, 99))
def test_invariants_with_declines_and_faults(workload, options, compat, seed):
    world = ReferenceDagWorld(workload, with_faults(options, compat), 5, 6)
    try:
        drive(world, Rambler(seed, declines=0.3))
    except StalledWorld:
        return
    check_logs(world, workload)


@given(workloads(), SOUND, FAULTS, st.integers(0, 99))
def test_decisions_at_once_are_the_same_as_one_by_one(workload, options, compat, seed):
    options = with_faults(options, compat)
    single = ReferenceDagWorld(workload, options, 5, 6)
    decide = Rambler(seed, declines=0.1)
    rounds: list[list[DagDecision]] = []
    last = None
    try:
        while (view := single.advance()) is not None:
            if single._round is not last:
                last = single._round
                rounds.append([])
            decisions = decide(view)
            rounds[-1] += decisions
            single.apply(decisions)
    except StalledWorld:
        pass
    batched = ReferenceDagWorld(workload, options, 5, 6)
    last = None
    try:
        for decisions in rounds:
            view = batched.advance()
            impossible = DagDecision(-1, 1)
            before = (batched._version, list(batched._heap), len(batched.decision_log))
            with pytest.raises(InvalidDecision):
                batched.apply([*decisions, impossible])
            assert before == (batched._version, list(batched._heap), len(batched.decision_log))
            last = batched._round
            batched.apply(decisions)
            while decisions and batched.advance() is not None and batched._round is last:
                batched.apply([])
        while batched.advance() is not None:
            raise AssertionError("more rounds than before")
    except StalledWorld:
        pass
    assert batched.decision_log == single.decision_log
    assert batched.task_log == single.task_log
    assert batched.costs == single.costs


@given(workloads(), SOUND)
def test_all_schedulers_meet_the_same_luck(workload, options):
    """With one wave and one level, a stage's durations are the same whoever decides."""
    options = replace(options, mean_time_to_failure_s=0.0, moving_delay_s=0.0, warm_up_s=0.0)
    catalogue = workload.catalogue
    ones = np.ones_like(catalogue.duration_executors)
    flat = replace(catalogue, duration_executors=ones, duration_wave=WAVES.index("rest") * ones)
    luck = []
    for seed in range(2):
        world = ReferenceDagWorld(replace(workload, catalogue=flat), options, 5, 6)
        drive(world, Rambler(seed, declines=0))
        drawn: dict[tuple[int, int], list[float]] = defaultdict(list)
        for _, job, stage, _, _, start_s, end_s in world.task_log:
            drawn[job, stage].append(round(end_s - start_s, 6))
        luck.append({key: sorted(values) for key, values in drawn.items()})
    assert luck[0] == luck[1]
