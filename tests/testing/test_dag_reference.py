"""The reference world on worlds small enough to be solved by hand; the comments are the solutions."""

from __future__ import annotations

import pytest
from tests.testing.dag_toys import DRYING, ToyJob, ToyStage, fifo, run, tasks, world_of

from dovetail.core.dag import DagDecision, DagView
from dovetail.sim.dag.options import Compat
from dovetail.testing.dag_reference_chance import StageSamples, mix
from dovetail.workloads.dag import FIRST, FRESH, REST


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


def test_a_promised_executor_counts_for_the_job_it_goes_to():
    stages = [DRYING, ToyStage(4, 1)]
    world = world_of(ToyJob(stages), ToyJob([ToyStage(1, 9)], arrival_s=1), executors=2, moving_delay_s=0)
    world.advance()
    world.apply([DagDecision(0, 2)])
    view = world.advance()
    # 2 s: executor 1 leaves stage 0, executor 0 runs its third task.  One is kept (executor 1, at once), the
    # other promised to job 1.
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
    samples = StageSamples({FIRST: {2: [2.0], 8: [8.0]}, REST: {8: [5.0]}}, [2, 4, 5, 8], warm_up_s=1)
    assert [samples.at(FIRST, level) for level in samples.levels] == [[2], [2], [8], [8]]  # 5 is nearer to neither
    assert [samples.at(REST, level) for level in samples.levels] == [[2], [2], [5], [5]]
    assert [samples.at(FRESH, level) for level in samples.levels] == [[3], [3], [9], [9]]
    only_fresh = StageSamples({FRESH: {1: [4.0]}}, [1], warm_up_s=1)
    assert only_fresh.at(FIRST, 1) == only_fresh.at(REST, 1) == only_fresh.at(FRESH, 1) == [4]
    no_first = StageSamples({FRESH: {1: [4.0]}, REST: {1: [3.0]}}, [1], warm_up_s=1)
    assert no_first.at(FIRST, 1) == [4]
    only_rest = StageSamples({REST: {1: [3.0]}}, [1], warm_up_s=1)
    assert (only_rest.at(FIRST, 1), only_rest.at(FRESH, 1)) == ([3], [4])


@pytest.mark.parametrize(
    ("n", "around"), [(1, (2, 2)), (2, (2, 2)), (3, (2, 5)), (5, (5, 5)), (7, (5, 8)), (9, (8, 8))]
)
def test_levels_around_a_number_of_executors(n, around):
    assert StageSamples({REST: {2: [1.0]}}, [2, 5, 8], 1).around(n) == around


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
    high = uniform(start_hash(key, 0, 2)) < 0.5  # inverted: 1 - 0.5, the same
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
