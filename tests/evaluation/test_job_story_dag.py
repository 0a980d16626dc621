"""Why a job waited, on a record solved by hand.

Two executors, moving takes 1 s.  Job 0 (one stage, 2 tasks of 4 s) arrives at 0 and gets both.  Job 1 (stage
0 with 3 tasks of 1 s, then stage 1 with 1 task of 2 s) arrives at 1, gets one executor at 5, another at 6.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.records.synthetic import make_run

from dovetail.core.dag import REASON_TEXT, Reason
from dovetail.evaluation.explain_dag import explain_json, explain_text, timeline
from dovetail.evaluation.job_story_dag import JobStory
from dovetail.records import DagDecisions, DagEdges, DagJobs, DagRun, DagStages, DagTasks


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@pytest.fixture
def run() -> DagRun:
    return DagRun(
        run="toy",
        scheduler="dag/fifo",
        seed=0,
        executors=2,
        jobs=DagJobs(
            name=("big", "small", "late"),
            dag=("a", "b", "a"),
            arrival_s=floats(0, 1, 2),
            finish_s=floats(5, 10, 12),
            weight=floats(1, 1, 1),
            deadline_s=floats(np.inf, np.inf, np.inf),
            work_s=floats(8, 5, 1),
            ideal_s=floats(4, 3, 1),
        ),
        stages=DagStages(ints(0, 1, 1, 2), ints(0, 0, 1, 0), ("map", "scan", "join", "map"), ints(2, 3, 1, 1)),
        edges=DagEdges(ints(1), ints(0), ints(1)),
        tasks=DagTasks(
            executor=ints(0, 1, 0, 0, 1, 0, 1),
            job=ints(0, 0, 1, 1, 1, 1, 2),
            stage=ints(0, 0, 0, 0, 0, 1, 0),
            wave=ints(0, 0, 0, 2, 0, 1, 0),
            lost=np.zeros(7, dtype=np.bool_),
            start_s=floats(1, 1, 6, 7, 7, 8, 11),
            end_s=floats(5, 5, 7, 8, 8, 10, 12),
        ),
        decisions=DagDecisions(
            time_s=floats(0, 5, 5.5, 6, 8, 9),
            source_job=ints(-1, 0, 0, 0, 1, 1),
            source_stage=ints(-1, 0, -1, -1, 0, -1),
            on_offer=ints(2, 2, 1, 1, 1, 1),
            job=ints(0, 1, 2, 1, 1, 2),
            stage=ints(0, 0, 0, 0, 1, 0),
            limit=ints(2, 2, 2, 2, 2, 2),
            given=ints(2, 1, 1, 1, 1, 1),
            executor_class=ints(-1, -1, -1, -1, -1, -1),
            reason=np.full(6, Reason.FIRST_ARRIVED, dtype=np.int64),
        ),
    )


def test_stages(run: DagRun) -> None:
    scan, join = JobStory(run, 1).stages
    assert (scan.ready_s, scan.first_start_s, scan.complete_s, scan.executors) == (1, 6, 8, 2)
    assert (join.ready_s, join.first_start_s, join.complete_s, join.parents) == (8, 8, 10, (0,))
    story = JobStory(run, 1)
    assert [stage.stage for stage in story.critical_chain] == [0, 1]
    assert story.critical_stage == scan


def test_time_is_accounted_for(run: DagRun) -> None:
    assert JobStory(run, 1).shares_s == {"waiting_s": 4.0, "on_the_way_s": 1.0, "running_s": 4.0}
    time_s, count = JobStory(run, 1).executors_over_time
    assert dict(zip(time_s.tolist(), count.tolist(), strict=True)) == {6: 1, 7: 2, 8: 1, 10: 0}


def test_passed_over_only_while_work_was_ready(run: DagRun) -> None:
    # At 5.5 s two of three tasks had nobody coming; at 9 s the last task was running.
    assert JobStory(run, 1).passed_over.tolist() == [2]
    # Job 2 saw executors go to job 1 at 5 s; from 5.5 s on, one was promised to its only task.
    assert JobStory(run, 2).passed_over.tolist() == [1]
    assert JobStory(run, 0).passed_over.tolist() == []


def test_timeline(run: DagRun) -> None:
    why = REASON_TEXT[Reason.FIRST_ARRIVED]
    assert [(m.time_s, m.kind, m.text) for m in timeline(JobStory(run, 1))] == [
        (1, "arrived", "arrived: 2 stages, 4 tasks, 5 s of work"),
        (5, "given", f"got 2 executors for stage 0 (scan) in 2 decisions: {why}"),
        (5.5, "passed_over", f"1 executor went to job 2 (late) instead: {why}"),
        (6, "stage_started", "stage 0 (scan) started, 5.0 s after it was ready"),
        (8, "stage_completed", "stage 0 (scan) completed (3 tasks on 2 executors); now ready: 1"),
        (8, "given", f"got 1 executor for stage 1 (join): {why}"),
        (8, "stage_started", "stage 1 (join) started"),
        (10, "stage_completed", "stage 1 (join) completed (1 task on 1 executor)"),
        (10, "completed", "completed after 9.0 s"),
    ]


def test_text(run: DagRun) -> None:
    text = explain_text(JobStory(run, 1))
    assert text.startswith("job 1 (small) of kind b under dag/fifo (run toy, seed 0)")
    assert "waited          4.0 s (44 %)" in text
    assert "critical stage  stage 0 (scan): 7.0 s from ready to complete, the longest of the chain 0 → 1" in text
    assert "5.0 – 6.0  got 2 executors for stage 0 (scan)" in text


def test_names_cannot_drive_the_terminal(run: DagRun) -> None:
    odd = replace(run, jobs=replace(run.jobs, name=("big", "\x1b[2Jx", "late")))
    assert "\x1b" not in explain_text(JobStory(odd, 1))


def test_json_is_plain(run: DagRun) -> None:
    run.jobs.finish_s[1] = np.inf
    run = replace(run, tasks=replace(run.tasks, **{k: v[[0, 1, 2, 6]] for k, v in vars(run.tasks).items()}))
    document = json.loads(json.dumps(explain_json(JobStory(run, 1)), allow_nan=False))
    assert document["summary"]["finish_s"] is None and document["summary"]["slowdown"] is None
    assert document["stages"][1]["first_start_s"] is None
    assert "not completed when the run ended" in explain_text(JobStory(run, 1))


def test_lost_tasks_are_repeated(run: DagRun) -> None:
    run.tasks.lost[3] = True  # one of stage 0's three tasks: it never completes in this record
    scan, join = JobStory(run, 1).stages
    assert (scan.lost, scan.complete_s, join.ready_s) == (1, np.inf, np.inf)


@pytest.mark.parametrize("scheduler", ["dag/fifo", "dag/fair", "dag/random"])
def test_every_job_of_a_run_can_be_told(scheduler: str) -> None:
    run = make_run(scheduler, num_jobs=8, executors=10)
    for job in range(8):
        story = JobStory(run, job)
        jct_s = run.jobs.finish_s[job] - run.jobs.arrival_s[job]
        assert sum(story.shares_s.values()) == pytest.approx(jct_s)
        kinds = [moment.kind for moment in timeline(story)]
        assert kinds[0] == "arrived" and kinds[-1] == "completed"
        assert kinds.count("stage_completed") == kinds.count("stage_started") == len(story.stages)
        long = timeline(story, shorten=False)
        told = sum(moment.details["executors"] for moment in long if moment.kind == "passed_over")
        assert told == run.decisions.given[story.passed_over].sum()
        explain_text(story)
