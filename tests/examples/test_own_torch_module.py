"""The example of a network of one's own: it learns, and decides alike in the environment and as a scheduler."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import gymnasium
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_torch_module.py"


@pytest.fixture
def example(monkeypatch) -> ModuleType:
    """The example with fewer jobs and executors, so that it learns in seconds."""
    spec = importlib.util.spec_from_file_location("own_torch_module_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "JOBS", 3)
    monkeypatch.setattr(module, "EXECUTORS", 4)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return module


def test_a_short_training_improves_it(example, capsys):
    scorer = example.Scorer()
    mine = example.MyScheduler(scorer)
    seeds = range(20)
    before_s = example.score(mine, seeds)
    example.train(scorer, 40)
    after_s = example.score(mine, seeds)
    assert "iteration   40" in capsys.readouterr().out
    assert after_s < 0.9 * before_s
    assert after_s < example.score(example.SCHEDULERS.create("dag/fifo"), seeds)


def test_the_scheduler_decides_as_the_module_does_in_the_environment(example):
    scorer = example.Scorer()
    setting = {"workload": example.WORKLOAD, "jobs": example.JOBS, "executors": example.EXECUTORS}
    worlds = gymnasium.make_vec("dovetail.envs:Dovetail/Dag-v0", num_envs=1, features="wide-1", **setting)
    seen, _ = worlds.reset(seed=[7])
    done = False
    while not done:
        with torch.no_grad():
            likeliest = scorer(seen).logits.argmax(dim=1)
        seen, _, terminated, _, info = worlds.step(example.to_actions(likeliest))
        done = bool(terminated[0])
    assert info["final_info"]["avg_jct_s"][0] == example.score(example.MyScheduler(scorer), [7])
    worlds.close()
