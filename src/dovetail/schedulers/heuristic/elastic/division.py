"""The mixed-integer program of elastic/dorm: how many workers and parameter servers of each job on each kind of host.

Hosts with the same free resources are one kind.  With y, z the workers and servers of a job on a kind, Y their sum over
kinds, v the use of resources by a worker and its share of a parameter server (the sum over all resources of its part of
the cluster), s the largest of these parts:

    max   sum_i v_i Y_i  -  penalty * excess
    s.t.  demands on a kind are within what its hosts have free together, and no more containers than fit host by host
          b_i Y_i <= B_i Z_i                                    bandwidth of the parameter servers
          least_i <= Y_i <= most_i, or Y_i = 0 for a job that has no workers yet
          sum_i s_i |Y_i - fair_i| <= fairness + excess         fairness loss, against progressive filling
          sum_i changed_i <= changes                            of those that have workers; unchanged: y as before

`excess` makes a division possible whatever the bounds; with the penalty it is 0 wherever it can be.

Most of the search would go into whom to change, and most of the rest into fitting workers into what is left.  So a
division is first looked for by exchanges (`exchange`).  If it is within the gap of the linear relaxation, which no
division exceeds, it is taken; otherwise it is what the search among whole numbers begins with, which ends as soon as
its own bound, a closer one, is within the gap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import BANDWIDTH, Bools, Floats, Ints, servers_needed
from dovetail.schedulers.heuristic.elastic.exchange import PENALTY, Found, changed, exchanged, loss
from dovetail.schedulers.optimise.program import INFINITY, Answer, Limits, Program


class Kinds(NamedTuple):
    """Hosts of the same free resources."""

    group: Ints  # (hosts,) number of the kind
    free: Floats  # (kinds, R) of one host
    hosts: Ints  # (kinds,)

    @classmethod
    def of(cls, free: Floats) -> Kinds:
        rows, group, hosts = np.unique(np.round(free, 9), axis=0, return_inverse=True, return_counts=True)
        return cls(group.ravel().astype(np.int64), rows, hosts.astype(np.int64))

    @property
    def capacity(self) -> Floats:
        """(kinds, R) of all hosts of a kind together."""
        capacity: Floats = self.free * self.hosts[:, None]
        return capacity

    def room(self, demand: Floats) -> Floats:
        """(J, kinds) containers of that demand (J, R) that fit."""
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(demand[:, None] > 0, self.free[None] / demand[:, None], np.inf)
        count: Floats = np.minimum(np.floor(times.min(axis=2) + 1e-9), 1e6) * self.hosts
        return count

    def count_by(self, placed: Ints) -> Ints:
        """(J, kinds) of (J, hosts)."""
        counts = np.zeros((len(placed), len(self.hosts)), dtype=np.int64)
        np.add.at(counts.T, self.group, placed.T)
        return counts


@dataclass(frozen=True, eq=False)
class Division:
    """What is to be divided among J jobs, and within which bounds."""

    workers: Kinds
    servers: Kinds
    worker_demand: Floats  # (J, R)
    server_demand: Floats  # (J, R)
    use: Floats  # (J,) v
    share: Floats  # (J,) s
    least: Ints  # (J,)
    most: Ints  # (J,)
    fair: Ints  # (J,) workers by progressive filling
    running: Bools  # (J,) has workers
    worker_before: Ints  # (J, worker kinds)
    server_before: Ints  # (J, server kinds)
    fairness: float
    changes: int

    def solve(self, limits: Limits) -> tuple[Ints, Ints] | None:
        """Workers (J, worker kinds) and servers (J, server kinds); None: no division was found within the limits."""
        answer = self.answer(limits)
        if answer.values is None:
            return None
        values = np.rint(answer.values).astype(np.int64)
        workers = self.worker_before.size
        return (
            values[:workers].reshape(self.worker_before.shape),
            values[workers : workers + self.server_before.size].reshape(self.server_before.shape),
        )

    def answer(self, limits: Limits) -> Answer:
        """Columns: y, z, and others."""
        program = self._program()
        relaxed = program.solve(limits, relaxed=True)
        wanted = None if relaxed.values is None else relaxed.values[: self.worker_before.size]
        wanted = None if wanted is None else wanted.reshape(self.worker_before.shape)
        found = exchanged(self, wanted, relaxed.bound - limits.gap / 2 * abs(relaxed.bound))
        if not np.isfinite(found.objective):
            return program.solve(limits)
        start = Answer(self._values(found), found.objective, relaxed.bound, optimal=True, infeasible=False)
        if found.objective >= relaxed.bound - limits.gap * abs(found.objective):
            return start
        searched = program.solve(limits, start=start.values)
        return searched if searched.objective > found.objective - 1e-6 else replace(start, optimal=False)

    def most_by_kind(self) -> tuple[Floats, Floats]:
        """(J, worker kinds) and (J, server kinds) no division has more of a job; more servers would be of no use."""
        b, server_b = self.worker_demand[:, BANDWIDTH, None], self.server_demand[:, BANDWIDTH, None]
        workers = np.minimum(self.workers.room(self.worker_demand), self.most[:, None])
        servers = np.minimum(self.servers.room(self.server_demand), servers_needed(self.most[:, None], b, server_b))
        return np.maximum(workers, self.worker_before), np.maximum(servers, self.server_before)

    def _program(self) -> Program:
        program, jobs = Program(), len(self.most)
        kinds, server_kinds = self.worker_before.shape[1], self.server_before.shape[1]
        y_most, z_most = self.most_by_kind()
        b, server_b = self.worker_demand[:, BANDWIDTH, None], self.server_demand[:, BANDWIDTH, None]
        cost = np.repeat(self.use, kinds)
        y = program.add_columns(y_most.size, cost=cost, upper=y_most.ravel(), integer=True).reshape(jobs, kinds)
        z = program.add_columns(z_most.size, upper=z_most.ravel(), integer=True).reshape(jobs, server_kinds)
        loss = program.add_columns(jobs)
        excess = program.add_columns(1, cost=-PENALTY)
        self._capacity(program, y, self.workers, self.worker_demand)
        self._capacity(program, z, self.servers, self.server_demand)
        each = np.arange(jobs)[:, None]
        program.add_rows(jobs, (each, y, b), (each, z, -server_b), lower=-INFINITY, upper=0.0)
        self._bounds(program, y)
        fair = self.share * self.fair
        s = self.share[:, None]
        program.add_rows(jobs, (each, y, s), (each, loss[:, None], -1.0), lower=-INFINITY, upper=fair)
        program.add_rows(jobs, (each, y, -s), (each, loss[:, None], -1.0), lower=-INFINITY, upper=-fair)
        first = np.zeros(1, dtype=np.int64)
        program.add_rows(1, (first, loss, 1.0), (first, excess, -1.0), lower=-INFINITY, upper=self.fairness)
        self._changes(program, y, z, y_most, z_most)
        return program

    def _capacity(self, program: Program, columns: Ints, kinds: Kinds, demand: Floats) -> None:
        resources = demand.shape[1]
        row = (np.arange(len(kinds.hosts))[:, None] * resources + np.arange(resources))[None]  # (1, kinds, R)
        total = kinds.capacity.ravel()
        term = (row, columns[:, :, None], demand[:, None, :])
        program.add_rows(total.size, term, lower=-INFINITY, upper=total * (1 + 1e-9))

    def _bounds(self, program: Program, y: Ints) -> None:
        """Y between its bounds, or 0 for a job without workers."""
        jobs, running = len(self.most), self.running
        each = np.arange(jobs)[:, None]
        lower = np.where(running, self.least, 0)
        program.add_rows(jobs, (each, y, 1.0), lower=lower.astype(float), upper=self.most.astype(float))
        either = self._either()
        if len(either):
            on = program.add_columns(len(either), upper=1.0, integer=True)[:, None]
            row = np.arange(len(either))[:, None]
            least, most = self.least[either, None].astype(float), self.most[either, None].astype(float)
            program.add_rows(len(either), (row, y[either], 1.0), (row, on, -least), lower=0.0, upper=INFINITY)
            program.add_rows(len(either), (row, y[either], 1.0), (row, on, -most), lower=-INFINITY, upper=0.0)

    def _changes(self, program: Program, y: Ints, z: Ints, y_most: Floats, z_most: Floats) -> None:
        running = np.flatnonzero(self.running)
        if not len(running):
            return
        changed = program.add_columns(len(running), upper=1.0, integer=True)
        for columns, most, before in ((y, y_most, self.worker_before), (z, z_most, self.server_before)):
            kept = before[running].ravel().astype(float)
            width = columns.shape[1]
            row = np.arange(len(running) * width)
            column, switch = columns[running].ravel(), np.repeat(changed, width)
            more = most[running].ravel() - kept
            program.add_rows(row.size, (row, column, 1.0), (row, switch, -more), lower=-INFINITY, upper=kept)
            program.add_rows(row.size, (row, column, 1.0), (row, switch, kept), lower=kept, upper=INFINITY)
        row = np.zeros(len(running), dtype=np.int64)
        program.add_rows(1, (row, changed, 1.0), lower=-INFINITY, upper=float(self.changes))

    def _either(self) -> Ints:
        """Jobs without workers that would get several or none."""
        return np.flatnonzero(~self.running & (self.least > 1))

    def _values(self, found: Found) -> Floats:
        """(columns,) in the order in which they were added."""
        total = found.workers.sum(axis=1)
        lost = loss(self, total)
        known = (
            found.workers.ravel(),
            found.servers.ravel(),
            lost,
            [max(0.0, float(lost.sum()) - self.fairness)],
            total[self._either()] > 0,
            changed(self, found.workers, found.servers)[self.running],
        )
        return np.concatenate(known).astype(np.float64)
