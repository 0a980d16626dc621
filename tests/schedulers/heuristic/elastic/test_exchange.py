"""Divisions of elastic/dorm by exchanges: they keep to every bound, and come close to the best there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.heuristic.elastic.dividing import contended_division, random_division, value_of

from dovetail.core.elastic import BANDWIDTH
from dovetail.schedulers.heuristic.elastic.division import Division
from dovetail.schedulers.heuristic.elastic.exchange import before, exchanged, judged
from dovetail.schedulers.optimise.program import INFINITY, Limits

GAP = 0.06


def assert_allowed(division: Division, workers: np.ndarray, servers: np.ndarray) -> None:
    """Every row of the program, one by one."""
    total = workers.sum(axis=1)
    for counts, demand, kinds in (
        (workers, division.worker_demand, division.workers),
        (servers, division.server_demand, division.servers),
    ):
        assert (counts >= 0).all()
        assert (counts.T @ demand <= kinds.free * kinds.hosts[:, None] * (1 + 1e-9) + 1e-9).all()
        assert (counts <= kinds.room(demand)).all()
    b, server_b = division.worker_demand[:, BANDWIDTH], division.server_demand[:, BANDWIDTH]
    assert (b * total <= server_b * servers.sum(axis=1) + 1e-6).all()
    assert (total <= division.most).all()
    assert ((total >= division.least) | ((total == 0) & ~division.running)).all()
    changed = (workers != division.worker_before).any(axis=1) | (servers != division.server_before).any(axis=1)
    assert (changed & division.running).sum() <= division.changes


def drawn(seed: int) -> Division:
    """Some jobs run and others wait; bounds of all sorts."""
    rng = np.random.default_rng(seed)
    jobs = int(rng.integers(2, 9))
    division = contended_division(
        jobs,
        hosts=int(rng.integers(2, 4)),
        seed=seed,
        most=rng.integers(1, 9, jobs),
        fair=rng.integers(0, 4, jobs),
        use=rng.uniform(0.02, 0.5, jobs),
        fairness=float(rng.choice((0.0, 0.2, 1.0))),
        changes=int(rng.integers(0, jobs)),
    )
    least = np.minimum(division.most, rng.integers(1, 3, jobs))
    return replace(division, least=np.where(division.running, 1, least))


@given(st.integers(0, 10**6))
@settings(max_examples=60)
def test_exchanges_keep_to_every_bound(seed: int):
    for division in (random_division(seed)[0], drawn(seed)):
        found = exchanged(division, None, INFINITY)
        if np.isfinite(found.objective):
            assert_allowed(division, found.workers, found.servers)
            assert found.objective == pytest.approx(value_of(division, found.workers, found.servers))
            assert found.objective >= before(division).objective
        again = exchanged(division, None, INFINITY)
        assert (again.workers == found.workers).all() and (again.servers == found.servers).all()


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_what_is_taken_is_within_the_gap_of_the_optimum(seed: int):
    for division in (random_division(seed)[0], drawn(seed)):
        best = division._program().solve(Limits())
        answer = division.answer(Limits(gap=GAP))
        assert answer.optimal
        assert best.objective - GAP * abs(answer.objective) - 1e-6 <= answer.objective <= best.objective + 1e-6
        assert answer.bound >= best.objective - 1e-6
        found = division.solve(Limits(gap=GAP))
        assert found is not None
        assert_allowed(division, *found)


def test_what_is_not_allowed_is_worth_nothing():
    division = contended_division(4)
    workers, servers = division.worker_before, division.server_before
    assert np.isfinite(judged(division, workers, servers).objective)
    for worse in (
        (workers * 100, servers * 100),  # more than there is room for
        (workers * 0, servers * 0),  # running jobs keep their least
        (workers, servers * 0),  # bandwidth
        (workers * 9, servers * 9),  # more than the job may have
    ):
        assert judged(division, *worse).objective == -np.inf
    unchanging = replace(division, changes=0)
    assert judged(unchanging, workers * 2, servers).objective == -np.inf


def test_from_the_relaxation_as_from_what_was():
    """Both are tried unless the first is good enough."""
    division = contended_division()
    relaxed = division._program().solve(Limits(), relaxed=True)
    assert relaxed.values is not None
    wanted = relaxed.values[: division.worker_before.size].reshape(division.worker_before.shape)
    rounded = exchanged(division, wanted, INFINITY)
    assert_allowed(division, rounded.workers, rounded.servers)
    assert exchanged(division, None, INFINITY).objective <= rounded.objective <= relaxed.bound + 1e-6
    assert rounded.objective >= relaxed.bound * (1 - GAP)
    at_once = exchanged(division, wanted, -INFINITY)
    assert at_once.objective <= rounded.objective + 1e-9
    assert_allowed(division, at_once.workers, at_once.servers)
