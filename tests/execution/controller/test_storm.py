"""Everything that can happen to tasks and executors, at random and all at once: the controller keeps count."""

from __future__ import annotations

import random

import pytest
from tests.execution.controller.test_tasks import Desk, of

from dovetail.execution.controller.copies import CopyOptions
from dovetail.execution.controller.messages import (
    CANCELLED,
    FAILED,
    FINISHED,
    Cancel,
    ExecutorDown,
    ExecutorUp,
    JobCancelled,
    JobEnded,
    JobSubmitted,
    Restart,
    Run,
    SchedulerReplaced,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.schedulers import SCHEDULERS

EXECUTORS = 5


class Storm:
    """Plays engine: holds what executors have, ends it somehow, kills, restarts, and checks every instruction."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        copies = CopyOptions(look_every_s=0.5, factor=2.0, least_s=0.1)
        self.desk = Desk(EXECUTORS, self.rng.choice(["dag/fair-spill", "dag/fifo", "dag/hesrpt"]),
                         batch_s=self.rng.choice([0.0, 0.05]), copies=copies, grace_s=0.5, crashes=3)  # fmt: skip
        self.up = set(range(EXECUTORS))
        self.has: dict[int, dict[int, tuple[Run, list[int]]]] = {e: {} for e in range(EXECUTORS)}
        self.doomed: set[int] = set()
        self.ended: dict[int, str] = {}
        self.finished: dict[tuple[int, int], set[int]] = {}
        self.specs: dict[int, JobSpec] = {}

    def tell(self, event: object) -> None:
        desk = self.desk
        out = desk.controller.handle(event, desk.now_s)  # type: ignore[arg-type]
        while desk.controller.next_timer_s() <= desk.now_s:
            out += desk.controller.handle(TimePassed(), desk.now_s)
        for one in out:
            if isinstance(one, Run):
                assert one.executor in self.up, "a run for an executor that is away"
                assert one.executor not in self.doomed, "a run for an executor that is about to be killed"
                assert one.job not in self.ended, "a run of a job that has ended"
                running = {run.job: run.stage for run, _ in self.has[one.executor].values()}
                assert running in ({}, {one.job: one.stage}), "one stage at a time"
                done = self.finished[one.job, one.stage]
                assert not done & set(one.tasks), "a finished task is run again"
                parents = self.specs[one.job].stages[one.stage].after
                assert all(len(self.finished[one.job, p]) == self.specs[one.job].stages[p].tasks for p in parents), (
                    "before its parents"
                )
                self.has[one.executor][one.batch] = (one, list(one.tasks))
        for end in of(JobEnded, out):
            assert end.job not in self.ended, "a job ends once"
            self.ended[end.job] = end.state
        for one in [*of(Cancel, out), *of(Restart, out)]:
            assert 0 <= one.executor < EXECUTORS
            if isinstance(one, Restart):
                self.doomed.add(one.executor)  # which takes a moment, in which it may say anything

    def submit(self, job: int) -> None:
        rng = self.rng
        stages: list[StageSpec] = []
        for number in range(rng.randint(1, 4)):
            after = tuple(p for p in range(number) if rng.random() < 0.4)
            timeout_s = rng.choice([None, None, 1.0])
            stages.append(
                StageSpec(f"s{number}", rng.randint(1, 30), after, retries=rng.randint(0, 2), timeout_s=timeout_s)
            )
        self.specs[job] = JobSpec("job", tuple(stages))
        for number in range(len(stages)):
            self.finished[job, number] = set()
        self.tell(JobSubmitted(job, self.specs[job]))

    def end_some(self, executor: int, leaving: bool = False) -> None:
        if not self.has[executor]:
            return
        batch = next(iter(self.has[executor]))
        run, left = self.has[executor][batch]
        count = self.rng.randint(1, len(left))
        ends = []
        for task in left[:count]:
            how = self.rng.choices([FINISHED, FAILED, CANCELLED], [0.9, 0.08, 0.02])[0]
            ends.append(TaskEnd(task, how, self.rng.choice([0.001, 0.01, 0.3]), "no" if how == FAILED else ""))
        del left[:count]
        if not left:
            del self.has[executor][batch]
        live = self.desk.controller.jobs.get(run.job)
        self.tell_ended(executor, run, batch, ends, leaving)
        if live is not None and run.job not in self.ended:
            done = {task for task, flag in enumerate(live.stages[run.stage].done) if flag}
            assert self.finished[run.job, run.stage] <= done
            self.finished[run.job, run.stage] = done

    def tell_ended(self, executor: int, run: Run, batch: int, ends: list[TaskEnd], leaving: bool) -> None:
        # What counts is known before the answer comes, which may start the next stage.
        live = self.desk.controller.jobs.get(run.job)
        if live is not None:
            flags = live.stages[run.stage].done
            ok = {end.task for end in ends if end.how == FINISHED}
            self.finished[run.job, run.stage] |= {task for task in ok if not flags[task]}
        self.tell(TasksEnded(executor, batch, ends, leaving))

    def lose(self, executor: int, blameless: bool = False) -> None:
        if self.rng.random() < 0.5:
            self.end_some(executor, leaving=True)
        if executor in self.up:
            self.up.discard(executor)
            self.doomed.discard(executor)
            self.has[executor] = {}
            self.tell(ExecutorDown(executor, "it died", blameless))

    def step(self) -> None:
        rng, executor = self.rng, self.rng.randrange(EXECUTORS)
        if self.doomed and rng.random() < 0.3:
            self.lose(rng.choice(sorted(self.doomed)), blameless=True)
        what = rng.random()
        if what < 0.75:
            if executor in self.up:
                self.end_some(executor)
        elif what < 0.80:
            if executor in self.up:
                self.lose(executor, blameless=rng.random() < 0.5)
        elif what < 0.93:
            if executor not in self.up:
                self.up.add(executor)
                self.tell(ExecutorUp(executor, 0, f"node-{executor % 2}"))
        elif what < 0.97:
            self.desk.now_s += rng.choice([0.01, 0.3, 1.5])
            self.tell(TimePassed())
        elif what < 0.98:
            name = rng.choice(["dag/fair", "dag/srtf", "dag/fifo"])
            self.tell(SchedulerReplaced(name, SCHEDULERS.create(name)))
        elif self.desk.controller.jobs and rng.random() < 0.3:
            self.tell(JobCancelled(rng.choice(list(self.desk.controller.jobs))))


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_lost_doubled_or_forgotten(seed: int) -> None:
    storm = Storm(seed)
    for job in range(8):
        storm.submit(job)
        for _ in range(storm.rng.randint(0, 60)):
            storm.step()
    for executor in range(EXECUTORS):
        if executor not in storm.up:
            storm.up.add(executor)
            storm.tell(ExecutorUp(executor, 0, "node-0"))
    for _ in range(5000):
        if len(storm.ended) == 8:
            break
        storm.step()
    for executor in [e for e in range(EXECUTORS) if e not in storm.up]:
        storm.up.add(executor)
        storm.tell(ExecutorUp(executor, 0, "node-0"))
    assert len(storm.ended) == 8, f"{storm.desk.controller.jobs} never end"
    for job, state in storm.ended.items():
        if state == "done":
            for number, stage in enumerate(storm.specs[job].stages):
                assert storm.finished[job, number] == set(range(stage.tasks))
