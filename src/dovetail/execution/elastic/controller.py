"""Slot by slot in real time: asks the scheduler, has jobs stand as planned, lets them train, measures what they did.

Pure: events in, instructions out, times given.  The world (jobs, calendar, views, rules) is the simulator's own,
`ElasticWorld`; only progress is not assumed but measured.  In worker-slots, what is left of a job is what is left of
its mini-batches, divided by what a worker does in a slot by the speed model.  When every worker keeps to that, a run
takes the simulator's course slot by slot.

When workers are slower than that, a plan may end before its job does.  A promise that the bookings cannot keep any more
is lifted (`late`); and a job whose bookings have run out waits for a plan again, as one that was not admitted.

A slot begins when all jobs stand and lasts `slot_s`; what passes between slots is not counted in any.  A slot in which
nothing stands takes no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dovetail.core.elastic import SERVER, WORKER, ElasticDecision, ElasticView, Plan
from dovetail.execution.elastic.messages import (
    Complete,
    End,
    Event,
    Halt,
    Halted,
    Instruction,
    Notice,
    Over,
    Stand,
    Standing,
    Started,
    TimePassed,
    Train,
)
from dovetail.sim.elastic.run import ElasticScheduler
from dovetail.sim.elastic.world import ElasticWorld

PATIENCE_S = 60.0  # for all jobs to stand; then the slot begins without the rest, who come as soon as they can
NEVER_S = float("inf")


class SlotController:
    """`total_batches` and `slot_batches` (what one worker does in a slot) by job; `slot_s` in real seconds."""

    def __init__(
        self,
        world: ElasticWorld,
        scheduler: ElasticScheduler,
        rng: np.random.Generator,
        *,
        total_batches: Sequence[int],
        slot_batches: Sequence[float],
        slot_s: float,
        fallback: Callable[[], ElasticScheduler] | None = None,
    ) -> None:
        self.world = world
        self.late: set[int] = set()  # jobs whose promise was not kept
        self.slot = -1
        self.next_timer_s = NEVER_S
        self._scheduler = scheduler
        self._rng = rng
        self._total = total_batches
        self._slot_batches = slot_batches
        self._slot_s = slot_s
        self._fallback = fallback
        self._unsettled: set[int] = set()  # jobs that do not stand yet
        self._untrained: set[int] = set()  # jobs at work
        self._unhalted: set[int] = set()
        self._is_training = False
        self._standing: Mapping[int, Plan] = {}
        self._complete_plans: set[int] = set()  # jobs whose plan completes them, if workers are as fast as expected
        self._placed: set[int] = set()  # jobs with workers or servers anywhere
        self._left: dict[int, int] = {}  # worker-slots of the jobs that stood
        self._out: list[Instruction] = []

    def handle(self, now_s: float, event: Event) -> list[Instruction]:
        self._out = []
        if isinstance(event, Started):
            self._scheduler.reset(self.world.info_for(self._scheduler), self._rng)
            self._next_slot(now_s)
        elif isinstance(event, Standing):
            self._unsettled.discard(event.job)
            if not self._is_training and not self._unsettled and self._untrained:
                self._begin(now_s)
        elif isinstance(event, Complete):
            self._untrained.discard(event.job)
            if self._is_training and not self._untrained:
                self._halt()
        elif isinstance(event, Halted):
            self._halted(event, now_s)
        elif isinstance(event, TimePassed) and now_s >= self.next_timer_s:
            if self._is_training:
                self._halt()
            else:
                missing = ", ".join(str(job) for job in sorted(self._unsettled))
                self._say(f"slot {self.slot}: begins although job {missing} does not stand after {PATIENCE_S:g} s")
                self._begin(now_s)
        return self._out

    # --- a slot ---

    def _next_slot(self, now_s: float) -> None:
        """Decide on slots until there is one in which something stands."""
        while (view := self.world.advance()) is not None:
            self.slot = view.slot
            self._standing = self._decide(view)
            if self._standing:
                self._settle(now_s)
                return
            self.world.elapse({})
        for job in sorted(self._placed):
            self._out.append(End(job))
        self.next_timer_s = NEVER_S
        self._out.append(Over())

    def _decide(self, view: ElasticView) -> Mapping[int, Plan]:
        try:
            return self._book(view, self._scheduler.decide(view))
        except Exception as error:
            self._say(f"slot {view.slot}: the scheduler failed: {type(error).__name__}: {error}")
        if self._fallback is not None:
            scheduler = self._fallback()
            try:
                scheduler.reset(self.world.info_for(scheduler), self._rng)
                standing = self._book(view, scheduler.decide(view))
                self._scheduler = scheduler
                self._say(f"slot {view.slot}: another takes its place, {type(scheduler).__name__}")
                return standing
            except Exception as error:
                self._say(f"slot {view.slot}: the fallback failed as well: {type(error).__name__}: {error}")
        return self.world.book(())  # what is booked already

    def _book(self, view: ElasticView, decisions: Sequence[ElasticDecision]) -> Mapping[int, Plan]:
        """As the world does; and it is kept which plans are meant to complete their jobs."""
        standing = self.world.book(decisions)
        for decision in decisions:
            job = int(view.job_id[decision.job])
            planned = _workers(standing.get(job)) + _workers(self.world.calendar.plans.get(job))
            self._complete_plans.discard(job)
            if planned >= self.world.work_left(job):
                self._complete_plans.add(job)
        return standing

    def _settle(self, now_s: float) -> None:
        """Jobs that have nothing in this slot give everything back, before others take it."""
        for job in sorted(self._placed - set(self._standing)):
            gone = job not in self.world.present
            self._out.append(End(job) if gone else Stand(job, (), ()))
        self._placed = set(self._standing)
        self._unsettled, self._untrained = set(self._standing), set(self._standing)
        self._left = {}
        for job, plan in self._standing.items():
            self._out.append(Stand(job, _hosts(plan, WORKER), _hosts(plan, SERVER)))
        self.next_timer_s = now_s + PATIENCE_S

    def _begin(self, now_s: float) -> None:
        self._is_training = True
        self.next_timer_s = now_s + self._slot_s
        self._out += [Train(job, self.next_timer_s) for job in self._standing]

    def _halt(self) -> None:
        self._is_training = False
        self.next_timer_s = NEVER_S
        self._unhalted = set(self._standing)
        self._out += [Halt(job) for job in self._standing]

    def _halted(self, event: Halted, now_s: float) -> None:
        left = self._total[event.job] - event.batches_done
        slots = left / self._slot_batches[event.job]
        self._left[event.job] = max(1, math.ceil(slots - 1e-9)) if left > 0 else 0
        self._unhalted.discard(event.job)
        if not self._unhalted:
            self._end_slot()
            self._next_slot(now_s)

    def _end_slot(self) -> None:
        world = self.world
        world.elapse(self._left)
        for job in self._standing:
            left, promise = world.work_left(job), int(world.calendar.promise[job])
            booked = world.calendar.plans.get(job)
            if not left or job not in self._complete_plans:
                continue
            if booked is None:
                self._miss(job)
                world.take_back(job)
            elif promise >= 0 and _workers(booked, promise) < left:
                self._miss(job)
                world.lift_promise(job)

    def _miss(self, job: int) -> None:
        if self.world.calendar.promise[job] >= 0 and job not in self.late:
            self.late.add(job)
            self._say(f"slot {self.slot}: job {job} did less than planned and cannot keep its promise")

    def _say(self, text: str) -> None:
        self._out.append(Notice(text))


def _workers(plan: Plan | None, until: int | None = None) -> int:
    """Worker-slots, up to the end of a slot."""
    if plan is None:
        return 0
    counted = plan.role == WORKER
    return int(plan.amount[counted if until is None else counted & (plan.slot <= until)].sum())


def _hosts(plan: Plan, role: int) -> tuple[int, ...]:
    """One entry for each worker or server."""
    rows = plan.role == role
    return tuple(np.repeat(plan.host[rows], plan.amount[rows]).tolist())
