"""sb3-contrib's MaskablePPO really learns in the padded environment, through the code of the example."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.envs.play import SMALL, lengths

from dovetail.envs import DagEnv

pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed: pip install 'dovetail[sb3]'")

EXAMPLE = Path(__file__).parents[2] / "examples" / "maskable_ppo.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    import torch

    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("maskable_ppo_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def least_avg_jct_s(setting: dict, seeds: range) -> float:
    """The optimum, by trying every order of the jobs."""
    env, best = DagEnv(**setting, invalid="raise"), []
    for seed in seeds:
        times = []
        for order in itertools.permutations(range(setting["jobs"])):
            env.reset(seed=seed)
            while env.view is not None:
                # its executor is on offer: the next job of this order that is still here
                job = min(range(len(env.view.job_id)), key=lambda j: order.index(env.view.job_id[j]))
                env.step((job, 1))
            times.append(env.result.avg_jct_s)
        best.append(min(times))
    return float(np.mean(best))


def test_it_finds_the_known_optimum_of_a_toy(example):
    """Jobs of one task each, one executor: the shortest first, whatever the order in which they are shown."""
    seeds = range(1000, 1010)
    task = {"workload": lengths(1.0, 2.0, 4.0, 8.0, 16.0, 32.0), "jobs": 4, "executors": 1}
    setting = {**task, "slots": 4}
    optimum = least_avg_jct_s(task, seeds)
    assert example.heuristic_score("dag/sjf-cp", task, seeds) == pytest.approx(optimum)
    worlds = example.make_worlds(setting, 8)
    model = example.make_model(worlds, policy="MlpPolicy")
    before = example.score(model, setting, seeds)
    model.learn(8192)
    after = example.score(model, setting, seeds)
    assert before > 1.1 * optimum
    assert after < 1.03 * optimum


def test_its_score_improves_on_sequences_it_was_not_trained_on(example):
    setting = {**example.SMALL, "slots": 16, "limits": (5, 10)}
    seeds = range(1_000_000, 1_000_010)
    worlds = example.make_worlds(setting, 8)
    model = example.make_model(worlds)
    before = example.score(model, setting, seeds)
    model.learn(8192)
    after = example.score(model, setting, seeds)
    assert after < 0.85 * before
    assert after < 0.7 * example.heuristic_score("dag/random", example.SMALL, seeds)


@pytest.mark.parametrize("processes", [1, 2])
def test_masks_reach_the_library(example, processes):
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

    worlds = example.make_worlds({**SMALL, "slots": 4}, 2, processes)
    try:
        assert is_masking_supported(worlds)
        rows = worlds.reset()
        for _ in range(10):
            masks = get_action_masks(worlds)
            assert rows.shape[:2] == (2, 4)
            assert masks.shape == (2, worlds.action_space.n)
            assert masks.any(axis=1).all()
            rows, _, _, infos = worlds.step(masks.argmax(axis=1))
            assert not any("invalid" in info for info in infos)
    finally:
        worlds.close()
