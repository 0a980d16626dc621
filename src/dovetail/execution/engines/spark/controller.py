"""Looks in, instructions out: which stage is to have how many slots, as a `dag/...` scheduler decides it.

Pure: no I/O, no clock, times given.  Slots are offered as in the simulator (docs/dag-model.md): free ones, and those of
a stage that has no task left to launch, before they are free, so that Spark knows where each of them goes.  With
`every="task"` all slots are offered anew whenever a job or a stage comes, goes or runs dry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index

import numpy as np

from dovetail.core.dag import REASON_TEXT, DagDecision, DagInfo, DagView, Reason
from dovetail.core.errors import InvalidDecision
from dovetail.core.protocols import Scheduler
from dovetail.execution.engines.spark import slots as books
from dovetail.execution.engines.spark.jobs import Job, Jobs, Stage
from dovetail.execution.engines.spark.known import Known
from dovetail.execution.engines.spark.messages import Claim, Instruction, Look, Note, SparkOptions, Steer
from dovetail.execution.engines.spark.sizing import Sizing
from dovetail.execution.engines.spark.view import Offer, info_of, view_of

LAST = 100_000_000  # rank of stages that nothing was decided about: Spark's own order among them


DagScheduler = Scheduler[DagInfo, DagView, DagDecision]


class SparkController:
    """`fallback` makes the scheduler that takes over from one that fails."""

    def __init__(
        self,
        name: str,
        scheduler: DagScheduler,
        fallback: Callable[[], tuple[str, DagScheduler]],
        rng: Callable[[], np.random.Generator],
        options: SparkOptions = SparkOptions(),
        known: Known = Known(),
    ) -> None:
        self.name = name
        self.decisions = 0
        self.asked = 0  # times the scheduler was asked
        self.jobs = Jobs(options.jobs, known, options.linger_s)
        self._scheduler = scheduler
        self._fallback = fallback
        self._has_fallen_back = False
        self._rng = rng
        self._options = options
        self._sizing = None if options.executors is None else Sizing(options.executors, options.idle_s)
        self._slots = 0
        self._since_s = -1.0
        self._shape: object = None  # what may change decisions, at the last look
        self._version = 0
        self._offered = -1  # the version at which free slots were last on offer
        self._free = 0
        self._rank = 0
        self._steer: Steer | None = None  # as last told
        self._out: list[Instruction] = []

    def step(self, look: Look) -> list[Instruction]:
        """What to do now."""
        self._out = []
        if self._since_s < 0.0:
            self._since_s = look.time_s
        self.jobs.update(look)
        for job in self.jobs.began:
            job.since_s = max(0.0, job.arrival_s - self._since_s)
            self._out.append(_began(job))
        active = self.jobs.active()
        books.follow(active, self._options.act)
        if look.slots != self._slots:
            self._resized(look.slots)
        books.trim(self._slots, active)
        shape = (self._slots, _shape(active))
        changed = shape != self._shape
        if changed:
            self._shape = shape
            self._version += 1
        if self._slots and active:
            self._offer(active, look.time_s - self._since_s, changed)
        for job in self.jobs.over:
            facts = {"took_s": round(look.time_s - job.arrival_s, 3), "name": job.name}
            text = f"job {job.number} ({job.name}): no Spark job of it is left, {facts['took_s']:g} s since it began"
            self._out.append(Note("quiet", text, job.number, facts))
        if self._options.act:
            self._tell_claims(active, look.expired)
        if self._sizing is not None and look.executors is not None:
            self._out += self._sizing.step(look, sum(_wanted(job) for job in active))
        return self._out

    # --- offers ---

    def _offer(self, jobs: list[Job], time_s: float, changed: bool) -> None:
        if self._options.every == "task":
            if not changed:
                return
            books.release(jobs)
            self._rank = 0
        spare = books.free(self._slots, jobs)
        if spare > 0 and (self._offered != self._version or spare > self._free):
            self._hold_round(jobs, Offer(spare, None), time_s)
            spare = books.free(self._slots, jobs)
            self._offered = self._version
        self._free = spare
        for job in jobs:
            for stage in job.stages:
                if stage.offered != self._version and (leaving := books.own(stage)) > 0:
                    stage.offered = self._version
                    self._hold_round(jobs, Offer(leaving, stage), time_s)

    def _hold_round(self, jobs: list[Job], offer: Offer, time_s: float) -> None:
        """Ask until all is given away, nothing may be chosen, or the scheduler declines."""
        chosen: set[Stage] = set()
        while offer.slots > 0:
            view, stages = view_of(jobs, offer, chosen, time_s)
            if not view.stage_valid.any():
                return
            gifts = self._ask(view)
            if not gifts:
                return
            for decision, given in gifts:
                stage = stages[decision.stage]
                if stage.claim == 0:
                    stage.rank, self._rank = self._rank, self._rank + 1
                stage.claim += given
                if offer.source is not None:
                    offer.source.promised += given
                offer = offer._replace(slots=offer.slots - given)
                chosen.add(stage)
                self.decisions += 1
                self._out.append(_decided(stage, decision, given, offer.source, self._options.act))

    def _ask(self, view: DagView) -> list[tuple[DagDecision, int]]:
        self.asked += 1
        try:
            return checked(view, self._scheduler.decide(view), self._slots)
        except Exception as error:  # whatever a scheduler does, the application goes on
            if self._has_fallen_back:
                raise
            failed, self._has_fallen_back = self.name, True
            self.name, self._scheduler = self._fallback()
            self._scheduler.reset(info_of(self._slots), self._rng())
            text = f"{failed} failed with {type(error).__name__}: {error}; {self.name} takes over"
            self._out.append(Note("scheduler", text, facts={"scheduler": self.name}))
            return checked(view, self._scheduler.decide(view), self._slots)

    def _resized(self, slots: int) -> None:
        """Schedulers are told the size of the cluster once, so another size is another beginning."""
        self._slots = slots
        self._version += 1
        self._out.append(Note("slots", f"{slots} tasks can run at once", facts={"slots": slots}))
        if slots:
            self._scheduler.reset(info_of(slots), self._rng())

    # --- what Spark is told ---

    def _tell_claims(self, jobs: Sequence[Job], expired: bool) -> None:
        claims = [
            Claim(stage.number, stage.claim, stage.rank if stage.claim else LAST + stage.number)
            for job in jobs
            for stage in job.stages
            if not stage.is_done and not stage.is_dry
        ]
        steer = Steer(tuple(claims))
        if steer != self._steer or expired:
            self._steer = steer
            self._out.insert(0, steer)


def checked(view: DagView, decisions: Sequence[DagDecision], slots: int) -> list[tuple[DagDecision, int]]:
    """What decisions give, one after the other; an error if one of them cannot be."""
    found: list[tuple[DagDecision, int]] = []
    held = view.job_executors.copy()
    left, chosen = view.source_executors, set()
    for decision in decisions:
        stage, limit, kind = index(decision.stage), index(decision.limit), index(decision.executor_class)
        is_stage = 0 <= stage < len(view.stage_id) and bool(view.stage_valid[stage]) and stage not in chosen
        if not is_stage or kind not in (-1, 0):
            raise InvalidDecision(f"stage {stage}, executor class {kind}; expected a valid stage, and class 0 or -1")
        job = int(view.stage_job[stage])
        given = min(limit - int(held[job]), left, int(view.stage_unclaimed[stage]))
        if given < 1 or limit > slots:
            raise InvalidDecision(
                f"limit {limit} of a job that holds {held[job]} of {slots} executors, with {left} on offer; "
                "expected one that gives at least one"
            )
        held[job] += given
        left -= given
        chosen.add(stage)
        found.append((decision, given))
    return found


def _shape(jobs: Sequence[Job]) -> object:
    return tuple((stage.number, stage.state, stage.is_dry) for job in jobs for stage in job.stages)


def _wanted(job: Job) -> int:
    """Slots that the job could use now."""
    return sum(stage.running + stage.waiting for stage in job.stages if stage.is_ready and not stage.is_done)


def _began(job: Job) -> Note:
    how = "unknown, its tasks are taken to last as others do" if job.kind is None else f"known as {job.kind.name}"
    facts = {"name": job.name, "key": job.key, "kind": None if job.kind is None else job.kind.name}
    return Note("job", f"job {job.number} ({job.name}, {job.key}): {how}", job.number, facts)


def _decided(stage: Stage, decision: DagDecision, given: int, source: Stage | None, act: bool) -> Note:
    reason = Reason(int(decision.reason))
    facts = {
        "stage": stage.number,
        "slots": given,
        "limit": int(decision.limit),
        "reason": reason.name.lower(),
        "source": None if source is None else source.number,
        "mean_s": round(stage.estimate.mean_s, 4),
        "mean_is_seen": stage.is_seen,
    }
    would = "gets" if act else "would get"
    where = "free slots" if source is None else f"slots of stage {source.number}"
    text = f"job {stage.job.number} ({stage.job.name}): stage {stage.number} {would} {given} {where}: "
    return Note("decided", text + REASON_TEXT[reason], stage.job.number, facts)
