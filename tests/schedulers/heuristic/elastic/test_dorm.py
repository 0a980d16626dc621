"""elastic/dorm on toys, and its program against trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.heuristic.elastic.playing import play, workers_in

from dovetail.core.elastic import BANDWIDTH, Reason
from dovetail.schedulers.heuristic.elastic.division import PENALTY, Division, Kinds
from dovetail.schedulers.heuristic.elastic.dorm import Dorm
from dovetail.schedulers.optimise.program import Limits, Program
from dovetail.testing.elastic_tiny import TinyJob

SMALL, LARGE = TinyJob(8), TinyJob(8, cpu=15.0)  # two GPUs; of the second's workers processors are used too


def test_utilisation_decides_where_fairness_does_not():
    result = play(Dorm(Dorm.Params(fairness=1.0)), [SMALL, LARGE], slots=1)
    assert workers_in(result, 0) == [0, 2]
    assert {row.reason for row in result.decision_log} == {Reason.MAXIMAL_UTILISATION}


def test_with_no_loss_of_fairness_it_is_drf():
    result = play(Dorm(Dorm.Params(fairness=0.0)), [SMALL, LARGE], slots=1)
    assert workers_in(result, 0) == [1, 1]


def test_change_is_bounded():
    """The newcomer is due a GPU; with no change allowed the first keeps both, with change it gives one up."""
    jobs = [SMALL, TinyJob(8, arrival=1)]
    kept = play(Dorm(Dorm.Params(fairness=0.0, change=0.0)), jobs, slots=2)
    assert [workers_in(kept, slot) for slot in (0, 1)] == [[2, 0], [2, 0]]
    changed = play(Dorm(Dorm.Params(fairness=0.0, change=1.0)), jobs, slots=2)
    assert [workers_in(changed, slot) for slot in (0, 1)] == [[2, 0], [1, 1]]


def test_between_arrivals_and_completions_everybody_keeps_what_he_has():
    result = play(Dorm(), [SMALL, LARGE], slots=2)
    reasons = {row.slot: row.reason for row in result.decision_log}
    assert reasons == {0: Reason.MAXIMAL_UTILISATION, 1: Reason.LAST_DIVISION}
    assert workers_in(result, 0) == workers_in(result, 1)


def test_without_a_division_in_time_everybody_keeps_what_he_has(monkeypatch: pytest.MonkeyPatch):
    solve, calls = Division.solve, []

    def only_once(self: Division, limits: Limits):
        calls.append(limits)
        return solve(self, limits) if len(calls) == 1 else None

    monkeypatch.setattr(Division, "solve", only_once)
    result = play(Dorm(Dorm.Params(fairness=0.0, change=1.0)), [SMALL, TinyJob(8, arrival=1)], slots=3)
    assert [workers_in(result, slot) for slot in range(3)] == [[2, 0]] * 3
    assert result.decision_log[-1].reason == Reason.LAST_DIVISION
    assert len(calls) == 2


def test_a_least_number_of_workers_or_none():
    jobs = [TinyJob(8, gpu=1), TinyJob(8, gpu=1)]
    result = play(Dorm(Dorm.Params(least=2, fairness=0.0)), jobs, slots=1)
    assert sorted(workers_in(result, 0)) == [0, 2]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [({"fairness": 2.0}, "from 0 to 1"), ({"least": 0}, "1 or more"), ({"time_s": 0.0}, "more than 0")],
)
def test_parameters_have_ranges(wrong: dict[str, float], text: str):
    with pytest.raises(ValueError, match=text):
        Dorm.Params(**wrong)


# --- the program -------------------------------------------------------------------------------------------------


def random_division(seed: int) -> tuple[Division, float]:
    """A division among two jobs on two worker hosts and one server host, and the best value of all there are."""
    rng = np.random.default_rng(seed)
    jobs = 2
    worker_demand = np.c_[
        rng.integers(0, 3, jobs), rng.integers(1, 4, jobs), np.ones((jobs, 2)), rng.uniform(0.5, 3, jobs)
    ]
    server_demand = np.c_[np.zeros(jobs), rng.integers(1, 4, jobs), np.ones((jobs, 2)), rng.uniform(3, 5, jobs)]
    workers = Kinds.of(np.array([(2.0, 4.0, 9.0, 9.0, 9.0), (3.0, 3.0, 9.0, 9.0, 9.0)]))
    servers = Kinds.of(np.array([(0.0, 5.0, 9.0, 9.0, 15.0)]))
    most = rng.integers(1, 4, jobs)
    division = Division(
        workers=workers,
        servers=servers,
        worker_demand=worker_demand.astype(float),
        server_demand=server_demand.astype(float),
        use=rng.uniform(0.1, 1.0, jobs),
        share=rng.uniform(0.1, 0.5, jobs),
        least=np.minimum(most, rng.integers(1, 3)),
        most=most,
        fair=rng.integers(0, 3, jobs),
        running=np.zeros(jobs, dtype=np.bool_),
        worker_before=np.zeros((jobs, 2), dtype=np.int64),
        server_before=np.zeros((jobs, 1), dtype=np.int64),
        fairness=float(rng.choice((0.0, 0.2, 0.5, 2.0))),
        changes=int(rng.integers(0, jobs + 1)),
    )
    possible = list(everything(division))
    if rng.random() < 0.7:  # some were there before
        y, z = possible[int(rng.integers(len(possible)))]
        division = Division(
            **{**vars(division), "worker_before": y, "server_before": z, "running": y.sum(axis=1) > 0},
        )
    return division, max(value_of(division, y, z) for y, z in possible)


def everything(division: Division):
    """All workers and servers within capacity, bandwidth and bounds, whoever stood there before."""
    jobs, kinds = division.worker_before.shape
    b, server_b = division.worker_demand[:, BANDWIDTH], division.server_demand[:, BANDWIDTH]
    for y_flat in product(range(4), repeat=jobs * kinds):
        y = np.array(y_flat).reshape(jobs, kinds)
        total = y.sum(axis=1)
        within = ((total >= division.least) & (total <= division.most)) | (total == 0)
        if not within.all() or (y.T @ division.worker_demand > division.workers.free + 1e-9).any():
            continue
        for z_flat in product(range(4), repeat=jobs):
            z = np.array(z_flat).reshape(jobs, 1)
            if (z.T @ division.server_demand > division.servers.free + 1e-9).any():
                continue
            if (total * b <= z[:, 0] * server_b + 1e-9).all() and (z[:, 0] <= np.ceil(total * b / server_b)).all():
                yield y, z


def value_of(division: Division, y: np.ndarray, z: np.ndarray) -> float:
    """The objective; -inf for what the bounds on change and on running jobs forbid."""
    total, running = y.sum(axis=1), division.running
    changed = (y != division.worker_before).any(axis=1) | (z != division.server_before).any(axis=1)
    if (running & (total < division.least)).any() or (changed & running).sum() > division.changes:
        return float("-inf")
    loss = float((division.share * np.abs(total - division.fair)).sum())
    return float(division.use @ total) - PENALTY * max(0.0, loss - division.fairness)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_program_equals_trying_everything(seed: int):
    division, best = random_division(seed)
    answer = division.answer(Limits())
    assert answer.optimal
    assert answer.objective == pytest.approx(best, abs=1e-5)
    found = division.solve(Limits())
    assert found is not None
    assert value_of(division, *found) == pytest.approx(best, abs=1e-5) or any(
        found[1].sum(axis=1) > found[0].sum(axis=1)
    )


def contended_division(jobs: int = 40, hosts: int = 6) -> Division:
    """Half of the jobs have a worker each, of which a tenth may change; the other half would like some."""
    rng = np.random.default_rng(3)
    worker_demand = np.c_[rng.integers(0, 3, jobs), rng.integers(1, 5, jobs), np.ones((jobs, 2)), np.ones(jobs)]
    server_demand = np.c_[np.zeros(jobs), rng.integers(1, 4, jobs), np.ones((jobs, 2)), np.full(jobs, 4.0)]
    free = np.array([(8.0, 32.0, 99.0, 99.0, 99.0)] * hosts)
    workers, servers = Kinds.of(free), Kinds.of(free)
    running = np.arange(jobs) < jobs // 2
    return Division(
        workers=workers,
        servers=servers,
        worker_demand=worker_demand.astype(float),
        server_demand=server_demand.astype(float),
        use=(worker_demand / free.sum(axis=0)).sum(axis=1),
        share=(worker_demand / free.sum(axis=0)).max(axis=1),
        least=np.ones(jobs, dtype=np.int64),
        most=np.full(jobs, 8),
        fair=np.full(jobs, 2),
        running=running,
        worker_before=running[:, None].astype(np.int64),
        server_before=running[:, None].astype(np.int64),
        fairness=1.0,
        changes=2,
    )


def test_a_division_within_the_gap_needs_no_search_of_the_whole(monkeypatch: pytest.MonkeyPatch):
    """Those whom the relaxation changes least are kept; only if that is not good enough is everything searched."""
    solve, searched = Program.solve, []

    def noted(self: Program, limits: Limits, **how: object):
        searched.append("relaxed" if how.get("relaxed") else "some" if how.get("fixed") else "all")
        return solve(self, limits, **how)

    monkeypatch.setattr(Program, "solve", noted)
    division = contended_division()
    roughly = division.answer(Limits(nodes=1, gap=0.2))
    assert searched == ["relaxed", "some"]
    assert roughly.optimal and roughly.objective >= roughly.bound - 0.2 * roughly.objective
    found = division.solve(Limits(nodes=1, gap=0.2))
    assert found is not None
    changed = (found[0] != division.worker_before).any(axis=1) & division.running
    assert 0 < changed.sum() <= division.changes
    searched.clear()
    exactly = division.answer(Limits(nodes=50, gap=0.0))
    assert searched == ["relaxed", "some", "all"]
    assert roughly.objective <= exactly.objective + 1e-6 and exactly.objective <= roughly.bound + 1e-6
