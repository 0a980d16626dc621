"""Learning from forks finds what is known to be best, and a run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.gpu import Floats
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.features.gpu import JOB_COLUMNS, START_COLUMNS
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import MOST_READY, DasShape, Parameters
from dovetail.sim.gpu import GpuOptions
from dovetail.training.das_evolution import evolved_of, with_evolved
from dovetail.training.das_plan import DasPlan
from dovetail.training.das_run import DasTrainJob, DasTrainRun, costs_of, start_workers
from dovetail.training.das_worker import DasWorker, Task
from dovetail.training.evolution import EvolutionState
from dovetail.training.workers import Workers
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
    """No order to begin with, and whatever fits starts, as little as the agent may think of it."""
    fresh = shape.fresh(np.random.default_rng(0))
    start = np.where(np.array(START_COLUMNS) == "one", 20.0 * MOST_READY, 0.0)
    return fresh | {"order.base": np.zeros_like(fresh["order.base"]), "start.base": start}


def completion_s(workers: Workers, parameters: Parameters, tasks: Sequence[Task]) -> Floats:
    found: Floats = costs_of(workers, [(parameters, task) for task in tasks])[:, 0]
    return found


def way_to_shortest_first(plan: DasPlan) -> float:
    """The share of it that rounds of this plan go, from first come, first served."""
    run = DasTrainRun(Path("unused"), DasTrainJob((QUEUE,), SMALL, plan), "", resume=False)
    run.parameters = without_rules(SMALL)
    best = dict(run.parameters)
    best["order.base"] = SMALL.fresh(np.random.default_rng(0))["order.base"]
    held_out = [(0, seed) for seed in range(12)]
    with closing(start_workers(run.job, 1)) as workers:
        before = completion_s(workers, run.parameters, held_out)
        shortest_first = completion_s(workers, best, held_out)
        for _ in range(plan.iterations):
            run._step(workers)
            run.iteration += 1
        after = completion_s(workers, run.parameters, held_out)
    return float((before - after).mean() / (before - shortest_first).mean())


def test_it_learns_to_take_the_shortest_first() -> None:
    closed = way_to_shortest_first(
        DasPlan(rules=0, iterations=20, sequences=8, episodes=24, warm_up=0, rate=0.03, fee=0.0)
    )
    assert closed > 0.8, f"only {100 * closed:.0f} % of the way from first come to shortest first"


def test_evolution_finds_it_too() -> None:
    plan = DasPlan(rules=12, pairs=16, iterations=0, warm_up=0, fee=0.0)
    run = DasTrainRun(Path("unused"), DasTrainJob((QUEUE,), SMALL, plan), "", resume=False)
    best, run.parameters = dict(run.parameters), without_rules(SMALL)
    run.evolution, run.average = EvolutionState.start(evolved_of(run.parameters)), evolved_of(run.parameters)
    held_out = [(0, seed) for seed in range(12)]
    with closing(start_workers(run.job, 1)) as workers:
        before, shortest_first = (completion_s(workers, each, held_out) for each in (run.parameters, best))
        while run.iteration < 0:
            run._evolve(workers)
            run.iteration += 1
        after = completion_s(workers, with_evolved(run.parameters, run.evolution.parameters), held_out)
    closed = (before - after).mean() / (before - shortest_first).mean()
    assert closed > 0.7, f"only {100 * closed:.0f} % of the way from first come to shortest first"


def test_the_gradient_points_where_the_cost_of_the_rule_falls() -> None:
    """Against finite differences: the same sequences, the rule changed a little, both ways."""
    plan = DasPlan(episodes=60, fee=0.0, speed=0.0, patience=100.0)
    worker, tasks = DasWorker([QUEUE], SMALL, plan), [(0, seed) for seed in range(1000, 1012)]
    parameters = without_rules(SMALL)
    parameters["order.base"] = parameters["order.base"] + 0.3 * np.random.default_rng(0).normal(size=len(JOB_COLUMNS))
    worker.play(parameters, tasks, 0, False)
    found = worker.gradient(parameters, False)[0]["order.base"]
    columns = [JOB_COLUMNS.index(name) for name in ("processors of a worker", "memory of a worker", "time left")]

    def cost(column: int, step: float) -> float:
        changed = parameters["order.base"].copy()
        changed[column] += step
        network = DasForward(SMALL, parameters | {"order.base": changed})
        return sum(
            float(worker._run((0, seed), Das(network=network)).completion_s.mean()) for seed in range(1000, 1100)
        )

    slope = np.array([cost(column, 0.3) - cost(column, -0.3) for column in columns])
    agree = slope @ found[columns] / np.linalg.norm(slope) / np.linalg.norm(found[columns])
    assert slope[2] > 0.0 and agree > 0.7, f"finite differences {slope}, gradient {found[columns]}"


def test_gradients_are_those_of_the_loss() -> None:
    """A small step against the gradient makes smaller what is minimised: how unlikely speeds are, errors of waits."""
    worker = DasWorker([GpuSetting("small", jobs=40, load=2.0)], SMALL, DasPlan(speed=1.0))
    parameters = SMALL.fresh(np.random.default_rng(1))
    worker.play(parameters, [(0, 1000)], 0, True)
    gradient, figures = worker.gradient(parameters, True)
    changed = {name: value - 1e-5 * gradient[name] for name, value in parameters.items()}
    _, after = worker.gradient(changed, True)
    assert after["speed"] < figures["speed"] and figures["known"] == 40
    assert after["wait"] < figures["wait"] and figures["waited"] > 0


def test_the_first_step_is_within_the_clip() -> None:
    worker = DasWorker([GpuSetting("small", jobs=40, arrivals=GpuArrivals("batch"))], SMALL, DasPlan(episodes=6))
    parameters = SMALL.fresh(np.random.default_rng(1))
    worker.play(parameters, [(0, 1000)], 0, False)
    _, figures = worker.gradient(parameters, False)
    for agent in ("order", "start", "place"):
        assert figures[f"{agent}s"] == 1.0
        assert figures[f"outside_{agent}"] == 0.0 and figures[f"gained_{agent}"] == pytest.approx(0.0, abs=1e-9)


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
    return DasTrainJob((GpuSetting("small", jobs=20),), SMALL, DasPlan(**plan))  # type: ignore[arg-type]


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


def test_it_goes_on_from_a_network(tmp_path: Path) -> None:
    first = trained(tmp_path / "first", job(iterations=1))
    what = replace(job(warm_up=0, rules=0, iterations=1), start=str(tmp_path / "first/checkpoint"))
    run = DasTrainRun(tmp_path / "next", what, "", resume=False)
    for name, value in load_checkpoint(tmp_path / "first/checkpoint").network.parameters.items():
        assert np.array_equal(run.parameters[name], value), name
    after = trained(tmp_path / "next", what, resume=False)
    assert any(not np.array_equal(after.parameters[name], value) for name, value in first.best_parameters.items())


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


def test_it_goes_on_with_other_parts_and_learns_to_say_what_its_rules_cannot(tmp_path: Path) -> None:
    """Rules that see the machines are taken away; a network that hears of them makes up for it, a deaf one cannot."""
    first = trained(tmp_path / "first", job(iterations=0, rules=0, warm_up=0, neighbours=0))
    last: dict[bool, float] = {}
    for communicate in (True, False):
        shape = replace(SMALL, aware=False, communicate=communicate)
        what = replace(
            job(iterations=0, rules=0, warm_up=2, sequences=2), shape=shape, start=str(tmp_path / "first/checkpoint")
        )
        run = trained(tmp_path / str(communicate), what)
        for name in ("start.base", "place.base"):
            assert np.allclose(run.parameters[name], first.parameters[name], atol=1e-6), name
        lines = [json.loads(line) for line in (tmp_path / str(communicate) / "progress.jsonl").read_text().splitlines()]
        last[communicate] = [line["ready"] for line in lines if "warm_up" in line][-1]
    assert last[True] < 0.5 * last[False]
