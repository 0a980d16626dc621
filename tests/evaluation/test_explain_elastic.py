"""The story of a job of the elastic family."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.elastic_toys import Promising, toy_run

from dovetail.core.seeds import SeedTree
from dovetail.evaluation.explain_elastic import explain_json, explain_text, timeline
from dovetail.evaluation.job_story_elastic import JobStory
from dovetail.evaluation.recording_elastic import record_elastic_run
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.elastic import ElasticOptions, ElasticWorld, run
from dovetail.testing.elastic_tiny import ONE_HOST, TinyJob, tiny_workload


def test_one_that_kept_its_promise() -> None:
    text = explain_text(JobStory(toy_run(Promising()), 1))
    assert "arrived         in slot 1 of 6, 10 s each" in text
    assert "work            2 worker-slots, at most 1 worker at a time, so 2 slots at least" in text
    assert "a worker takes  1 GPU, 1 Gbit/s" in text and "a server takes  1 CPU, 2 Gbit/s" in text
    assert "promised        completion by the end of slot 2; it came in that slot" in text
    assert "completed in slot 2 after 2 slots, 20 s: utility 14.62, 100 % of what it could be worth" in text
    assert "planned: 2 worker-slots and 2 server-slots until slot 2, completion promised by the end of slot 2" in text
    assert "(payoff 14.37 = utility 14.62 - cost 0.25, a worker-slot at 0.125): it is worth more" in text
    assert "1 – 2  1 worker, 1 parameter server; others had 1 worker on average: job 0 (a) 1" in text


def test_one_that_was_rejected() -> None:
    story = JobStory(toy_run(Promising()), 2)
    text = explain_text(story)
    assert "became of it    rejected in slot 1" in text and "promised        nothing" in text
    assert "rejected for good (payoff -1 = " in text and "no schedule is worth" in text
    assert [moment.kind for moment in timeline(story)] == ["arrived", "decided", "had"]


def test_one_that_came_to_be_worth_nothing() -> None:
    """It would have to be done by slot 1, and the other one, which is worth more, needs all until slot 2."""
    urgent = {"most": 2, "decay": 100.0}
    jobs = [TinyJob(work=6, worth=900, due=2.5, **urgent), TinyJob(work=2, worth=20, due=1.5, **urgent)]
    world = ElasticWorld(tiny_workload(jobs, 6), ElasticOptions(ONE_HOST), SeedTree(0), record=True)
    result = run(world, SCHEDULERS.create("elastic/oasis-replan"), np.random.default_rng(0))
    story = JobStory(record_elastic_run(result, ONE_HOST, "elastic/oasis-replan", 0), 1)
    reason = "it would be worth next to nothing by the time it could be done"
    assert f"2  rejected for good (utility below 0.0001): {reason}" in explain_text(story)
    (decision,) = explain_json(story)["decisions"]
    assert decision["reason"] == reason and 0 <= decision["utility"] < 1e-4 and decision["payoff"] is None


def test_one_that_waited() -> None:
    story = JobStory(toy_run(), 2)
    text = explain_text(story)
    assert "not completed: 2 of 8 worker-slots were left at the end" in text
    assert [(one.first, one.last, one.workers) for one in story.periods()] == [(1, 1, 0), (2, 3, 1), (4, 5, 2)]
    assert "1  nothing; others had 2 workers: job 0 (a) 2" in text
    assert "2 – 5  a plan for the slot, in 4 decisions: the job arrived first" in text
    assert "4 – 5  2 workers, 1 parameter server; nobody else had workers" in text


@pytest.mark.parametrize("scheduler", [None, Promising()])
@pytest.mark.parametrize("job", [0, 1, 2])
def test_json(scheduler: object, job: int) -> None:
    story = JobStory(toy_run(scheduler), job)
    document = json.loads(json.dumps(explain_json(story), allow_nan=False))
    assert (document["schema"], document["family"], document["job"]) == (1, "elastic", job)
    had = [moment for moment in document["timeline"] if moment["kind"] == "had"]
    slots = sum((one["last_slot"] - one["first_slot"] + 1) * one["workers"] for one in had)
    assert slots == document["summary"]["worker_slots"]
    assert had[0]["first_slot"] == document["summary"]["arrival"]
    assert sum(one["decisions"] for one in document["timeline"] if one["kind"] == "decided") == len(
        document["decisions"]
    )
    for one in document["decisions"]:
        if one["payoff"] is not None:
            assert one["payoff"] == pytest.approx(one["utility"] - one["cost"])
