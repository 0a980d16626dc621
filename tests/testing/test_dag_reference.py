"""The reference world on worlds small enough to be solved by hand; the comments are the solutions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, fifo, run, toy_workload

from dovetail.core.dag import DagDecision, DagView, ExecutorClass, Reason
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.sim.dag.options import Compat, DagOptions
from dovetail.testing import ReferenceDagWorld
from dovetail.testing.dag_reference_chance import StageSamples, mix
from dovetail.workloads.dag import FIRST, FRESH, REST


def world_of(*jobs: ToyJob, key: int = 1, failure_key: int = 2, **options) -> ReferenceDagWorld:
    return ReferenceDagWorld(toy_workload(*jobs), DagOptions(**options), key, failure_key)


def tasks(world: ReferenceDagWorld) -> list[tuple]:
    """(executor, job, stage, wave, start, end) in order of end."""
    return [(e, j, s, w, start, end) for e, j, s, w, _, start, end in world.task_log]


def uniform(h: int) -> float:
    return (h >> 32) / 2**32


def start_hash(key: int, stage: int, count: int) -> int:
    return mix(key + stage * 0x9E3779B97F4A7C15 + count * 0xD1B54A32D192ED03)


def test_mix_is_splitmix64():
    # The first two outputs of splitmix64 with seed 0: the finaliser of one, two golden steps.
    assert mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF
    assert mix(2 * 0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


# --- events ---


def test_two_jobs_one_executor():
    # 0 s: job 0; the executor moves for 2 s, runs 2-5 and 5-8.  8 s: job 0 complete, on to job 1: 10-11.
    world = world_of(ToyJob([ToyStage(2, 3)]), ToyJob([ToyStage(1, 1)], arrival_s=1), executors=1)
    views = run(world)
    assert tasks(world) == [(0, 0, 0, FRESH, 2, 5), (0, 0, 0, REST, 5, 8), (0, 1, 0, FRESH, 10, 11)]
    assert world.finish_s == [8, 11]
    assert world.events == 7  # 2 jobs, 2 executor arrivals, 3 task ends
    assert [view.time_s for view in views] == [0, 8]
    assert world.costs == {"time": 11, "jobs": 8 + 10, "weight": 18, "late": 0, "executors": 11}
    assert world.advance() is None


def test_weight_and_deadline_costs():
    # As above.  Job 0 (weight 2) is due at 5 s and takes until 8 s; job 1 (weight 3) is due at 11 s, just
    # met.
    world = world_of(
        ToyJob([ToyStage(2, 3)], weight=2, deadline_s=5),
        ToyJob([ToyStage(1, 1)], arrival_s=1, weight=3, deadline_s=11),
        executors=1,
    )
    run(world)
    assert world.costs["weight"] == 2 * 8 + 3 * 10
    assert world.costs["late"] == 3


def test_a_deadline_passed_before_arrival_counts_from_arrival():
    world = world_of(ToyJob([ToyStage(1, 3)], arrival_s=4, deadline_s=1), executors=1, moving_delay_s=0)
    run(world)
    assert world.costs["late"] == 3
    assert world.costs["time"] == 7  # from the start: the job was still to come


def test_fork_join():
    # 0 -> 1, 2 -> 3.  0 s: executor 0 runs stage 0; executor 1 is sent ahead to stage 1 and parked.
    # 1 s: stages 1 and 2 unlock; executor 1 has been free longer (it was parked).  1: 1-3, 2: 1-4.
    # 3 s: executor 1 leaves stage 1 and is parked for stage 3.  4 s: it unlocks, executor 1 goes first: 4-5.
    stages = [ToyStage(1, 1), ToyStage(1, 2, (0,)), ToyStage(1, 3, (0,)), ToyStage(1, 1, (1, 2))]
    world = world_of(ToyJob(stages), executors=2, moving_delay_s=0)
    views = run(world)
    assert tasks(world) == [
        (0, 0, 0, FRESH, 0, 1),
        (1, 0, 1, FRESH, 1, 3),
        (0, 0, 2, FIRST, 1, 4),
        (1, 0, 3, FIRST, 4, 5),
    ]
    # time, source job and stage, on offer, job, stage, limit, given, class, reason
    assert world.decision_log == [
        (0, -1, -1, 2, 0, 0, 2, 1, -1, 0),
        (0, -1, -1, 1, 0, 1, 2, 1, -1, 0),
        (1, 0, -1, 2, 0, 1, 2, 1, -1, 0),
        (1, 0, -1, 1, 0, 2, 2, 1, -1, 0),
        (3, 0, 1, 1, 0, 3, 2, 1, -1, 0),
        (4, 0, -1, 2, 0, 3, 2, 1, -1, 0),
    ]
    assert world.finish_s == [5]
    first = views[0]
    assert first.stage_valid.tolist() == [True, False, False, False]
    assert first.stage_ready.tolist() == [True, False, False, False]
    assert first.stage_critical_path_s.tolist() == [1 + 3 + 1, 2 + 1, 3 + 1, 1]
    assert first.job_work_s.tolist() == first.job_work_left_s.tolist() == [7]
    assert first.edge_parent.tolist() == [0, 0, 1, 2]
    assert first.edge_child.tolist() == [1, 2, 3, 3]
    assert views[1].stage_valid.tolist() == [False, True, True, False]  # stage 0 is saturated by a promise
    assert views[2].job_work_left_s.tolist() == [6]


def test_moving_costs_only_between_jobs():
    # 0-2 moving, stage 0: 2-3, stage 1 at once: 3-4.
    world = world_of(ToyJob([ToyStage(1, 1), ToyStage(1, 1, (0,))]), executors=1, moving_delay_s=2)
    run(world)
    assert tasks(world) == [(0, 0, 0, FRESH, 2, 3), (0, 0, 1, FIRST, 3, 4)]


def test_sending_ahead_and_parking():
    # Executor 0 runs stage 0 from 3 to 13; executor 1 is sent ahead at 0 s, parked from 3 s to 13 s.
    # 13 s: both on offer, no moving: 13-14.
    world = world_of(ToyJob([ToyStage(1, 10), ToyStage(2, 1, (0,))]), executors=2, moving_delay_s=3)
    views = run(world)
    assert [(v.time_s, v.source_job, v.source_executors) for v in views] == [
        (0, -1, 2),
        (0, -1, 1),
        (13, 0, 2),
    ]
    assert world.finish_s == [14]
    assert sorted(tasks(world)[1:]) == [(0, 0, 1, FIRST, 13, 14), (1, 0, 1, FRESH, 13, 14)]
    assert world.costs["executors"] == 2 * 14


def test_parallelism_limit():
    # 4 tasks of 1 s, 4 executors, but the job may hold 2: two rounds of tasks.
    def two_at_most(view: DagView) -> list[DagDecision]:
        return [DagDecision(0, 2)] if view.job_executors[0] < 2 else []

    world = world_of(ToyJob([ToyStage(4, 1)]), executors=4, moving_delay_s=0)
    run(world, two_at_most)
    assert tasks(world) == [
        (0, 0, 0, FRESH, 0, 1),
        (1, 0, 0, FRESH, 0, 1),
        (0, 0, 0, REST, 1, 2),
        (1, 0, 0, REST, 1, 2),
    ]
    assert [row[7] for row in world.decision_log] == [2]
    assert world.costs["executors"] == 4


DRYING = ToyStage(3, {("fresh", 1): [2], ("rest", 1): [3]})
"""Two executors: both run 0-2, executor 0 a third task 2-5."""


def test_commitments_from_a_drying_stage():
    # Moving takes 1 s, so job 0 runs 1-3, 1-3, 3-6.  3 s: executor 1 finds its stage dry; it is free,
    # executor 0 will be.  Both are given to job 1 (3 tasks of 10 s): executor 1 moves at once and arrives at
    # 4 s, executor 0 is promised, moves at 6 s and arrives at 7 s.  4-14 and 7-17; executor 1 takes the third
    # task too: 14-24.
    world = world_of(ToyJob([DRYING]), ToyJob([ToyStage(3, 10)], arrival_s=1), executors=2, moving_delay_s=1)
    views = run(world)
    sources = [(v.time_s, v.source_job, v.source_stage, v.source_executors) for v in views]
    assert sources == [(0, -1, -1, 2), (3, 0, 0, 2)]
    assert views[1].job_executors.tolist() == [0, 0]  # those on offer are not counted
    assert views[1].stage_running.tolist() == [1, 0]
    assert world.decision_log[1] == (3, 0, 0, 2, 1, 0, 2, 2, -1, 0)
    assert tasks(world)[2:] == [
        (0, 0, 0, REST, 3, 6),
        (1, 1, 0, FRESH, 4, 14),
        (0, 1, 0, FRESH, 7, 17),
        (1, 1, 0, REST, 14, 24),
    ]
    assert world.finish_s == [6, 24]
    assert world.costs["jobs"] == 6 + 23


def test_a_promised_executor_counts_for_both_jobs():
    stages = [DRYING, ToyStage(4, 1)]
    world = world_of(ToyJob(stages), ToyJob([ToyStage(1, 9)], arrival_s=1), executors=2, moving_delay_s=0)
    world.advance()
    world.apply([DagDecision(0, 2)])
    view = world.advance()
    # 2 s: executor 1 leaves stage 0, executor 0 runs its third task.  One is kept (executor 1, at once), the
    # other promised to job 1: job 0 still counts it.
    assert (view.time_s, view.source_stage, view.source_executors) == (2, 0, 2)
    assert view.job_executors.tolist() == [0, 0]
    world.apply([DagDecision(1, 1)])
    view = world.advance()
    assert (view.source_executors, view.job_executors.tolist()) == (1, [1, 0])
    world.apply([DagDecision(2, 1)])
    run(world)
    # stage 1 by executor 1: 2-3, 3-4, 4-5, 5-6; executor 0 ends stage 0 at 5 s and runs job 1: 5-14.
    assert world.finish_s == [6, 14]
    assert tasks(world)[-1] == (0, 1, 0, FRESH, 5, 14)


def test_a_commitment_to_a_stage_that_ran_dry_frees_the_executor():
    # As above, but job 1 has 2 tasks of 1 s: executor 1 arrives at 4 s and has done both (4-5, 5-6) when
    # executor 0 ends at 6 s, first of the two by number.  Its job is complete, so it goes to the common
    # group.
    world = world_of(ToyJob([DRYING]), ToyJob([ToyStage(2, 1)], arrival_s=1), executors=2, moving_delay_s=1)
    run(world)
    assert tasks(world)[2:] == [(1, 1, 0, FRESH, 4, 5), (0, 0, 0, REST, 3, 6), (1, 1, 0, REST, 5, 6)]
    assert world.finish_s == [6, 6]


def test_an_executor_that_arrives_too_late_is_free_at_its_new_home():
    # Moving takes 2 s.  0 s: executor 0 to job 0 (2 tasks of 1 s, 2-3 and 3-4), by the limit alone.  1.5 s:
    # job 1 arrives; executor 1 is given the second task of job 0, but arrives at 3.5 s: the stage is dry.  It
    # is offered as a free executor of job 0 and goes on to job 1: 5.5-6.5.
    def one_each(view: DagView) -> list[DagDecision]:
        if view.time_s == 0:
            return [DagDecision(0, 1)]
        if view.time_s == 1.5:
            return [DagDecision(0, 2)] if view.stage_valid[0] else []
        return fifo(view)

    world = world_of(ToyJob([ToyStage(2, 1)]), ToyJob([ToyStage(1, 1)], arrival_s=1.5), executors=2)
    views = run(world, one_each)
    offers = [(v.time_s, v.source_job, v.source_stage) for v in views]
    assert offers == [(0, -1, -1), (1.5, -1, -1), (3.5, 0, -1)]
    assert tasks(world) == [(0, 0, 0, FRESH, 2, 3), (0, 0, 0, REST, 3, 4), (1, 1, 0, FRESH, 5.5, 6.5)]


def test_declined_executors_are_offered_again_only_after_a_change():
    # Stage 0 (1 task of 2 s) and stage 1 (1 task of 5 s) of one job.  Executor 0 goes to stage 0, and stage 1
    # is declined: the same round asks once more for executor 1.  Nothing changes until executor 0 leaves
    # stage 0 at 2 s; it takes stage 1 then: 2-7.
    def one_after_the_other(view: DagView) -> list[DagDecision]:
        return [DagDecision(0, 1)] if view.stage_valid[0] else [DagDecision(1, 1)] if view.time_s else []

    world = world_of(ToyJob([ToyStage(1, 2), ToyStage(1, 5)]), executors=2, moving_delay_s=0)
    views = run(world, one_after_the_other)
    assert [(v.time_s, v.source_stage, v.source_executors) for v in views] == [
        (0, -1, 2),
        (0, -1, 1),
        (2, 0, 1),
    ]
    assert world.finish_s == [7]


# --- durations ---


def test_missing_samples_are_filled():
    samples = StageSamples({FIRST: {2: [2.0], 8: [8.0]}, REST: {5: [5.0]}}, warm_up_s=1)
    assert samples.levels == [2, 5, 8]
    assert [samples.at(FIRST, level) for level in samples.levels] == [
        [2],
        [8],
        [8],
    ]  # 5 is between: the larger
    assert [samples.at(REST, level) for level in samples.levels] == [[5], [5], [5]]
    assert [samples.at(FRESH, level) for level in samples.levels] == [[3], [9], [9]]
    only_fresh = StageSamples({FRESH: {1: [4.0]}}, warm_up_s=1)
    assert only_fresh.at(FIRST, 1) == only_fresh.at(REST, 1) == only_fresh.at(FRESH, 1) == [4]
    no_first = StageSamples({FRESH: {1: [4.0]}, REST: {1: [3.0]}}, warm_up_s=1)
    assert no_first.at(FIRST, 1) == [3]


@pytest.mark.parametrize("n, around", [(1, (2, 2)), (2, (2, 2)), (3, (2, 5)), (5, (5, 5)), (7, (5, 8)), (9, (8, 8))])
def test_levels_around_a_number_of_executors(n, around):
    assert StageSamples({REST: {2: [1.0], 5: [1.0], 8: [1.0]}}, 1).around(n) == around


@pytest.mark.parametrize("key", range(8))
@pytest.mark.parametrize("inverted", [False, True])
def test_level_interpolation(key, inverted):
    # 3 executors, levels 2 and 4; all arrive at 0 s.  The first to arrive finds 1 at home, the second 2:
    # level 2. The third finds 3: level 4 if its uniform number is below (3 - 2) / (4 - 2), else level 2.
    stage = ToyStage(3, {("fresh", 2): [1], ("fresh", 4): [2]})
    compat = Compat(inverted_levels=inverted)
    world = world_of(ToyJob([stage]), key=key, executors=3, moving_delay_s=0, compat=compat)
    run(world)
    duration = {row[0]: row[5] - row[4] for row in tasks(world)}
    high = (uniform(start_hash(key, 0, 2)) < 0.5) != inverted
    assert duration == {0: 1, 1: 1, 2: 2 if high else 1}


def test_the_three_waves():
    # One executor.  Stage 0: fresh 5, then rest 1; stage 1: first 3, rest 2.  5 + 1 + 3 + 2 = 11.
    waves = [{("fresh", 1): [5], ("rest", 1): [1]}, {("first", 1): [3], ("rest", 1): [2]}]
    stages = [ToyStage(2, waves[0]), ToyStage(2, waves[1], (0,))]
    world = world_of(ToyJob(stages), executors=1, moving_delay_s=0)
    run(world)
    assert [(row[3], row[5]) for row in tasks(world)] == [(FRESH, 5), (REST, 6), (FIRST, 9), (REST, 11)]


def test_pool_forgets_makes_freed_executors_fresh():
    # Stage 1 has no fresh samples: first (3 s) plus 1 s of warm-up.  The executor is freed when stage 1
    # unlocks.
    stages = [ToyStage(1, 5), ToyStage(1, {("first", 1): [3]}, (0,))]
    world = world_of(ToyJob(stages), executors=1, moving_delay_s=0, compat=Compat(pool_forgets=True))
    run(world)
    assert [(row[3], row[5]) for row in tasks(world)] == [(FRESH, 5), (FRESH, 9)]


def test_samples_are_drawn_by_counter():
    # The second job's stage is number 1; its c-th task takes sample floor(low 32 bits * 4 / 2^32).
    values = [1.0, 2.0, 3.0, 4.0]
    world = world_of(
        ToyJob([ToyStage(1, 1)]),
        ToyJob([ToyStage(5, {("rest", 1): values})]),
        key=7,
        executors=1,
        warm_up_s=0,
    )
    run(world)
    drawn = [end - start for _, job, _, _, start, end in tasks(world) if job == 1]
    assert drawn == [values[(start_hash(7, 1, c) & 0xFFFFFFFF) * 4 >> 32] for c in range(5)]


def test_stragglers():
    world = world_of(
        ToyJob([ToyStage(6, 1)]), executors=1, moving_delay_s=0, straggler_probability=0.5, straggler_factor=4
    )
    run(world)
    slow = [uniform(mix(start_hash(1, 0, c) + 1)) < 0.5 for c in range(6)]
    assert [end - start for *_, start, end in tasks(world)] == [4 if is_slow else 1 for is_slow in slow]
    assert any(slow) and not all(slow)


# --- failures ---


def gaps(failure_key: int, executor: int, mean_s: float, count: int) -> list[float]:
    u = [(start_hash(failure_key, executor, i) >> 11) / 2**53 for i in range(count)]
    return [-mean_s * math.log(1 - value) for value in u]


def test_failure_and_repair():
    # A task of 3 s is cut at f < 3; the executor is away for 2 s and runs it again, undisturbed: f + 2 to f +
    # 5.
    def is_wanted(key: int) -> bool:
        first, second = gaps(key, 0, 10, 2)
        return 0.5 < first < 3 and second > 5

    key = next(key for key in range(1000) if is_wanted(key))
    f = gaps(key, 0, 10, 1)[0]
    world = world_of(
        ToyJob([ToyStage(1, 3)]),
        failure_key=key,
        executors=1,
        moving_delay_s=0,
        mean_time_to_failure_s=10,
        repair_s=2,
    )
    views = run(world)
    assert world.task_log == [
        (0, 0, 0, FRESH, True, 0, pytest.approx(f)),
        (0, 0, 0, FRESH, False, pytest.approx(f + 2), pytest.approx(f + 5)),
    ]
    assert [view.time_s for view in views] == pytest.approx([0, f + 2])
    assert world.costs["executors"] == pytest.approx(f + 3)  # not while it is repaired
    assert world.costs["jobs"] == pytest.approx(f + 5)


def test_failures_in_idle_time_have_no_effect():
    # Failures fall before the job arrives at 100 s and not again before 106 s; its task runs 102-105.
    def is_wanted(key: int) -> bool:
        failures = np.cumsum(gaps(key, 0, 40, 20))
        return failures[0] < 100 and failures[-1] > 106 and not ((failures > 100) & (failures < 106)).any()

    key = next(key for key in range(1000) if is_wanted(key))
    world = world_of(
        ToyJob([ToyStage(1, 3)], arrival_s=100),
        failure_key=key,
        executors=1,
        mean_time_to_failure_s=40,
    )
    run(world)
    assert world.task_log == [(0, 0, 0, FRESH, False, 102, 105)]


def test_a_failure_frees_the_parked():
    # Executor 0 runs stage 0 (10 s), executor 1 is parked for stage 1 when executor 0 fails at f: executor 1
    # is offered at once and runs stage 0 again: f to f + 10.
    key = next(
        k
        for k in range(10000)
        if 1 < gaps(k, 0, 100, 1)[0] < 9 and gaps(k, 1, 100, 1)[0] > 40 and gaps(k, 0, 100, 2)[1] > 40
    )
    f = gaps(key, 0, 100, 1)[0]
    world = world_of(
        ToyJob([ToyStage(1, 10), ToyStage(1, 1, (0,))]),
        failure_key=key,
        executors=2,
        moving_delay_s=0,
        mean_time_to_failure_s=100,
        repair_s=5,
    )
    views = run(world)
    assert (views[2].time_s, views[2].source_job, views[2].source_executors) == (pytest.approx(f), 0, 1)
    assert views[2].stage_valid.tolist() == [True, False]
    # Executor 0 comes back at f + 5, is sent ahead to stage 1 and parked; it was free longest at f + 10.
    assert [row[:5] for row in world.task_log] == [
        (0, 0, 0, FRESH, True),
        (1, 0, 0, FRESH, False),
        (0, 0, 1, FRESH, False),
    ]
    assert world.finish_s == pytest.approx([f + 11])


def test_a_failure_drops_the_promise_it_cannot_keep():
    # DRYING without moving delay: at 2 s both executors are given to job 1, executor 0 as a promise.  It
    # fails at f, before 5 s: the promise is dropped, the task of job 0 lost.  It is back at f + 1.
    def is_wanted(key: int) -> bool:
        f = gaps(key, 0, 50, 2)
        return 2 < f[0] < 5 and f[1] > 60 and gaps(key, 1, 50, 1)[0] > 60

    key = next(key for key in range(100000) if is_wanted(key))
    f = gaps(key, 0, 50, 1)[0]
    world = world_of(
        ToyJob([DRYING]),
        ToyJob([ToyStage(3, 10)], arrival_s=1),
        failure_key=key,
        executors=2,
        moving_delay_s=0,
        mean_time_to_failure_s=50,
        repair_s=1,
    )
    views = run(world)
    assert world.decision_log[1] == (2, 0, 0, 2, 1, 0, 2, 2, -1, 0)
    assert (views[2].time_s, views[2].source_job) == (pytest.approx(f + 1), -1)
    assert views[2].job_executors.tolist() == [0, 1]
    assert views[2].stage_unclaimed.tolist() == [1, 2]


# --- classes ---

CLASSES = (
    ExecutorClass(1, cpu=4, memory=1.0),
    ExecutorClass(2, cpu=2, memory=0.5),
    ExecutorClass(1, cpu=1, memory=0.5),
)


def test_the_smallest_class_that_fits_goes_first():
    # Executors 0 | 1 2 | 3 by class.  A task of 1 core and 0.4 memory: class 2, then class 1, then class 0.
    world = world_of(ToyJob([ToyStage(4, 1, memory=0.4)]), classes=CLASSES, moving_delay_s=0)
    view = world.advance()
    assert view.source_by_class.tolist() == [1, 2, 1]
    world.apply([DagDecision(0, 2)])
    assert [e.number for e in world._executors if e.stage is not None] == [1, 3]


def test_a_class_can_be_asked_for():
    world = world_of(ToyJob([ToyStage(4, 1, memory=0.4)]), classes=CLASSES, moving_delay_s=0)
    world.advance()
    world.apply([DagDecision(0, 4, executor_class=1, reason=Reason.BEST_PACKING)])
    assert world.decision_log == [(0, -1, -1, 4, 0, 0, 4, 2, 1, Reason.BEST_PACKING)]
    assert [e.number for e in world._executors if e.stage is not None] == [1, 2]


def test_what_fits_no_class_may_not_be_chosen():
    world = world_of(ToyJob([ToyStage(1, 1, cpu=8), ToyStage(1, 1, cpu=3)]), classes=CLASSES)
    assert world.advance().stage_valid.tolist() == [False, True]
    with pytest.raises(InvalidDecision, match="no executor"):
        world.apply([DagDecision(1, 4, executor_class=1)])
    with pytest.raises(InvalidDecision, match="class 3"):
        world.apply([DagDecision(1, 4, executor_class=3)])
    world.apply([DagDecision(1, 4)])
    with pytest.raises(StalledWorld):
        run(world)


# --- decisions ---


def test_declining_everything_stalls():
    world = world_of(ToyJob([ToyStage(1, 1)]))
    assert world.advance() is not None
    world.apply([])
    for _ in range(2):
        with pytest.raises(StalledWorld, match="number 0"):
            world.advance()


@pytest.mark.parametrize(
    "decisions",
    [
        [DagDecision(2, 1)],
        [DagDecision(-1, 1)],
        [DagDecision(1, 1)],  # its parent is not saturated
        [DagDecision(0, 0)],  # gives nothing
        [DagDecision(0, 1), DagDecision(0, 2)],  # chosen before
        [DagDecision(0, 2), DagDecision(1, 2)],  # nothing left below the limit
    ],
)
def test_invalid_decisions_change_nothing(decisions):
    world = world_of(ToyJob([ToyStage(2, 1), ToyStage(1, 1, (0,))]), executors=4, moving_delay_s=0)
    before = world.advance()
    with pytest.raises(InvalidDecision):
        world.apply(decisions)
    assert world.decision_log == []
    assert world.advance() is before
    world.apply([DagDecision(0, 2), DagDecision(1, 3)])
    assert [row[3:8] for row in world.decision_log] == [(4, 0, 0, 2, 2), (2, 0, 1, 3, 1)]
    with pytest.raises(InvalidDecision, match="advance"):
        world.apply([])
    run(world)
    assert world.finish_s == [2]


def test_views_are_read_only():
    view = world_of(ToyJob([ToyStage(1, 1)])).advance()
    for array in view:
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable


# --- idle_until_arrival ---

IDLE = Compat(idle_until_arrival=True)


def first_stage_only_at_first(view: DagView) -> list[DagDecision]:
    return [DagDecision(0, 1)] if view.time_s == 0 and view.stage_valid[0] else [] if view.time_s == 0 else fifo(view)


def test_idle_until_arrival_offers_the_common_group_only_on_arrival():
    # 2 executors, 1 wanted at 0 s.  Job 1 comes at 5 s: only then the common group is on offer again.
    job = ToyJob([ToyStage(3, 1)])
    jobs = (job, ToyJob([ToyStage(2, 1)], arrival_s=5))
    world = world_of(*jobs, executors=2, moving_delay_s=0, compat=IDLE)
    views = run(world, first_stage_only_at_first)
    # 3 s: job 0 completes; its last executor is offered, but nothing may be chosen, so there is no view.
    assert [(v.time_s, v.source_executors) for v in views] == [(0, 2), (5, 2)]
    assert world.finish_s == [3, 6]


def test_idle_until_arrival_offers_the_last_executor_of_a_job_alone():
    # Executor 0 runs job 0 until 3 s; job 1 arrives at 1 s and executor 1 is declined.  At 3 s executor 0
    # alone.
    def decide(view: DagView) -> list[DagDecision]:
        return [] if view.time_s == 1 else first_stage_only_at_first(view)

    jobs = (ToyJob([ToyStage(3, 1)]), ToyJob([ToyStage(2, 1)], arrival_s=1))
    world = world_of(*jobs, executors=2, moving_delay_s=0, compat=IDLE)
    views = run(world, decide)
    assert [(v.time_s, v.source_job, v.source_stage, v.source_executors) for v in views] == [
        (0, -1, -1, 2),
        (1, -1, -1, 1),
        (3, -1, -1, 1),
    ]
    assert tasks(world)[3:] == [(0, 1, 0, FRESH, 3, 4), (0, 1, 0, REST, 4, 5)]


def test_idle_until_arrival_parked_executors_reserve_nothing():
    # Executor 0 runs stage 0 (0-4); executor 1 runs stage 1 (0-1) and is then parked for stage 2 (4-5).
    stages = [ToyStage(1, 4), ToyStage(1, 1), ToyStage(1, 1, (0, 1))]
    for compat, unclaimed in ((IDLE, 1), (Compat(), 0)):
        world = world_of(ToyJob(stages), executors=2, moving_delay_s=0, compat=compat)
        while (view := world.advance()) is not None and view.time_s < 1:
            world.apply(fifo(view))
        assert (view.time_s, view.source_stage) == (1, 1)
        world.apply(fifo(view))
        assert world._jobs[0].stages[2].unclaimed == unclaimed
        run(world)
        assert world.finish_s == [5]


def test_idle_until_arrival_a_stage_is_offered_once():
    # Stage 1 (1 task) is declined when stage 0 runs dry at 2 s, for both executors.  At 3 s job 1 arrives; at
    # 5 s executor 0 leaves stage 0 and, although that is news, is not offered with its stage again.  With
    # stage 2 unlocked it is offered at home, together with executor 1.  Without stage 2 both wait for ever.
    stages = [DRYING, ToyStage(1, 1), ToyStage(1, 1, (0,))]

    def decide(view: DagView) -> list[DagDecision]:
        if view.time_s == 0:
            return [DagDecision(0, 2)] if view.stage_valid[0] else []
        return [] if view.time_s == 2 else fifo(view)

    jobs = (ToyJob(stages), ToyJob([ToyStage(1, 1)], arrival_s=3))
    world = world_of(*jobs, executors=2, moving_delay_s=0, compat=IDLE)
    views = run(world, decide)
    offers = [(v.time_s, v.source_job, v.source_stage, v.source_executors) for v in views]
    # 6 s: stages 1 and 2 of job 0 end; executor 0 leaves stage 2 first, and only job 1 wants it
    assert offers == [(0, -1, -1, 2), (2, 0, 0, 2), (5, 0, -1, 2), (5, 0, -1, 1), (6, 0, 2, 1)]
    assert world.finish_s == [6, 7]

    world = world_of(ToyJob(stages[:2]), jobs[1], executors=2, moving_delay_s=0, compat=IDLE)
    with pytest.raises(StalledWorld):
        run(world, decide)
