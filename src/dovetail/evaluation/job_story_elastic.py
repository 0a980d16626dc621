"""What the record of an elastic run says about one job, put in order: decisions, what it had, what others had."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import SERVER, WORKER, Floats, Ints, utility
from dovetail.records.elastic import ElasticRun


class Period(NamedTuple):
    """Slots in which the job has the same numbers of workers and parameter servers, which may be none."""

    first: int
    last: int
    workers: int
    servers: int
    others: tuple[tuple[int, float], ...]  # other jobs that had workers meanwhile, and how many on average; most first

    @property
    def slots(self) -> int:
        return self.last - self.first + 1


class Decision(NamedTuple):
    """What was decided about the job: one row, or several that say the same in slots that follow each other."""

    first: int  # slot
    last: int
    rows: Ints


@dataclass(frozen=True, eq=False)
class JobStory:
    """The record of a run, seen from one job."""

    run: ElasticRun
    job: int

    @property
    def arrival(self) -> int:
        return int(self.run.jobs.arrival[self.job])

    @property
    def finish(self) -> int:
        """-1 = never."""
        return int(self.run.jobs.finish[self.job])

    @property
    def last(self) -> int:
        """The last slot in which anything could happen to it."""
        rejected = int(self.run.jobs.rejected[self.job])
        return self.finish if self.finish >= 0 else rejected if rejected >= 0 else self.run.slots - 1

    @property
    def fewest_slots(self) -> int:
        """In which it can complete, with all the workers it may have."""
        return -(-int(self.run.jobs.work[self.job]) // int(self.run.jobs.max_workers[self.job]))

    @cached_property
    def workers(self) -> Ints:
        """(slots,)"""
        own: Ints = self._all_workers[self.job]
        return own

    @cached_property
    def servers(self) -> Ints:
        """(slots,)"""
        own: Ints = self.run.standing(SERVER)[self.job]
        return own

    @cached_property
    def decision_rows(self) -> Ints:
        return np.flatnonzero(self.run.decisions.job == self.job)

    def worth_after(self, slots: float) -> float:
        """The utility of completing so many slots after the one it arrived in."""
        jobs, job = self.run.jobs, self.job
        parameters: Floats = np.array([jobs.worth[job], jobs.decay[job], jobs.due[job]])
        return float(utility(parameters, np.array(slots)))

    def periods(self) -> list[Period]:
        """From its arrival until it completed or left, or the run ended."""
        span = slice(self.arrival, self.last + 1)
        workers, servers = self.workers[span], self.servers[span]
        cuts = np.flatnonzero((np.diff(workers) != 0) | (np.diff(servers) != 0)) + 1
        edges = [0, *cuts.tolist(), len(workers)]
        return [self._period(self.arrival + a, self.arrival + b - 1) for a, b in pairwise(edges)]

    def decisions(self) -> Iterator[Decision]:
        """In the order taken; those that repeat the one before in the next slot are told with it."""
        rows = self.decision_rows
        slot = self.run.decisions.slot
        start = 0
        for place in range(1, rows.size + 1):
            if place < rows.size and self._repeats(int(rows[place - 1]), int(rows[place])):
                continue
            group = rows[start:place]
            yield Decision(int(slot[group[0]]), int(slot[group[-1]]), group)
            start = place

    def _repeats(self, before: int, row: int) -> bool:
        """Nothing was promised or priced, and the reason is the same: a plan for the slot, slot after slot."""
        table = self.run.decisions
        plain = table.promise[row] < 0 and not table.rejected[row] and np.isnan(table.utility[row])
        alike = table.reason[row] == table.reason[before] and bool(table.worker_slots[row]) == bool(
            table.worker_slots[before]
        )
        earlier = table.promise[before] < 0 and np.isnan(table.utility[before])
        return bool(plain and alike and earlier and table.slot[row] == table.slot[before] + 1)

    def _period(self, first: int, last: int) -> Period:
        meanwhile = self._all_workers[:, first : last + 1].mean(axis=1)
        meanwhile[self.job] = 0.0
        order = np.argsort(-meanwhile, kind="stable")
        others = tuple((int(job), float(meanwhile[job])) for job in order if meanwhile[job] > 0)
        return Period(first, last, int(self.workers[first]), int(self.servers[first]), others)

    @cached_property
    def _all_workers(self) -> Ints:
        return self.run.standing(WORKER)
