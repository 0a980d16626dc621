"""A worker: plays episodes with the weights it is given, keeps them, and says which way the weights should move.

Only weights, gradients and figures travel between the trainer and its workers; what was seen stays where it was seen.
So one worker in this process, several processes, and actors on other machines are driven in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dovetail.core.dag import Floats
from dovetail.core.seeds import SeedTree
from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.forward import pack
from dovetail.schedulers.learned.decima.network import Chosen, DecimaNetwork, collate
from dovetail.schedulers.learned.decima.shape import DecimaShape
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.batch import Episode
from dovetail.sim.dag.objective import OBJECTIVES, Objective
from dovetail.training.baseline import Trace, advantages
from dovetail.training.dag_rollout import Rollout, Step, episode_jct_s, play
from dovetail.training.dag_search import Searched, SearchPlan, advantages_of, as_chosen, search_episodes
from dovetail.training.losses import imitation_loss, ppo_loss, reinforce_loss, search_loss
from dovetail.training.teacher import teacher_steps
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.source import open_source

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Task:
    """Job sequences to play: one group for each seed, `copies` episodes in each."""

    seeds: tuple[int, ...]
    copies: int
    jobs: int
    horizon_s: float = float("inf")
    draws: int = 0  # seed of what the policy draws and of the order in which it learns


@dataclass(frozen=True)
class Setting:
    """What is learned for: the workload, the cluster, the objective."""

    workload: str = "tpch-like"
    arrivals: Arrivals = field(default_factory=Arrivals)
    options: DagOptions = field(default_factory=DagOptions)
    objective: Objective = OBJECTIVES["average-jct"]


@dataclass(frozen=True)
class Credit:
    """How decisions are given credit."""

    baseline: str = "input"
    rate: float = 0.0
    patience_s: float = float("inf")
    standardise: bool = True


@dataclass(frozen=True)
class Update:
    """What a gradient is taken of."""

    algorithm: str = "ppo"  # or reinforce, search, imitation
    clip: float = 0.2
    entropy: float = 0.0


@dataclass(frozen=True)
class Gradient:
    """A gradient summed over `decisions`, and sums of figures about them."""

    gradient: Weights
    decisions: int
    figures: dict[str, float]


class DagWorker:
    """Worker `number` of a run."""

    def __init__(self, setting: Setting, shape: DecimaShape, number: int = 0) -> None:
        torch.set_num_threads(1)
        self.setting = setting
        self.shape = shape
        self.source = open_source(setting.workload)
        self.features = feature_set(shape.features)
        self.network = DecimaNetwork(shape)
        self.number = number
        self.rng = np.random.default_rng(number)
        self._steps: list[Step] = []
        self._searched: list[Searched] = []
        self._searched_gain: list[Floats] = []
        self._advantage: list[Floats] = []  # by step (B,), nan where no decision was taken
        self._order = np.zeros(0, dtype=np.int64)  # of the steps; one that took a lost worker's place has none
        self._search_lot = 0

    # --- what the trainer asks for -----------------------------------------------------------------------------

    def collect(self, weights: Weights, task: Task, credit: Credit) -> dict[str, float]:
        """Play the task and keep it for `gradient`."""
        started = time.perf_counter()
        self._load(weights)
        rollout = play(
            self.source.catalogue,
            self.setting.options,
            pack(self.shape, self.network.parameter_arrays()),
            self.features,
            self._episodes(task),
            self.rng,
        )
        self._steps = rollout.steps
        self._searched = []
        traces, worlds = self._traces(rollout)
        found = advantages(
            traces,
            baseline=credit.baseline,
            rate=credit.rate,
            patience_s=credit.patience_s,
            standardise=credit.standardise,
        )
        self._advantage = spread_over_steps(found, worlds, rollout)
        return {
            "decisions": rollout.decisions,
            "episodes": len(rollout.results),
            "jct_s": rollout.avg_jct_s * len(rollout.results),
            "cost": float((rollout.end_costs @ self.setting.objective.prices()).sum()),
            "time_s": float(rollout.end_s.sum()),
            "collect_s": time.perf_counter() - started,
        }

    def evaluate(self, weights: Weights, seeds: Sequence[int], jobs: int) -> tuple[Floats, Floats]:
        """(seeds,), (seeds,): average completion time and objective of each sequence, always choosing the likeliest."""
        self._load(weights)
        episodes = self._episodes(Task(tuple(seeds), 1, jobs))
        rollout = play(
            self.source.catalogue,
            self.setting.options,
            pack(self.shape, self.network.parameter_arrays()),
            self.features,
            episodes,
            None,
            keep_steps=False,
        )
        jct_s = np.array([episode_jct_s(result) for result in rollout.results])
        return jct_s, rollout.end_costs @ self.setting.objective.prices()

    def search(self, weights: Weights, task: Task, plan: SearchPlan) -> dict[str, float]:
        """Play the task, try several decisions at some of its states, and keep what came of them."""
        started = time.perf_counter()
        self._load(weights)
        self._steps = []
        found, decisions, results = search_episodes(
            self.source.catalogue,
            self.setting.options,
            pack(self.shape, self.network.parameter_arrays()),
            self.features,
            self._episodes(task),
            self.setting.objective,
            plan,
            self.rng,
        )
        self._searched = (self._searched + found)[-plan.memory :]
        self._searched_gain = advantages_of(self._searched)
        self._search_lot = plan.lot
        return {
            "decisions": decisions,
            "episodes": len(results),
            "searched": len(found),
            "kept": len(self._searched),
            "jct_s": float(sum(episode_jct_s(result) for result in results)),
            "collect_s": time.perf_counter() - started,
        }

    def watch(self, teacher: str, task: Task) -> dict[str, float]:
        """Let a heuristic play the task, and keep what it did."""
        started = time.perf_counter()
        catalogue, options = self.source.catalogue, self.setting.options
        self._steps = teacher_steps(catalogue, options, self.features, teacher, self._episodes(task))
        self._searched = []
        self._advantage = [np.ones(len(step.time_s)) for step in self._steps]
        decisions = sum(int((step.chosen.node >= 0).sum()) for step in self._steps)
        return {"decisions": decisions, "collect_s": time.perf_counter() - started}

    def gradient(self, weights: Weights, update: Update, part: int, parts: int) -> Gradient:
        """The gradient over one part of the steps; which steps, is drawn anew with part 0."""
        self._load(weights)
        self.network.zero_grad(set_to_none=False)
        figures: dict[str, float] = {}
        decisions = 0
        if update.algorithm == "search":
            count = min(self._search_lot, len(self._searched))
            mine = self.rng.choice(len(self._searched), count, replace=False).tolist()
            for some in (mine[k : k + SEARCHED_LOT] for k in range(0, count, SEARCHED_LOT)):
                decisions += self._accumulate_search(some, update, figures)
            return Gradient(self._flat_gradient(), decisions, figures)
        if part == 0:
            self._order = self.rng.permutation(len(self._steps))
        mine = self._order[part::parts].tolist()
        for steps in _lots([self._steps[k] for k in mine], [self._advantage[k] for k in mine]):
            decisions += self._accumulate(steps, update, figures)
        return Gradient(self._flat_gradient(), decisions, figures)

    # --- inside ------------------------------------------------------------------------------------------------

    def _accumulate(self, lot: tuple[list[Step], list[Floats]], update: Update, figures: dict[str, float]) -> int:
        steps, advantage = lot
        batch = collate([step.given for step in steps], [Chosen.taken(step.chosen) for step in steps])
        if batch.decisions == 0:
            return 0
        taken = np.concatenate([step.chosen.node >= 0 for step in steps])
        gain = torch.from_numpy(np.concatenate(advantage)[taken].astype(np.float32))
        judged = self.network(batch)
        if update.algorithm == "imitation":
            loss = imitation_loss(judged)
        elif update.algorithm == "reinforce":
            loss = reinforce_loss(judged, gain)
        else:
            old = np.concatenate([step.chosen.log_probability for step in steps])[taken].astype(np.float32)
            before = torch.from_numpy(old)
            loss = ppo_loss(judged, gain, before, update.clip)
            moved = (judged.log_probability - before).detach()
            _add(figures, "kl", float((moved.exp() - 1.0 - moved).sum()))
            _add(figures, "clipped", float(((moved.exp() - 1.0).abs() > update.clip).sum()))
        total = (loss - update.entropy * judged.entropy).sum()
        total.backward()
        _add(figures, "loss", float(loss.detach().sum()))
        _add(figures, "entropy", float(judged.entropy.detach().sum()))
        return batch.decisions

    def _accumulate_search(self, states: Sequence[int], update: Update, figures: dict[str, float]) -> int:
        searched = [self._searched[k] for k in states]
        gain = torch.from_numpy(np.concatenate([self._searched_gain[k] for k in states]).astype(np.float32))
        batch = collate([one.given for one in searched], [as_chosen(one) for one in searched])
        judged = self.network(batch)
        loss = search_loss(judged, gain, batch.world, batch.worlds)
        last = torch.cumsum(torch.bincount(batch.world), 0) - 1  # of each state: its entropy counts once
        (loss.sum() - update.entropy * judged.entropy[last].sum()).backward()
        _add(figures, "loss", float(loss.detach().sum()))
        _add(figures, "entropy", float(judged.entropy.detach()[last].sum()))
        _add(figures, "regret", float(_regret(gain, batch.world.numpy(), loss.detach())))
        return len(states)

    def _episodes(self, task: Task) -> list[Episode]:
        self.rng = np.random.default_rng([self.number, task.draws])
        found = []
        for seed in task.seeds:
            tree = SeedTree(seed)
            workload = self.source.sequence(task.jobs, self.setting.arrivals, tree)
            found += [Episode(workload, tree, task.horizon_s, tag=seed)] * task.copies
        return found

    def _traces(self, rollout: Rollout) -> tuple[list[Trace], list[Any]]:
        """Each episode's decisions, and at which steps they were."""
        prices = self.setting.objective.prices()
        size = (len(rollout.steps), len(rollout.tags))  # no steps: nobody had anything to decide before the horizon
        took = np.array([step.chosen.node >= 0 for step in rollout.steps]).reshape(size)
        times = np.array([step.time_s for step in rollout.steps]).reshape(size)
        paid = np.array([step.costs @ prices for step in rollout.steps]).reshape(size)
        total = rollout.end_costs @ prices
        traces, where = [], []
        for w, group in enumerate(rollout.tags):
            steps = np.flatnonzero(took[:, w])
            where.append(steps)
            traces.append(Trace(times[steps, w], paid[steps, w], float(rollout.end_s[w]), float(total[w]), group))
        return traces, where

    def _load(self, weights: Weights) -> None:
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.tensor(weights), self.network.parameters())

    def _flat_gradient(self) -> Weights:
        parts = [
            torch.zeros_like(one).flatten() if one.grad is None else one.grad.flatten()
            for one in self.network.parameters()
        ]
        return torch.cat(parts).numpy().copy()


def spread_over_steps(found: Sequence[Floats], where: Sequence[Any], rollout: Rollout) -> list[Floats]:
    table = np.full((len(rollout.steps), len(found)), np.nan)
    for w, (values, steps) in enumerate(zip(found, where, strict=True)):
        table[steps, w] = values
    return list(table)


def _regret(gain: torch.Tensor, state: NDArray[np.int64], loss: torch.Tensor) -> float:
    """Summed over states: the best advantage, less what the policy can expect."""
    best = np.full(int(state[-1]) + 1, -np.inf)
    np.maximum.at(best, state, gain.numpy())
    return float(best.sum() + loss.sum())


LOT = 20_000  # nodes that go through the network at once
SEARCHED_LOT = 40  # states, each with all decisions tried there


def _lots(steps: Sequence[Step], advantage: Sequence[Floats]) -> Any:
    """Steps in portions that the network can take at once."""
    lot: tuple[list[Step], list[Floats]] = ([], [])
    nodes = 0
    for step, gain in zip(steps, advantage, strict=True):
        lot[0].append(step)
        lot[1].append(gain)
        nodes += len(step.given.nodes)
        if nodes >= LOT:
            yield lot
            lot, nodes = ([], []), 0
    if lot[0]:
        yield lot


def _add(figures: dict[str, float], name: str, value: float) -> None:
    figures[name] = figures.get(name, 0.0) + value
