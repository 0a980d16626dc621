"""Who goes first in a Spark of values, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.execution.spark.paper_spark import (
    ACTING,
    PaperSpark,
    PaperStage,
    controller_of,
    notes,
    steered,
    step,
)

from dovetail.core.dag import DagDecision, DagInfo, DagView
from dovetail.execution.engines.spark.messages import Resize, SparkOptions, Steer

SCHEDULERS_TRIED = ("dag/fair-spill", "dag/fifo", "dag/weighted-fair", "dag/srtf")


class Stubborn:
    """Always says the same."""

    def __init__(self, stage: int, limit: int) -> None:
        self._decision = DagDecision(stage, limit)

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None: ...

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        return (self._decision,)


class Idle(Stubborn):
    def decide(self, view: DagView) -> Sequence[DagDecision]:
        return ()


class Watchful:
    """Keeps a copy of what it was shown; gives all to the first that may be chosen."""

    def __init__(self) -> None:
        self.views: list[DagView] = []
        self.slots = 0

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self.slots = info.num_executors

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        self.views.append(view)
        return (DagDecision(int(np.flatnonzero(view.stage_valid)[0]), self.slots),)


def mix() -> PaperSpark:
    """A large job, and a small one right after it."""
    spark = PaperSpark(4)
    spark.submit(PaperStage(40, 1.0), PaperStage(4, 1.0, (0,)), group="large")
    spark.submit(PaperStage(4, 1.0), group="small")
    return spark


def alone_s() -> float:
    spark = mix()
    spark.run(1000.0)
    return spark.jobs[1].ended_s


@pytest.mark.parametrize("scheduler", SCHEDULERS_TRIED)
@pytest.mark.parametrize("every", ["stage", "task"])
def test_every_job_ends_and_no_slot_idles(scheduler: str, every: str) -> None:
    spark = PaperSpark(4)
    for number in range(6):
        spark.submit(PaperStage(3 + 5 * number, 0.2), PaperStage(4, 0.3, (0,)), PaperStage(2, 0.1, (0, 1)))
        spark.run(spark.now_s + 0.3)
    steered(spark, controller_of(scheduler, replace(ACTING, every=every)))
    assert len(spark.launched) == sum(stage.tasks for job in spark.jobs for stage in job.stages)
    work_s = sum(stage.tasks * stage.task_s for job in spark.jobs for stage in job.stages)
    assert spark.now_s < work_s / 4 + 2.5, "Spark launches something whenever there is something"


def test_the_small_job_overtakes_the_large_one() -> None:
    spark = mix()
    steered(spark, controller_of("dag/srtf", replace(ACTING, every="task")))
    assert alone_s() >= 11.0, "Spark's FIFO has it wait for the stage before it"
    assert spark.jobs[1].ended_s <= 3.0


def test_a_fair_share_is_kept_task_by_task() -> None:
    spark = PaperSpark(4)
    spark.submit(PaperStage(40, 1.0), group="a")
    spark.submit(PaperStage(40, 1.0), group="b")
    controller = controller_of("dag/fair-spill", replace(ACTING, every="task"))
    step(spark, controller)
    spark.run(5.0)
    assert [stage.running for job in spark.jobs for stage in job.stages] == [2, 2]
    steered(spark, controller)
    assert abs(spark.jobs[0].ended_s - spark.jobs[1].ended_s) <= 1.0


def test_as_in_the_simulator_a_stage_keeps_its_slots_until_it_is_dry() -> None:
    spark = PaperSpark(4)
    spark.submit(PaperStage(12, 1.0), group="a")
    controller = controller_of("dag/fair-spill")
    step(spark, controller)
    spark.run(0.5)
    spark.submit(PaperStage(4, 1.0), group="b")
    steered(spark, controller)
    assert spark.jobs[0].ended_s == pytest.approx(3.0)
    assert spark.jobs[1].ended_s == pytest.approx(4.0)


def test_shadow_mode_steers_nothing_and_says_what_it_would_do() -> None:
    spark = mix()
    said = steered(spark, controller_of("dag/srtf", SparkOptions(act=False, every="task")))
    assert not [one for one in said if isinstance(one, Steer | Resize)]
    assert spark.jobs[1].ended_s == pytest.approx(alone_s())
    decided = notes(said, "decided")
    assert decided and all("would get" in note.text for note in decided)


def test_the_same_is_not_said_twice() -> None:
    spark = mix()
    controller = controller_of("dag/fair-spill")
    step(spark, controller)
    assert list(step(spark, controller)) == []


def test_a_scheduler_that_says_nonsense_is_replaced() -> None:
    spark = mix()
    controller = controller_of(Stubborn(99, 4))
    said = steered(spark, controller)
    (note,) = notes(said, "scheduler")
    assert "Stubborn failed with InvalidDecision" in note.text and "dag/fair-spill takes over" in note.text
    assert controller.name == "dag/fair-spill" and spark.is_idle


def test_a_limit_above_the_cluster_is_refused() -> None:
    spark = mix()
    (note,) = notes(steered(spark, controller_of(Stubborn(0, 5))), "scheduler")
    assert "limit 5" in note.text


def test_a_scheduler_that_declines_leaves_everything_to_spark() -> None:
    spark = mix()
    said = steered(spark, controller_of(Idle(0, 0)))
    assert not notes(said, "decided") and spark.jobs[1].ended_s == pytest.approx(alone_s())


def test_what_is_shown() -> None:
    spark = PaperSpark(4)
    spark.submit(PaperStage(6, 1.0), PaperStage(3, 1.0, (0,)), group="a", description="sum")
    spark.submit(PaperStage(1, 1.0), group="b")
    watchful = Watchful()
    step(spark, controller_of(watchful))
    view = watchful.views[0]
    assert (view.source_executors, view.source_job, view.source_stage) == (4, -1, -1)
    assert view.job_stage_ptr.tolist() == [0, 2, 3] and view.stage_tasks.tolist() == [6, 3, 1]
    assert view.stage_ready.tolist() == [True, False, True] and view.stage_valid.tolist() == [True, False, True]
    assert view.stage_unclaimed.tolist() == [6, 3, 1] and view.job_executors.tolist() == [0, 0]
    assert view.edge_parent.tolist() == [0] and view.edge_child.tolist() == [1]
    assert view.stage_critical_path_s.tolist() == [2.0, 1.0, 1.0]
    assert not view.stage_tasks.flags.writeable


def test_slots_of_a_dry_stage_are_promised_before_they_are_free() -> None:
    spark = PaperSpark(2)
    spark.submit(PaperStage(2, 1.0), PaperStage(5, 1.0, (0,)))
    watchful = Watchful()
    controller = controller_of(watchful)
    step(spark, controller)
    spark.run(0.1)
    step(spark, controller)
    view = watchful.views[-1]
    assert (view.source_executors, view.source_job, view.source_stage) == (2, 0, 0)
    assert view.job_executors.tolist() == [0], "what is on offer is not counted"
    assert spark.claims[1] == (2, 1), "although the stage has not been submitted"
    many = len(watchful.views)
    spark.run(0.2)
    step(spark, controller)
    assert len(watchful.views) == many, "what was promised is not offered again"


def test_lost_slots_are_taken_from_what_was_decided_last() -> None:
    spark = PaperSpark(6)
    spark.submit(PaperStage(20, 1.0), group="a")
    spark.submit(PaperStage(20, 1.0), group="b")
    controller = controller_of("dag/fair-spill")
    step(spark, controller)
    assert sum(slots for slots, _ in spark.claims.values()) == 6
    spark.slots = 4
    said = step(spark, controller)
    assert notes(said, "slots")[0].facts == {"slots": 4}
    assert sum(slots for slots, _ in spark.claims.values()) == 4
    steered(spark, controller)


def test_a_restored_hook_is_told_again() -> None:
    spark = mix()
    controller = controller_of("dag/fair-spill")
    (first,) = [one for one in step(spark, controller) if isinstance(one, Steer)]
    (again,) = [one for one in controller.step(spark.look()._replace(expired=True)) if isinstance(one, Steer)]
    assert first == again
