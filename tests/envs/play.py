"""Playing episodes at random, among what the masks allow."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from dovetail.core.dag import ExecutorClass
from dovetail.sim.dag import DagOptions
from dovetail.workloads import DagSource
from dovetail.workloads.build import CatalogueBuilder
from dovetail.workloads.dag import REST

LAYERED = "layered:dags=6,layers=[1,4],width=[1,3],tasks.tasks=[1,12]"
SMALL = {"workload": LAYERED, "jobs": 4, "executors": 5}
TWO_SIZES = DagOptions(classes=(ExecutorClass(2, cpu=1.0, memory=0.5), ExecutorClass(3, cpu=2.0, memory=1.0)))
SETTINGS: dict[str, dict[str, Any]] = {
    "batch": SMALL,
    "poisson": {**SMALL, "jobs": 8, "arrivals": "poisson", "load": 0.8, "features": "wide-1"},
    "cut off": {**SMALL, "jobs": 8, "arrivals": "poisson", "interval_s": 2.0, "horizon_s": 25.0},
    "two sizes": {"workload": LAYERED, "jobs": 4, "options": TWO_SIZES},
    "troubles": {
        "workload": LAYERED,
        "jobs": 4,
        "options": DagOptions(
            executors=5, mean_time_to_failure_s=20.0, repair_s=5.0, straggler_probability=0.1, straggler_factor=4.0
        ),
    },
    "deadlines": {
        **SMALL,
        "weights": (1.0, 5.0),
        "deadlines": (1.0, 3.0),
        "objective": "deadline",
        "features": "wide-1",
    },
    "no room": {**SMALL, "jobs": 8, "max_stages": 14},
}


def lengths(*seconds: float) -> DagSource:
    """Jobs of one task each, that take so long: on one executor, shortest first is the best order."""
    builder = CatalogueBuilder("lengths")
    for length in seconds:
        builder.start_dag(f"{length:g} s")
        builder.add_stage("only", tasks=1)
        builder.add_durations(REST, 1, np.array([length]))
    return DagSource("lengths", builder.build())


def random_action(info: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
    stage = rng.choice(np.flatnonzero(info["stage_mask"]))
    limit = 1 + rng.choice(np.flatnonzero(info["limit_mask"][stage]))
    return np.array([stage, limit])


def play(env: gymnasium.Env, seed: int, options: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """The steps of one episode under a masked random policy, the reset included: (obs, reward, ends, info)."""
    rng = np.random.default_rng(seed)
    observation, info = env.reset(seed=seed, options=options)
    steps = [(observation, 0.0, False, False, info)]
    while not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(random_action(steps[-1][-1], rng)))
    return steps
