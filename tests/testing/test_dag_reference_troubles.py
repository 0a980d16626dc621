"""The reference world, solved by hand: failures, classes, refused decisions, the published faults."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.testing.dag_toys import DRYING, ToyJob, ToyStage, fifo, run, tasks, world_of

from dovetail.core.dag import DagDecision, DagView, ExecutorClass, Reason
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.sim.dag.options import Compat
from dovetail.testing.dag_reference_chance import mix
from dovetail.workloads.dag import FRESH, REST


def uniform(h: int) -> float:
    return (h >> 32) / 2**32


def start_hash(key: int, stage: int, count: int) -> int:
    return mix(key + stage * 0x9E3779B97F4A7C15 + count * 0xD1B54A32D192ED03)


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
