"""The resource manager: who gets which executor, by the rules of docs/dag-model.md, in whatever time events come in.

It owns the executors and asks the scheduler.  What becomes of tasks that fail or hang is up to `controller`.
Where the model speaks of "the next task", an executor here gets a batch of short ones (`batching`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from dovetail.core.dag import DagView, ExecutorClass
from dovetail.execution.controller.batching import Batching
from dovetail.execution.controller.live_view import LiveView
from dovetail.execution.controller.messages import Run
from dovetail.execution.controller.referee import Gift, Referee
from dovetail.execution.controller.state import NEVER, Executor, Group, Job, Round, Stage, State, first_of_class

FRESH, FIRST, REST = 0, 1, 2
"""Waves: the executor has just come to the job; it comes from another stage of it; it ran this stage before."""

Check = Callable[[Sequence[Any]], list[Gift]]
Ask = Callable[[DagView, Check], list[Gift]]
"""Asks the scheduler, and has its decisions checked."""


class ResourceManager:
    def __init__(self, classes: Sequence[ExecutorClass], moving_delay_s: float, ask: Ask) -> None:
        self._classes = classes
        self._moving_delay_s = moving_delay_s
        self._ask = ask
        self.referee = Referee(classes)
        self.live = LiveView(classes)
        self.common = Group(None)
        self.now_s = 0.0
        self.runs: list[Run] = []  # to be carried out
        self.on_decision: Callable[[float, Round, Gift], None] = lambda now_s, round_, gift: None
        self._version = 0
        self._unsaturated = 0  # stages of jobs in the system
        self._free_at_homes = 0  # executors in groups other than the common one
        self._arrivals: list[tuple[float, int, Executor]] = []  # of moving executors, a heap
        self._batches = count()
        self.batching = Batching(sum(kind.count for kind in classes))

    # --- what happens ---

    def job_arrives(self, job: Job) -> None:
        self.live.add(job)
        for stage in job.stages:
            stage.saturated_at_last_look = stage.saturated
            self._unsaturated += not stage.saturated
        self._version += 1

    def job_ends(self, job: Job) -> None:
        """Complete, failed or cancelled: it leaves the system, and what it holds idle becomes common."""
        job.ended = True
        self.live.remove(job)
        self._version += 1
        self._free_parked(job)
        self._unsaturated -= sum(not stage.saturated_at_last_look for stage in job.stages)
        self._free_at_homes -= len(job.group.executors)
        for executor in job.group.executors:
            self._join(executor, self.common)
        job.group.executors = []

    def executor_comes(self, executor: Executor) -> None:
        executor.timed_out, executor.doomed = set(), False
        self._join_not_offered(executor, self.common)

    def executor_goes(self, executor: Executor) -> None:
        """It is lost; the tasks it had are the caller's business, and known to be over or to start again."""
        state, stage, home = executor.state, executor.stage, executor.home
        executor.state, executor.stage = State.AWAY, None
        if state is State.FREE:
            group = self.common if home is None else home.group
            group.executors.remove(executor)
            self._free_at_homes -= home is not None
        elif stage is not None:
            if state is State.BUSY:
                del stage.executors[executor]
            else:
                stage.reservations -= 1
                if state is State.PARKED:
                    stage.job.parked.remove(executor)
                else:
                    stage.job.moving_here -= 1
            self._after_loss(stage, executor.executor_class)
        self._set_home(executor, None)

    def leave(self, executor: Executor, unlocked: bool) -> None:
        """The executor has nothing more to do at its stage: where does it go?"""
        stage = executor.stage
        assert stage is not None
        job = stage.job
        del stage.executors[executor]
        executor.state, executor.stage = State.FREE, None
        self.live.touch(stage)
        target = stage.redeem(executor.executor_class)
        if target is not None:
            self._dispatch(executor, target, as_just_decided=False)
            self._look_at(target)
        elif job.ended:
            self._join_not_offered(executor, self.common)
        elif unlocked:
            self._join_not_offered(executor, job.group)
        elif stage.offered == self._version:
            self._join_declined(executor, job)
        else:
            self._hold_stage_round(stage, executor)

    def stage_completes(self, stage: Stage) -> bool:
        """Whether a stage that waited for it may now start."""
        unlocked = False
        for child in stage.children:
            child.incomplete_parents -= 1
            self.live.touch(child)
            unlocked = unlocked or child.ready
        if unlocked:
            self._version += 1
            self._free_parked(stage.job)
        return unlocked

    def tasks_return(self, stage: Stage) -> None:
        """What is left to start has changed, mostly because tasks must run again: executors that wait may take them."""
        self._version += 1
        self._look_at(stage)
        self._free_parked(stage.job)

    # --- moving executors ---

    @property
    def next_arrival_s(self) -> float:
        return self._arrivals[0][0] if self._arrivals else math.inf

    def executor_arrives(self) -> Job | None:
        """The next moving executor is where it was sent; None: it was lost on the way."""
        _, _, executor = heapq.heappop(self._arrivals)
        if executor.state is not State.MOVING or executor.stage is None:
            return None
        stage = executor.stage
        job = stage.job
        stage.reservations -= 1
        job.moving_here -= 1
        if job.ended:
            self._join_not_offered(executor, self.common)
            return job
        self._set_home(executor, job)
        if stage.not_started == 0:
            self._join_not_offered(executor, job.group)
        elif stage.ready:
            self.start(executor, stage)
        else:
            self._park_or_free(executor, stage, as_just_decided=False)
        self._look_at(stage)
        return job

    # --- starting work ---

    def start(self, executor: Executor, stage: Stage) -> None:
        """Let the executor run the next tasks of the stage, which has some."""
        last = executor.last_stage
        wave = REST if last is stage else FRESH if last is None else FIRST
        self._begin(executor, stage, stage.take(self.batching.size(stage)), wave)
        self.top_up(executor, stage)
        self._look_at(stage)

    def top_up(self, executor: Executor, stage: Stage) -> None:
        """Have more batches wait at the executor, if that is worth it."""
        while self.batching.has_room(executor, stage):
            self._begin(executor, stage, stage.take(self.batching.size(stage)), REST)
            self._look_at(stage)

    def free_executors(self) -> list[Executor]:
        return [*self.common.executors, *(e for job in self.live.jobs for e in job.group.executors)]

    def start_copy(self, executor: Executor, stage: Stage, task: int) -> None:
        """Let a free executor run a task that another runs already."""
        group = self.common if executor.home is None else executor.home.group
        group.executors.remove(executor)
        self._free_at_homes -= group is not self.common
        self._set_home(executor, stage.job)
        self._begin(executor, stage, [task], FRESH)

    def _begin(self, executor: Executor, stage: Stage, tasks: list[int], wave: int) -> None:
        batch = next(self._batches)
        executor.batches[batch] = len(tasks)
        for task in tasks:
            executor.outstanding[task] = batch
        executor.cancelled = False
        executor.state, executor.stage, executor.last_stage = State.BUSY, stage, stage
        executor.started_s = self.now_s
        stage.executors[executor] = None
        job = stage.job
        self.runs.append(Run(executor.number, batch, job.number, stage.id, tasks, wave, stage.starts, job.at_home))
        stage.starts += len(tasks)
        self.live.touch(stage)

    # --- where executors go ---

    def _dispatch(self, executor: Executor, stage: Stage, as_just_decided: bool) -> None:
        job = stage.job
        if job.ended or stage.not_started == 0:
            home = executor.home
            stays = home is not None and not home.ended
            self._join_not_offered(executor, home.group if home is not None and stays else self.common)
        elif executor.home is job:
            if stage.ready:
                self.start(executor, stage)
            else:
                self._park_or_free(executor, stage, as_just_decided)
        else:
            self._set_home(executor, None)
            executor.state, executor.stage = State.MOVING, stage
            stage.reservations += 1
            job.moving_here += 1
            self.live.touch(stage)
            heapq.heappush(self._arrivals, (self.now_s + self._moving_delay_s, executor.number, executor))

    def _park_or_free(self, executor: Executor, stage: Stage, as_just_decided: bool) -> None:
        """The stage is not ready.  If another of its job is, a decision taken earlier is no longer the best."""
        job = stage.job
        if not as_just_decided and any(s.ready and not s.saturated for s in job.stages):
            self._join_not_offered(executor, job.group)
            return
        executor.state, executor.stage = State.PARKED, stage
        job.parked.append(executor)
        stage.reservations += 1
        self.live.touch(stage)

    def _free_parked(self, job: Job) -> None:
        parked, job.parked = job.parked, []
        for executor in parked:
            stage = executor.stage
            assert stage is not None
            stage.reservations -= 1
            self._join(executor, job.group)
            self._look_at(stage)

    def _set_home(self, executor: Executor, home: Job | None) -> None:
        if executor.home is home:
            return
        if executor.home is not None:
            executor.home.at_home -= 1
        if home is not None:
            home.at_home += 1
        executor.home = home
        executor.last_stage = None

    def _join(self, executor: Executor, group: Group) -> None:
        self._set_home(executor, group.job)
        executor.state, executor.stage = State.FREE, None
        self._free_at_homes += group is not self.common
        group.executors.append(executor)

    def _join_not_offered(self, executor: Executor, group: Group) -> None:
        self._join(executor, group)
        group.offered = NEVER

    def _join_declined(self, executor: Executor, job: Job) -> None:
        """An executor that was offered, alone or with its stage, and that nobody wanted."""
        was_empty = not job.group.executors
        self._join(executor, job.group)
        if was_empty:
            job.group.offered = self._version

    # --- versions ---

    def _look_at(self, stage: Stage) -> None:
        """Called after each complete step: a stage that became saturated, or ceased to be, is a change."""
        self.live.touch(stage)
        saturated = stage.saturated
        if saturated is not stage.saturated_at_last_look:
            stage.saturated_at_last_look = saturated
            self._version += 1
            if not stage.job.ended:
                self._unsaturated += -1 if saturated else 1

    def _after_loss(self, stage: Stage, executor_class: int) -> None:
        """Tasks or reservations came back, and a promise may have nobody left to keep it."""
        self.tasks_return(stage)
        promised = sum(c == executor_class for c, _ in stage.commitments)
        if promised > sum(e.executor_class == executor_class for e in stage.executors):
            target = stage.redeem(executor_class, newest=True)
            if target is not None:
                self._look_at(target)
                if target.ready:
                    self._free_parked(target.job)

    # --- rounds ---

    def hold_rounds(self, first: Job | None) -> None:
        """Offer what is free, the group of the job just touched before the others, until nobody wants more."""
        while self._unsaturated:
            group = self._next_group(first)
            if group is None:
                return
            round_ = Round(group.job, self._by_class(group.executors), group, None)
            self._hold(round_)
            group.offered = self._version

    def _next_group(self, first: Job | None) -> Group | None:
        if first is not None and first.group.executors and first.group.offered != self._version:
            return first.group
        if self.common.executors and self.common.offered != self._version:
            return self.common
        if self._free_at_homes:
            for job in self.live.jobs:
                if job.group.executors and job.group.offered != self._version:
                    return job.group
        return None

    def _hold_stage_round(self, stage: Stage, leaver: Executor) -> None:
        on_offer = self._by_class([leaver, *(e for e in stage.executors if not e.cancelled)])
        for executor_class, _ in stage.commitments:
            on_offer[executor_class] -= 1
        round_ = Round(stage.job, [max(0, n) for n in on_offer], None, stage)
        round_.leaver = leaver
        self._hold(round_)
        if round_.leaver is not None:
            self._join_declined(leaver, stage.job)
        stage.offered = self._version

    def _by_class(self, executors: Sequence[Executor]) -> list[int]:
        counts = [0] * len(self._classes)
        for executor in executors:
            counts[executor.executor_class] += 1
        return counts

    def _hold(self, round_: Round) -> None:
        while any(round_.on_offer):
            view = self.live.view(self.now_s, round_)
            if view is None:
                return
            gifts = self._ask(view, partial(self.referee.check, round_, self.live.stages))
            if not gifts:
                return
            for gift in gifts:
                self.on_decision(self.now_s, round_, gift)
                self._carry_out(round_, gift)

    def _carry_out(self, round_: Round, gift: Gift) -> None:
        stage = gift.stage
        round_.chosen.add(stage)
        for executor_class, wanted in gift.by_class:
            round_.on_offer[executor_class] -= wanted
            if round_.group is not None:
                for executor in first_of_class(round_.group.executors, executor_class, wanted):
                    round_.group.executors.remove(executor)
                    self._free_at_homes -= round_.group is not self.common
                    self._dispatch(executor, stage, as_just_decided=True)
        if round_.stage is not None:
            self._give_from_stage(round_, round_.stage, gift)
        self._look_at(stage)

    def _give_from_stage(self, round_: Round, source: Stage, gift: Gift) -> None:
        promised = dict(gift.by_class)
        leaver = round_.leaver
        if leaver is not None and leaver.executor_class in promised:
            promised[leaver.executor_class] -= 1
            round_.leaver = None
            self._dispatch(leaver, gift.stage, as_just_decided=True)
        for executor_class, wanted in promised.items():
            for _ in range(wanted):
                source.promise(executor_class, gift.stage)
