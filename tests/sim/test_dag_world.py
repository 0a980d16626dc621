"""The compiled world on toys whose outcome can be worked out by hand, and what it says when it is misused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, fifo, toy_workload

from dovetail.core.dag import DagDecision, DagView, ExecutorClass
from dovetail.core.errors import ConfigError, InvalidDecision, StalledWorld
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import Compat, DagOptions, DagResult, DagWorld
from dovetail.workloads.dag import DagWorkload


def play(workload: DagWorkload, decide=fifo, *, record: bool = True, **options) -> DagResult:
    horizon = options.pop("horizon_s", float("inf"))
    world = DagWorld(workload, DagOptions(**options), SeedTree(0), record=record, horizon_s=horizon)
    while (view := world.advance()) is not None:
        world.apply(decide(view))
    return world.result()


def one_stage(tasks: int, seconds: float, **job) -> ToyJob:
    return ToyJob([ToyStage(tasks, seconds)], **job)


def test_two_jobs_one_after_the_other() -> None:
    # both executors come (2 s), run 4 tasks of 3 s in two waves, move (2 s), run the second job's 2 tasks of 1 s
    result = play(toy_workload(one_stage(4, 3.0), one_stage(2, 1.0)), executors=2)
    assert result.finish_s.tolist() == [8.0, 11.0]
    assert result.avg_jct_s == 9.5
    assert result.last_finish_s == 11.0
    assert result.busy_s == 14.0


def best_of_all(workload: DagWorkload, options: DagOptions) -> float:
    """The lowest average completion time of any sequence of decisions, by trying them all."""
    best = float("inf")
    prefixes: list[list[DagDecision]] = [[]]
    while prefixes:
        prefix = prefixes.pop()
        world = DagWorld(workload, options, SeedTree(0))
        for decision in prefix:
            world.advance()
            world.apply([decision])
        view = world.advance()
        if view is None:
            best = min(best, world.result().avg_jct_s)
            continue
        for stage in np.flatnonzero(view.stage_valid).tolist():
            held = int(view.job_executors[view.stage_job[stage]])
            prefixes += [[*prefix, DagDecision(stage, held + n + 1)] for n in range(view.source_executors)]
    return best


def test_the_shorter_job_first_is_the_optimum_of_two() -> None:
    def shortest(view: DagView) -> list[DagDecision]:
        valid = np.flatnonzero(view.stage_valid)
        stage = int(valid[np.argmin(view.job_work_s[view.stage_job[valid]])])
        return [DagDecision(stage, int(view.job_executors[view.stage_job[stage]]) + view.source_executors)]

    # short: 2 + 1 = 3; long: 3 + 2 + 2 * 3 = 11
    workload = toy_workload(one_stage(4, 3.0), one_stage(2, 1.0))
    assert play(workload, shortest, executors=2).avg_jct_s == 7.0
    assert best_of_all(workload, DagOptions(executors=2)) == 7.0


def test_fork_and_join() -> None:
    # 2 s to come; root 1 s; both branches at once (2 s and 5 s, one executor each); join 1 s
    stages = [ToyStage(1, 1.0), ToyStage(1, 2.0, (0,)), ToyStage(1, 5.0, (0,)), ToyStage(1, 1.0, (1, 2))]
    assert play(toy_workload(ToyJob(stages)), executors=2).finish_s.tolist() == [9.0]


def test_no_moving_delay() -> None:
    result = play(toy_workload(one_stage(4, 3.0), one_stage(2, 1.0)), executors=2, moving_delay_s=0.0)
    assert result.finish_s.tolist() == [6.0, 7.0]


def test_waves() -> None:
    # one executor: fresh task 5 s, then rest 1 s; next stage: first wave 3 s, then rest 1 s
    waves = {("fresh", 1): [5.0], ("first", 1): [3.0], ("rest", 1): [1.0]}
    job = ToyJob([ToyStage(2, waves), ToyStage(2, waves, (0,))])
    result = play(toy_workload(job), executors=1)
    assert result.tasks["wave"].tolist() == [0, 2, 1, 2]
    assert (result.tasks["end_s"] - result.tasks["start_s"]).tolist() == [5.0, 1.0, 3.0, 1.0]
    assert result.finish_s.tolist() == [12.0]


def test_waiting_at_home_costs_no_second_warm_up_unless_the_published_fault_is_asked_for() -> None:
    # two executors, stage 0 has one task of 4 s: one executor waits at home for stage 1
    waves = {("fresh", 1): [4.0], ("first", 1): [1.0], ("rest", 1): [1.0]}
    job = ToyJob([ToyStage(3, waves), ToyStage(2, waves, (0,))])
    sound = play(toy_workload(job), executors=2)
    faulty = play(toy_workload(job), executors=2, compat=Compat(pool_forgets=True))
    assert sound.tasks["wave"].tolist().count(0) == 2
    assert faulty.tasks["wave"].tolist().count(0) > 2


def test_limit() -> None:
    # never more than one of three executors: 4 tasks of 2 s one after the other
    def one_at_most(view: DagView) -> list[DagDecision]:
        return [DagDecision(int(np.argmax(view.stage_valid)), 1)] if view.job_executors[0] == 0 else []

    assert play(toy_workload(one_stage(4, 2.0)), one_at_most, executors=3).finish_s.tolist() == [10.0]


def test_work_inflates_with_parallelism() -> None:
    # measured with 2 executors at home: 1 s, with 4: 3 s; at 3 either of the two
    samples = {("rest", 2): [1.0], ("rest", 4): [3.0]}
    job = ToyJob([ToyStage(3000, samples)])
    few, many = (play(toy_workload(job), executors=n).tasks for n in (2, 4))
    assert set((few["end_s"] - few["start_s"])[10:].round(9)) == {1.0}
    assert set((many["end_s"] - many["start_s"])[10:].round(9)) == {3.0}
    between = play(toy_workload(job), executors=3).tasks
    long = ((between["end_s"] - between["start_s"])[10:] > 2.0).mean()
    assert 0.45 < long < 0.55


def test_classes() -> None:
    classes = (ExecutorClass(1, memory=0.25), ExecutorClass(1, memory=1.0))
    job = ToyJob([ToyStage(2, 1.0, memory=0.5), ToyStage(2, 1.0, memory=0.1)])
    result = play(toy_workload(job), classes=classes)
    big = result.tasks[result.tasks["stage"] == 0]
    assert set(big["executor"].tolist()) == {1}
    with pytest.raises(ConfigError, match="fit no executor class"):
        play(toy_workload(job), classes=classes[:1])


def test_horizon() -> None:
    result = play(toy_workload(one_stage(4, 3.0), one_stage(2, 1.0)), executors=2, horizon_s=6.0)
    assert result.end_s == 6.0
    assert np.isnan(result.finish_s).all()
    assert result.costs["jobs"] == 12.0


def test_costs() -> None:
    jobs = (one_stage(1, 3.0, weight=2.0, deadline_s=4.0), one_stage(1, 1.0, arrival_s=1.0, weight=5.0))
    result = play(toy_workload(*jobs), executors=1)
    # first: 0 to 5; second: 1 to 8 (moved at 5, arrived at 7)
    assert result.finish_s.tolist() == [5.0, 8.0]
    assert result.costs == {"time": 8.0, "jobs": 12.0, "weight": 45.0, "late": 1.0, "executors": 8.0}


def test_views_cannot_be_written_to() -> None:
    world = DagWorld(toy_workload(one_stage(1, 1.0)), DagOptions(executors=1), SeedTree(0))
    view = world.advance()
    assert view is not None
    for part in view:
        if isinstance(part, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                part[...] = 0


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (DagDecision(9, 1), "the view has stages 0 to 1"),
        (DagDecision(-1, 1), "the view has stages 0 to 1"),
        (DagDecision(1, 1), "may not be chosen now"),
        (DagDecision(0, 0), "already holds 0 executors"),
        (DagDecision(0, 3), "the cluster has 2 executors"),
        (DagDecision(0, 1, 7), "executor classes 0 to 0"),
    ],
)
def test_refused_decisions_say_why_and_change_nothing(decision: DagDecision, text: str) -> None:
    job = ToyJob([ToyStage(2, 1.0), ToyStage(1, 1.0, (0,))])
    world = DagWorld(toy_workload(job), DagOptions(executors=2), SeedTree(0))
    world.advance()
    with pytest.raises(InvalidDecision, match=text):
        world.apply([decision])
    while (view := world.advance()) is not None:
        world.apply(fifo(view))
    assert world.result().finish_s.tolist() == [4.0]


@pytest.mark.parametrize(
    "decisions",
    [
        [DagDecision(0.0, 1)],
        [DagDecision(0, 1.5)],
        [DagDecision("0", 1)],
        [DagDecision(0, None)],
        [DagDecision(0, 2**63)],
        [DagDecision(0, -(2**70))],
        [(0, 1)],
        [None],
        [7],
        None,
        DagDecision(0, 1),
    ],
)
def test_what_is_no_decision_is_refused_with_what_was_given(decisions) -> None:
    world = DagWorld(toy_workload(one_stage(1, 1.0)), DagOptions(executors=1), SeedTree(0))
    world.advance()
    with pytest.raises(InvalidDecision, match=r"given .*; expected a (sequence of )?DagDecision"):
        world.apply(decisions)
    world.apply([DagDecision(np.int64(0), np.int32(1))])
    assert world.advance() is None


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (DagDecision(0, 2), "already chosen in this round"),
        (DagDecision(1, 0), "already holds 0 executors"),
        (DagDecision(1, 4), "the cluster has 3 executors"),
        (DagDecision(9, 1), "the view has stages 0 to 2"),
        (DagDecision(1, 1.5), "all whole numbers"),
        (None, "given None"),
    ],
)
def test_of_several_decisions_all_are_carried_out_or_none(bad: DagDecision, text: str) -> None:
    world = DagWorld(toy_workload(*[one_stage(2, 1.0)] * 3), DagOptions(executors=3), SeedTree(0), record=True)
    world.advance()
    world.apply([DagDecision(2, 1)])
    before = [np.copy(part) for part in world.advance()]
    for decisions in ([DagDecision(0, 1), bad], [DagDecision(0, 1), bad, DagDecision(1, 1)]):
        with pytest.raises(InvalidDecision, match=text):
            world.apply(decisions)
        for part, old in zip(world.advance(), before, strict=True):
            np.testing.assert_array_equal(part, old)
    world.apply([DagDecision(0, 1), DagDecision(1, 1)])
    while (view := world.advance()) is not None:
        world.apply(fifo(view))
    result = world.result()
    assert result.decisions == len(result.decision_log)
    assert result.decision_log["job"].tolist()[:3] == [2, 0, 1]
    assert result.finish_s.tolist() == [4.0, 4.0, 4.0]


def test_all_of_many_decisions_are_recorded() -> None:
    world = DagWorld(toy_workload(*[one_stage(1, 1.0)] * 600), DagOptions(executors=600), SeedTree(0), record=True)
    world.advance()
    world.apply([DagDecision(stage, 1) for stage in range(600)])
    assert world.advance() is None
    assert world.result().decision_log["job"].tolist() == list(range(600))


def test_nothing_to_decide() -> None:
    world = DagWorld(toy_workload(one_stage(1, 1.0)), DagOptions(executors=1), SeedTree(0))
    with pytest.raises(InvalidDecision, match="call advance"):
        world.apply([DagDecision(0, 1)])


def test_a_scheduler_that_never_starts_anything_is_told() -> None:
    with pytest.raises(StalledWorld, match=r"1 jobs are in the system and 2 of 2 executors are free"):
        play(toy_workload(one_stage(1, 1.0)), lambda view: [], executors=2)


def test_several_decisions_at_once() -> None:
    def both(view: DagView) -> list[DagDecision]:
        return [DagDecision(int(stage), 1) for stage in np.flatnonzero(view.stage_valid)][: view.source_executors]

    result = play(toy_workload(one_stage(1, 1.0), one_stage(1, 1.0)), both, executors=2)
    assert result.finish_s.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"executors": 0}, "at least one executor"),
        ({"executors": 1_000_001}, "at most 1,000,000"),
        ({"moving_delay_s": -1.0}, "a delay of 0 s or more"),
        ({"moving_delay_s": float("nan")}, "a delay of 0 s or more"),
        ({"straggler_probability": 1.5}, "a share from 0 to 1"),
        ({"straggler_factor": float("inf")}, "1e\\+06 at most"),
        ({"straggler_factor": 0.5}, "a factor of 1 or more"),
        *(
            ({name: seconds}, f"{name} is .*1e\\+09 s")
            for name in ("moving_delay_s", "warm_up_s", "mean_time_to_failure_s", "repair_s")
            for seconds in (float("inf"), 2e9)
        ),
        ({"classes": (ExecutorClass(0),)}, "count >= 1"),
        ({"classes": (ExecutorClass(1, cpu=float("nan")),)}, "cpu > 0"),
        ({"classes": (ExecutorClass(1, memory=float("nan")),)}, "memory > 0"),
        ({"classes": (ExecutorClass(10**6), ExecutorClass(1))}, "1,000,001 executors; expected 1,000,000 at most"),
        ({"compat": Compat(idle_until_arrival=True), "mean_time_to_failure_s": 9.0}, "exclude each other"),
    ],
)
def test_bad_options(option: dict, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        DagOptions(**option)


def test_a_cluster_on_which_tasks_cannot_finish_is_refused() -> None:
    with pytest.raises(ConfigError, match="hardly ever finish"):
        play(toy_workload(one_stage(1, 100.0)), executors=1, mean_time_to_failure_s=10.0)
