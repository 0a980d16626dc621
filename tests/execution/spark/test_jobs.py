"""How Spark's jobs become ours, and what is known of their stages."""

from __future__ import annotations

import numpy as np
import pytest
from tests.execution.spark.paper_spark import PaperSpark, PaperStage, controller_of, notes, steered, step

from dovetail.execution.engines.spark.jobs import DONE, SUBMITTED, TO_COME, WAITS, Jobs
from dovetail.execution.engines.spark.known import Kind, Known, KnownStage
from dovetail.execution.engines.spark.messages import (
    JobEnded,
    JobStarted,
    Look,
    Names,
    StageCompleted,
    StageKnown,
    StageSubmitted,
    TasksEnded,
    TaskSet,
)
from dovetail.execution.engines.spark.view import Offer, view_of
from dovetail.workloads.generate.tpch_like import TpchLike

NOBODY = Names("", "", "")
QUERY = Names("", "7", "q5")
Q5 = Kind("q5", (KnownStage("scan", 8, 2.0, ()), KnownStage("join", 4, 3.0, (0,)), KnownStage("sum", 1, 1.0, (1,))))


def look(*events: object, sets: tuple[TaskSet, ...] = (), time_s: float = 0.0) -> Look:
    return Look(time_s, 4, False, sets, events)  # type: ignore[arg-type]


def started(job: int, names: Names, *stages: StageKnown) -> JobStarted:
    return JobStarted(0.0, job, names, stages)


def test_spark_jobs_of_a_group_or_a_query_are_one_job() -> None:
    jobs = Jobs()
    jobs.update(
        look(
            started(0, Names("g", "1", ""), StageKnown(0, 2, False, (), "map")),
            started(1, Names("g", "2", ""), StageKnown(1, 2, False, (), "map")),
            started(2, QUERY, StageKnown(2, 2, False, (), "map")),
            started(3, NOBODY, StageKnown(3, 2, False, (), "map")),
        )
    )
    assert list(jobs.by_key) == ["group g", "query 7", "job 3"]
    assert [job.name for job in jobs.active()] == ["g", "q5", "job"]


@pytest.mark.parametrize(("grouping", "key"), [("group", "group g"), ("query", "query 1"), ("job", "job 0")])
def test_how_they_are_grouped_can_be_said(grouping: str, key: str) -> None:
    jobs = Jobs(grouping)
    jobs.update(look(started(0, Names("g", "1", ""), StageKnown(0, 2, False, (), "map"))))
    assert list(jobs.by_key) == [key]


def test_stages_whose_outputs_are_there_are_not_waited_for() -> None:
    jobs = Jobs()
    scan, there = StageKnown(0, 8, False, (), "scan"), StageKnown(1, 8, True, (2,), "scan")
    before, join = StageKnown(2, 3, False, (), "scan"), StageKnown(3, 4, False, (0, 1), "join")
    jobs.update(look(started(0, NOBODY, scan, there, before, join)))
    (job,) = jobs.active()
    assert [stage.number for stage in job.stages] == [0, 3]
    assert [parent.number for parent in job.stages[1].parents] == [0]


def test_a_stage_that_fails_waits_again_and_one_of_a_job_that_ended_is_over() -> None:
    jobs = Jobs()
    jobs.update(look(started(0, NOBODY, StageKnown(0, 2, False, (), "map"), StageKnown(1, 1, False, (0,), "sum"))))
    jobs.update(look(StageSubmitted(0, 2)))
    assert jobs.stages[0].state == SUBMITTED
    jobs.update(look(StageCompleted(0, True)))
    assert jobs.stages[0].state == WAITS
    jobs.update(look(JobEnded(1.0, 0)))
    assert not jobs.active() and [job.number for job in jobs.over] == [0]


def test_what_ran_before_is_seen_as_a_job_of_one_stage() -> None:
    jobs = Jobs()
    jobs.update(look(sets=(TaskSet(9, 4, 2, 1, 8, Names("old", "", "")),)))
    (job,) = jobs.active()
    assert (job.key, job.stages[0].running, job.stages[0].waiting) == ("group old", 2, 5)
    jobs.update(look(StageCompleted(9, False)))
    assert not jobs.active() and [over.key for over in jobs.over] == ["group old"]


def test_a_task_between_running_and_finished_is_not_to_be_launched_again() -> None:
    jobs = Jobs()
    jobs.update(look(started(0, NOBODY, StageKnown(0, 3, False, (), "map")), StageSubmitted(0, 3)))
    seen = []
    for running, finished in ((2, 0), (2, 1), (1, 1), (1, 2), (0, 2)):
        jobs.update(look(sets=(TaskSet(0, 0, running, finished, 3, NOBODY),)))
        seen.append(jobs.stages[0].waiting)
    assert seen == [1, 0, 0, 0, 0]
    for _ in range(5):  # it failed
        jobs.update(look(sets=(TaskSet(0, 0, 0, 2, 3, NOBODY),)))
    assert jobs.stages[0].waiting == 1


def test_a_group_is_remembered_for_a_while() -> None:
    jobs = Jobs(linger_s=10.0)
    stage = StageKnown(0, 2, False, (), "map")
    jobs.update(look(started(0, Names("g", "", ""), stage)))
    jobs.update(look(StageCompleted(0, False), JobEnded(1.0, 0), time_s=1.0))
    jobs.update(look(started(1, Names("g", "", ""), stage._replace(stage=1)), time_s=5.0))
    assert [job.number for job in jobs.active()] == [0], "the same job goes on"
    jobs.update(look(StageCompleted(1, False), JobEnded(6.0, 1), time_s=6.0))
    jobs.update(look(time_s=20.0))
    assert not jobs.by_key and not jobs.stages


def test_what_is_unknown_is_said_and_learned() -> None:
    spark = PaperSpark(2)
    spark.submit(PaperStage(4, 0.5), description="sum")
    controller = controller_of("dag/fair-spill")
    (first,) = notes(step(spark, controller), "job")
    assert "unknown" in first.text and first.facts["kind"] is None
    steered(spark, controller)
    spark.submit(PaperStage(4, 0.5), description="sum")
    (decided,) = notes(step(spark, controller), "decided")
    assert decided.facts["mean_is_seen"] and decided.facts["mean_s"] == pytest.approx(0.5)


def test_a_known_query_shows_stages_that_spark_has_not_shown() -> None:
    jobs = Jobs(known=Known([Q5]))
    jobs.update(look(started(0, QUERY, StageKnown(0, 8, False, (), "scan")), StageSubmitted(0, 8)))
    (job,) = jobs.active()
    assert job.kind == Q5 and [stage.state for stage in job.stages + job.to_come] == [SUBMITTED, TO_COME, TO_COME]
    view, stages = view_of(jobs.active(), Offer(4, None), set(), 0.0)
    assert view.job_work_left_s.tolist() == [8 * 2.0 + 4 * 3.0 + 1.0]
    assert view.stage_critical_path_s.tolist() == [6.0, 4.0, 1.0]
    assert view.stage_valid.tolist() == [True, False, False], "nothing can be given to what is to come"
    assert (view.edge_parent.tolist(), view.edge_child.tolist()) == ([0, 1], [1, 2])
    shown = (StageCompleted(0, False), JobEnded(1.0, 0), started(1, QUERY, StageKnown(5, 4, False, (), "join")))
    jobs.update(look(TasksEnded(0, 8, 16.0), *shown, StageSubmitted(5, 4)))
    assert [stage.number for stage in job.stages] == [0, 5] and len(job.to_come) == 1
    assert stages[1] is job.stages[1] and stages[1].estimate.mean_s == pytest.approx(3.0)


def test_kinds_are_found_by_name_or_by_shape() -> None:
    other = Kind("q6", (KnownStage("scan", 9, 1.0, ()), KnownStage("sum", 1, 1.0, (0,))))
    twins = [Kind(name, (KnownStage("a", 2, 1.0, ()), KnownStage("b", 2, 1.0, ()))) for name in "xy"]
    known = Known([Q5, other, *twins])
    assert known.kind(["q6"], [3]) == other
    assert known.kind([], [1, 4, 8]) == Q5
    assert known.kind([], [2, 2]) is None, "two kinds look like that"
    assert known.kind(["new"], [9]) is None


def test_a_workload_says_which_kinds_are_known() -> None:
    catalogue = TpchLike().catalogue()
    known = Known.of(catalogue)
    assert len(known) == catalogue.num_dags
    kind = known.kind([catalogue.dag_name[0]], [])
    assert kind is not None and len(kind.stages) == int(catalogue.dag_stages[0])
    assert all(parent < at for at, stage in enumerate(kind.stages) for parent in stage.parents)
    work_s = sum(stage.tasks * stage.mean_s for stage in kind.stages)
    assert work_s == pytest.approx(float(catalogue.dag_work_s[0]))


def test_the_work_of_a_job_goes_down_as_its_tasks_end() -> None:
    jobs = Jobs()
    stage = StageKnown(0, 4, False, (), "map")
    jobs.update(look(started(0, NOBODY, stage), StageSubmitted(0, 4), sets=(TaskSet(0, 0, 2, 0, 4, NOBODY),)))
    lefts = []
    for finished in range(3):
        sets = (TaskSet(0, 0, 2, finished, 4, NOBODY),)
        ended = (TasksEnded(0, 1, 1.0),) if finished else ()
        jobs.update(look(*ended, sets=sets))
        view, _ = view_of(jobs.active(), Offer(1, None), set(), 0.0)
        lefts.append(float(view.job_work_left_s[0]))
    assert np.all(np.diff(lefts) < 0)
    jobs.update(look(StageCompleted(0, False)))
    assert jobs.stages[0].state == DONE
