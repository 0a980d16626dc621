"""MAPPO finds what is known to be best, and a run goes on where it was."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.sim.gpu import GpuOptions
from dovetail.training.das_run import DasTrainJob, DasTrainRun, scores, start_workers
from dovetail.training.das_worker import DasWorker, fresh_critic
from dovetail.training.mappo import MappoPlan
from dovetail.workloads.gpu_arrivals import GpuArrivals

QUEUE = GpuSetting(
    "small:cpu_share=0,shared_share=0,gang_share=0,error_sigma=0",
    jobs=16,
    arrivals=GpuArrivals("batch"),
    machines=1,
    options=GpuOptions(mood_sigma=0.0),
)
"""Sixteen jobs of one GPU each, all there from the start, and four GPUs: the shortest first is best."""
SMALL = DasShape(width=8, heads=2, hidden=8, rank=3, history=4)


def without_rules(shape: DasShape) -> dict[str, np.ndarray]:
    """No order to begin with, and no reason to let a job wait that fits."""
    fresh = shape.fresh(np.random.default_rng(0))
    return fresh | {name: np.zeros_like(fresh[name]) for name in ("order.base", "start.base")} | fresh_critic(0)


def test_it_learns_to_take_the_shortest_first() -> None:
    plan = MappoPlan(
        rules=0, iterations=40, sequences=4, episodes=6, warm_up=0, rate=0.03, epochs=2, fee=0.0, entropy=0.0
    )
    run = DasTrainRun(Path("unused"), DasTrainJob((QUEUE,), SMALL, plan), "", resume=False)
    run.parameters = without_rules(SMALL)
    best = dict(run.parameters)
    best["order.base"] = SMALL.fresh(np.random.default_rng(0))["order.base"]
    held_out = [(0, seed) for seed in range(12)]
    with closing(start_workers(run.job, 1)) as workers:
        before = scores(workers, run.parameters, held_out)[:, 0]
        shortest_first = scores(workers, best, held_out)[:, 0]
        for _ in range(plan.iterations):
            run._step(workers)
            run.iteration += 1
        after = scores(workers, run.parameters, held_out)[:, 0]
    closed = (before - after).mean() / (before - shortest_first).mean()
    assert closed > 0.8, f"only {100 * closed:.0f} % of the way from first come to shortest first"


def test_gradients_are_those_of_the_loss() -> None:
    """A small step against the gradient makes what is minimised smaller: the error of speeds, alone."""
    worker = DasWorker([GpuSetting("small", jobs=40)], SMALL, MappoPlan())
    parameters = SMALL.fresh(np.random.default_rng(1)) | fresh_critic(1)
    worker.play(parameters, [(0, 1000)], seed=0)
    gradient, figures = worker.gradient(parameters, True)
    changed = {name: value - 1e-4 * gradient[name] for name, value in parameters.items()}
    _, after = worker.gradient(changed, True)
    expected = 1e-4 * sum(float((value**2).sum()) for value in gradient.values())
    assert figures["speed"] - after["speed"] == pytest.approx(expected, rel=0.1)


def test_the_first_step_changes_no_ratio() -> None:
    worker = DasWorker([GpuSetting("small", jobs=40, arrivals=GpuArrivals("batch"))], SMALL, MappoPlan())
    parameters = SMALL.fresh(np.random.default_rng(1)) | fresh_critic(1)
    worker.play(parameters, [(0, 1000)], seed=0)
    _, figures = worker.gradient(parameters, False)
    assert figures["orders"] > 0 and figures["places"] > 0
    for name in ("outside_order", "outside_place", "moved_order", "moved_place"):
        assert figures[name] == pytest.approx(0.0, abs=1e-6)


def job(**changes: object) -> DasTrainJob:
    plan = {
        "iterations": 2,
        "sequences": 1,
        "episodes": 2,
        "every": 1,
        "validation": 1,
        "warm_up": 1,
        "rules": 2,
        **changes,
    }
    return DasTrainJob((GpuSetting("small", jobs=20),), SMALL, MappoPlan(**plan))  # type: ignore[arg-type]


def trained(path: Path, what: DasTrainJob, *, resume: bool = False, rounds: int = 99) -> DasTrainRun:
    run = DasTrainRun(path, what, "the command", resume=resume)
    with closing(start_workers(what, 1)) as workers:
        for _ in run.go_on(workers, lambda: run.iteration >= rounds):
            pass
    return run


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", job(iterations=3))
    trained(tmp_path / "parts", job(iterations=3), rounds=-1)
    trained(tmp_path / "parts", job(iterations=3), resume=True, rounds=1)
    parts = trained(tmp_path / "parts", job(iterations=3), resume=True)
    for name, value in whole.parameters.items():
        assert np.array_equal(parts.parameters[name], value), name
    assert [point["validation"] for point in parts.curve] == [point["validation"] for point in whole.curve]
    card = json.loads((tmp_path / "parts/checkpoint.json").read_text())
    assert card["command"] == "the command" and card["kind"] == "das"
    load_checkpoint(tmp_path / "parts/checkpoint")
    assert len((tmp_path / "parts/progress.jsonl").read_text().splitlines()) == 1 + 2 + 3  # warm-up, rules, rounds


def test_directories_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run to go on with"):
        DasTrainRun(tmp_path / "none", job(), "", resume=True)
    trained(tmp_path / "run", job(), rounds=1)
    with pytest.raises(ConfigError, match="a run is there already"):
        DasTrainRun(tmp_path / "run", job(), "", resume=False)
    with pytest.raises(ConfigError, match=r"another plan\.rate"):
        DasTrainRun(tmp_path / "run", job(rate=0.5), "", resume=True)
    (tmp_path / "run/state.npz").write_bytes(b"nothing")
    with pytest.raises(DovetailError, match="cannot be read"):
        DasTrainRun(tmp_path / "run", job(), "", resume=True)


def test_interrupted_while_it_prepares_it_begins_anew(tmp_path: Path) -> None:
    setting = GpuSetting("small", jobs=40)
    shape = replace(SMALL, kinds=setting.open().sequence(0).kind_name)
    what = replace(job(neighbours=2, iterations=1, rules=1), settings=(setting,), shape=shape)
    run = DasTrainRun(tmp_path / "parts", what, "", resume=False)
    with closing(start_workers(what, 1)) as workers:
        first = next(run.go_on(workers, lambda: False))  # and then somebody presses Ctrl-C
    assert first.prepared.startswith("neighbours: ")
    parts, whole = trained(tmp_path / "parts", what, resume=True), trained(tmp_path / "whole", what)
    assert whole.parameters["neighbours.device.feel"].any()
    for name, value in whole.parameters.items():
        assert np.array_equal(parts.parameters[name], value), name
