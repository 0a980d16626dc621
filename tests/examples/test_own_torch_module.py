"""The example of a network of one's own: it learns, and decides alike in the environment and as a scheduler."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import gymnasium
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'dovetail[learn]'")

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_torch_module.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_torch_module_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.set_num_threads(1)
    return module


def test_it_learns_that_the_shortest_job_comes_first(example, monkeypatch, capsys):
    """Jobs of one task each on one executor: the optimum is known."""
    monkeypatch.setattr(example, "WORKLOAD", "chains:length=[1,1],tasks.tasks=[1,1],tasks.task_s=[1,60]")
    monkeypatch.setattr(example, "EXECUTORS", 1)
    torch.manual_seed(0)
    scorer = example.Scorer()
    mine = example.MyScheduler(scorer)
    optimum_s = example.score(example.SCHEDULERS.create("dag/sjf-cp"))
    before_s = example.score(mine)
    example.train(scorer, 100)
    assert "iteration  100" in capsys.readouterr().out
    assert before_s > 1.1 * optimum_s
    assert example.score(mine) < 1.02 * optimum_s


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
