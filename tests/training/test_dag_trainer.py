"""Training on toys with a known optimum; repeatable; and in several processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.testing.dag_toys import ToyJob, ToyStage, toy_workload

pytest.importorskip("torch", reason="torch is not installed")

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.schedulers.learned.decima.shape import DecimaShape
from dovetail.sim.dag import DagOptions
from dovetail.training.dag_run import MakeDagWorker
from dovetail.training.dag_search import SearchPlan
from dovetail.training.dag_trainer import Trainer, TrainPlan, TrainState, fresh_state
from dovetail.training.dag_worker import Setting, Update
from dovetail.training.workers import LocalWorker, ProcessWorkers
from dovetail.workloads import Arrivals
from dovetail.workloads.source import DagSource
from dovetail.workloads.store import write_source

SHAPE = DecimaShape("wide-1", embedding=4, hidden=(8,), head=(8,))


@pytest.fixture
def toy(tmp_path: Path) -> Setting:
    """Jobs of one task, 1 s or 10 s, on one executor: the shorter must go first."""
    workload = toy_workload(ToyJob([ToyStage(1, 1.0)]), ToyJob([ToyStage(1, 10.0)]))
    write_source(DagSource("toy", workload.catalogue), tmp_path / "toy")
    return Setting(str(tmp_path / "toy"), options=DagOptions(executors=1, moving_delay_s=0.0, warm_up_s=0.0))


PLAN = TrainPlan(
    iterations=12,
    sequences=6,
    copies=8,
    jobs=5,
    parts=2,
    learning_rate=(0.02, 0.01),
    averaging=0.5,
    teacher=None,
    validate_every=12,
    validation=8,
    search=SearchPlan(share=0.5, share_of_moves=0.5, base="dag/fifo", span_s=math.inf, lot=8),
)


def shortest_first(setting: Setting) -> float:
    """Mean over the validation sequences of the sum of completion times, if the shorter jobs go first."""
    worker = MakeDagWorker(setting, SHAPE)(0)
    totals = []
    for seed in range(2000, 2008):
        from dovetail.core.seeds import SeedTree

        work_s = np.sort(worker.source.sequence(5, setting.arrivals, SeedTree(seed)).job_work_s)
        totals.append(np.cumsum(work_s).sum())
    return float(np.mean(totals))


def train(setting: Setting, plan: TrainPlan) -> TrainState:
    state = fresh_state(SHAPE, plan.seed)
    for _ in Trainer(plan, LocalWorker(MakeDagWorker(setting, SHAPE)), state).run():
        pass
    return state


@pytest.mark.parametrize("algorithm", ["search", "ppo", "reinforce"])
def test_the_optimum_of_a_toy_is_found(toy: Setting, algorithm: str) -> None:
    iterations = 40 if algorithm == "reinforce" else 12
    state = train(toy, replace(PLAN, algorithm=algorithm, iterations=iterations, validate_every=iterations))
    assert state.best == pytest.approx(shortest_first(toy), rel=1e-6)


def test_a_heuristic_can_be_imitated(toy: Setting) -> None:
    state = train(toy, replace(PLAN, teacher="dag/sjf-cp", lessons=8, iterations=0))
    assert state.best == pytest.approx(shortest_first(toy), rel=1e-6)


def test_the_seed_decides_everything(toy: Setting) -> None:
    plan = replace(PLAN, algorithm="ppo", iterations=2)
    first, again = train(toy, plan), train(toy, plan)
    np.testing.assert_array_equal(first.weights, again.weights)
    assert not np.array_equal(first.weights, train(toy, replace(plan, seed=1)).weights)


def test_so_it_does_with_several_workers(toy: Setting) -> None:
    runs = []
    for _ in range(2):
        workers = ProcessWorkers(MakeDagWorker(toy, SHAPE), 2)
        trainer = Trainer(replace(PLAN, iterations=2), workers, fresh_state(SHAPE, 0))
        list(trainer.run())
        workers.close()
        runs.append(trainer.weights.copy())
    np.testing.assert_array_equal(*runs)


def test_a_run_that_goes_on_is_the_run_that_was_not_stopped(toy: Setting) -> None:
    plan = replace(PLAN, algorithm="ppo", iterations=3)
    whole = train(toy, plan)
    state = fresh_state(SHAPE, plan.seed)
    for progress in Trainer(plan, LocalWorker(MakeDagWorker(toy, SHAPE)), state).run():
        if progress.phase == "learning":
            break
    assert state.iteration == 1
    for _ in Trainer(plan, LocalWorker(MakeDagWorker(toy, SHAPE)), state).run():
        pass
    np.testing.assert_array_equal(state.weights, whole.weights)


def test_several_processes_learn_together(toy: Setting) -> None:
    workers = ProcessWorkers(MakeDagWorker(toy, SHAPE), 2)
    try:
        state = fresh_state(SHAPE, 0)
        for _ in Trainer(replace(PLAN, algorithm="search"), workers, state).run():
            pass
        assert state.best == pytest.approx(shortest_first(toy), rel=1e-6)
        with pytest.raises(DovetailError, match="worker 0 failed"):
            workers.call("watch", [("dag/nope", None)] * 2)
    finally:
        workers.close()


class Mortals:
    """Workers in this process that are all lost in some of the calls, and replaced by new ones."""

    lost = 0

    def __init__(self, make: MakeDagWorker, lost_in: set[int], count: int = 1) -> None:
        self.count = count
        self._make, self._workers = make, [make(number) for number in range(count)]
        self._lost_in, self._calls = lost_in, 0

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        self._calls += 1
        if self._calls in self._lost_in:
            self._workers = [self._make(number) for number in range(self.count)]
            return [None] * self.count
        return [getattr(one, method)(*given) for one, given in zip(self._workers, arguments, strict=True)]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("algorithm", ["search", "ppo", "reinforce"])
@pytest.mark.parametrize("lost_in", [{1}, {2}, {5}])
def test_what_was_lost_with_every_worker_counts_for_nothing(toy: Setting, algorithm: str, lost_in: set[int]) -> None:
    plan = replace(PLAN, algorithm=algorithm, iterations=2, teacher="dag/fifo", lessons=1, validate_every=1)
    state = fresh_state(SHAPE, 0)
    trainer = Trainer(plan, Mortals(MakeDagWorker(toy, SHAPE), lost_in), state)
    first, *others = trainer.run()
    assert first.figures["decisions"] == 0 and first.figures["nobody_answered"]
    assert all(other.figures["decisions"] > 0 for other in others)
    assert (state.lesson, state.iteration) == (1, 2) and np.isfinite(state.weights).all()


def test_a_validation_is_over_all_sequences_or_fails(toy: Setting) -> None:
    make = MakeDagWorker(toy, SHAPE)
    whole = Trainer(PLAN, LocalWorker(make), fresh_state(SHAPE, 0)).validate()
    assert Trainer(PLAN, Mortals(make, {1, 2}), fresh_state(SHAPE, 0)).validate() == whole
    with pytest.raises(DovetailError, match="lost 3 times in a row"):
        Trainer(PLAN, Mortals(make, {1, 2, 3}), fresh_state(SHAPE, 0)).validate()


@pytest.mark.parametrize("algorithm", ["search", "ppo", "reinforce", "imitation"])
def test_a_worker_that_has_seen_nothing_moves_nothing(toy: Setting, algorithm: str) -> None:
    found = MakeDagWorker(toy, SHAPE)(1).gradient(fresh_state(SHAPE, 0).weights, Update(algorithm), part=1, parts=2)
    assert found.decisions == 0 and not found.gradient.any()


@pytest.mark.parametrize("algorithm", ["search", "ppo", "reinforce"])
def test_episodes_grow_and_may_end_before_the_first_decision(toy: Setting, algorithm: str) -> None:
    """Continuous arrivals, 1 s of mean length at first, which is before most first jobs arrive."""
    plan = replace(PLAN, algorithm=algorithm, iterations=12, sequences=1, copies=2, horizon_s=(1.0, 1000.0))
    plan = replace(plan, differential=True, patience_s=30.0, validate_every=12)
    setting = replace(toy, arrivals=Arrivals("poisson", interval_s=10.0))
    state = fresh_state(SHAPE, 0)
    progress = list(Trainer(plan, LocalWorker(MakeDagWorker(setting, SHAPE)), state).run())[1:]
    decisions = [one.figures["decisions"] for one in progress]
    assert 0.0 in decisions and max(decisions) > 0 and np.isfinite(state.weights).all()
    horizons = [one.figures["horizon_s"] for one in progress]
    assert np.mean(horizons[:4]) < np.mean(horizons[-4:]) and len(set(horizons)) == len(horizons)
    assert (state.rate > 0) == (algorithm != "search")


def test_a_baseline_by_time_needs_sequences_to_compare(toy: Setting) -> None:
    workers = Mortals(MakeDagWorker(toy, SHAPE), lost_in=set(), count=2)
    plan = replace(PLAN, algorithm="ppo", baseline="time", iterations=1, sequences=4)
    assert list(Trainer(plan, workers, fresh_state(SHAPE, 0)).run())[-1].figures["decisions"] > 0
    with pytest.raises(ConfigError, match="2 workers need at least 4 of them; sequences is 3"):
        Trainer(replace(plan, sequences=3), workers, fresh_state(SHAPE, 0))


def test_it_stops_when_nothing_gets_better(toy: Setting) -> None:
    plan = replace(PLAN, teacher="dag/sjf-cp", lessons=8, iterations=50, validate_every=1, stop_after=2)
    state = train(toy, replace(plan, learning_rate=(1e-9, 1e-9)))  # the optimum was found by imitation
    assert state.iteration == 2 and state.since_best == 2


@pytest.mark.parametrize("algorithm", ["search", "ppo", "reinforce"])
def test_more_workers_than_sequences(toy: Setting, algorithm: str) -> None:
    plan = replace(PLAN, algorithm=algorithm, iterations=1, sequences=1, validation=1, teacher="dag/fifo", lessons=1)
    workers = Mortals(MakeDagWorker(toy, SHAPE), lost_in=set(), count=2)
    progress = list(Trainer(plan, workers, fresh_state(SHAPE, 0)).run())
    assert all(one.figures["decisions"] > 0 for one in progress)
    assert np.isfinite(progress[-1].figures["jct_s"])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"algorithm": "sarsa"}, "expected search or ppo or reinforce"),
        ({"algorithm": "ppo", "copies": 1}, "copies is below 2"),
        ({"baseline": "mean"}, "expected input, time, none"),
        ({"jobs": 0}, "jobs is 0"),
        ({"copies": 0, "baseline": "none"}, "copies is 0"),
        ({"learning_rate": (0.0, 1.0)}, r"learning_rate is \(0.0, 1.0\); expected above 0"),
        ({"learning_rate": (math.nan, math.nan)}, "learning_rate"),
        ({"max_norm": math.nan}, "max_norm is nan"),
        ({"patience_s": math.nan}, "patience_s"),
        ({"horizon_s": (math.nan, math.nan)}, "horizon_s"),
        ({"clip": math.nan}, "clip"),
        ({"entropy": (math.nan, 0.0)}, "entropy"),
        ({"horizon_s": (100.0, math.inf)}, "one end is inf"),
        ({"entropy": (-0.1, 0.0)}, "expected 0 or more"),
        ({"search": SearchPlan(), "teacher": None}, "name a teacher"),
    ],
)
def test_bad_plans(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        replace(PLAN, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"share": 1.5}, "expected 0 to 1"),
        ({"share": 0.0, "share_of_moves": 0.0}, "nothing would be searched"),
        ({"lot": 0}, "must be 1 or more"),
        ({"span_s": -1.0}, "expected 0 or more seconds"),
    ],
)
def test_bad_plans_of_search(changes: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        SearchPlan(**changes)  # type: ignore[arg-type]


def test_a_plan_against_the_best_heuristic() -> None:
    plan = TrainPlan().against("dag/fair", 30.0, to_the_end=False)
    assert (plan.teacher, plan.search.base, plan.search.span_s) == ("dag/fair", "dag/fair", 60.0)
    assert TrainPlan().against("dag/fair", 30.0, to_the_end=True).search.span_s == math.inf
    named = TrainPlan(teacher="dag/fifo", search=SearchPlan(base="policy", span_s=9.0))
    assert named.against("dag/fair", 30.0, to_the_end=True) == named


def test_values_go_from_start_to_end() -> None:
    plan = replace(PLAN, iterations=3, learning_rate=(0.4, 0.1))
    assert [plan.at(plan.learning_rate, k) for k in range(3)] == pytest.approx([0.4, 0.2, 0.1])
    assert [plan.at((0.2, 0.0), k) for k in range(3)] == pytest.approx([0.2, 0.1, 0.0])
    assert plan.at((float("inf"), float("inf")), 1) == float("inf")
