"""What the view says of work whose durations are learned, and what it costs to say it of many stages."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from dovetail.core.dag import ExecutorClass
from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.estimates import Estimate
from dovetail.execution.controller.messages import (
    FINISHED,
    ExecutorUp,
    JobSubmitted,
    Run,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.schedulers import SCHEDULERS


def play(stages: tuple[StageSpec, ...], seed: int = 0) -> Iterator[Controller]:
    """The controller after each task of a job, which take times by chance."""
    rng, now_s = Random(seed), 0.0
    options = ControllerOptions((ExecutorClass(2, 1.0, 1.0),), batch_s=0.0)
    fifo = SCHEDULERS.create("dag/fifo")
    controller = Controller(options, "dag/fifo", fifo, lambda: fifo)
    told = [out for number in range(2) for out in controller.handle(ExecutorUp(number, 0, "node"), 0.0)]
    told += controller.handle(JobSubmitted(1, JobSpec("job", stages)), 0.0)
    while True:
        while controller.next_timer_s() <= now_s:
            told += controller.handle(TimePassed(), now_s)
        runs = [one for one in told if isinstance(one, Run)]
        if not runs:
            return
        run = runs.pop(rng.randrange(len(runs)))
        lasted_s = rng.uniform(0.5, 3.0)
        now_s += lasted_s
        told = [*runs, *controller.handle(TasksEnded(run.executor, run.batch, [_end(run, lasted_s)]), now_s)]
        yield controller


def _end(run: Run, lasted_s: float) -> TaskEnd:
    return TaskEnd(run.tasks[0], FINISHED, lasted_s)


@pytest.mark.parametrize("seed", range(10))
def test_longest_chains_follow_what_is_learned(seed: int) -> None:
    rng = Random(seed)
    stages = tuple(
        StageSpec(
            f"s{n}",
            rng.randint(1, 4),
            tuple(sorted(rng.sample(range(n), min(n, rng.randint(0, 2))))),
            expected_s=rng.choice([None, None, 2.0]),
        )
        for n in range(12)
    )
    steps = 0
    for controller in play(stages, seed):
        for job in controller.jobs.values():
            live = controller._manager.live
            live._refresh()
            for stage in job.stages:
                assert stage.mean_s == stage.estimate.mean_s == live._mean_s[stage.row]
                if not stage.complete:
                    after_s = max((child.critical_path_s for child in stage.children), default=0.0)
                    assert stage.critical_path_s == stage.mean_s + after_s == live._critical_path_s[stage.row]
            work_s = sum(stage.tasks * stage.mean_s for stage in job.stages)
            assert live._job_work_s[job.row] == pytest.approx(work_s)
            steps += 1
    assert steps > 12


@pytest.mark.parametrize("is_chain", [True, False])
def test_a_job_of_many_stages_costs_no_more_for_each_of_them(is_chain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    mean_s = Estimate.mean_s

    def counted(self: Estimate) -> float:
        nonlocal looks
        looks += 1
        return mean_s.__get__(self)  # type: ignore[no-any-return]

    monkeypatch.setattr(Estimate, "mean_s", property(counted))
    stages = 300
    chain = tuple(StageSpec(f"s{n}", 1, (n - 1,) if is_chain and n else ()) for n in range(stages))
    assert sum(1 for _ in play(chain)) == stages
    assert looks < 20 * stages
