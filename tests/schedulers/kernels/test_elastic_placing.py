"""The compiled placing against a plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.elastic import BANDWIDTH, servers_needed
from dovetail.schedulers.kernels.elastic_costs import servers_for
from dovetail.schedulers.kernels.elastic_placing import place_evenly, place_in_groups, place_in_order


class Plain:
    """One worker after the other, as one would do it by hand."""

    def __init__(self, rng: np.random.Generator) -> None:
        jobs, hosts, server_hosts = rng.integers(1, 5), rng.integers(1, 5), rng.integers(1, 4)
        self.free = [rng.integers(0, 9, (hosts, 5)).astype(float), rng.integers(0, 9, (server_hosts, 5)).astype(float)]
        self.demand = [rng.integers(0, 4, (jobs, 5)).astype(float), rng.integers(0, 4, (jobs, 5)).astype(float)]
        self.demand[1][:, BANDWIDTH] = np.maximum(self.demand[0][:, BANDWIDTH], 1) + rng.integers(0, 2, jobs)
        self.counts = [np.zeros((jobs, hosts), dtype=np.int64), np.zeros((jobs, server_hosts), dtype=np.int64)]
        self.spread = int(rng.integers(2))
        self.start = [0, 0]
        self.order = rng.permutation(jobs)
        self.wanted = rng.integers(0, 5, jobs)
        self.at_least = rng.integers(0, 3, jobs)

    def arrays(self) -> list[np.ndarray]:
        return [array.copy() for array in (*self.free, *self.demand)]

    def find(self, role: int, job: int) -> int:
        hosts = len(self.free[role])
        for step in range(hosts):
            host = (self.start[role] + step) % hosts
            if (self.demand[role][job] <= self.free[role][host]).all():
                return host
        return -1

    def add(self, job: int) -> bool:
        have = [int(counts[job].sum()) for counts in self.counts]
        b, server_b = self.demand[0][job, BANDWIDTH], self.demand[1][job, BANDWIDTH]
        roles = [0, 1] if servers_needed(have[0] + 1, b, server_b) > have[1] else [0]
        hosts = [self.find(role, job) for role in roles]
        if -1 in hosts:
            return False
        for role, host in zip(roles, hosts, strict=True):
            self.free[role][host] -= self.demand[role][job]
            self.counts[role][job, host] += 1
            self.start[role] = (host + self.spread) % len(self.free[role])
        return True

    def in_order(self, strict: bool) -> None:
        for job in self.order.tolist():
            before = [free.copy() for free in self.free]
            if not self.spread:
                self.start = [0, 0]
            count = 0
            while count < self.wanted[job] and self.add(job):
                count += 1
            if count < self.at_least[job]:
                self.free = before
                for counts in self.counts:
                    counts[job] = 0
                if strict:
                    return

    def evenly(self, shares: list[np.ndarray]) -> None:
        left = self.order.tolist()
        while left:
            job = min(
                left, key=lambda job: max(c[job].sum() * s[job] for c, s in zip(self.counts, shares, strict=True))
            )
            if not self.spread:
                self.start = [0, 0]
            if self.counts[0][job].sum() >= self.wanted[job] or not self.add(job):
                left.remove(job)


@given(st.integers(0, 10**6), st.booleans())
def test_in_order(seed: int, strict: bool):
    plain = Plain(np.random.default_rng(seed))
    arrays, counts = plain.arrays(), [np.zeros_like(counts) for counts in plain.counts]
    start = np.zeros(2, dtype=np.int64)
    place_in_order(*arrays, plain.order, plain.wanted, plain.at_least, strict, plain.spread, start, *counts)
    plain.in_order(strict)
    for ours, theirs in zip((*counts, *arrays[:2]), (*plain.counts, *plain.free), strict=True):
        assert ours == pytest.approx(theirs)


@given(st.integers(0, 10**6))
def test_evenly(seed: int):
    rng = np.random.default_rng(seed)
    plain = Plain(rng)
    shares = [rng.integers(0, 4, len(plain.order)) / 4.0 for _ in range(2)]
    arrays, counts = plain.arrays(), [np.zeros_like(counts) for counts in plain.counts]
    start = np.zeros(2, dtype=np.int64)
    have = place_evenly(*arrays, plain.order, plain.wanted, *shares, plain.spread, start, *counts)
    plain.evenly(shares)
    for role in (0, 1):
        assert counts[role].tolist() == plain.counts[role].tolist()
        assert have[:, role].tolist() == plain.counts[role].sum(axis=1).tolist()


def test_in_groups_what_does_not_fit_is_left():
    free = np.array([[4.0], [3.0], [9.0]])
    demand, counts = np.array([[3.0], [1.0]]), np.array([[3, 1], [2, 0]])
    placed = np.zeros((2, 3), dtype=np.int64)
    place_in_groups(free, demand, np.array([0, 0, 1]), np.array([0, 1]), counts, placed)
    assert placed.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert counts.tolist() == [[1, 0], [1, 0]]
    assert free.ravel().tolist() == [0.0, 0.0, 6.0]


def test_servers_are_counted_alike_everywhere():
    """Compiled, single numbers and arrays; what fits exactly takes no server more, and no bandwidth takes none."""
    from dovetail.schedulers.kernels.jit import entry

    @entry
    def compiled(workers, b, server_b):
        return servers_for(workers, b, server_b)

    cases = [(1, 2.0, 5.0, 1), (3, 2.0, 5.0, 2), (3, 0.1, 0.3, 1), (10, 0.3, 1.0, 3), (7, 0.0, 5.0, 0)]
    cases += [(7, 0.0, 0.0, 0)]
    workers, b, server_b, expected = (np.array(column) for column in zip(*cases, strict=True))
    assert servers_needed(workers, b, server_b).tolist() == expected.tolist()
    for workers, b, server_b, expected in cases:
        assert int(servers_needed(workers, b, server_b)) == compiled(workers, b, server_b) == expected
