"""Episodes played by a policy in the batched simulator, kept for learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.dag import Floats, Reason
from dovetail.features import FeatureSet
from dovetail.schedulers.learned.decima.forward import Choices, PackedNetwork, choose
from dovetail.schedulers.learned.decima.inputs import DecimaInput, class_sizes, decima_input
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.dag.result import DagResult
from dovetail.workloads.dag import DagCatalogue


@dataclass(frozen=True)
class Step:
    """All worlds at one decision each; a world that has ended has node -1."""

    given: DecimaInput
    chosen: Choices
    time_s: Floats  # (B,)
    costs: Floats  # (B, 5) integrals until now


@dataclass(frozen=True)
class Rollout:
    """B episodes from start to end, step by step."""

    steps: list[Step]
    results: list[DagResult]
    tags: list[int]  # of the episodes; equal tags: the same job sequence
    end_costs: Floats  # (B, 5)
    end_s: Floats  # (B,)
    decisions: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "decisions", int(sum((step.chosen.node >= 0).sum() for step in self.steps)))

    @property
    def avg_jct_s(self) -> float:
        """Mean over episodes of the mean completion time; jobs cut off by the horizon count until then."""
        return float(np.mean([episode_jct_s(result) for result in self.results])) if self.results else 0.0


def episode_jct_s(result: DagResult) -> float:
    """Mean time in the system of the jobs that arrived; a job cut off by the horizon counts until then."""
    arrival_s = result.workload.arrival_s
    finish_s = np.where(np.isnan(result.finish_s), result.end_s, result.finish_s)
    arrived = arrival_s <= result.end_s
    return float((finish_s - arrival_s)[arrived].mean()) if arrived.any() else 0.0


def play(
    catalogue: DagCatalogue,
    options: DagOptions,
    network: PackedNetwork,
    features: FeatureSet,
    episodes: Sequence[Episode],
    rng: np.random.Generator | None,
    *,
    keep_steps: bool = True,
) -> Rollout:
    """Play each episode in a world of its own.  Without `rng` the likeliest choice is taken every time."""
    worlds = len(episodes)
    waiting = dict(enumerate(episodes))
    batch = DagBatch(catalogue, options, lambda w: waiting.pop(w, None), worlds)
    sizes = class_sizes(batch.info)
    steps: list[Step] = []
    results: dict[int, DagResult] = {}
    views, finished = batch.start()
    while True:
        for end in finished:
            results[end.world] = end.result
        if not views.active.any():
            break
        given = decima_input(views, batch.info, features, classes=sizes)
        chosen = choose(network, given, None if rng is None else rng.random((worlds, 3)))
        if keep_steps:
            steps.append(Step(given, chosen, views.time_s, views.costs))
        stage = np.where(chosen.node >= 0, given.stage[chosen.node], -1)
        views, finished = batch.step(stage, chosen.limit, chosen.executor_class, int(Reason.LEARNED))
    batch.close()
    ordered = [results[w] for w in range(worlds)]
    return Rollout(
        steps=steps,
        results=ordered,
        tags=[episode.tag for episode in episodes],
        end_costs=np.array([[result.costs[name] for name in COSTS] for result in ordered]).reshape(-1, len(COSTS)),
        end_s=np.array([result.end_s for result in ordered]),
    )
