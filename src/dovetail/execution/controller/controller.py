"""Events in, instructions out: the resource manager with an application master for each job.

The controller does no I/O and reads no clock, so every engine shares it, and the log of a run replays it.  This file
is about tasks: which of them are finished, run again, given up, cut off or copied.  Who gets executors is in `manager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.core.dag import DagInfo, DagView
from dovetail.core.observation import Observation
from dovetail.execution.controller.copies import start_copies
from dovetail.execution.controller.estimates import Estimates
from dovetail.execution.controller.incumbent import Incumbent
from dovetail.execution.controller.look_ahead import LiveLookAhead
from dovetail.execution.controller.manager import Check, ResourceManager
from dovetail.execution.controller.messages import (
    FAILED,
    FINISHED,
    AnyScheduler,
    BeliefsGiven,
    Cancel,
    Event,
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
    SchedulerReplaced,
    Stalled,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.controller.options import ControllerOptions
from dovetail.execution.controller.referee import Gift
from dovetail.execution.controller.state import Executor, Job, Round, Stage, State
from dovetail.execution.controller.timers import COPIES, GRACE, TIMEOUT, Timers
from dovetail.execution.errors import InvalidJob
from dovetail.execution.spec import JobSpec


class Controller:
    def __init__(
        self,
        options: ControllerOptions,
        name: str,
        scheduler: AnyScheduler,
        fallback: Callable[[], AnyScheduler],
        info: DagInfo | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """`fallback` makes the scheduler that takes over from one that fails; `info`: if more is known than that there
        are executors; `rng`: of the first scheduler, if it is not to be drawn from the options' seed."""
        self.options = options
        self.jobs: dict[int, Job] = {}  # in the system
        executors = sum(kind.count for kind in options.classes)
        look_ahead = LiveLookAhead(options.classes, options.moving_delay_s)
        info = info or DagInfo(executors, options.classes, options.moving_delay_s, look_ahead)
        self._out: list[Instruction] = []
        self.incumbent = Incumbent(options, info, name, scheduler, fallback, lambda notice: self._out.append(notice))
        self._manager = ResourceManager(options.classes, options.moving_delay_s, self._ask)
        self._executors: dict[int, Executor] = {}
        self._estimates = Estimates()
        self._timers = Timers(self._executors)
        self._copies_are_timed = False
        self._is_held = False
        self._kills = 0  # executors that somebody has killed
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            TasksEnded: self._tasks_ended,
            JobSubmitted: self._job_submitted,
            JobCancelled: self._job_cancelled,
            ExecutorUp: self._executor_up,
            ExecutorDown: self._executor_down,
            TimePassed: self._time_passed_on,
            SchedulerReplaced: self._scheduler_replaced,
            Stalled: self._stalled,
            BeliefsGiven: self._beliefs_given,
            Held: self._held,
            Resumed: self._resumed,
        }
        self._manager.batching.batch_s = options.batch_s
        self._manager.batching.ahead = options.batches_ahead
        self.incumbent.start(rng)

    # --- the two verbs ---

    def handle(self, event: Event, now_s: float) -> list[Instruction]:
        """What to do about an event; times never go back.

        Executors that arrived earlier did so first; whatever else is due is done when `TimePassed` comes, one thing at
        a time: only who sends it knows that nothing of what happened before is still to be told.
        """
        while self._manager.next_arrival_s < now_s:
            self._executor_arrives()
        self._manager.now_s = now_s
        self._handlers[type(event)](event)
        out, self._out = self._out, []
        return out

    def next_timer_s(self) -> float:
        """When `TimePassed` is due; infinite if nothing waits for time."""
        return min(self._timers.next_s, self._manager.next_arrival_s)

    @property
    def next_deadline_s(self) -> float:
        """When somebody's time may be up."""
        return self._timers.next_s

    def check(self, spec: JobSpec) -> None:
        """Refuse a job that could never run here."""
        for stage in spec.stages:
            if not any(k.cpu >= stage.cpus and k.memory >= stage.memory_gb for k in self.options.classes):
                largest = ", ".join(f"{k.cpu:g} cpus with {k.memory:g} GB" for k in self.options.classes)
                raise InvalidJob(
                    f"job {spec.name!r}, stage {stage.name!r}: a task needs {stage.cpus:g} cpus and "
                    f"{stage.memory_gb:g} GB; no executor is that large: there are {largest}"
                )

    def tell_decisions(self, listener: Callable[[float, Round, Gift], None]) -> None:
        """Have every decision told when it is carried out: the time, what was on offer, what is given."""
        self._manager.on_decision = listener

    def _stalled(self, event: Stalled) -> None:
        self._timers.begin_now(event.since_s, self._manager.now_s)

    def _held(self, _: Held) -> None:
        self._is_held = True

    def _resumed(self, _: Resumed) -> None:
        self._is_held = False
        self._timers.drop(TIMEOUT)
        for executor in self._executors.values():
            stage = executor.stage
            is_at_work = executor.state is State.BUSY and executor.batches and not executor.cancelled
            if is_at_work and stage is not None and stage.spec.timeout_s:
                self._set_timer(stage.spec.timeout_s, TIMEOUT, executor)

    def busy_executors(self) -> list[int]:
        return [number for number, executor in self._executors.items() if executor.state is State.BUSY]

    # --- jobs ---

    def _job_submitted(self, event: JobSubmitted) -> None:
        spec = event.spec
        estimates = [self._estimates.of(spec.name, stage.name, stage.expected_s) for stage in spec.stages]
        job = Job(event.job, self._manager.now_s, spec, estimates)
        for number, profile in enumerate(event.profiles):
            job.stages[number].profile = profile
        self.jobs[event.job] = job
        job.resume(event.finished)
        self._manager.job_arrives(job)
        if job.left == 0:
            self._end(job, "done")
        if not event.more_follow:
            self._manager.hold_rounds(job)
            self._collect_runs()

    def _job_cancelled(self, event: JobCancelled) -> None:
        job = self.jobs.get(event.job)
        if job is not None:
            self._end(job, "cancelled")
            self._manager.hold_rounds(None)
            self._collect_runs()

    def _end(
        self, job: Job, state: str, error: str = "", stage: int = -1, task: int = -1, recorded: bool = False
    ) -> None:
        del self.jobs[job.number]
        if state != "done":
            self.incumbent.observe(Observation(abandoned=(job.number,)))
        self._manager.job_ends(job)
        for each in job.stages:
            for executor in each.executors:
                self._cancel(executor)
        self._out.append(JobEnded(job.number, state, error, stage, task, recorded))

    # --- tasks ---

    def _tasks_ended(self, event: TasksEnded) -> None:
        executor = self._executors[event.executor]
        stage = executor.stage
        if executor.state is not State.BUSY or event.batch not in executor.batches or stage is None:
            return  # of a batch that was given up when the executor was lost
        outstanding, batches = executor.outstanding, executor.batches
        batches[event.batch] -= len(event.ends)
        if batches[event.batch] <= 0:
            del batches[event.batch]
            executor.started_s = self._manager.now_s
        done, total_s, finished = stage.done, 0.0, 0
        leaving = event.leaving or executor.doomed
        known = [end for end in event.ends if outstanding.pop(end.task, None) is not None]
        for end in known:
            task = end.task
            if end.how == FINISHED:
                if done[task]:
                    continue  # a copy was faster
                done[task] = 1
                finished += 1
                total_s += end.duration_s
                if stage.copies:
                    self._copy_is_decided(stage, task, executor)
                if task in executor.timed_out:
                    self._finished_after_all(stage, task)
            elif not stage.job.ended and task not in executor.timed_out:
                self._not_finished(stage, end, recorded=True)
        if finished:
            stage.finished += finished
            stage.estimate.add(total_s, finished)
            self._manager.live.touch(stage)
        if stage.not_started and not stage.job.ended and not executor.cancelled and not leaving:
            if outstanding:
                self._manager.top_up(executor, stage)
            else:
                self._manager.start(executor, stage)
            self._manager.hold_rounds(stage.job)
            self._collect_runs()
            return
        self._after(executor, stage, bool(finished) and stage.complete, not outstanding and not leaving)

    def _after(self, executor: Executor, stage: Stage, completed: bool, leaves: bool) -> None:
        """A stage may be complete, its job too, and the executor without work."""
        job = stage.job
        unlocked = False
        if completed and not job.ended:
            unlocked = self._manager.stage_completes(stage)
            job.left -= 1
            if job.left == 0:
                self._end(job, "done")
        else:
            self._manager.live.touch(stage)
        if leaves:
            self._manager.leave(executor, unlocked)
        self._manager.hold_rounds(job)
        self._collect_runs()

    def _not_finished(self, stage: Stage, end: TaskEnd, recorded: bool) -> None:
        """A task raised, or was cancelled although it is still wanted; `recorded`: it left word of its failure."""
        if stage.done[end.task]:
            return
        if stage.copies.get(end.task, 0) > 1:
            stage.copies[end.task] = 1  # the other run may still finish, and decides; there is no further copy
            return
        if end.how == FAILED:
            failures = stage.failures[end.task] = stage.failures.get(end.task, 0) + 1
            where = f"job {stage.job.number}, stage {stage.spec.name!r}, task {end.task}"
            if failures > stage.spec.retries:
                tries = f"failed {failures} times, the last time with" if failures > 1 else "failed with"
                self._end(stage.job, "failed", f"{tries} {end.error}", stage.id, end.task, recorded)
                return
            self._out.append(Notice("retry", f"{where}: {end.error}; try {failures + 1} of {stage.spec.retries + 1}"))
        stage.put_back(end.task)
        self._manager.tasks_return(stage)

    def _finished_after_all(self, stage: Stage, task: int) -> None:
        """A task that had been given up for its time was done before its executor could be stopped."""
        if task in stage.again:
            stage.again.remove(task)
            stage.not_started -= 1
            self._manager.tasks_return(stage)
            return
        for executor in stage.executors:
            if task in executor.outstanding:
                self._cancel(executor)

    # --- executors ---

    def _executor_up(self, event: ExecutorUp) -> None:
        known = self._executors.get(event.executor)
        if known is not None and known.state is not State.AWAY:
            return
        if known is None:
            known = Executor(event.executor, event.executor_class, event.node)
            self._executors[event.executor] = known
        self._manager.executor_comes(known)
        self._manager.hold_rounds(None)
        self._collect_runs()

    def _executor_down(self, event: ExecutorDown) -> None:
        executor = self._executors.get(event.executor)
        if executor is None or executor.state is State.AWAY:
            return
        stage = executor.stage if executor.state is State.BUSY else None
        lost = [
            task
            for task in executor.outstanding
            if stage is not None and not stage.done[task] and task not in executor.timed_out
        ]
        lasted_s = self._manager.now_s - executor.started_s
        executor.outstanding, executor.batches = {}, {}
        if stage is not None and not stage.job.ended:
            for task in lost:
                if stage.copies.get(task, 0) > 1:
                    stage.copies.pop(task)
                else:
                    stage.put_back(task)
        self._manager.executor_goes(executor)
        if stage is not None and lost and not stage.job.ended and not event.blameless and not executor.cancelled:
            self._blame(stage, lost[0], event, lasted_s)  # tasks run in order: it was the first
        elif event.killed:
            self._kills += 1
        self._manager.hold_rounds(None if stage is None else stage.job)
        self._collect_runs()

    def _blame(self, stage: Stage, task: int, loss: ExecutorDown, lasted_s: float) -> None:
        """A task that takes executors down is given up.  If they were killed, that may be nobody's fault but that of
        whoever kills executors; but hardly if they die at once, or if nobody else's are killed."""
        if loss.killed:
            self._kills += 1
            stage.kills.setdefault(task, []).append((lasted_s, self._kills))
        else:
            stage.crashes[task] = stage.crashes.get(task, 0) + 1
        crashes, kills = stage.crashes.get(task, 0), stage.kills.get(task, [])
        if self.options.is_too_much(crashes, kills):
            text = f"{crashes + len(kills)} executors were lost while they ran it, the last one because {loss.why}"
            self._end(stage.job, "failed", text, stage.id, task)
        else:
            where = f"job {stage.job.number}, stage {stage.spec.name!r}, task {task}"
            self._out.append(Notice("lost", f"{where}: executor lost because {loss.why}; run again"))

    def _cancel(self, executor: Executor) -> None:
        if executor.outstanding and executor.batches and not executor.cancelled:
            executor.cancelled = True
            self._out.extend(Cancel(executor.number, batch) for batch in executor.batches)
            self._set_timer(self.options.grace_s, GRACE, executor)

    # --- time ---

    def _set_timer(self, after_s: float, kind: int, executor: Executor | None = None) -> None:
        self._timers.set(self._manager.now_s, after_s, kind, executor)

    def _time_passed_on(self, _: TimePassed) -> None:
        if self.next_timer_s() <= self._manager.now_s:
            self._time_passed()

    def _time_passed(self) -> None:
        """Do the one thing that is due first."""
        at_s = self.next_timer_s()
        self._manager.now_s = max(self._manager.now_s, at_s)
        if self._manager.next_arrival_s <= at_s:
            self._executor_arrives()
            return
        timer = self._timers.pop()
        if timer.kind == COPIES:
            self._copies_are_timed = False
            self._look_for_stragglers()
            return
        executor = self._executors[timer.executor]
        if executor.state is State.BUSY and timer.batch in executor.batches and executor.stage is not None:
            self._out_of_time(executor, executor.stage, timer.kind)

    def _executor_arrives(self) -> None:
        self._manager.now_s = max(self._manager.now_s, self._manager.next_arrival_s)
        self._manager.hold_rounds(self._manager.executor_arrives())
        self._collect_runs()

    def _out_of_time(self, executor: Executor, stage: Stage, kind: int) -> None:
        if executor.doomed:
            return
        if kind == GRACE:
            executor.doomed = True
            self._out.append(Restart(executor.number, "it did not stop a cancelled task"))
            return
        if self._is_held:
            return  # it may not even have begun: see `Resumed`
        task = next(iter(executor.outstanding))
        error = f"TimeoutError: longer than its {stage.spec.timeout_s:g} s"
        executor.cancelled = executor.doomed = True
        self._out.append(Notice("timeout", f"job {stage.job.number}, stage {stage.spec.name!r}, task {task}: {error}"))
        self._out.append(Restart(executor.number, "a task took longer than its timeout"))
        if not stage.job.ended:
            self._not_finished(stage, TaskEnd(task, FAILED, 0.0, error), recorded=False)
        executor.timed_out.add(task)

    def _collect_runs(self) -> None:
        runs = self._manager.runs
        if not runs:
            return
        for run in runs:
            executor = self._executors[run.executor]
            stage = executor.stage
            if stage is not None and stage.spec.timeout_s is not None:
                self._set_timer(stage.spec.timeout_s, TIMEOUT, executor)
        self._out.extend(runs)
        runs.clear()
        if self.options.copies is not None and not self._copies_are_timed:
            self._copies_are_timed = True
            self._set_timer(self.options.copies.look_every_s, COPIES)

    # --- stragglers ---

    def _look_for_stragglers(self) -> None:
        options = self.options.copies
        if options is None or not self.jobs:
            return
        self._copies_are_timed = True
        self._set_timer(options.look_every_s, COPIES)
        if self._is_held:
            return  # what is late may only wait for room to write down its result
        for job in list(self.jobs.values()):
            self._out.extend(start_copies(job, self._manager, options))
        self._collect_runs()

    def _copy_is_decided(self, stage: Stage, task: int, winner: Executor) -> None:
        if stage.copies.pop(task, 0) > 1:
            for executor in stage.executors:
                if executor is not winner and task in executor.outstanding:
                    self._cancel(executor)

    # --- the scheduler ---

    def _ask(self, view: DagView, check: Check) -> list[Gift]:
        gifts = self.incumbent.ask(view, check)
        if self.options.batch_s:
            self._manager.batching.batch_s = self.incumbent.batch_s or self.options.batch_s
        return gifts

    def _scheduler_replaced(self, event: SchedulerReplaced) -> None:
        self.incumbent.replace(event.name, event.scheduler)

    def _beliefs_given(self, event: BeliefsGiven) -> None:
        self.incumbent.learn(event.beliefs)
