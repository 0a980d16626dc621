"""elastic/offline: the optimum of the whole job sequence, computed in hindsight.  Not a scheduler anyone could run.

It is told all jobs to come (`CLAIRVOYANT`), solves the offline problem (`compact`) with HiGHS, and then does what the
solution says: a job is admitted when it arrives, with the whole of its plan and a promise, or rejected.  What online
schedulers reach is measured against it, on small instances.

The program is solved with like hosts as one group, which is a relaxation.  Then the containers of every slot are packed
onto hosts one by one (`packing`).  If all of them fit, the solution is feasible and, being optimal for a relaxation,
optimal.  If not, other numbers of containers are looked for, host by host, with which the same jobs complete in the
same slots: that is as good.  Where there are none, the groups at fault are taken apart into single hosts in that slot,
and the program is solved again; after `ROUNDS` of that, all groups are.  The bound of any round holds.

With the time up, the best timetable found so far is taken: a greedy one, or one repaired from a solution that did not
fit.  `solution` says what it is worth, the bound and the gap between the two; so do the attributes `objective`, `bound`
and `gap` of the scheduler after `reset`, and `note` in words.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticInfo, ElasticJobs, ElasticView, Floats, Ints, Plan, Reason
from dovetail.core.errors import DovetailError
from dovetail.schedulers.optimise.elastic.compact import Compact, Groups
from dovetail.schedulers.optimise.elastic.packing import pack
from dovetail.schedulers.optimise.elastic.timetable import Instance, Timetable, best_in_order
from dovetail.schedulers.optimise.program import Limits

ROUNDS = 4  # of taking apart slot by slot
PACKING_S = 5.0  # for one slot; beyond, the containers count as not fitting
PROVEN = 1e-6  # relative; HiGHS works in floating point


@dataclass(frozen=True, eq=False)
class OfflineSolution:
    """The best plans found; `bound` is the most that any could be worth."""

    objective: float
    bound: float
    finish: Ints  # (J,) slot of completion, -1 = the job is rejected
    plans: dict[int, Plan]  # of the jobs that complete

    @property
    def gap(self) -> float:
        """Part of the bound that may be missing: 0 for a proven optimum."""
        return max(0.0, (self.bound - self.objective) / self.bound) if self.bound > 0 else 0.0

    @property
    def proven(self) -> bool:
        return self.gap <= PROVEN


def solve(info: ElasticInfo, jobs: ElasticJobs, *, time_s: float = 60.0, gap: float = 0.0) -> OfflineSolution:
    """The offline optimum for these jobs on the hosts and slots of `info`, or what is known after so many seconds."""
    end = time.monotonic() + time_s
    instance = Instance.of(info, jobs)
    best = best_in_order(instance)
    bound = float(instance.value.max(axis=1, initial=0.0).sum())
    workers, servers = Groups.alike(instance.worker_capacity), Groups.alike(instance.server_capacity)
    groups = [(workers, servers)] * instance.slots
    turn = 0
    while bound - best.utility() > max(PROVEN, gap) * bound and time.monotonic() < end:
        if turn == ROUNDS:
            groups = [(Groups.single(instance.worker_capacity), Groups.single(instance.server_capacity))] * len(groups)
        compact = Compact.of(instance, groups)
        left_s = max(end - time.monotonic(), 0.01)
        if turn < ROUNDS:
            left_s = max(0.75 * left_s, min(left_s, 1.0))  # the rest is for what does not fit
        answer = compact.solve(Limits(time_s=left_s, gap=gap), best)
        bound = min(bound, answer.bound)
        if answer.values is None:
            break
        table, groups, all_fit = _placed(compact, answer.values, end)
        if table.utility() > best.utility():
            best = table
        if all_fit:
            break  # optimal, or as good as it gets in the time
        if bound - best.utility() > max(PROVEN, gap) * bound:
            again = _repacked(compact, answer.values, end)
            if again is not None and again.utility() > best.utility():
                best = again
        turn += 1
    finish = best.finish()
    plans = {job: best.plan(job) for job in np.flatnonzero(finish >= 0).tolist()}
    objective = best.utility()
    return OfflineSolution(objective, max(bound, objective), finish, plans)


def _repacked(compact: Compact, values: Floats, end: float) -> Timetable | None:
    """A timetable, host by host, in which the jobs complete when they do in a solution that could not be packed."""
    instance = compact.instance
    groups = (Groups.single(instance.worker_capacity), Groups.single(instance.server_capacity))
    exact = Compact.of(instance, [groups] * instance.slots)
    left_s = max(end - time.monotonic(), 0.01)
    answer = exact.solve_as(compact, values, Limits(time_s=left_s / 4))
    return None if answer.values is None else _placed(exact, answer.values, end)[0]


def upper_bound(info: ElasticInfo, jobs: ElasticJobs, *, pooled: bool = True, time_s: float = float("inf")) -> float:
    """No schedule is worth more: the linear relaxation of the program.  For instances too large to be solved.

    `pooled` takes all hosts of a role together, the smallest program; otherwise only those that are alike.  With the
    time up, the sum of what each job is worth by itself.
    """
    instance = Instance.of(info, jobs)
    make = Groups.pooled if pooled else Groups.alike
    groups = [(make(instance.worker_capacity), make(instance.server_capacity))] * instance.slots
    alone = float(instance.value.max(axis=1, initial=0.0).sum())
    return min(alone, Compact.of(instance, groups).solve(Limits(time_s=time_s), relaxed=True).bound)


def _placed(compact: Compact, values: Floats, end: float) -> tuple[Timetable, list[tuple[Groups, Groups]], bool]:
    """The timetable of a solution, repaired if need be; the groups for the next round; whether everything fit."""
    instance = compact.instance
    table, groups, all_fit = Timetable.empty(instance), list(compact.groups), True
    counts = compact.counts(values)
    for slot in range(instance.slots):
        packed = [_packed(compact, slot, role, counts[role][slot], end) for role in (0, 1)]
        for role, (_, misfits) in enumerate(packed):
            for host in misfits:
                pair = list(groups[slot])
                pair[role] = pair[role].split(int(pair[role].of_host[host]))
                groups[slot] = (pair[0], pair[1])
        wanted = counts[0][slot].sum(axis=1)
        if any(misfits for _, misfits in packed):
            all_fit = False
            table.put(slot, np.argsort(-wanted, kind="stable"), wanted)
        else:
            for free, demand, placed, kept in (
                (table.worker_free, instance.jobs.worker_demand, packed[0][0], table.workers),
                (table.server_free, instance.jobs.server_demand, packed[1][0], table.servers),
            ):
                kept[slot] = placed
                free[slot] -= placed.T @ demand
    planned = np.array([rows.sum(axis=1) for rows in counts[0]])  # (T, J)
    last = np.where(planned.any(axis=0), instance.slots - planned[::-1].astype(bool).argmax(axis=0), np.inf)
    worth = instance.value.max(axis=1, initial=0.0) / instance.jobs.work
    table.repair(np.lexsort((-worth, last)).tolist())
    return table, groups, all_fit


def _packed(compact: Compact, slot: int, role: int, counts: Ints, end: float) -> tuple[Ints, list[int]]:
    """(J, hosts) what stands where, and a host of each group on whose hosts not everything fits."""
    instance = compact.instance
    jobs = instance.jobs
    capacity = (instance.worker_capacity, instance.server_capacity)[role]
    demand = (jobs.worker_demand, jobs.server_demand)[role]
    of_host = compact.groups[slot][role].of_host
    placed = np.zeros((len(jobs), len(capacity)), dtype=np.int64)
    misfits = []
    for group in np.unique(of_host).tolist():
        hosts = np.flatnonzero(of_host == group)
        found = pack(capacity[hosts], demand, counts[:, group], min(max(end - time.monotonic(), 0.05), PACKING_S))
        if found is None:
            misfits.append(int(hosts[0]))
        else:
            placed[:, hosts] = found
    return placed, misfits


class Offline:
    ALL_UP_TO_JOBS: ClassVar = 30  # beyond, a proof takes longer than anybody waits
    CLAIRVOYANT: ClassVar = True  # the world it is run in hands it `ElasticInfo.future`

    @dataclass(frozen=True)
    class Params:
        time_s: float = field(default=60.0, metadata={"help": "seconds after which the best plan found is taken"})
        gap: float = field(default=0.0, metadata={"help": "relative distance to the bound that is enough"})

        def __post_init__(self) -> None:
            if not self.time_s > 0.0:
                raise ValueError(f"time_s is {self.time_s}; expected more than 0")
            if not 0.0 <= self.gap < 1.0:
                raise ValueError(f"gap is {self.gap}; expected a part from 0 to below 1")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self.solution: OfflineSolution | None = None

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        if info.future is None:
            raise DovetailError("elastic/offline needs a world that tells the future; run it in the simulator")
        self.solution = solve(info, info.future, time_s=self.params.time_s, gap=self.params.gap)

    @property
    def found(self) -> OfflineSolution:
        assert self.solution is not None, "reset comes first"
        return self.solution

    @property
    def objective(self) -> float:
        return self.found.objective

    @property
    def bound(self) -> float:
        return self.found.bound

    @property
    def gap(self) -> float:
        return self.found.gap

    @property
    def proved(self) -> dict[str, float]:
        """As it is kept with the record of a run."""
        return {"objective": self.objective, "bound": self.bound, "gap": self.gap}

    @property
    def note(self) -> str:
        """What the plan is, in words."""
        if self.found.proven:
            return f"offline optimum {self.objective:.6g}, proven"
        return (
            f"offline plan worth {self.objective:.6g}; the optimum is at most {self.bound:.6g} (gap "
            f"{100 * self.gap:.2g} %), more was not proven within {self.params.time_s:g} s"
        )

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        """Those that have just arrived, once and for all."""
        decisions = []
        for job in np.flatnonzero(~view.job_admitted).tolist():
            name = int(view.job_id[job])
            plan = self.found.plans.get(name)
            if plan is None:
                decisions.append(ElasticDecision(job, rejected=True, reason=Reason.OFFLINE_OPTIMUM))
            else:
                finish = int(self.found.finish[name])
                decisions.append(ElasticDecision(job, plan, promise=finish, reason=Reason.OFFLINE_OPTIMUM))
        return decisions
