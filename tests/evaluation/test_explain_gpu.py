"""The story of a job of the gpu family."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.gpu_toys import CLUSTER, FIFO, TROUBLES, toy_model, toy_run, toy_workload

from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, Reason
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.explain_gpu import explain_json, explain_text, timeline
from dovetail.evaluation.job_story_gpu import JobStory
from dovetail.evaluation.recording_gpu import record_gpu_run
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.gpu import GpuOptions, GpuWorld, run


def test_one_that_waited() -> None:
    story = JobStory(toy_run(), 3)
    text = explain_text(story)
    assert text.startswith("job 3 (d) under gpu/fifo+first-fit (run gpu-fifo-first-fit-s0, seed 0)")
    assert "trains          net, sent by bob" in text
    assert "needs           0.5 GPUs, 2 processors and 4 GB, on V100 only" in text
    assert "completed at 162 s, after 142 s: waited 80 s, ran 62.5 s" in text
    assert "speed           0.80 on average, 80 % of alone on the same types" in text
    waited = (
        "waited 80 s: no machine had room for it, 0 GPUs free on average; 2 jobs started before it, 1 of which came "
    )
    assert f"20 – 100  {waited}later; they took job 2 (<c>) 0.00868 GPU-hours, job 4 (e) 0 GPU-hours; " in text
    assert "because: it had waited longest of those that fit" in text and "let wait" not in text
    assert "100  started on m0 (V100) GPU 0: it had waited longest of those that fit" in text
    assert "; the first machines with room" in text
    assert "ran 62.5 s at speed 0.80, 80 % of alone on the same types, for 0.03 USD; " in text
    assert "beside it: job 2 (<c>) for 62.5 s on the same GPU" in text
    assert [one.kind for one in timeline(story)] == ["arrived", "waited", "started", "ran", "completed"]


def test_a_gang() -> None:
    text = explain_text(JobStory(toy_run(), 1))
    assert "needs           2 workers of 1 GPU, 2 processors and 4 GB each, all at once" in text
    assert "0  started on m1 (T4) GPU 0, 1 (2 workers): " in text and "nobody else was on its machines" in text
    assert "speed           0.50 on average, 100 % of alone on the same types" in text


def test_who_was_taken() -> None:
    """Of two that start in the same answer, the second was taken after the first."""
    first, second = JobStory(toy_run(), 2).waits[0], JobStory(toy_run(), 3).waits[0]
    assert [(one.job, one.later) for one in first.taken] == [(4, True)]
    assert [(one.job, one.later) for one in second.taken] == [(4, True), (2, False)]


def test_neighbours() -> None:
    """e runs beside a on m0, on no device; a sees it for as long as both are there."""
    (stay,) = JobStory(toy_run(), 0).stays
    assert [(one.job, one.seconds, one.same_device) for one in stay.neighbours] == [(4, 40.0, False)]
    (stay,) = JobStory(toy_run(), 3).stays
    assert [(one.job, one.seconds, one.same_device) for one in stay.neighbours] == [(2, 62.5, True)]


def test_one_that_lost_a_machine() -> None:
    run = toy_run(**TROUBLES)
    story = JobStory(run, int(run.jobs.stops.argmax()))
    kinds = [one.kind for one in timeline(story)]
    assert kinds.count("stopped") == run.jobs.stops[story.job] and kinds[-1] == "completed"
    assert kinds.count("ran") == kinds.count("stopped") + 1
    text = explain_text(story)
    assert "  lost a machine" in text and f"stopped {run.jobs.stops[story.job]} time" in text
    waited, ran = sum(one.seconds for one in story.waits), sum(one.seconds for one in story.stays)
    assert waited + ran == pytest.approx(story.finish_s - story.arrival_s)
    assert sum(one.fee for one in story.stays) == pytest.approx(float(run.jobs.fee[story.job]))


def test_one_that_was_stopped() -> None:
    run = toy_run("gpu/srtf+pack", preemption=True, quantum_s=10.0, restart_s=0.0)
    job = int(run.jobs.stops.argmax())
    assert run.jobs.stops[job] > 0
    story = JobStory(run, job)
    assert story.stays[0].ended == "was stopped" and story.stays[0].stopped_by >= 0
    assert "was stopped: it was stopped to make room for another" in explain_text(story)
    assert np.isfinite(story.finish_s)


class Patient:
    """FIFO on the first machines with room, but e waits until the first job is done."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        self.fifo: Any = SCHEDULERS.create(FIFO)

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self.fifo.reset(info, rng)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        return [
            one._replace(reason=self.reason)
            for one in self.fifo.decide(view)
            if view.job_id[one.job] != 4 or view.time_s >= 100.0
        ]


def patient_story(reason: Reason, job: int = 4, **options: float) -> JobStory:
    world = GpuWorld(
        toy_workload(), toy_model(), GpuOptions(CLUSTER, mood_sigma=0.0, **options), SeedTree(0), record=True
    )
    result = run(world, Patient(reason), SeedTree(0).generator())
    return JobStory(record_gpu_run(result, CLUSTER, toy_model(), "gpu/patient", 0), job)


def test_one_that_was_let_wait() -> None:
    story = patient_story(Reason.LEARNED_PRIORITY)
    text = explain_text(story)
    assert "waited 70 s: there was room for it all the time, 0 GPUs free on average; " in text
    let = "it was let wait although it fitted, first at 30 s, with 0 of 4 GPUs free and 0 needed: "
    assert f"{let}the learned policy judged that it had better wait; 2 jobs started before it" in text
    assert "because: the learned policy gave it the highest priority of those that it did not let wait" in text
    (found,) = explain_json(story)["waits"]
    assert (found["let_wait"]["since_s"], found["let_wait"]["seconds"]) == (30.0, 70.0)


def test_why_it_was_let_wait_is_said_only_where_it_is_known() -> None:
    assert "; it was let wait although it fitted" in explain_text(patient_story(Reason.FIRST_ARRIVED))
    assert "0 needed: why is not recorded" in explain_text(patient_story(Reason.FIRST_ARRIVED))
    assert "it was let wait" not in explain_text(patient_story(Reason.LEARNED_PRIORITY, job=2))


def test_a_scheduler_that_is_not_asked_lets_nobody_wait() -> None:
    """Asked every 45 s: c and d, who come first, find both machines full; e is not known to have been passed over."""
    (wait,) = JobStory(toy_run(interval_s=45.0), 4).waits
    assert (wait.start_s, wait.end_s, wait.room_share, wait.let_wait) == (30.0, 45.0, 1.0, None)
    (wait,) = patient_story(Reason.LEARNED_PRIORITY, interval_s=45.0).waits
    assert (wait.start_s, wait.end_s, wait.let_wait) == (30.0, 135.0, None)


@pytest.mark.parametrize("options", [{}, TROUBLES])
@pytest.mark.parametrize("job", range(5))
def test_json(options: dict[str, float], job: int) -> None:
    story = JobStory(toy_run(**options), job)
    document = json.loads(json.dumps(explain_json(story), allow_nan=False))
    assert (document["schema"], document["family"], document["job"]) == (1, "gpu", job)
    summary = document["summary"]
    ran = sum(one["end_s"] - one["start_s"] for one in document["stays"])
    waited = sum(one["end_s"] - one["start_s"] for one in document["waits"])
    assert ran == pytest.approx(summary["running_s"]) and waited == pytest.approx(summary["waiting_s"], abs=1e-9)
    assert all(one["place"] == "the first machines with room" for one in document["stays"])
    workers = [sum(machine["workers"] for machine in one["machines"]) for one in document["stays"]]
    assert set(workers) == {summary["workers"]}
    assert all(0 <= one["room_share"] <= 1 for one in document["waits"])
