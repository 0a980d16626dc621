"""One elastic world in virtual time: slots go by, jobs arrive, plans are carried out as they are booked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dovetail.core.elastic import BANDWIDTH, WORKER, ElasticDecision, ElasticInfo, ElasticView, Floats, Plan
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.sim.elastic.calendar import Calendar, read_decisions
from dovetail.sim.elastic.options import ElasticOptions
from dovetail.sim.elastic.result import DecisionRow, ElasticResult, UsedRow
from dovetail.workloads.elastic import ElasticWorkload


class ElasticWorld:
    """A workload on a cluster: `advance` and `apply` in turn, a slot each.

    `record=True` keeps every decision.  Nothing in this world is left to chance, so `seeds` is not drawn from.
    """

    def __init__(
        self, workload: ElasticWorkload, options: ElasticOptions, seeds: SeedTree, *, record: bool = False
    ) -> None:
        self.workload = workload
        self.options = options
        self.seeds = seeds
        jobs = workload.jobs()
        worker_capacity, server_capacity = options.cluster.capacities()
        _check_bandwidth(workload)
        self.calendar = Calendar(workload.slots, worker_capacity, server_capacity, jobs)
        self.info = ElasticInfo(
            slots=workload.slots,
            slot_s=workload.slot_s,
            worker_capacity=worker_capacity,
            server_capacity=server_capacity,
            history=workload.history,
            expected_jobs=workload.num_jobs if workload.expected_jobs is None else workload.expected_jobs,
        )
        self._jobs = jobs
        self._work_left = jobs.work.copy()
        self._admitted = np.zeros(len(jobs), dtype=np.bool_)
        self._waits_again = np.zeros(len(jobs), dtype=np.bool_)  # see `take_back`
        self._lifted = np.full(len(jobs), -1, dtype=np.int64)  # slot by which they were promised, see `lift_promise`
        self._finish = np.full(len(jobs), -1, dtype=np.int64)
        self._rejected = np.full(len(jobs), -1, dtype=np.int64)
        self._arrived = 0  # jobs, which come in this order
        self._present: list[int] = []  # waiting or under way, by arrival
        self._slot = -1
        self._view: ElasticView | None = None
        self._standing: Mapping[int, Plan] = {}  # in the present slot, between `book` and `elapse`
        self._record = record
        self._decisions = 0
        self._decision_log: list[DecisionRow] = []
        self._used: list[UsedRow] = []

    def info_for(self, scheduler: object) -> ElasticInfo:
        """What this scheduler is told: with the future, if it says that it is `CLAIRVOYANT`."""
        if getattr(scheduler, "CLAIRVOYANT", False):
            return replace(self.info, future=self._jobs)
        return self.info

    @property
    def time_s(self) -> float:
        """The start of the present slot."""
        return max(self._slot, 0) * self.workload.slot_s

    def advance(self) -> ElasticView | None:
        """The next slot with jobs in it.  None: all slots have gone by, or no job is left."""
        if self._view is not None:
            return self._view
        while self._slot + 1 < self.workload.slots:
            self._slot += 1
            while self._arrived < len(self._jobs) and self._jobs.arrival[self._arrived] <= self._slot:
                self._present.append(self._arrived)
                self._arrived += 1
            if self._present:
                self._view = self._look()
                return self._view
            if self._arrived == len(self._jobs):
                break
        return None

    def apply(self, decisions: Sequence[ElasticDecision]) -> None:
        """Carry out the decisions of this slot, all together, and let the slot pass.

        If one of them is refused, none has been carried out, and the last view stays as it is.
        """
        self.book(decisions)
        self.elapse()

    def book(self, decisions: Sequence[ElasticDecision]) -> Mapping[int, Plan]:
        """Carry out the decisions of this slot, all together or none; what stands in it, by job.  `elapse` is next."""
        view = self._view
        if view is None:
            raise InvalidDecision("there is nothing to decide: call advance() first, and stop when it returns None")
        bookings = read_decisions(self._slot, decisions, view.job_id)
        rows = [
            DecisionRow.of(self._slot, booking.job, decision, booking.plan)
            for decision, booking in zip(decisions, bookings, strict=True)
            if self._record
        ]
        self.calendar.book(self._slot, bookings, self._work_left)
        for booking in bookings:
            if booking.rejected:
                self._rejected[booking.job] = self._slot
            elif len(booking.plan.slot):
                self._admitted[booking.job] = True
                self._waits_again[booking.job] = False
        self._decision_log += rows
        self._decisions += len(bookings)
        self._present = [job for job in self._present if self._rejected[job] < 0]
        self._view = None
        self._standing = self.calendar.use(self._slot)
        return self._standing

    def elapse(self, work_left: Mapping[int, int] | None = None) -> None:
        """The slot passes: work is done, and jobs complete.

        Every worker does a worker-slot of work, unless `work_left` says what is left of the jobs that stood: a live
        engine measures it.
        """
        standing, self._standing = self._standing, {}
        for job, plan in standing.items():
            self._used += [UsedRow(self._slot, job, *row) for row in zip(*(c.tolist() for c in plan[1:]), strict=True)]
            if work_left is None:
                self._work_left[job] -= int(plan.amount[plan.role == WORKER].sum())
            else:
                self._work_left[job] = work_left[job]
            if self._work_left[job] <= 0:
                self._work_left[job] = 0
                self._finish[job] = self._slot
                self.calendar.free(job)
        self._present = [job for job in self._present if self._finish[job] < 0]

    @property
    def present(self) -> tuple[int, ...]:
        """Jobs that are waiting or under way, by arrival."""
        return tuple(self._present)

    def work_left(self, job: int) -> int:
        """Worker-slots."""
        return int(self._work_left[job])

    def take_back(self, job: int) -> None:
        """What was promised and planned for the job did not suffice, as can only be where progress is measured: from
        now on it is a job that waits for a plan, with the work that is left."""
        self._waits_again[job] = True
        self.lift_promise(job)
        self.calendar.free(job)

    def lift_promise(self, job: int) -> None:
        """It cannot be kept any more, for the same reason.  The result still tells of it."""
        if self.calendar.promise[job] >= 0:
            if self._lifted[job] < 0:  # the first is the one that counts
                self._lifted[job] = self.calendar.promise[job]
            self.calendar.promise[job] = -1

    def _look(self) -> ElasticView:
        jobs, present = self._jobs, np.array(self._present, dtype=np.int64)
        owner, booked = self.calendar.booked(self._present)
        columns = (
            present,
            jobs.arrival[present],
            self._admitted[present] & ~self._waits_again[present],
            jobs.work[present],
            self._work_left[present],
            jobs.max_workers[present],
            jobs.worker_demand[present],
            jobs.server_demand[present],
            jobs.utility[present],
            self.calendar.promise[present],
            owner,
            booked,
            self.calendar.worker_free[self._slot :],
            self.calendar.server_free[self._slot :],
        )
        for column in (*columns[:-3], *booked, *columns[-2:]):
            column.setflags(write=False)
        return ElasticView(self._slot, *columns)

    def result(self) -> ElasticResult:
        """What the run came to; decisions only if they were recorded."""
        return ElasticResult.of(
            self.workload,
            worker_capacity=self.calendar.worker_capacity,
            server_capacity=self.calendar.server_capacity,
            finish=self._finish.copy(),
            admitted=self._admitted.copy(),
            rejected=self._rejected.copy(),
            promise=np.where(self._lifted >= 0, self._lifted, self.calendar.promise),
            work_left=self._work_left.copy(),
            decisions=self._decisions,
            used=self._used,
            decision_log=self._decision_log,
        )


def _check_bandwidth(workload: ElasticWorkload) -> None:
    """A worker faster than a parameter server would need more servers than workers, which no plan may have."""
    worker: Floats = workload.worker_demand[:, BANDWIDTH]
    server: Floats = workload.server_demand[:, BANDWIDTH]
    if (worker > server).any():
        job = int((worker > server).argmax())
        raise ConfigError(
            f"job {workload.job_name[job]}: a worker's {worker[job]:g} Gbit/s exceed a parameter server's "
            f"{server[job]:g} Gbit/s, and there may not be more servers than workers; expected at most as much"
        )
