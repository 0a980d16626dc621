"""Who has booked what, and the rules that every booking obeys; a violation names the rule and its numbers.

Shared by the simulated world and the live engine, so that both refuse the same decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import (
    BANDWIDTH,
    NOTHING,
    REASON_TEXT,
    RESOURCES,
    SERVER,
    WORKER,
    ElasticDecision,
    ElasticJobs,
    Floats,
    Ints,
    Plan,
    servers_needed,
)
from dovetail.core.errors import InvalidDecision
from dovetail.sim.kernels.elastic_calendar import overdrawn, take, tally

ROLES = ("worker", "parameter server")


class Booking(NamedTuple):
    """A decision as the calendar takes it: the job by its lasting name, the plan as plain arrays."""

    job: int
    plan: Plan
    rejected: bool
    promise: int


class Calendar:
    """Capacity by slot, host and resource, and the plans of the jobs under way."""

    def __init__(self, slots: int, worker_capacity: Floats, server_capacity: Floats, jobs: ElasticJobs) -> None:
        self.slots = slots
        self.jobs = jobs
        self.worker_capacity = worker_capacity
        self.server_capacity = server_capacity
        self.worker_free = np.repeat(worker_capacity[None], slots, axis=0)
        self.server_free = np.repeat(server_capacity[None], slots, axis=0)
        self.plans: dict[int, Plan] = {}  # job -> what is booked for it from the present slot on
        self.promise = np.full(len(jobs), -1, dtype=np.int64)

    # --- booking -----------------------------------------------------------------------------------------------

    def book(self, slot: int, bookings: Sequence[Booking], work_left: Ints) -> None:
        """Carry out all of them in `slot`, or none: then `InvalidDecision` says which rule one of them breaks."""
        for booking in bookings:
            self._check_job(slot, booking, int(work_left[booking.job]))
        before = {booking.job: self.plans.get(booking.job, NOTHING) for booking in bookings}
        for job, plan in before.items():
            self._take(job, plan, -1)
        for booking in bookings:
            self._take(booking.job, booking.plan, 1)
        try:
            for booking in bookings:
                self._check_capacity(slot, booking)
        except InvalidDecision:
            for booking in bookings:
                self._take(booking.job, booking.plan, -1)
            for job, plan in before.items():
                self._take(job, plan, 1)
            raise
        for booking in bookings:
            self._keep(booking.job, booking.plan)
            if booking.promise >= 0:
                self.promise[booking.job] = booking.promise

    def free(self, job: int) -> None:
        """Give back everything the job has booked."""
        plan = self.plans.pop(job, None)
        if plan is not None:
            self._take(job, plan, -1)

    def use(self, slot: int) -> dict[int, Plan]:
        """What stands in this slot, by job; it is now in the past and no longer part of any booking."""
        used: dict[int, Plan] = {}
        for job, plan in list(self.plans.items()):
            now = plan.slot == slot
            if now.any():
                used[job] = Plan(*(column[now] for column in plan))
                self._keep(job, Plan(*(column[~now] for column in plan)))
        return used

    def booked(self, jobs: Sequence[int]) -> tuple[Ints, Plan]:
        """Bookings of these jobs: positions in the sequence, and rows."""
        plans = [self.plans.get(job, NOTHING) for job in jobs]
        owner = np.repeat(np.arange(len(plans)), [len(plan.slot) for plan in plans])
        return owner, join(plans)

    def _keep(self, job: int, plan: Plan) -> None:
        if len(plan.slot):
            self.plans[job] = plan
        else:
            self.plans.pop(job, None)

    def _take(self, job: int, plan: Plan, sign: int) -> None:
        demand = (self.jobs.worker_demand[job], self.jobs.server_demand[job])
        take(self.worker_free, self.server_free, *plan, *demand, sign)

    # --- the rules ---------------------------------------------------------------------------------------------

    def _check_job(self, slot: int, booking: Booking, work_left: int) -> None:
        """Everything but capacity."""
        job, plan, rejected, promise = booking
        promised = int(self.promise[job])
        if rejected:
            if promised >= 0:
                raise _refused(slot, job, "promise", f"completion was promised by the end of slot {promised}")
            if len(plan.slot):
                raise _refused(slot, job, "rejection", "a rejected job cannot have a plan")
            return
        self._check_rows(slot, job, plan)
        workers, servers = self._by_slot(slot, plan)
        self._check_counts(slot, job, workers, servers)
        if promise >= 0:
            if not slot <= promise < self.slots:
                raise _refused(slot, job, "promise", f"slot {promise} is not between {slot} and {self.slots - 1}")
            if 0 <= promised < promise:
                text = f"slot {promise} is later than slot {promised}, which was promised before"
                raise _refused(slot, job, "promise", text)
        due = promise if promise >= 0 else promised
        if due >= 0:
            done = int(workers[: due - slot + 1].sum())
            if done < work_left:
                text = f"{done} of {work_left} worker-slots are planned by the end of slot {due}, which is promised"
                raise _refused(slot, job, "completion", text)

    def _check_rows(self, slot: int, job: int, plan: Plan) -> None:
        if not len(plan.slot):
            return
        hosts = (len(self.worker_capacity), len(self.server_capacity))
        most = int(self.jobs.max_workers[job])  # of servers too: there are no more of them than workers
        for bad, text in (
            ((plan.slot < slot) | (plan.slot >= self.slots), f"slots {slot} to {self.slots - 1} can be planned"),
            ((plan.role != WORKER) & (plan.role != SERVER), f"roles are {WORKER} (worker) and {SERVER} (server)"),
            (plan.amount < 1, "an amount of at least 1 is expected"),
            (plan.amount > most, f"the job can use {most} at a time"),
        ):
            if bad.any():
                raise _refused(slot, job, "plan", f"row {_row(plan, int(bad.argmax()))}: {text}")
        outside = (plan.host < 0) | (plan.host >= np.where(plan.role == WORKER, *hosts))
        if outside.any():
            text = f"there are worker hosts 0 to {hosts[0] - 1} and server hosts 0 to {hosts[1] - 1}"
            raise _refused(slot, job, "plan", f"row {_row(plan, int(outside.argmax()))}: {text}")

    def _check_counts(self, slot: int, job: int, workers: Ints, servers: Ints) -> None:
        most = int(self.jobs.max_workers[job])
        if workers.max(initial=0) > most:
            place = int(workers.argmax())
            text = f"{workers[place]} workers in slot {slot + place}; the job can use {most} at a time"
            raise _refused(slot, job, "worker cap", text)
        spare = servers > workers
        if spare.any():
            place = int(spare.argmax())
            text = f"{servers[place]} parameter servers for {workers[place]} workers in slot {slot + place}"
            raise _refused(slot, job, "no more parameter servers than workers", text)
        b = float(self.jobs.worker_demand[job, BANDWIDTH])
        server_b = float(self.jobs.server_demand[job, BANDWIDTH])
        short = workers * b > servers * server_b + 1e-9 * (1 + workers * b)
        if short.any():
            place = int(short.argmax())
            text = (
                f"{workers[place]} workers at {b:g} Gbit/s in slot {slot + place} need "
                f"{servers_needed(workers[place], b, server_b):.0f} parameter servers at {server_b:g} Gbit/s, "
                f"planned are {servers[place]}"
            )
            raise _refused(slot, job, "bandwidth", text)

    def _check_capacity(self, now: int, booking: Booking) -> None:
        plan = booking.plan
        found = overdrawn(self.worker_free, self.server_free, self.worker_capacity, self.server_capacity, *plan[:3])
        if found < 0:
            return
        row, resource = divmod(int(found), len(RESOURCES))
        slot, role, host = int(plan.slot[row]), int(plan.role[row]), int(plan.host[row])
        free, capacity = (
            (self.worker_free, self.worker_capacity) if role == WORKER else (self.server_free, self.server_capacity)
        )
        has = float(capacity[host, resource])
        text = (
            f"{ROLES[role]} host {host} has {has:g} {RESOURCES[resource]}, but {has - free[slot, host, resource]:g} "
            f"would be in use in slot {slot}"
        )
        raise _refused(now, booking.job, "capacity", text)

    def _by_slot(self, slot: int, plan: Plan) -> tuple[Ints, Ints]:
        """Workers and parameter servers in each slot from this one on."""
        workers, servers = np.zeros((2, self.slots - slot), dtype=np.int64)
        tally(plan.slot, plan.role, plan.amount, slot, workers, servers)
        return workers, servers


def read_decisions(slot: int, decisions: object, job_id: Ints) -> list[Booking]:
    """Decisions in terms of the workload; anything that is not one is refused."""
    found: list[Booking] = []
    seen: set[int] = set()
    if not isinstance(decisions, Sequence):
        text = f"given {type(decisions).__name__}; expected a sequence of ElasticDecision, empty to change nothing"
        raise InvalidDecision(f"slot {slot}: {text}")
    for decision in decisions:
        if not isinstance(decision, ElasticDecision):
            raise InvalidDecision(f"slot {slot}: given {decision!r}; expected an ElasticDecision")
        index = decision.job
        if not (_is_whole(index) and 0 <= index < len(job_id)):
            raise InvalidDecision(f"slot {slot}: no job index {index!r}; the view has 0 to {len(job_id) - 1}")
        job = int(job_id[index])
        if job in seen:
            raise InvalidDecision(f"slot {slot}: two decisions for job {job}; one is expected at the most")
        seen.add(job)
        _check_words(slot, job, decision)
        found.append(Booking(job, _plain(slot, job, decision.plan), bool(decision.rejected), int(decision.promise)))
    return found


def _check_words(slot: int, job: int, decision: ElasticDecision) -> None:
    """Everything of a decision but its plan."""
    if not isinstance(decision.rejected, bool | np.bool_):
        raise _refused(slot, job, "rejection", f"rejected is {decision.rejected!r}; expected True or False")
    if not (_is_whole(decision.promise) and decision.promise >= -1):
        raise _refused(slot, job, "promise", f"{decision.promise!r} is no slot; expected a whole number, -1 for none")
    if decision.rejected and decision.promise >= 0:
        raise _refused(slot, job, "rejection", "a rejected job cannot be promised anything")
    if decision.reason not in REASON_TEXT:
        raise _refused(slot, job, "reason", f"{decision.reason!r} is not a Reason")
    for name in ("utility", "cost", "price"):
        if not isinstance(getattr(decision, name), float | int | np.floating | np.integer):
            raise _refused(slot, job, name, f"{getattr(decision, name)!r}; expected a number, nan for none")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def join(plans: Sequence[Plan]) -> Plan:
    """The rows of all of them."""
    return Plan(*(np.concatenate(columns) for columns in zip(*plans, strict=True))) if plans else NOTHING


def _plain(slot: int, job: int, plan: Plan) -> Plan:
    columns = []
    if not (isinstance(plan, tuple) and len(plan) == len(Plan._fields)):
        raise _refused(slot, job, "plan", f"given {plan!r}; expected a Plan, NOTHING for an empty one")
    for name, values in zip(Plan._fields, plan, strict=True):
        array = np.asarray(values)
        if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
            raise _refused(slot, job, "plan", f"column {name!r}: expected a row of whole numbers")
        columns.append(np.ascontiguousarray(array, dtype=np.int64))
    if len({column.size for column in columns}) > 1:
        raise _refused(slot, job, "plan", f"columns of {', '.join(str(c.size) for c in columns)} entries; not alike")
    return Plan(*columns)


def _row(plan: Plan, row: int) -> str:
    return ", ".join(f"{name} {int(column[row])}" for name, column in zip(Plan._fields, plan, strict=True))


def _refused(slot: int, job: int, rule: str, text: str) -> InvalidDecision:
    return InvalidDecision(f"slot {slot}, job {job}: constraint {rule!r} violated: {text}")
