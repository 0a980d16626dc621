"""MAPPO: densities, gradients and rewards are what the equations say; it finds what is known to be best."""

from __future__ import annotations

import copy
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal as scipy_multivariate_normal
from scipy.stats import norm
from tests.training.test_das import SMALL, trained, way_to_shortest_first

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.das.forward import DasForward, affinity, covariance_of, judged_jobs, starts_now
from dovetail.schedulers.learned.das.network import DasNetwork
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import DasShape, Parameters
from dovetail.training.das_plan import DasPlan, MappoPlan
from dovetail.training.das_recorder import PlacedOne, Recorder
from dovetail.training.das_run import DasTrainJob, DasTrainRun, start_workers
from dovetail.training.fork_gradient import PlaceBatch
from dovetail.training.mappo import Drawn, OrderActions, PlaceActions, clipped
from dovetail.training.mappo_worker import MappoWorker

SETTING = GpuSetting("small", jobs=40, load=1.5)
LOG_SPREAD = np.log([0.5, 0.3, 0.4])
PLAN = DasPlan(policy_gradient="mappo")


def parameters(shape: DasShape = SMALL, seed: int = 3) -> Parameters:
    """None of them zero, so that every part counts."""
    rng = np.random.default_rng(seed)
    return {name: value + 0.1 * rng.normal(size=value.shape) for name, value in shape.fresh(rng).items()}


def recorded(shape: DasShape, log_spread: Floats = LOG_SPREAD) -> Recorder:
    opened = SETTING.open()
    recorder = Recorder(DasForward(shape, parameters(shape)), Drawn(log_spread, np.random.default_rng(0)))
    opened.run(opened.world(opened.sequence(1), SeedTree(1)), recorder, np.random.default_rng(0))
    return recorder


def played(plan: DasPlan = PLAN, setting: GpuSetting = SETTING, seed: int = 3) -> MappoWorker:
    worker = MappoWorker([setting], SMALL, plan)
    worker.explore(parameters(seed=seed), LOG_SPREAD, [(0, 1000), (0, 1001)], 0)
    return worker


def critic(plan: DasPlan = PLAN) -> Parameters:
    from dovetail.training.mappo_critic import fresh

    rng = np.random.default_rng(5)
    return {name: value + 0.1 * rng.normal(size=value.shape) for name, value in fresh(plan.mappo.width, rng).items()}


@pytest.mark.parametrize("random_walk", [True, False])
def test_densities_of_affinities_are_those_of_scipy(random_walk: bool) -> None:
    shape = replace(SMALL, random_walk=random_walk)
    recorder, held = recorded(shape), parameters(shape)
    w, expected = DasForward(shape, held).weights, np.zeros(len(recorder.ordered))
    kinds = set()
    for one in recorder.placed:
        machines = len(one.variance)
        here = np.ascontiguousarray(one.nodes[:machines])
        nothing = np.zeros((0, shape.walk_rank))
        past = one.nodes[machines:]
        if len(past):  # what was remembered of it: the features of the walk, as the same network had them
            places = one.at[machines:]
            nothing = affinity(w, past.copy(), places, one.rack, nothing, np.zeros(0), np.zeros(0), False)[3]
        given = (w, here, one.at, one.rack, nothing, one.surprise, one.age)
        mean, (own, factor) = affinity(*given, True)[0], covariance_of(*given)
        covariance = 0.4**2 * (np.diag(own) + factor @ factor.T)
        expected[one.turn] += scipy_multivariate_normal.logpdf(one.score, mean, covariance)
        kinds.add((machines > 1, len(past) > 0))
    assert (True, True) in kinds
    batch = PlaceBatch(recorder.placed, np.zeros(len(recorder.placed)), [])
    actions = PlaceActions(recorder.placed, batch)
    with torch.no_grad():
        placed = batch.placed(DasNetwork(shape, held))
        found, entropy = actions.log_density(placed, torch.as_tensor(LOG_SPREAD), len(expected))
    assert np.allclose(found.numpy(), expected, atol=1e-8)
    assert len(entropy) == len(recorder.placed) and torch.isfinite(entropy).all()


def test_densities_of_priorities_and_starts_are_those_of_scipy() -> None:
    recorder, held = recorded(SMALL), parameters()
    w, expected = DasForward(SMALL, held).weights, []
    for turn in recorder.ordered:
        judged = judged_jobs(w, turn.jobs, turn.machines)
        total = norm.logpdf(turn.priority[turn.possible], judged[turn.possible, 0], 0.5).sum()
        means = [starts_now(w, columns) + judged[job, 1] for job, columns in zip(turn.asked, turn.columns, strict=True)]
        expected.append(total + norm.logpdf(turn.margin, means, 0.3).sum())
    with torch.no_grad():
        found, _ = OrderActions(recorder.ordered).log_density(DasNetwork(SMALL, held), torch.as_tensor(LOG_SPREAD))
    assert np.allclose(found.numpy(), expected, atol=1e-8)
    assert sum(len(turn.asked) for turn in recorder.ordered) > 10


def test_the_entropy_is_that_of_scipy() -> None:
    own, factor = np.array([0.5, 0.2, 0.9]), np.random.default_rng(0).normal(size=(3, 2))
    covariance = 0.4**2 * (np.diag(own) + factor @ factor.T)
    from dovetail.schedulers.learned.das.network import Placed

    nodes = np.zeros((3, len(recorded(SMALL).placed[0].nodes[0])))
    rack, empty = np.zeros(3, np.int64), np.zeros(0)
    one = PlacedOne(0, nodes, np.arange(3), rack, empty, empty, np.ones(3), np.zeros(3), 0, 0)
    actions = PlaceActions([one], PlaceBatch([one], np.zeros(1), []))
    zero = torch.zeros((1, 3), dtype=torch.float64)
    posterior = Placed(zero, zero, zero, torch.as_tensor(own)[None], torch.as_tensor(factor)[None])
    _, entropy = actions.log_density(posterior, torch.as_tensor(LOG_SPREAD), 1)
    assert float(entropy) == pytest.approx(scipy_multivariate_normal(np.zeros(3), covariance).entropy())


def test_with_next_to_no_noise_it_plays_as_the_network_does() -> None:
    opened = SETTING.open()
    world = opened.world(opened.sequence(1), SeedTree(1))
    usual = opened.run(world, Das(network=DasForward(SMALL, parameters())), np.random.default_rng(0))
    recorder = recorded(SMALL, np.full(3, -80.0))  # too little to tell equal machines apart
    assert usual.decisions == len(recorder.placed)
    assert [usual.start_s[one.job_id] for one in recorder.placed] == [
        recorder.ordered[one.turn].time_s for one in recorder.placed
    ]


def test_only_jobs_that_might_start_draw_a_priority() -> None:
    drawn = Drawn(LOG_SPREAD, np.random.default_rng(0)).priorities(np.zeros(4), np.array([True, False, True, False]))
    assert ((drawn != 0.0) == [True, False, True, False]).all()


def test_the_clip_is_of_the_smaller_of_both() -> None:
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1], dtype=torch.float64)
    gain = torch.tensor([1.0, -1.0, 1.0, -1.0, 2.0], dtype=torch.float64)
    found, outside = clipped(ratio.log(), gain, 0.2)
    assert float(found) == pytest.approx(np.mean([1.2, -1.5, 0.5, -0.8, 2.2])) and float(outside) == 0.8


def test_ratios_are_1_before_anything_is_learned() -> None:
    worker = played()
    worker.weigh(parameters(), LOG_SPREAD, critic(), 2.0)
    _, _, figures = worker.actor_gradient(parameters(), LOG_SPREAD)
    for agent in ("order", "place"):
        assert figures[f"outside_{agent}"] == 0.0 and figures[f"far_{agent}"] == pytest.approx(0.0, abs=1e-12)
    mean = sum(float(one.advantage.mean()) for one in worker._episodes)
    assert figures["gained_order"] == pytest.approx(mean)


@pytest.mark.parametrize("advantage", ["td", "q"])
def test_gradients_are_those_of_finite_differences(advantage: str) -> None:
    """Away from where it was played, so that ratios are not 1, some of them clipped."""
    plan = replace(PLAN, mappo=MappoPlan(advantage=advantage, entropy=0.1))
    worker, held = played(plan), parameters()
    worker.weigh(held, LOG_SPREAD, critic(), 2.0)
    rng = np.random.default_rng(2)
    moved = {name: value + 0.02 * rng.normal(size=value.shape) for name, value in held.items()}
    spread = LOG_SPREAD + np.array([0.1, -0.1, 0.05])
    gradient, of_spread, figures = worker.actor_gradient(moved, spread)
    assert 0.0 < figures["outside_order"] < 2.0 and 0.0 < figures["outside_place"] < 2.0

    def loss(at: Parameters, log_spread: Floats) -> float:
        network, drawn = DasNetwork(SMALL, at), torch.as_tensor(log_spread)
        with torch.no_grad():
            return sum(float(worker.loss(one, network, drawn)[0]) for one in worker._episodes)

    step = 1e-6
    names = ("order.base", "order.out.weight", "start.base", "place.base", "place.walk.weight", "place.walk.length")
    for name in (*names, "place.in.weight", "order.job.weight", "order.squeeze.weight", "place.walk.trust"):
        way = rng.normal(size=moved[name].shape)
        ahead, back = (loss(moved | {name: moved[name] + sign * step * way}, spread) for sign in (1.0, -1.0))
        expected = float((gradient[name] * way).sum())
        assert (ahead - back) / (2.0 * step) == pytest.approx(expected, rel=1e-4, abs=1e-6), name
    for number in range(3):
        way = np.eye(3)[number]
        ahead, back = (loss(moved, spread + sign * step * way) for sign in (1.0, -1.0))
        assert (ahead - back) / (2.0 * step) == pytest.approx(of_spread[number], rel=1e-4, abs=1e-6)


def test_it_learns_to_take_the_shortest_first() -> None:
    closed = way_to_shortest_first(
        DasPlan(
            rules=0, iterations=12, sequences=16, warm_up=0, rate=0.03, fee=0.0, patience=3.0, policy_gradient="mappo"
        )
    )
    assert closed > 0.8, f"only {100 * closed:.0f} % of the way from first come to shortest first"


def test_the_first_round_teaches_the_critic_alone() -> None:
    plan = replace(PLAN, rules=0, warm_up=0, sequences=2)
    run = DasTrainRun(Path("unused"), DasTrainJob((SETTING,), SMALL, plan), "", resume=False)
    before = copy.deepcopy(run.parameters)
    assert run.mappo is not None
    with closing(start_workers(run.job, 1)) as workers:
        run._step(workers)
        assert run.mappo.scale > 0.0 and run.mappo.critic["value.weight"].any()
        assert all(np.array_equal(run.parameters[name], value) for name, value in before.items())
        slow = {name: np.abs(value - run.mappo.critic[name]).max() for name, value in run.mappo.old.items()}
        assert max(slow.values()) > 0.0  # the old network lags behind
        run._step(workers)
    assert not np.array_equal(run.parameters["order.base"], before["order.base"])


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(tmp_path: Path) -> None:
    plan = DasPlan(
        iterations=3, sequences=1, every=1, validation=1, warm_up=1, rules=1, pairs=2, policy_gradient="mappo"
    )
    what = DasTrainJob((GpuSetting("small", jobs=20),), SMALL, plan)
    whole = trained(tmp_path / "whole", what)
    trained(tmp_path / "parts", what, rounds=2)
    parts = trained(tmp_path / "parts", what, resume=True)
    for name, value in whole.parameters.items():
        assert np.array_equal(parts.parameters[name], value), name
    assert whole.mappo is not None and parts.mappo is not None
    for name, value in whole.mappo.arrays().items():
        assert np.array_equal(parts.mappo.arrays()[name], value), name
    with pytest.raises(ConfigError, match=r"another plan\.mappo"):
        other = replace(what, plan=replace(plan, mappo=MappoPlan(entropy=0.5)))
        DasTrainRun(tmp_path / "parts", other, "", resume=True)


def test_a_run_of_preparation_alone_keeps_its_network(tmp_path: Path) -> None:
    plan = DasPlan(iterations=0, sequences=1, validation=1, warm_up=1, rules=0)
    run = trained(tmp_path / "run", DasTrainJob((GpuSetting("small", jobs=20),), SMALL, plan))
    assert (tmp_path / "run/checkpoint.safetensors").exists() and run.best == 1.0
    assert np.array_equal(run.best_parameters["order.wait.weight"], run.parameters["order.wait.weight"])


def test_plans_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="policy_gradient is 'ppo'; expected forks or mappo"):
        DasPlan(policy_gradient="ppo")
    with pytest.raises(ConfigError, match="place_noise is 0"):
        DasPlan(policy_gradient="mappo", place_noise=0.0)
    with pytest.raises(ConfigError, match="policy_gradient=mappo alone"):
        DasPlan(mappo=MappoPlan(entropy=0.5))
    with pytest.raises(ConfigError, match=r"mappo\.reward is 'jct'"):
        MappoPlan(reward="jct")
    with pytest.raises(ConfigError, match=r"mappo\.trace is 2"):
        MappoPlan(trace=2.0)


def test_runs_of_before_can_go_on() -> None:
    """What a plan of forks says of itself is what it said when there was nothing else."""
    assert not {"policy_gradient", "mappo"} & set(DasPlan().facts())
    assert PLAN.facts()["mappo"]["reward"] == "das"
