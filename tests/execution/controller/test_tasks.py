"""What becomes of tasks, without any process: time is a number, and an executor a line in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from dovetail.core.dag import ExecutorClass
from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.copies import CopyOptions
from dovetail.execution.controller.messages import (
    CANCELLED,
    FAILED,
    FINISHED,
    Cancel,
    ExecutorDown,
    ExecutorUp,
    Held,
    Instruction,
    JobCancelled,
    JobEnded,
    JobSubmitted,
    Notice,
    Restart,
    Resumed,
    Run,
    SchedulerReplaced,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.schedulers import SCHEDULERS


class Desk:
    """Tells the controller things, and sorts its answers."""

    def __init__(self, executors: int = 2, scheduler: str = "dag/fair-spill", **options: Any) -> None:
        classes = (ExecutorClass(executors, cpu=1.0, memory=1.0),)
        settings = ControllerOptions(classes, **{"batch_s": 0.0, **options})
        made = SCHEDULERS.create(scheduler)
        self.controller = Controller(settings, scheduler, made, lambda: SCHEDULERS.create("dag/fair-spill"))
        self.now_s = 0.0
        self.running: dict[int, list[Run]] = {}
        self.told: list[Instruction] = []
        for number in range(executors):
            self.tell(ExecutorUp(number, 0, f"node-{number % 2}"))

    def tell(self, event: Any) -> list[Instruction]:
        out = self.controller.handle(event, self.now_s)
        while self.controller.next_timer_s() <= self.now_s:  # executors move in no time
            out += self.controller.handle(TimePassed(), self.now_s)
        for one in out:
            if isinstance(one, Run):
                self.running.setdefault(one.executor, []).append(one)
        self.told += out
        return out

    def submit(self, job: int, *stages: StageSpec) -> list[Instruction]:
        return self.tell(JobSubmitted(job, JobSpec(f"job {job}", stages)))

    def end(self, executor: int, how: int = FINISHED, error: str = "", duration_s: float = 1.0) -> list[Instruction]:
        """All tasks of the executor's first batch are over."""
        run = self.running[executor].pop(0)
        if not self.running[executor]:
            del self.running[executor]
        return self.tell(TasksEnded(executor, run.batch, [TaskEnd(t, how, duration_s, error) for t in run.tasks]))

    def lose(self, executor: int, **how: Any) -> list[Instruction]:
        self.running.pop(executor, None)
        return self.tell(ExecutorDown(executor, "it died", **how))

    def wait(self, seconds: float) -> list[Instruction]:
        until_s, out = self.now_s + seconds, []
        while self.controller.next_timer_s() <= until_s:
            self.now_s = self.controller.next_timer_s()
            out += self.tell(TimePassed())
        self.now_s = until_s
        return out

    def tasks(self) -> list[int]:
        return sorted(task for runs in self.running.values() for run in runs for task in run.tasks)


def of(kind: type, out: Sequence[Instruction]) -> list[Any]:
    return [one for one in out if isinstance(one, kind)]


def test_a_stage_waits_for_its_parents() -> None:
    desk = Desk(executors=2)
    desk.submit(1, StageSpec("a", 3), StageSpec("b", 1, after=(0,)))
    assert [run.stage for runs in desk.running.values() for run in runs] == [0, 0]
    desk.end(0)
    desk.end(1)
    assert desk.tasks() == [2]
    (last,) = desk.running
    assert [run.stage for run in of(Run, desk.end(last))] == [1]
    (last,) = desk.running
    assert of(JobEnded, desk.end(last)) == [JobEnded(1, "done")]
    assert not desk.controller.jobs


def test_a_failed_task_is_tried_as_often_as_it_may_be() -> None:
    desk = Desk(executors=1)
    desk.submit(1, StageSpec("a", 1, retries=2))
    for _ in range(2):
        out = desk.end(0, FAILED, "ValueError: no")
        assert of(Notice, out)[0].kind == "retry" and len(of(Run, out)) == 1
    (end,) = of(JobEnded, desk.end(0, FAILED, "ValueError: no"))
    assert (end.state, end.stage, end.task) == ("failed", 0, 0)
    assert "3 times" in end.error and "ValueError: no" in end.error


def test_a_failed_job_stops_its_other_tasks_and_leaves_others_alone() -> None:
    desk = Desk(executors=3)
    desk.submit(1, StageSpec("a", 2, retries=0))
    desk.submit(2, StageSpec("a", 1))
    at_work = {runs[0].job: [] for runs in desk.running.values()}
    for executor, runs in desk.running.items():
        at_work[runs[0].job].append(executor)
    first, second = at_work[1]
    out = desk.end(first, FAILED, "no")
    assert [cancel.executor for cancel in of(Cancel, out)] == [second]
    desk.end(second, CANCELLED)
    assert of(JobEnded, desk.end(at_work[2][0])) == [JobEnded(2, "done")]


def test_a_lost_executor_s_task_runs_again_and_poison_is_given_up() -> None:
    desk = Desk(executors=2, crashes=2)
    desk.submit(1, StageSpec("a", 1))
    (executor,) = desk.running
    out = desk.lose(executor)
    assert [run.tasks for run in of(Run, out)] == [[0]]
    desk.tell(ExecutorUp(executor, 0, "node-0"))
    (other,) = desk.running
    (end,) = of(JobEnded, desk.lose(other))
    assert end.state == "failed" and "2 executors were lost" in end.error


def lose_again_and_again(desk: Desk, after_s: Sequence[float], **how: Any) -> list[Instruction]:
    desk.submit(1, StageSpec("a", 1, copies=False))
    out = []
    for seconds in after_s:
        out += desk.wait(seconds)
        out += desk.lose(0, **how)
        desk.tell(ExecutorUp(0, 0, "node-0"))
    return out


def test_executors_killed_at_random_are_not_held_against_their_task() -> None:
    desk = Desk(executors=2)
    desk.submit(1, StageSpec("a", 1, copies=False))
    out: list[Instruction] = []
    for number in range(29):  # every second, sometimes the other one
        out += desk.wait(1.0)
        (busy,) = desk.running
        out += desk.lose(busy, killed=True)
        desk.tell(ExecutorUp(busy, 0, "node-0"))
        if number % 8 == 7:
            (busy,) = desk.running
            out += desk.lose(1 - busy, killed=True)
            desk.tell(ExecutorUp(1 - busy, 0, "node-0"))
    assert not of(JobEnded, out)
    (busy,) = desk.running
    assert of(JobEnded, desk.end(busy)) == [JobEnded(1, "done")]


@pytest.mark.parametrize(
    ("after_s", "killed", "losses"),
    [
        ([0.3, 2.0, 1.1, 4.0], False, 4),
        ([0.01, 0.02, 0.09, 0.0], True, 4),
        ([5.0, 0.01, 0.02, 0.09, 0.0], True, 5),  # the first time it ran after others of its batch
        ([1.0] * 12, True, 12),  # and no other executor meanwhile
    ],
)
def test_a_task_that_takes_executors_down_is_given_up(after_s: list[float], killed: bool, losses: int) -> None:
    desk = Desk(executors=1)
    out = lose_again_and_again(desk, after_s[:-1], killed=killed)
    assert not of(JobEnded, out)
    desk.wait(after_s[-1])
    (end,) = of(JobEnded, desk.lose(0, killed=killed))
    assert f"{losses} executors were lost" in end.error


def test_who_is_not_to_blame_is_not_blamed() -> None:
    desk = Desk(executors=1, crashes=1)
    desk.submit(1, StageSpec("a", 1))
    for _ in range(3):
        assert not of(JobEnded, desk.lose(0, blameless=True))
        desk.tell(ExecutorUp(0, 0, "node-0"))
    assert of(JobEnded, desk.end(0)) == [JobEnded(1, "done")]


def test_a_hanging_task_is_cut_off() -> None:
    desk = Desk(executors=1)
    desk.submit(1, StageSpec("a", 1, timeout_s=5.0, retries=1))
    assert not desk.wait(4.9)
    out = desk.wait(0.2)
    assert of(Restart, out)[0].executor == 0 and of(Notice, out)[0].kind == "timeout"
    desk.lose(0, blameless=True)
    desk.tell(ExecutorUp(0, 0, "node-0"))
    assert desk.tasks() == [0]
    (end,) = of(JobEnded, desk.wait(5.1))
    assert end.state == "failed" and "TimeoutError" in end.error


def test_a_cancelled_task_that_does_not_stop_costs_its_executor() -> None:
    desk = Desk(executors=1, grace_s=2.0)
    desk.submit(1, StageSpec("a", 1))
    assert of(Cancel, desk.tell(JobCancelled(1)))
    assert not of(Restart, desk.wait(1.9))
    assert of(Restart, desk.wait(0.2))
    desk.lose(0, blameless=True)
    desk.submit(2, StageSpec("a", 1))
    desk.tell(ExecutorUp(0, 0, "node-0"))
    assert of(JobEnded, desk.end(0)) == [JobEnded(2, "done")]


@pytest.mark.parametrize("copy_wins", [True, False])
def test_a_straggler_is_copied_to_another_node_and_counts_once(copy_wins: bool) -> None:
    desk = Desk(executors=4, copies=CopyOptions(look_every_s=1.0, factor=3.0, least_s=0.0))
    desk.submit(1, StageSpec("a", 4))
    slow = next(iter(desk.running))
    for executor in [e for e in desk.running if e != slow]:
        desk.end(executor, duration_s=1.0)
    assert not of(Run, desk.wait(2.9))
    (copy,) = of(Run, desk.wait(2.0))
    assert copy.tasks == desk.running[slow][0].tasks and copy.executor % 2 != slow % 2
    first, second = (copy.executor, slow) if copy_wins else (slow, copy.executor)
    out = desk.end(first)
    assert of(JobEnded, out) == [JobEnded(1, "done")]
    assert [cancel.executor for cancel in of(Cancel, out)] == [second]
    assert not of(JobEnded, desk.end(second))  # too late: its result is ignored
    desk.submit(2, StageSpec("a", 4))
    assert len(desk.running) == 4  # nobody is lost to the cluster


def test_a_lost_straggler_leaves_its_copy_to_finish() -> None:
    desk = Desk(executors=2, copies=CopyOptions(look_every_s=1.0, factor=2.0, least_s=0.0))
    desk.submit(1, StageSpec("a", 2))
    slow, quick = list(desk.running)
    desk.end(quick)
    (copy,) = of(Run, desk.wait(5.0))
    assert not of(Run, desk.lose(slow))
    assert of(JobEnded, desk.end(copy.executor)) == [JobEnded(1, "done")]


def test_short_tasks_come_in_batches_with_one_waiting() -> None:
    desk = Desk(executors=1, batch_s=0.1)
    desk.submit(1, StageSpec("a", 200))
    assert desk.tasks() == [0]  # nothing is known of them yet
    desk.end(0, duration_s=0.01)
    first, second = desk.running[0]
    assert len(first.tasks) == len(second.tasks) == 10
    done = 1
    while desk.running:
        assert len(desk.running[0]) <= 2
        done += len(desk.running[0][0].tasks)
        desk.end(0, duration_s=0.01)
    assert done == 200 and of(JobEnded, desk.told) == [JobEnded(1, "done")]


def test_what_was_finished_before_a_restart_does_not_run_again() -> None:
    desk = Desk(executors=1)
    stages = (StageSpec("a", 4), StageSpec("b", 2, after=(0,)))
    desk.tell(JobSubmitted(1, JobSpec("job", stages), finished={0: [0, 1, 3]}))
    assert desk.tasks() == [2]
    desk.end(0)
    assert desk.running[0][0].stage == 1
    other = Desk(executors=1)
    out = other.tell(JobSubmitted(1, JobSpec("job", stages), finished={0: [0, 1, 2, 3], 1: [0, 1]}))
    assert of(JobEnded, out) == [JobEnded(1, "done")] and not other.running


def test_the_scheduler_is_replaced_between_two_decisions() -> None:
    desk = Desk(executors=2)
    desk.submit(1, StageSpec("a", 5))
    out = desk.tell(SchedulerReplaced("dag/fifo", SCHEDULERS.create("dag/fifo")))
    assert not of(Run, out) and not of(Cancel, out)
    assert desk.controller.incumbent.name == "dag/fifo"
    ended = []
    while desk.running:
        ended += of(JobEnded, desk.end(next(iter(desk.running))))
    assert ended == [JobEnded(1, "done")]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("dag/fair", "dag/fifo", "dag/fifo takes over from dag/fair"),
        ("dag/composed:order=las", "dag/fifo", "dag/composed:order=las, and what that remembered is lost"),
        ("dag/fair", "dag/adaptive", "dag/adaptive takes over from dag/fair and starts afresh"),
        ("dag/composed:order=las", "dag/adaptive", " and starts afresh"),
        ("dag/composed:order=las", "dag/composed:order=las,size=all", " and goes on with its order/las"),
        ("dag/composed:order=las", "dag/adaptive:compositions=[fifo,las+all]", " and goes on with its order/las"),
        ("dag/adaptive:compositions=[las,fifo]", "dag/composed:order=las", " and goes on with its order/las"),
        ("dag/adaptive:compositions=[las]", "dag/adaptive:compositions=[las]", " goes on with its beliefs, order/las"),
        ("dag/adaptive", "dag/adaptive:learner=ucb1", " and goes on with its beliefs"),
        ("dag/adaptive", "dag/adaptive:objective=makespan", " and starts afresh: beliefs: learned for 'completion'"),
    ],
)  # fmt: skip
def test_what_the_next_scheduler_goes_on_with_is_said(before: str, after: str, says: str) -> None:
    desk = Desk(executors=2, scheduler=before)
    desk.submit(1, StageSpec("a", 5))
    desk.wait(1.0)
    out = desk.tell(SchedulerReplaced(after, SCHEDULERS.create(after)))
    (notice,) = of(Notice, out)
    assert says in notice.text and notice.text == desk.controller.incumbent.took_over
    assert "afresh" in says or "afresh" not in notice.text
    while desk.running:
        desk.end(next(iter(desk.running)))
    assert not desk.controller.jobs


def test_what_is_remembered_reaches_the_next_scheduler() -> None:
    desk = Desk(executors=3, scheduler="dag/composed:order=las")
    desk.submit(1, StageSpec("a", 1))
    desk.submit(2, StageSpec("a", 1))
    desk.now_s = 100.0
    after = SCHEDULERS.create("dag/composed:order=las,size=all")
    desk.tell(SchedulerReplaced("after", after))
    desk.submit(3, StageSpec("a", 1))
    attained_s = after.export_state()["order/las"]["attained_s"]
    assert attained_s[1] == 100.0, "no view shows that job 1 has been served for 100 s"


def test_of_longer_tasks_one_waits_while_more_are_left_than_executors() -> None:
    desk = Desk(executors=2, batch_s=0.005)
    desk.submit(1, StageSpec("a", 12))
    first, second = list(desk.running)
    ends = 0
    while desk.running:
        executor = first if first in desk.running and ends % 2 == 0 else next(iter(desk.running))
        left = desk.controller.jobs[1].stages[0].not_started
        desk.end(executor, duration_s=0.1)
        ends += 1
        ahead = len(desk.running.get(executor, []))
        assert ahead <= 2
        if left <= 2:
            assert ahead <= 1
    assert ends == 12 and second in (0, 1)
    assert of(JobEnded, desk.told) == [JobEnded(1, "done")]


def test_what_waits_behind_a_straggler_is_set_free() -> None:
    options = CopyOptions(look_every_s=1.0, factor=3.0, least_s=0.0)
    desk = Desk(executors=2, batch_s=0.005, copies=options)
    desk.submit(1, StageSpec("a", 8))
    slow, quick = list(desk.running)
    desk.end(slow, duration_s=0.1)
    assert len(desk.running[slow]) == 2  # one runs, and will for long; one waits behind it
    while quick in desk.running:
        desk.end(quick, duration_s=0.1)
    out = desk.wait(3.0)
    assert [run.executor for run in of(Run, out)] == [quick]
    out = desk.end(quick, duration_s=0.1)
    assert {cancel.executor for cancel in of(Cancel, out)} == {slow} and len(of(Cancel, out)) == 2
    for _ in range(2):
        desk.end(slow, CANCELLED)
    assert desk.tasks() == [3]  # which waited, and now runs wherever there is room
    while desk.running:
        desk.end(next(iter(desk.running)), duration_s=0.1)
    assert of(JobEnded, desk.told) == [JobEnded(1, "done")]


@pytest.mark.parametrize("scheduler", ["dag/rollout", "dag/decima-search", "dag/decima", "dag/adaptive"])
def test_schedulers_that_look_ahead_or_learned(scheduler: str) -> None:
    """On live estimates alone: no profile of durations is known."""
    desk = Desk(executors=3, scheduler=scheduler)
    for job in range(3):
        desk.submit(job, StageSpec("a", 4), StageSpec("b", 2, after=(0,)), StageSpec("c", 2))
    while desk.running:
        desk.now_s += 0.5
        desk.end(next(iter(desk.running)), duration_s=0.5)
    assert sorted(end.job for end in of(JobEnded, desk.told)) == [0, 1, 2]
    assert not [notice for notice in of(Notice, desk.told) if notice.kind == "scheduler"]


def test_a_timed_out_task_that_is_done_after_all_counts_and_its_executor_gets_no_more() -> None:
    desk = Desk(executors=1)
    desk.submit(1, StageSpec("a", 1, timeout_s=1.0, retries=1))
    assert of(Restart, desk.wait(1.5))
    desk.submit(2, StageSpec("a", 1))  # its task has the same number
    out = desk.end(0)
    assert of(JobEnded, out) == [JobEnded(1, "done")]
    assert not of(Run, out), "it is about to be killed"
    out = desk.lose(0, blameless=True)
    assert [run.job for run in of(Run, desk.tell(ExecutorUp(0, 0, "node-0")))] == [2]
    assert of(JobEnded, desk.end(0)) == [JobEnded(2, "done")]


def test_a_copy_that_fails_decides_nothing_and_is_not_made_again() -> None:
    desk = Desk(executors=2, copies=CopyOptions(look_every_s=1.0, factor=2.0, least_s=0.0))
    desk.submit(1, StageSpec("a", 2, retries=0))
    slow, quick = list(desk.running)
    desk.end(quick)
    (copy,) = of(Run, desk.wait(5.0))
    assert not of(JobEnded, desk.end(copy.executor, FAILED, "it cannot run beside itself"))
    assert not of(Run, desk.wait(20.0))
    assert of(JobEnded, desk.end(slow)) == [JobEnded(1, "done")]


def test_no_time_is_up_while_work_is_held() -> None:
    desk = Desk(executors=2)
    desk.submit(1, StageSpec("a", 1, timeout_s=5.0, retries=0))
    desk.wait(3.0)
    desk.tell(Held())
    assert not of(Restart, desk.wait(30.0))
    desk.tell(Resumed())
    assert not of(Restart, desk.wait(4.9))
    (end,) = of(JobEnded, desk.wait(0.2))
    assert "TimeoutError" in end.error


def test_one_timeout_is_counted_once_whatever_is_held() -> None:
    desk = Desk(executors=1)
    desk.submit(1, StageSpec("a", 1, timeout_s=1.0, retries=1))
    assert of(Restart, desk.wait(1.1))
    desk.tell(Held())
    desk.tell(Resumed())
    assert not of(JobEnded, desk.wait(10.0))
    desk.lose(0, blameless=True)
    desk.tell(ExecutorUp(0, 0, "node-0"))
    assert of(JobEnded, desk.end(0)) == [JobEnded(1, "done")]
