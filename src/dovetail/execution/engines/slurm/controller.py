"""A queue in front of Slurm: who waits under our lease, who is told to begin where, who is given back.

Pure: observations in, instructions out, times given.  A job goes through

    lease -> QUEUED -> told -> TOLD -> seen on nodes -> RUNNING -> ended
               ^                 |                        |
               +-- node is lost -+---- requeued by Slurm -+

and leaves at any point when its user holds it, changes it or cancels it, when it does not begin where it was told
within our patience, or when we end.  It is then Slurm's, as if nobody had ever stood in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.gpu import PLACE_TEXT, REASON_TEXT
from dovetail.execution.engines.slurm.asking import Asking, GpuScheduler, Start
from dovetail.execution.engines.slurm.candidates import (
    CLEAN_UP,
    TAKE,
    WATCH,
    complaints,
    in_scope,
    verdict,
)
from dovetail.execution.engines.slurm.cluster import Kinds, cluster_of, is_same
from dovetail.execution.engines.slurm.estimates import Estimates
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.messages import (
    Act,
    Instruction,
    Lease,
    LetGo,
    Note,
    Observation,
    Retrace,
    SlurmOptions,
    Tell,
)
from dovetail.execution.engines.slurm.shape import Shape
from dovetail.execution.engines.slurm.site import Site
from dovetail.execution.engines.slurm.trace import BACK, FREE, QUEUED, TOLD, Trace, trace_of, traced
from dovetail.execution.engines.slurm.view import Numbers, Waiting

RUNNING = "running"
STALLS = 3  # answers without a start, while something would fit on an idle cluster


@dataclass
class _Mine:
    """A job that is ours."""

    shape: Shape
    phase: str  # QUEUED, TOLD or RUNNING
    lease_s: float = 0.0  # until then
    restarts: int = 0
    stops: int = 0
    not_before_s: float = 0.0
    told: tuple[str, ...] = ()  # the node of each worker
    told_s: float = 0.0
    nice: int = 0  # before us


class SlurmController:
    """`owner`: what our traces are signed with."""

    def __init__(
        self,
        scheduler: GpuScheduler,
        rng: np.random.Generator,
        options: SlurmOptions,
        owner: str,
        kinds: Kinds = Kinds(),
    ) -> None:
        self.estimates = Estimates(options.marker)
        self._scheduler = scheduler
        self._rng = rng
        self._options = options
        self._owner = owner
        self._kinds = kinds
        self._mine: dict[int, _Mine] = {}
        self._would: dict[int, tuple[str, ...]] = {}  # without acting: where each would be, as was said last
        self._passed: set[int] = set()  # of which was said that they fit and are let wait
        self._left: dict[int, str] = {}  # jobs that are Slurm's, and why
        self._untidy: set[int] = set()  # told, but refused: nodes may be set
        self._learned: set[int] = set()
        self._complained: set[str] = set()  # of what comments say; each is said once
        self._jobs: dict[int, SlurmJob] = {}
        self._site: Site | None = None
        self._numbers: Numbers | None = None
        self._asked: object = None  # what was free, who waited and who ran, when the scheduler was asked last
        self._stalls = 0
        self._out: list[Instruction] = []

    # --- what the loop calls ---

    def step(self, seen: Observation, asks: bool = True) -> list[Instruction]:
        """What to do now.  An act that Slurm refuses is told by `refused`.  Without `asks` nothing new is begun."""
        self._out = []
        self._jobs = {job.job_id: job for job in seen.jobs}
        self._know(seen)
        before = set(self._mine)
        for number in sorted(before):
            self._follow(number, seen)
        for job in seen.jobs:
            if asks and job.job_id not in before:  # what has just been given back looks as if it were still ours
                self._consider(job, seen)
            if job.is_ended and job.job_id not in self._learned:
                self._learned.add(job.job_id)
                self.estimates.learn(job)
        self._learned &= self._jobs.keys()
        if asks:
            self._ask(seen)
        if not self._options.act:
            self._mine.clear()
        return self._out

    def refused(self, act: Act, why: str) -> Note:
        """Slurm did not do it.  What has begun or ended meanwhile will be seen; all else is tried again."""
        mine = self._mine.get(act.job)
        if isinstance(act, Tell) and mine is not None:
            mine.phase = QUEUED
            self._untidy.add(act.job)
        elif isinstance(act, Lease) and not _is_ours(trace_of(self._jobs[act.job]), self._owner):
            self._mine.pop(act.job, None)
        self._asked = None
        return Note(
            "refused", f"job {act.job}: Slurm refused ({why})", act.job, {"act": type(act).__name__, "why": why}
        )

    def farewell(self) -> list[LetGo]:
        """Everything that is ours and has not begun, as it was before us."""
        return [
            self._give(number, FREE)
            for number, mine in self._mine.items()
            if mine.phase != RUNNING and number in self._jobs
        ]

    @property
    def site(self) -> Site:
        assert self._site is not None, "nothing was seen yet"
        return self._site

    @property
    def counts(self) -> dict[str, int]:
        phases = [mine.phase for mine in self._mine.values()]
        return {"queued": phases.count(QUEUED), "told": phases.count(TOLD), "running": phases.count(RUNNING)}

    # --- what is known of the cluster ---

    def _know(self, seen: Observation) -> None:
        cluster = cluster_of(seen.nodes, seen.racks, self._kinds, self._options.untyped)
        if self._numbers is None:
            self._numbers = Numbers(min([job.submit_s for job in seen.jobs if not job.is_ended], default=seen.now_s))
        before = self._site
        if before is not None and is_same(before.cluster, cluster):
            self._site = Site(before.cluster, seen, self._options)
            return
        if before is not None:
            self._say("cluster", "the machines have changed; the scheduler begins anew")
        for text in cluster.notices:
            self._say("cluster", text)
        self._site = Site(cluster, seen, self._options)
        self._asked = None
        self._scheduler.reset(cluster.info, self._rng)

    # --- jobs that are ours ---

    def _follow(self, number: int, seen: Observation) -> None:
        mine, job = self._mine[number], self._jobs.get(number)
        if job is None or job.is_ended:
            state = "gone" if job is None else job.state.lower()
            self._say("ended", f"job {number} is {state}", number, state=state)
            del self._mine[number]
            return
        trace = trace_of(job)
        if not _is_ours(trace, self._owner):
            self._say("taken", f"job {number}: somebody else has taken our trace off", number)
            del self._mine[number]
        elif job.holds_nodes:
            self._landed(number, mine, job)
        elif job.is_pending and job.is_held:
            self._drop(number, "its user, or an administrator, holds it; it stays held", FREE)
        elif job.is_pending:
            self._waits(number, mine, job, seen)

    def _landed(self, number: int, mine: _Mine, job: SlurmJob) -> None:
        if mine.phase == RUNNING:
            return
        told = sorted(set(mine.told))
        facts = {"nodes": list(job.nodes), "told": told}
        if mine.phase == QUEUED:
            text = f"Slurm began job {number} on {_names(job.nodes)} before it was told to"
            self._say("early", text, number, **facts)
        elif told == sorted(job.nodes):
            self._say("landed", f"job {number} runs on {_names(job.nodes)}", number, **facts)
        else:
            self._say("astray", f"job {number} runs on {_names(job.nodes)}, not on {_names(told)}", number, **facts)
        mine.phase, mine.restarts = RUNNING, job.restarts

    def _waits(self, number: int, mine: _Mine, job: SlurmJob, seen: Observation) -> None:
        if mine.phase == RUNNING or job.restarts > mine.restarts:
            mine.stops += 1
            mine.restarts = job.restarts
            mine.not_before_s = job.eligible_s  # until then, Slurm makes sure that nothing of it is left
            self._queue(number, mine, job, seen, clear=True)
            self._say("requeued", f"job {number} was requeued by Slurm and waits again", number)
            return
        if mine.phase == TOLD:
            lost = self.site.lost(mine.told)
            if lost:
                self._queue(number, mine, job, seen, clear=True)
                self._say("queued", f"job {number} waits again: {_names(lost)} is lost", number)
            elif seen.now_s > mine.told_s + self._options.patience_s:
                why = f"it did not begin on {_names(sorted(set(mine.told)))} within {self._options.patience_s:g} s"
                self._drop(number, f"{why} ({job.reason})", BACK)
            return
        if number in self._untidy:
            self._untidy.discard(number)
            self._queue(number, mine, job, seen, clear=True)
            return
        shape = self.site.shape(job)
        if isinstance(shape, str) or not in_scope(job, self._options):
            self._drop(number, shape if isinstance(shape, str) else "it is not in our partition any more", FREE)
            return
        mine.shape = shape
        if seen.now_s < job.eligible_s < mine.lease_s - 1.0 and job.restarts:
            mine.not_before_s = job.eligible_s  # Slurm has set it anew: it had not finished with the requeued job
        if job.eligible_s - seen.now_s < self._options.lease_s / 2:
            self._queue(number, mine, job, seen)

    def _queue(
        self, number: int, mine: _Mine, job: SlurmJob, seen: Observation, clear: bool = False, release: bool = False
    ) -> None:
        """Under our lease, from now on or still."""
        changes_nice = clear and self._options.nice is not None
        mine.phase = QUEUED
        mine.lease_s = max(seen.now_s + self._options.lease_s, mine.not_before_s)
        trace = Trace(self._owner, QUEUED)
        comment = None if trace_of(job) == trace else traced(job, trace)
        self._out.append(Lease(number, mine.lease_s, comment, clear, release, mine.nice if changes_nice else None))

    def _drop(self, number: int, why: str, state: str) -> None:
        self._out.append(self._give(number, state))
        if state == BACK:
            self._left[number] = why
        self._say("back", f"job {number} is Slurm's: {why}", number, why=why)
        del self._mine[number]

    def _give(self, number: int, state: str) -> LetGo:
        job, mine = self._jobs[number], self._mine.get(number)
        trace = trace_of(job)
        was_told = bool(mine and mine.told) or (trace is not None and trace.state == TOLD)
        nice = (mine.nice if mine else trace.nice if trace else 0) if self._options.nice is not None else None
        return LetGo(number, traced(job, Trace(self._owner, state)), was_told, nice)

    # --- jobs that are not ours yet ---

    def _consider(self, job: SlurmJob, seen: Observation) -> None:
        if job.job_id in self._would and job.holds_nodes:
            self._compare(job)
        what = verdict(job, self._options, self._owner, seen.dead, seen.now_s)
        if what == TAKE:
            self._take(job, seen)
        elif what == CLEAN_UP and self._options.act:
            self._out.append(self._give(job.job_id, FREE))
            self._say("back", f"job {job.job_id}: a trace of ours is taken off, it is Slurm's", job.job_id)
        elif what == WATCH and self._options.act:
            self._watch(job)

    def _take(self, job: SlurmJob, seen: Observation) -> None:
        number, trace = job.job_id, trace_of(job)
        self._complain(job)
        shape = self.site.shape(job)
        if isinstance(shape, str):
            if self._left.get(number) != shape:
                self._left[number] = shape
                self._say("left", f"job {number} is left to Slurm: {shape}", number, why=shape)
            if trace is not None and self._options.act:
                self._out.append(self._give(number, FREE))
            return
        mine = self._mine[number] = _Mine(shape, QUEUED, restarts=job.restarts, nice=trace.nice if trace else job.nice)
        if not self._options.act:
            return
        mine.not_before_s = job.eligible_s if job.restarts and job.eligible_s > seen.now_s else 0.0
        clear = bool(job.required_nodes) and trace is not None and trace.state == TOLD
        self._queue(number, mine, job, seen, clear, release=job.is_held)
        again = ", left behind by an earlier run" if trace is not None and trace.state != FREE else ""
        self._say("queued", f"job {number} ({job.name}) is in the queue{again}", number, name=job.name, user=job.user)

    def _complain(self, job: SlurmJob) -> None:
        """Of all jobs whose comments say the same that cannot be followed, the first is named."""
        for what in complaints(job, self.site.cluster, self._options):
            if what not in self._complained:
                self._complained.add(what)
                self._say("comment", f"job {job.job_id}: comment: {what}", job.job_id, why=what)

    def _watch(self, job: SlurmJob) -> None:
        """It runs where an earlier loop of ours told it to."""
        running, trace = self.site.running(job, None), trace_of(job)
        if running is None or trace is None:
            return
        self._mine[job.job_id] = _Mine(running.shape, RUNNING, restarts=job.restarts, told=job.nodes)
        if trace.owner != self._owner:
            self._out.append(Retrace(job.job_id, traced(job, trace._replace(owner=self._owner))))

    def _compare(self, job: SlurmJob) -> None:
        """Without acting: what Slurm did instead."""
        would = sorted(set(self._would.pop(job.job_id)))
        same = "as Dovetail would have" if would == sorted(job.nodes) else f"Dovetail would have taken {_names(would)}"
        text = f"Slurm began job {job.job_id} on {_names(job.nodes)}, {same}"
        self._say("slurm", text, job.job_id, nodes=list(job.nodes), would=would)

    # --- asking ---

    def _ask(self, seen: Observation) -> None:
        assert self._numbers is not None
        waiting = [
            Waiting(self._jobs[number], mine.shape, mine.stops)
            for number, mine in self._mine.items()
            if mine.phase == QUEUED and mine.not_before_s <= seen.now_s
        ]
        waiting.sort(key=lambda one: (one.job.submit_s, one.job.job_id))
        site = self.site
        room = site.room((mine.shape, mine.told) for mine in self._mine.values() if mine.phase == TOLD)
        state = (
            tuple(one.job.job_id for one in waiting),
            tuple(job.job_id for job in seen.jobs if job.holds_nodes),  # one may end where no room comes of it
            room.up.tobytes(),
            room.devices.tobytes(),
            room.cpus.tobytes(),
        )
        if not waiting or (state == self._asked and not self._stalls):
            return
        asked_for = {number: mine.shape for number, mine in self._mine.items() if mine.told}
        found = (site.running(job, asked_for.get(job.job_id)) for job in seen.jobs if job.holds_nodes)
        running = sorted(filter(None, found), key=lambda one: (one.job.start_s, one.job.job_id))
        asking = Asking(self._scheduler, site.cluster, room, running, seen.now_s, self._numbers, self.estimates)
        starts: list[Start] = []
        passed: list[Waiting] = []
        for partition in sorted({one.job.partition for one in waiting}):
            group = [one for one in waiting if one.job.partition == partition]
            begun = asking.starts(group, site.closed(partition))
            starts += begun
            done = {start.waiting.job.job_id for start in begun}
            passed += asking.fitting([one for one in group if one.job.job_id not in done], site.closed(partition))
        for start in starts:
            self._tell(start, seen)
        self._tell_passed(passed, seen)
        self._asked = state if not starts else None
        self._mind_stalls(bool(starts), bool(passed), bool(running))

    def _tell(self, start: Start, seen: Observation) -> None:
        job, decision = start.waiting.job, start.decision
        told = tuple(self.site.cluster.info.machine_name[machine] for machine in start.machines)
        nodes = tuple(dict.fromkeys(told))
        if not self._options.act:
            if self._would.get(job.job_id) == told:
                return
            self._would[job.job_id] = told
        would = "" if self._options.act else "would be "
        why, where = REASON_TEXT[decision.reason], PLACE_TEXT[decision.place]
        self._say(
            "told",
            f"job {job.job_id} ({job.name}) {would}told to begin on {_names(nodes)}: {why}; {where}",
            job.job_id,
            nodes=list(nodes),
            workers=list(told),
            reason=decision.reason.name.lower(),
            place=decision.place.name.lower(),
            priority=float(decision.priority),
            affinity=float(decision.affinity),
            waited_s=seen.now_s - job.submit_s,
        )
        mine = self._mine[job.job_id]
        if self._options.act:
            mine.phase, mine.told, mine.told_s, mine.nice = TOLD, told, seen.now_s, job.nice
            trace = Trace(self._owner, TOLD, job.nice)
            not_on = self.site.others(nodes, job) if _may_grow(job) else ()
            self._out.append(Tell(job.job_id, nodes, not_on, traced(job, trace), self._options.nice))

    def _tell_passed(self, passed: Sequence[Waiting], seen: Observation) -> None:
        """Said once of each: it fits, even beside those that begin now, and is let wait."""
        for one in passed:
            job = one.job
            if job.job_id not in self._passed:
                would = "is" if self._options.act else "would be"
                text = f"job {job.job_id} ({job.name}) fits, and {would} let wait by the scheduler"
                self._say("waits", text, job.job_id, waited_s=seen.now_s - job.submit_s)
        self._passed = (self._passed & self._jobs.keys()) | {one.job.job_id for one in passed}

    def _mind_stalls(self, started: bool, could: bool, runs: bool) -> None:
        """A scheduler that starts nothing on an idle cluster would never be asked again.

        Where anything runs, also somebody else's job, it may wait for that: it is asked again when it ends.
        """
        busy = runs or any(mine.phase != QUEUED for mine in self._mine.values())
        self._stalls = 0 if started or busy or not could or not self._options.act else self._stalls + 1
        if self._stalls >= STALLS:
            self._stalls = 0
            for number, mine in list(self._mine.items()):
                if mine.phase == QUEUED:
                    self._drop(number, "the scheduler starts nothing, though there is room", BACK)

    def _say(self, event: str, text: str, job: int = -1, **facts: object) -> None:
        self._out.append(Note(event, text, job, facts))


def _is_ours(trace: Trace | None, owner: str) -> bool:
    return trace is not None and trace.owner == owner and trace.state not in (FREE, BACK)


def _may_grow(job: SlurmJob) -> bool:
    """Slurm may give it more nodes than those it is told, if they have become too full meanwhile."""
    return job.max_nodes == 0 and (job.tasks > 1 or bool(job.gres_per_job))


def _names(nodes: Sequence[str]) -> str:
    return ", ".join(nodes)
