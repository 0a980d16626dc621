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
from dovetail.features.gpu import JOB_COLUMNS
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.kernel import Nudge
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.sim.gpu import GpuOptions
from dovetail.training.das_run import DasTrainJob, DasTrainRun, scores, start_workers
from dovetail.training.das_worker import DasWorker, saved
from dovetail.training.mappo import MappoPlan, weigh_later
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
    return fresh | {name: np.zeros_like(fresh[name]) for name in ("order.base", "start.base")}


def test_it_learns_to_take_the_shortest_first() -> None:
    plan = MappoPlan(rules=0, iterations=20, sequences=4, episodes=8, warm_up=0, rate=0.03, epochs=4, fee=0.0)
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


def test_the_gradient_points_where_the_cost_of_the_noisy_policy_falls() -> None:
    """Against finite differences: the same noise, the rule changed a little, both ways."""
    plan = MappoPlan(episodes=200, fee=0.0, speed=0.0)
    worker, tasks = DasWorker([QUEUE], SMALL, plan), [(0, seed) for seed in range(1000, 1004)]
    parameters = without_rules(SMALL)
    worker.play(parameters, tasks, 0, False)
    found = worker.gradient(parameters, False)[0]["order.base"]
    columns = [JOB_COLUMNS.index(name) for name in ("processors of a worker", "memory of a worker", "time left")]

    def cost(column: int, step: float) -> float:
        changed = parameters["order.base"].copy()
        changed[column] += step
        network, total = DasForward(SMALL, parameters | {"order.base": changed}), 0.0
        for task in tasks:
            rng = np.random.default_rng(7)
            for _ in range(100):
                nudge = Nudge(plan.order_noise * rng.standard_normal(16), np.zeros(16), np.zeros((16, 1)))
                total += float(worker._run(task, Das(network=network, nudge=nudge)).completion_s.mean())
        return total

    slope = np.array([cost(column, 1.0) - cost(column, -1.0) for column in columns])
    agree = slope @ found[columns] / np.linalg.norm(slope) / np.linalg.norm(found[columns])
    assert slope[2] > 0.0 and agree > 0.7, f"finite differences {slope}, gradient {found[columns]}"


def test_gradients_are_those_of_the_loss() -> None:
    """A small step against the gradient makes what is minimised smaller: how unlikely speeds are, alone."""
    worker = DasWorker([GpuSetting("small", jobs=40)], SMALL, MappoPlan(speed=1.0))
    parameters = SMALL.fresh(np.random.default_rng(1))
    worker.play(parameters, [(0, 1000)], 0, True)
    gradient, figures = worker.gradient(parameters, True)
    changed = {name: value - 1e-5 * gradient[name] for name, value in parameters.items()}
    _, after = worker.gradient(changed, True)
    assert after["speed"] < figures["speed"] and figures["known"] == 40


def test_the_first_step_changes_no_ratio() -> None:
    worker = DasWorker([GpuSetting("small", jobs=40, arrivals=GpuArrivals("batch"))], SMALL, MappoPlan(episodes=2))
    parameters = SMALL.fresh(np.random.default_rng(1))
    worker.play(parameters, [(0, 1000)], 0, False)
    _, figures = worker.gradient(parameters, False)
    assert figures["orders"] > 0 and figures["places"] > 0
    for agent in ("order", "start", "place"):
        assert figures[f"outside_{agent}"] == 0.0 and figures[f"moved_{agent}"] == pytest.approx(0.0, abs=1e-9)


def test_a_job_is_judged_by_those_it_met_and_by_later_ones_less() -> None:
    arrival_s, finish_s = np.array([0.0, 10.0, 20.0]), np.array([5.0, 100.0, 30.0])
    weights = weigh_later(arrival_s, finish_s, arrival_s, 10.0)
    assert weights[1, 0] == 0.0  # it was gone
    assert weights[1, 1] == 1.0 and weights[1, 2] == pytest.approx(np.exp(-1.0)) and weights[2, 1] == 1.0
    found = saved(np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 3.0]]), weights)
    assert found[0, 2] > found[0, 1] > 0.0 > found[1, 1] > found[1, 2]


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
