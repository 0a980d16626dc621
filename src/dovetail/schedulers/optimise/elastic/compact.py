"""The offline optimum as a mixed-integer program.

For job i with work W and at most `most` workers at a time, f its utility, over slots t from its arrival on:

    c_it   1 if it has completed by the end of slot t;  x_i = c at the last slot: it is admitted
    y_itg  workers on the hosts of group g;  z_itk parameter servers on those of group k;  Y, Z their sums
    D_it = D_i,t-1 + Y_it    worker-slots done

    max   sum_i sum_t f_i(t) (c_it - c_i,t-1)
    s.t.  c_i,t-1 <= c_it
          D_it >= W_i c_it                          complete means that the work is done,
          D_i,last <= W_i x_i                       and no more than that: what is idle is easier to pack around
          Y_it <= most_i (x_i - c_i,t-1)            nobody works before admission or after completion
          b_i Y_it <= B_i Z_it                      bandwidth
          demands on a group are within its capacity, in every slot

The rule that there are no more servers than workers needs no row: with b <= B a solution has no use for more.

A group is one host, or several.  With one host a group the program is exact.  With several it is a relaxation, because
it asks only that demands fit the hosts together; it is far smaller, and free of the symmetry among like hosts.  Where
the hosts of a group are alike, it is tightened by rows from dual feasible functions (Fekete and Schepers, 2001): with x
the part of a host's resource that a container takes, any packing on n hosts has sum u_k(x) <= n, where u_k(x) is
floor((k + 1) x) / k, and x itself if (k + 1) x is whole.  So, for k = 1, no host has two that take more than half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.elastic import BANDWIDTH, Floats, Ints, servers_needed
from dovetail.schedulers.optimise.elastic.timetable import Instance, Timetable
from dovetail.schedulers.optimise.program import INFINITY, Answer, Limits, Program

DUAL_FEASIBLE = (1, 2, 3, 4)  # values of k


class Groups(NamedTuple):
    """Hosts of one role, parted into groups."""

    of_host: Ints  # (hosts,) number of the group

    @classmethod
    def alike(cls, capacity: Floats) -> Groups:
        """Hosts of the same capacity."""
        return cls(np.unique(capacity, axis=0, return_inverse=True)[1].ravel().astype(np.int64))

    @classmethod
    def pooled(cls, capacity: Floats) -> Groups:
        return cls(np.zeros(len(capacity), dtype=np.int64))

    @classmethod
    def single(cls, capacity: Floats) -> Groups:
        return cls(np.arange(len(capacity), dtype=np.int64))

    def split(self, group: int) -> Groups:
        """Every host of the group on its own."""
        apart = self.of_host == group
        key = np.where(apart, self.of_host.max() + 1 + np.arange(len(apart)), self.of_host)
        return Groups(np.unique(key, return_inverse=True)[1].ravel().astype(np.int64))

    @property
    def number(self) -> int:
        return int(self.of_host.max()) + 1

    def total(self, per_host: Floats) -> Floats:
        """Sums over the hosts of each group: (hosts, ...) -> (groups, ...)."""
        sums = np.zeros((self.number, *per_host.shape[1:]), dtype=per_host.dtype)
        np.add.at(sums, self.of_host, per_host)
        return sums


@dataclass(eq=False)
class Compact:
    """The program of an instance, with groups for every slot: `groups[slot]` are those of worker and server hosts."""

    instance: Instance
    groups: list[tuple[Groups, Groups]]
    program: Program
    admitted: Ints  # (J,) jobs that could be completed at all; others have no columns
    complete: Ints  # (J, T) columns c, -1 = none
    columns: tuple[list[Ints], list[Ints]]  # workers, servers: for each slot (J, groups), -1 = none
    done: Ints  # (J, T) columns D, -1 = none

    @classmethod
    def of(cls, instance: Instance, groups: list[tuple[Groups, Groups]]) -> Compact:
        jobs, slots = len(instance.jobs), instance.slots
        none = np.full((jobs, slots), -1, dtype=np.int64)
        admitted = np.flatnonzero(instance.earliest < slots)
        made = cls(instance, groups, Program(), admitted, none, ([], []), none.copy())
        made._completion()
        made._containers()
        made._work()
        return made

    def solve(self, limits: Limits, start: Timetable | None = None, *, relaxed: bool = False) -> Answer:
        return self.program.solve(limits, relaxed=relaxed, start=None if start is None else self._from(start))

    def solve_as(self, other: Compact, values: Floats, limits: Limits) -> Answer:
        """A solution in which the same jobs complete in the same slots as in one of another program."""
        columns = self.complete[self.complete >= 0]
        return self.program.solve(limits, fixed=(columns, np.rint(values[other.complete[other.complete >= 0]])))

    def counts(self, values: Floats) -> tuple[list[Ints], list[Ints]]:
        """For each slot, workers (J, groups) and servers (J, groups) of a solution, without servers of no use."""
        whole = np.append(np.rint(values).astype(np.int64), 0)
        workers = [whole[columns] for columns in self.columns[0]]
        servers = [whole[columns] for columns in self.columns[1]]
        jobs = self.instance.jobs
        b, server_b = jobs.worker_demand[:, BANDWIDTH], jobs.server_demand[:, BANDWIDTH]
        for y, z in zip(workers, servers, strict=True):
            needed = servers_needed(y.sum(axis=1), b, server_b).astype(np.int64)
            for group in range(z.shape[1]):
                z[:, group] -= np.clip(z.sum(axis=1) - needed, 0, z[:, group])
        return workers, servers

    # --- the blocks --------------------------------------------------------------------------------------------

    def _completion(self) -> None:
        """c, the objective, and that it never falls."""
        instance, program = self.instance, self.program
        for job in self.admitted.tolist():
            first = int(instance.earliest[job])
            value = instance.value[job, first:]
            gain = value - np.append(value[1:], 0.0)
            columns = program.add_columns(len(value), cost=gain, upper=1.0, integer=True)
            self.complete[job, first:] = columns
            row = np.arange(len(columns) - 1)
            terms = ((row, columns[:-1], 1.0), (row, columns[1:], -1.0))
            program.add_rows(len(row), *terms, lower=-INFINITY, upper=0.0)

    def _containers(self) -> None:
        """y and z, capacity and bandwidth, slot by slot."""
        instance, program = self.instance, self.program
        jobs = instance.jobs
        b, server_b = jobs.worker_demand[:, BANDWIDTH], jobs.server_demand[:, BANDWIDTH]
        most_servers = servers_needed(instance.most, b, server_b)
        roles = (
            (instance.worker_capacity, jobs.worker_demand, instance.most.astype(np.float64)),
            (instance.server_capacity, jobs.server_demand, most_servers),
        )
        room = [_hosted(capacity, demand) for capacity, demand, _ in roles]  # (hosts, J)
        rows = [_packing_rows(capacity, demand) for capacity, demand, _ in roles]
        for slot in range(instance.slots):
            here = self.admitted[jobs.arrival[self.admitted] <= slot]
            for role, (capacity, demand, most) in enumerate(roles):
                groups = self.groups[slot][role]
                upper = np.minimum(groups.total(room[role]).T, most[:, None])[here]  # (n, groups)
                columns = np.full((len(jobs), groups.number), -1, dtype=np.int64)
                columns[here] = program.add_columns(upper.size, upper=upper.ravel(), integer=True).reshape(upper.shape)
                self.columns[role].append(columns)
                if not len(here):
                    continue
                total = groups.total(capacity)
                row = np.arange(total.size).reshape(1, *total.shape)
                term = (row, columns[here][:, :, None], demand[here][:, None, :])
                program.add_rows(total.size, term, lower=-INFINITY, upper=(total * (1 + 1e-9)).ravel())
                self._packing(groups, capacity, rows[role], columns, here)
            each = np.arange(len(here))[:, None]
            program.add_rows(
                len(here),
                (each, self.columns[0][slot][here], b[here, None]),
                (each, self.columns[1][slot][here], -server_b[here, None]),
                lower=-INFINITY,
                upper=0.0,
            )

    def _packing(self, groups: Groups, capacity: Floats, rows: list[Floats], columns: Ints, here: Ints) -> None:
        """What no packing of the group's hosts exceeds, if they are alike."""
        for group in range(groups.number):
            hosts = np.flatnonzero(groups.of_host == group)
            factors = rows[hosts[0]][:, here]
            if len(factors) and (capacity[hosts] == capacity[hosts[0]]).all():
                row = np.arange(len(factors))[:, None]
                term = (row, columns[here, group][None], factors)
                self.program.add_rows(len(factors), term, lower=-INFINITY, upper=float(len(hosts)))

    def _work(self) -> None:
        """D, completion, and nobody at work outside."""
        instance, program = self.instance, self.program
        for job in self.admitted.tolist():
            first, early = int(instance.jobs.arrival[job]), int(instance.earliest[job])
            slots = np.arange(first, instance.slots)
            done = program.add_columns(len(slots))
            self.done[job, first:] = done
            row = np.arange(len(slots))
            per_slot = [self.columns[0][slot][job] for slot in slots]
            row_y = np.repeat(row, [len(columns) for columns in per_slot])
            y = np.concatenate(per_slot)
            carried = (row[1:], done[:-1], 1.0)
            program.add_rows(len(row), (row, done, -1.0), carried, (row_y, y, 1.0), lower=0.0, upper=0.0)
            complete = self.complete[job, early:]
            later = np.arange(len(complete))
            work = float(instance.jobs.work[job])
            program.add_rows(
                len(later), (later, done[early - first :], 1.0), (later, complete, -work), lower=0.0, upper=INFINITY
            )
            only = np.zeros(1, dtype=np.int64)
            program.add_rows(1, (only, done[-1:], 1.0), (only, complete[-1:], -work), lower=-INFINITY, upper=0.0)
            most = float(instance.most[job])
            last = np.full(len(row), complete[-1])
            program.add_rows(
                len(row),
                (row_y, y, 1.0),
                (row, last, -most),
                (row[early - first + 1 :], complete[:-1], most),
                lower=-INFINITY,
                upper=0.0,
            )

    def _from(self, table: Timetable) -> Floats:
        """A timetable as a solution."""
        values = np.zeros(self.program.columns + 1)
        finish = table.finish()
        slot = np.arange(self.instance.slots)
        values[self.complete] = (finish[:, None] >= 0) & (slot >= finish[:, None])
        values[self.done] = table.workers.sum(axis=2).cumsum(axis=0).T
        for role, placed in enumerate((table.workers, table.servers)):
            for number, columns in enumerate(self.columns[role]):
                groups = self.groups[number][role]
                values[columns] = groups.total(placed[number].T.astype(np.float64)).T
        return values[:-1]


def _hosted(capacity: Floats, demand: Floats) -> Floats:
    """(hosts, J) containers of a job's demand that fit a host."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(demand[None] > 0, capacity[:, None] / demand[None], np.inf)
    count: Floats = np.minimum(np.floor(times.min(axis=2) + 1e-9), 1e6)
    return count


def _packing_rows(capacity: Floats, demand: Floats) -> list[Floats]:
    """For each host, rows (n, J) of factors whose sum over the containers on the host is at most 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(demand[None] > 0, demand[None] / capacity[:, None], 0.0)  # (hosts, J, R)
    found: list[list[Floats]] = [[] for _ in capacity]
    for k in DUAL_FEASIBLE:
        scaled = (k + 1) * part
        whole = np.abs(scaled - np.rint(scaled)) < 1e-7
        factor = np.where(whole, part, np.floor(scaled) / k)
        factor = np.where(np.isfinite(part) & (part <= 1.0), factor, 0.0)  # others do not fit at all
        for host, resource in zip(*np.nonzero((factor > part + 1e-7).any(axis=1)), strict=True):
            found[host].append(factor[host, :, resource])
    return [np.unique(rows, axis=0) if rows else np.zeros((0, len(demand))) for rows in found]
