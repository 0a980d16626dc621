"""The dag world in plain Python: `docs/dag-model.md` line by line, slow on purpose.

It shares no code with the compiled simulator.  Tests run both on the same workload, keys and decisions and
expect the same trajectory; benchmarks use it as "what plain Python does".

The world is one generator, `_run`, that handles events in order and yields a view whenever a round needs a
decision.  Methods follow the headings of the specification: events, dispatch, rounds.  Where the
specification leaves something open, a comment starting with "Reading:" says how it is read here.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator, Sequence

from dovetail.core.dag import DagDecision, DagInfo, DagView, ExecutorClass
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.sim.dag.options import DagOptions
from dovetail.testing.dag_reference_chance import Chance
from dovetail.testing.dag_reference_referee import Draft, Gift, Referee
from dovetail.testing.dag_reference_state import (
    NEVER,
    Commitment,
    Executor,
    Group,
    Job,
    Round,
    Stage,
    State,
    build_jobs,
)
from dovetail.testing.dag_reference_view import build_view
from dovetail.workloads.dag import FIRST, FRESH, REST, DagWorkload

JOB_ARRIVAL, TASK_END, EXECUTOR_ARRIVAL, TASK_CUT, EXECUTOR_BACK = range(5)

TaskRow = tuple[int, int, int, int, bool, float, float]
"""executor, job, stage in job, wave, lost, start_s, end_s"""
DecisionRow = tuple[float, int, int, int, int, int, int, int, int, int]
"""time_s, source job or -1, source stage in job or -1, on offer,
job, stage in job, limit, given, class, reason"""


class ReferenceDagWorld:
    """A `World` for dag jobs.  The keys are those of the durations and of the failures.

    `Compat.unseeded_durations` is about where the first key comes from, so it is up to the caller.
    """

    def __init__(self, workload: DagWorkload, options: DagOptions, duration_key: int, failure_key: int) -> None:
        self._options = options
        self._classes = options.executor_classes()
        self._referee = Referee(self._classes, options.compat.idle_until_arrival)
        self._chance = Chance(workload.catalogue, options, duration_key, failure_key)
        self._jobs = build_jobs(workload)
        self._executors = number_executors(self._classes)
        for executor in self._executors:
            self._chance.draw_next_failure(executor)
        self._common = Group(None, list(self._executors))
        self._in_system: list[Job] = []  # in order of arrival
        self._to_come = len(self._jobs)
        self._away = 0
        self._version = 0
        self._now_s = 0.0
        self._heap = [(job.arrival_s, JOB_ARRIVAL, job.number) for job in self._jobs]
        heapq.heapify(self._heap)
        self._round: Round | None = None
        self._view: DagView | None = None  # waits for a decision
        self._story = self._run()

        self.info = DagInfo(len(self._executors), self._classes, options.moving_delay_s)
        self.finish_s = [float("nan")] * len(self._jobs)
        self.task_log: list[TaskRow] = []
        self.decision_log: list[DecisionRow] = []
        self.costs = {"time": 0.0, "jobs": 0.0, "weight": 0.0, "late": 0.0, "executors": 0.0}
        self.events = 0

    # --- the two verbs of a world ---

    def advance(self) -> DagView | None:
        """Run to the next moment that needs a decision; None when all jobs are complete."""
        if self._view is None:
            self._view = next(self._story, None)
        if self._view is None and self._in_system:
            waiting = ", ".join(str(job.number) for job in self._in_system)
            raise StalledWorld(
                f"at {self._now_s:g} s no event is left but jobs are in the system (number {waiting}): "
                "the scheduler declined what was on offer, or no executor fits a stage that may be chosen"
            )
        return self._view

    def apply(self, decisions: Sequence[DagDecision]) -> None:
        """Carry out decisions on the view last returned, or raise `InvalidDecision` and change nothing."""
        if self._view is None or self._round is None:
            raise InvalidDecision("no view waits for a decision: call advance() first")
        if not isinstance(decisions, Sequence):
            raise InvalidDecision(f"expected a sequence of DagDecision, not {decisions!r}")
        stages = [stage for job in self._in_system for stage in job.stages]
        gifts = self._referee.check(self._round, stages, decisions)
        self._view = None
        self._round.declined = not gifts
        for gift in gifts:
            self._carry_out(self._round, gift)

    # --- events ---

    def _run(self) -> Iterator[DagView]:
        while self._heap and (self._in_system or self._to_come):
            time_s, kind, number = heapq.heappop(self._heap)
            self._integrate_until(time_s)
            self.events += 1
            job: Job | None = None
            unlocked = False
            if kind == JOB_ARRIVAL:
                job = self._jobs[number]
                self._job_arrives(job)
                if self._heap and self._heap[0][:2] == (time_s, JOB_ARRIVAL):
                    continue  # jobs that arrive together are seen together
            elif kind == TASK_END:
                job = stage_of(self._executors[number]).job
                unlocked = yield from self._task_ends(self._executors[number])
            elif kind == EXECUTOR_ARRIVAL:
                job = stage_of(self._executors[number]).job
                self._executor_arrives(self._executors[number])
            elif kind == TASK_CUT:
                job = stage_of(self._executors[number]).job
                self._task_is_cut(self._executors[number])
            else:
                self._away -= 1
                self._join_not_offered(self._executors[number], self._common)
            if self._options.compat.idle_until_arrival:
                yield from self._hold_compat_rounds(job, kind == JOB_ARRIVAL, unlocked)
            else:
                yield from self._hold_rounds(job)

    def _integrate_until(self, time_s: float) -> None:
        span_s = time_s - self._now_s
        self.costs["time"] += span_s
        for job in self._in_system:
            self.costs["jobs"] += span_s
            self.costs["weight"] += job.weight * span_s
            self.costs["late"] += max(0.0, time_s - max(self._now_s, job.deadline_s))
        in_no_pool = len(self._executors) - len(self._common.executors) - self._away
        self.costs["executors"] += in_no_pool * span_s
        self._now_s = time_s

    def _job_arrives(self, job: Job) -> None:
        self._to_come -= 1
        self._in_system.append(job)
        self._version += 1

    def _task_ends(self, e: Executor) -> Generator[DagView, None, bool]:
        """Returns whether a stage was unlocked."""
        s = stage_of(e)
        j = s.job
        # 1.
        self._log_task(e, s, lost=False)
        s.finished += 1
        if not s.dry:
            self._start_task(e, s)
            return False
        # 2.
        s.executors.remove(e)
        e.state, e.stage = State.FREE, None
        unlocked = s.complete and self._unlock_children(s)
        # 3.
        if j.complete:
            self._complete_job(j)
        # 4.
        commitment = next((c for c in s.commitments if c.executor_class == e.executor_class), None)
        if commitment is not None:
            self._drop_commitment(s, commitment)
            self._dispatch(e, commitment.target, as_just_decided=False)
            self._look_at(commitment.target)
        elif j.complete:
            yield from self._after_last_task_of_job(e)
        elif unlocked:
            self._join_not_offered(e, j.group)
        elif self._was_offered(s):
            self._join_declined(e, j)
        else:
            on_offer = self._count_by_class([e, *s.executors])
            for c in s.commitments:  # Reading: what is promised already (of other classes) is not on offer
                on_offer[c.executor_class] -= 1
            yield from self._hold(Round(j, on_offer, stage=s, leaver=e))
        return unlocked

    def _unlock_children(self, s: Stage) -> bool:
        unlocked = False
        for child in s.children:
            child.incomplete_parents -= 1
            unlocked = unlocked or child.ready
        if unlocked:
            self._version += 1
            self._free_parked(s.job)
        return unlocked

    def _complete_job(self, j: Job) -> None:
        self._in_system.remove(j)
        self.finish_s[j.number] = self._now_s
        self._version += 1
        self._free_parked(j)
        while j.group.executors:
            self._join(j.group.executors.pop(0), self._common)

    def _after_last_task_of_job(self, e: Executor) -> Iterator[DagView]:
        if self._options.compat.idle_until_arrival:
            self._set_home(e, None)
            yield from self._hold(Round(None, self._count_by_class([e]), leaver=e))
        else:
            self._join_not_offered(e, self._common)

    def _executor_arrives(self, e: Executor) -> None:
        v = stage_of(e)
        k = v.job
        v.reservations -= 1
        k.moving_here -= 1
        if k.complete:
            self._join_not_offered(e, self._common)
        else:
            self._set_home(e, k)
            if v.dry:
                self._join_not_offered(e, k.group)
            elif v.ready:
                self._start_task(e, v)
            else:
                self._park_or_free(e, v, as_just_decided=False)
        self._look_at(v)

    def _task_is_cut(self, e: Executor) -> None:
        s = stage_of(e)
        j = s.job
        self._log_task(e, s, lost=True)
        s.executors.remove(e)
        s.not_started += 1
        self._set_home(e, None)
        e.state, e.stage = State.AWAY, None
        self._away += 1
        self._chance.draw_next_failure(e)
        heapq.heappush(self._heap, (self._now_s + self._options.repair_s, EXECUTOR_BACK, e.number))
        self._version += 1
        self._look_at(s)
        self._free_parked(j)
        promised = [c for c in s.commitments if c.executor_class == e.executor_class]
        if len(promised) > sum(other.executor_class == e.executor_class for other in s.executors):
            self._drop_commitment(s, promised[-1])
            self._look_at(promised[-1].target)
            if promised[-1].target.ready:
                self._free_parked(promised[-1].target.job)

    # --- where executors go ---

    def _dispatch(self, e: Executor, v: Stage, as_just_decided: bool) -> None:
        k = v.job
        if k.complete or v.dry:
            # Reading: an executor whose home has just been completed has none to stay at.
            home = None if e.home is None or e.home.complete else e.home
            self._join_not_offered(e, self._common if home is None else home.group)
        elif e.home is k and v.ready:
            self._start_task(e, v)
        elif e.home is k:
            self._park_or_free(e, v, as_just_decided)
        else:
            self._set_home(e, None)
            e.state, e.stage = State.MOVING, v
            v.reservations += 1
            k.moving_here += 1
            arrival_s = self._now_s + self._options.moving_delay_s
            heapq.heappush(self._heap, (arrival_s, EXECUTOR_ARRIVAL, e.number))

    def _start_task(self, e: Executor, v: Stage) -> None:
        if e.last_stage is None:
            e.wave = FRESH
        else:
            e.wave = REST if e.last_stage is v else FIRST
        end_s = self._now_s + self._chance.duration_s(v, e.wave, v.job.at_home)
        if e not in v.executors:
            v.executors.append(e)
        v.not_started -= 1
        v.starts += 1
        e.state, e.stage, e.last_stage, e.start_s = State.BUSY, v, v, self._now_s
        failure_s = self._chance.next_failure_s(e, self._now_s)
        event = (failure_s, TASK_CUT, e.number) if failure_s < end_s else (end_s, TASK_END, e.number)
        heapq.heappush(self._heap, event)
        self._look_at(v)

    def _park_or_free(self, e: Executor, v: Stage, as_just_decided: bool) -> None:
        """v is not ready.  If something else of its job is, a decision taken earlier is no longer the best."""
        startable = any(s.ready and s.unclaimed > 0 for s in v.job.stages)
        if startable and not as_just_decided and not self._options.compat.idle_until_arrival:
            self._join_not_offered(e, v.job.group)
        else:
            self._park(e, v)

    def _park(self, e: Executor, v: Stage) -> None:
        if self._options.compat.idle_until_arrival:
            self._join(e, v.job.group)  # waits there like any other, reserving nothing
            return
        e.state, e.stage = State.PARKED, v
        v.job.parked.append(e)
        v.reservations += 1
        if self._options.compat.pool_forgets:
            e.last_stage = None

    def _free_parked(self, j: Job) -> None:
        while j.parked:
            e = j.parked.pop(0)
            v = stage_of(e)
            v.reservations -= 1
            self._join(e, j.group)
            self._look_at(v)

    def _set_home(self, e: Executor, home: Job | None) -> None:
        if e.home is home:
            return
        if e.home is not None:
            e.home.at_home -= 1
        if home is not None:
            home.at_home += 1
        e.home = home
        e.last_stage = None

    def _join(self, e: Executor, group: Group) -> None:
        self._set_home(e, group.job)
        e.state, e.stage = State.FREE, None
        if self._options.compat.pool_forgets:
            e.last_stage = None
        group.executors.append(e)

    def _join_not_offered(self, e: Executor, group: Group) -> None:
        self._join(e, group)
        group.offered = NEVER

    def _join_declined(self, e: Executor, j: Job | None) -> None:
        """An executor that was offered, alone or with its stage, and that nobody wanted."""
        if j is None or (self._options.compat.idle_until_arrival and all(stage.dry for stage in j.stages)):
            self._join(e, self._common)
            return
        # Reading: "offered before" is meant at the version now reached; a stage's later executors, which join
        # because the stage's offer was declined, treat the mark of the group in the same way.
        was_empty = not j.group.executors
        self._join(e, j.group)
        if was_empty:
            j.group.offered = self._version

    # --- versions, promises ---

    def _look_at(self, v: Stage) -> None:
        """Count a change of version if v became saturated, or ceased to be, since the last look.

        Reading: a reservation that turns into a started task, or into another reservation, in one step is no
        change.  So this is called after each complete step, not after each half of it.
        """
        if v.saturated != v.saturated_at_last_look:
            v.saturated_at_last_look = v.saturated
            self._version += 1

    def _was_offered(self, s: Stage) -> bool:
        if self._options.compat.idle_until_arrival:
            return s.offered != NEVER
        return s.offered == self._version

    def _add_commitment(self, s: Stage, executor_class: int, target: Stage) -> None:
        s.commitments.append(Commitment(executor_class, target))
        target.reservations += 1
        if target.job is not s.job:
            target.job.promised_here += 1
            s.job.promised_away += 1

    def _drop_commitment(self, s: Stage, commitment: Commitment) -> None:
        s.commitments.remove(commitment)
        commitment.target.reservations -= 1
        if commitment.target.job is not s.job:
            commitment.target.job.promised_here -= 1
            s.job.promised_away -= 1

    # --- rounds ---

    def _hold_rounds(self, event_job: Job | None) -> Iterator[DagView]:
        while (group := self._next_group(event_job)) is not None:
            yield from self._hold(self._group_round(group))

    def _next_group(self, event_job: Job | None) -> Group | None:
        first = [] if event_job is None else [event_job.group]
        for group in [*first, self._common, *(job.group for job in self._in_system)]:
            if group.executors and group.offered != self._version:
                return group if self._some_stage_is_unsaturated() else None
        return None

    def _hold_compat_rounds(self, job: Job | None, arrival: bool, unlocked: bool) -> Iterator[DagView]:
        """`idle_until_arrival`: the common group is offered on arrivals, a job's when it unlocks a stage."""
        group = self._common if arrival else job.group if unlocked and job is not None else None
        if group is not None and group.executors and self._some_stage_is_unsaturated():
            yield from self._hold(self._group_round(group))
            if group.job is not None and all(stage.dry for stage in group.job.stages):
                while group.executors:
                    self._join(group.executors.pop(0), self._common)

    def _some_stage_is_unsaturated(self) -> bool:
        return any(not stage.saturated for job in self._in_system for stage in job.stages)

    def _group_round(self, group: Group) -> Round:
        return Round(group.job, self._count_by_class(group.executors), group=group)

    def _count_by_class(self, executors: Sequence[Executor]) -> list[int]:
        counts = [0] * len(self._classes)
        for executor in executors:
            counts[executor.executor_class] += 1
        return counts

    def _hold(self, round_: Round) -> Iterator[DagView]:
        self._round = round_
        while not round_.declined:
            draft = Draft.of(round_)
            valid = {v for job in self._in_system for v in job.stages if self._referee.may_be_chosen(draft, v)}
            if not valid:
                break
            held = {job: self._referee.held(round_, draft, job) for job in self._in_system}
            yield build_view(self._now_s, self._in_system, round_, held, valid)
        self._round = None
        if round_.leaver is not None:
            self._join_declined(round_.leaver, round_.job)
        if round_.group is not None:
            round_.group.offered = self._version
        if round_.stage is not None:
            round_.stage.offered = self._version

    # --- decisions ---

    def _carry_out(self, round_: Round, gift: Gift) -> None:
        v = gift.stage
        round_.chosen.add(v)
        if round_.group is not None:
            self._give_from_group(round_.group, gift)
        else:
            self._give_from_stage(round_, gift)
        for c, count in gift.by_class:
            round_.on_offer[c] -= count
        self._look_at(v)
        self._log_decision(round_, gift)

    def _give_from_group(self, group: Group, gift: Gift) -> None:
        for c, count in gift.by_class:
            for e in [e for e in group.executors if e.executor_class == c][:count]:
                group.executors.remove(e)
                self._dispatch(e, gift.stage, as_just_decided=True)

    def _give_from_stage(self, round_: Round, gift: Gift) -> None:
        promised = dict(gift.by_class)
        e = round_.leaver
        if e is not None and e.executor_class in promised:
            promised[e.executor_class] -= 1
            round_.leaver = None
            self._dispatch(e, gift.stage, as_just_decided=True)
        for c, count in promised.items():
            for _ in range(count):
                assert round_.stage is not None  # a leaver without a stage is offered alone
                self._add_commitment(round_.stage, c, gift.stage)

    # --- logs ---

    def _log_task(self, e: Executor, s: Stage, lost: bool) -> None:
        self.task_log.append((e.number, s.job.number, s.id, e.wave, lost, e.start_s, self._now_s))

    def _log_decision(self, round_: Round, gift: Gift) -> None:
        v, decision = gift.stage, gift.decision
        source_job = -1 if round_.job is None else round_.job.number
        source_stage = -1 if round_.stage is None else round_.stage.id
        where = (self._now_s, source_job, source_stage, gift.on_offer, v.job.number, v.id)
        what = (decision.limit, gift.given, decision.executor_class, int(decision.reason))
        self.decision_log.append((*where, *what))


def number_executors(classes: Sequence[ExecutorClass]) -> list[Executor]:
    """Executors class by class, class 0's first."""
    of_class = [c for c, kind in enumerate(classes) for _ in range(kind.count)]
    return [Executor(number, c) for number, c in enumerate(of_class)]


def stage_of(e: Executor) -> Stage:
    assert e.stage is not None, f"executor {e.number} is {e.state} but has no stage"
    return e.stage
