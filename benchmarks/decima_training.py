"""How fast training is, and where its time goes: playing (simulate, see, infer) and learning.

    python benchmarks/decima_training.py [--workers 2] [--iterations 3] [--json]

Each algorithm trains for a few iterations on batches of 20 jobs and 50 executors, as `dovetail train dag` does.  The
reference is the usual way of writing it, on one core: one world at a time, the network called in torch for every
decision, then one step of REINFORCE over the episode.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from dovetail import Arrivals, DagOptions, DagWorld, SeedTree, open_source
from dovetail.core.dag import DagDecision
from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.inputs import decima_input
from dovetail.schedulers.learned.decima.network import Chosen, DecimaNetwork, collate
from dovetail.schedulers.learned.decima.shape import SHAPES
from dovetail.training.dag_run import TrainJob, start_workers
from dovetail.training.dag_trainer import ALGORITHMS, Trainer, TrainPlan, fresh_state
from dovetail.training.dag_worker import Setting

SHAPE = SHAPES["informed"]
SETTING = Setting("tpch-like", Arrivals("batch"), DagOptions(executors=50))


def train(algorithm: str, workers: int, iterations: int) -> dict[str, float]:
    sequences = 16 if algorithm == "search" else 4  # the policy gradients play eight episodes of each
    plan = TrainPlan(algorithm=algorithm, lessons=1, iterations=iterations + 1, sequences=sequences)
    plan = plan.against("dag/hesrpt", 75.0, to_the_end=False)
    started_workers = start_workers(TrainJob(SETTING, SHAPE, plan), workers)
    trainer = Trainer(plan, started_workers, fresh_state(SHAPE, 0))
    trainer.validate = lambda: {"validation_jct_s": 0.0, "validation_cost": 0.0}  # type: ignore[method-assign]
    seen = [progress.figures for progress in trainer.run() if progress.phase == "learning"][1:]  # compiled by now
    started_workers.close()
    total = {name: sum(figures[name] for figures in seen) for name in ("decisions", "collect_s", "learn_s")}
    seconds = total["collect_s"] + total["learn_s"]
    return {
        "decisions_per_s": total["decisions"] / seconds,
        "playing_pct": 100 * total["collect_s"] / seconds,
        "learning_pct": 100 * total["learn_s"] / seconds,
    }


def one_world_at_a_time(decisions: int = 300) -> float:
    """Decisions per second of the reference."""
    torch.set_num_threads(1)
    network, features = DecimaNetwork(SHAPE), feature_set(SHAPE.features)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-4)
    workload = open_source("tpch-like").sequence(20, Arrivals("batch"), SeedTree(100_000))
    world = DagWorld(workload, DagOptions(executors=50), SeedTree(100_000))
    rng = np.random.default_rng(0)
    view = world.advance()
    kept = []
    for step in range(decisions + 10):
        if step == 10:  # what is compiled is compiled by now
            kept, started = [], time.perf_counter()
        given = decima_input(view, world.info, features)
        node = int(rng.choice(np.flatnonzero(given.valid)))
        limit = int(given.held[node]) + 1
        chosen = Chosen(np.array([0]), np.array([node]), np.array([-1]), np.array([limit]))
        with torch.no_grad():
            network(collate([given], [chosen]))
        kept.append((given, chosen))
        world.apply([DagDecision(int(given.stage[node]), limit)])
        view = world.advance()
    judged = network(collate([given for given, _ in kept], [chosen for _, chosen in kept]))
    (-judged.log_probability).sum().backward()
    optimiser.step()
    return decisions / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    reference = one_world_at_a_time()
    figures = {name: train(name, args.workers, args.iterations) for name in ALGORITHMS}
    for found in figures.values():
        found["ratio_to_reference"] = found["decisions_per_s"] / reference
    if args.json:
        print(json.dumps({"workers": args.workers, "reference_decisions_per_s": reference, **figures}, indent=2))
        return
    print(f"reference, one world at a time in torch: {reference:,.0f} decisions/s")
    for name, found in figures.items():
        print(
            f"{name:<10} {found['decisions_per_s']:>7,.0f} decisions/s with {args.workers} workers "
            f"({found['ratio_to_reference']:.0f} x the reference); "
            f"{found['playing_pct']:.0f} % playing, {found['learning_pct']:.0f} % learning"
        )


if __name__ == "__main__":
    main()
