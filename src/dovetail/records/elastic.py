"""One run of the elastic family in full: its jobs, the hosts, everything that stood anywhere, and every decision.

Numbers name things as the workload does: a job by its place in the job sequence (order of arrival), a host by its place
among those of its role.  Roles are those of `core.elastic`: 0 worker, 1 parameter server.  Time is counted in slots;
what happens in slot t ends at second (t + 1) * slot_s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import REASON_TEXT, RESOURCES, SERVER, WORKER, Bools, Floats, Ints, Reason
from dovetail.records.elastic_check import check_run
from dovetail.records.run import Run

LEAST_WORTH = 1e-4  # utilities below are not worth their digits
_RESOURCES = dict.fromkeys(RESOURCES, "float64")


@dataclass(frozen=True, eq=False)
class ElasticJobRows:
    """The jobs; row j is job j."""

    SCHEMA: ClassVar = {
        "job": "int32",
        "name": "string",
        "arrival": "int32",
        "work": "int64",
        "max_workers": "int32",
        "worth": "float64",
        "decay": "float64",
        "due": "float64",
        "admitted": "bool",
        "rejected": "int32",
        "promise": "int32",
        "finish": "int32",
        "work_left": "int64",
        "utility": "float64",
    }
    INDEX: ClassVar = "job"

    name: tuple[str, ...]  # (J,)
    arrival: Ints  # (J,) slot
    work: Ints  # (J,) worker-slots that complete it
    max_workers: Ints  # (J,) at a time
    worth: Floats  # (J,) parameters of its utility, see `core.elastic.utility`
    decay: Floats  # (J,)
    due: Floats  # (J,)
    admitted: Bools  # (J,) was given a plan
    rejected: Ints  # (J,) slot, -1 = was not
    promise: Ints  # (J,) slot by the end of which completion was promised, -1 = nothing was
    finish: Ints  # (J,) slot in which it completed, -1 = it did not
    work_left: Ints  # (J,) worker-slots when the run ended
    utility: Floats  # (J,) gained; 0 if it did not complete

    def __len__(self) -> int:
        return len(self.name)

    @property
    def job(self) -> Ints:
        return np.arange(len(self.name))


@dataclass(frozen=True, eq=False)
class _Resources:
    """Columns that demands and capacities share, in the units of `core.elastic.RESOURCES`."""

    gpu: Floats  # (N,)
    cpu: Floats  # (N,)
    memory: Floats  # (N,) GB
    storage: Floats  # (N,) GB
    bandwidth: Floats  # (N,) Gbit/s

    @property
    def amounts(self) -> Floats:
        """(N, R)"""
        return np.column_stack([getattr(self, name) for name in RESOURCES])


@dataclass(frozen=True, eq=False)
class ElasticDemandRows(_Resources):
    """What one worker and one parameter server of every job take: job by job, the worker first."""

    SCHEMA: ClassVar = {"job": "int32", "role": "int8", **_RESOURCES}
    INDEX: ClassVar = None

    job: Ints  # (2 J,)
    role: Ints  # (2 J,)

    def __len__(self) -> int:
        return len(self.job)


@dataclass(frozen=True, eq=False)
class ElasticHostRows(_Resources):
    """The hosts and what they have: those for workers first."""

    SCHEMA: ClassVar = {"role": "int8", "host": "int32", "kind": "string", **_RESOURCES}
    INDEX: ClassVar = None

    role: Ints  # (N,)
    host: Ints  # (N,) 0, 1, ... among those of its role
    kind: tuple[str, ...]  # (N,)

    def __len__(self) -> int:
        return len(self.host)


@dataclass(frozen=True, eq=False)
class ElasticAllocationRows:
    """What stood where, slot by slot."""

    SCHEMA: ClassVar = {"slot": "int32", "job": "int32", "role": "int8", "host": "int32", "amount": "int32"}
    INDEX: ClassVar = None

    slot: Ints  # (N,) non-decreasing
    job: Ints  # (N,)
    role: Ints  # (N,)
    host: Ints  # (N,)
    amount: Ints  # (N,) workers or parameter servers, 1 or more

    def __len__(self) -> int:
        return len(self.slot)


@dataclass(frozen=True, eq=False)
class ElasticDecisionRows:
    """Every decision, in the order taken."""

    SCHEMA: ClassVar = {
        "slot": "int32",
        "job": "int32",
        "rejected": "bool",
        "promise": "int32",
        "worker_slots": "int64",
        "server_slots": "int64",
        "last_slot": "int32",
        "utility": "float64",
        "cost": "float64",
        "price": "float64",
        "reason": "int32",
    }
    INDEX: ClassVar = None

    slot: Ints  # (D,)
    job: Ints  # (D,)
    rejected: Bools  # (D,)
    promise: Ints  # (D,) slot, -1 = none
    worker_slots: Ints  # (D,) planned
    server_slots: Ints  # (D,) planned
    last_slot: Ints  # (D,) of the plan, -1 = an empty one
    utility: Floats  # (D,) that the plan would gain, nan = not said
    cost: Floats  # (D,) of its resources at the prices of the moment, nan = not said
    price: Floats  # (D,) mean, of a worker-slot, nan = not said
    reason: Ints  # (D,) code of core.elastic.Reason

    def __len__(self) -> int:
        return len(self.slot)


@dataclass(frozen=True, eq=False, kw_only=True)
class ElasticRun(Run):
    """A scheduler's run over one job sequence."""

    FAMILY = "elastic"
    TABLES: ClassVar = {
        "jobs": ElasticJobRows,
        "demands": ElasticDemandRows,
        "hosts": ElasticHostRows,
        "allocations": ElasticAllocationRows,
        "decisions": ElasticDecisionRows,
    }
    FACTS: ClassVar = {"slots": int, "slot_s": float}

    slots: int
    slot_s: float
    jobs: ElasticJobRows
    demands: ElasticDemandRows
    hosts: ElasticHostRows
    allocations: ElasticAllocationRows
    decisions: ElasticDecisionRows

    @property
    def job_names(self) -> tuple[str, ...]:
        return self.jobs.name

    @property
    def end_s(self) -> float:
        """The end of the last slot in which something happened."""
        last = (self.jobs.arrival, self.allocations.slot, self.decisions.slot)
        return (max(int(column.max(initial=-1)) for column in last) + 1) * self.slot_s

    @cached_property
    def completion_s(self) -> Floats:
        """(J,) from the start of the slot of arrival to the end of that of completion, inf = never."""
        slots = (self.jobs.finish - self.jobs.arrival + 1).astype(np.float64)
        return np.where(self.jobs.finish >= 0, slots * self.slot_s, np.inf)

    def standing(self, role: int) -> Ints:
        """(J, slots) workers, or parameter servers, of every job in every slot."""
        found = np.zeros((len(self.jobs), self.slots), dtype=np.int64)
        rows = self.allocations.role == role
        np.add.at(found, (self.allocations.job[rows], self.allocations.slot[rows]), self.allocations.amount[rows])
        return found

    def capacity(self, role: int) -> Floats:
        """(R,) of all hosts of that role together."""
        total: Floats = self.hosts.amounts[self.hosts.role == role].sum(axis=0)
        return total

    def demand(self, role: int) -> Floats:
        """(J, R) of one worker, or parameter server, of every job."""
        own: Floats = self.demands.amounts[self.demands.role == role]
        return own

    @cached_property
    def in_use(self) -> Floats:
        """(slots, R) share of the worker hosts' resources that workers took; 0 where there is none."""
        used = self.standing(WORKER).T @ self.demand(WORKER)
        capacity = self.capacity(WORKER)
        return np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0)

    def check(self, directory: Path) -> None:
        check_run(directory, self)

    @property
    def trace_threads(self) -> int:
        """Decisions, then the jobs."""
        return len(self.jobs) + 1

    def trace(self, label: str, process: int, first_thread: int) -> Iterator[str]:
        from dovetail.records.perfetto_elastic import run_events

        return run_events(label, self, process, first_thread)


def reason_text(code: int) -> str:
    """The text of a reason; a code from a later version is shown as it is."""
    try:
        return REASON_TEXT[Reason(code)]
    except (ValueError, KeyError):
        return f"reason {code}"


def worth_text(value: float) -> str:
    """A utility; sigmoids reach values that are nothing to anybody."""
    return f"{value:.4g}" if value >= LEAST_WORTH or value == 0 else f"below {LEAST_WORTH:g}"


def role_words(amount: int, role: int) -> str:
    """`3 workers`, `1 parameter server`."""
    noun = {WORKER: "worker", SERVER: "parameter server"}[role]
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"
