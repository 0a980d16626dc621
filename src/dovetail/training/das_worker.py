"""Plays DAS on job sequences and works out gradients from what it saw; one of these lives in every worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting, OpenGpuSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.network import DasNetwork
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import DasShape, Parameters
from dovetail.sim.gpu import GpuResult, GpuScheduler
from dovetail.training.baseline import Trace, advantages
from dovetail.training.das_explorer import Explorer
from dovetail.training.mappo import Critic, MappoPlan, OrderBatch, PlaceBatch, surrogate
from dovetail.training.neighbours import Samples, Witness

Task = tuple[int, int]
"""Which setting, and the seed of the job sequence."""
PIECE = 512  # turns whose gradient is worked out at once

CRITIC = "critic."
AT_RANDOM = ("gpu/random+random", "gpu/random+pack")


@dataclass(frozen=True)
class Score:
    """What a network came to on a sequence."""

    avg_jct_s: float
    avg_fee: float

    @classmethod
    def of(cls, result: GpuResult) -> Score:
        return cls(float(result.completion_s.mean()), float(result.fee.mean()))


class DasWorker:
    """Settings in memory, and the turns of the last round."""

    def __init__(self, settings: Sequence[GpuSetting], shape: DasShape, plan: MappoPlan) -> None:
        torch.set_num_threads(1)
        self._opened: list[OpenGpuSetting] = [setting.open() for setting in settings]
        self._shape = shape
        self._plan = plan
        self._orders: list[OrderBatch] = []
        self._places: list[PlaceBatch] = []
        self._old: tuple[list[torch.Tensor], list[torch.Tensor]] = ([], [])

    def score_each(self, pairs: Sequence[tuple[Parameters, Task]]) -> list[Score]:
        """What each network comes to on its job sequence, without exploring."""
        return [Score.of(self._run(task, Das(network=self._forward(parameters)))) for parameters, task in pairs]

    def witness(self, tasks: Sequence[Task], seed: int) -> Samples | None:
        """What is seen of neighbours while jobs come at random; packed on every other sequence, so that they meet."""
        found = []
        for number, task in enumerate(tasks):
            scheduler = Witness(SCHEDULERS.create(AT_RANDOM[number % len(AT_RANDOM)]), self._shape.kinds)
            self._run(task, scheduler, SeedTree(seed).child("random", number).generator())
            found.append(scheduler.samples())
        return Samples.together(found) if found else None

    def play(self, parameters: Parameters, tasks: Sequence[Task], seed: int) -> dict[str, float]:
        """A round: each sequence several times.  Turns are kept, figures returned."""
        plan = self._plan
        self._orders, self._places = [], []
        jct, fee, turns = [], [], 0
        for number, task in enumerate(tasks):
            players, results = [], []
            for episode in range(plan.episodes):
                rng = SeedTree(seed).child("explore", number, episode).generator()
                players.append(Explorer(self._forward(parameters), rng))
                results.append(self._run(task, players[-1]))
            mean_jct_s = float(np.mean([result.completion_s.mean() for result in results]))
            mean_fee = max(float(np.mean([result.fee.mean() for result in results])), 1e-9)
            traces = [
                trace(result, np.array(player.time_s), mean_jct_s, plan.fee / mean_fee)
                for result, player in zip(results, players, strict=True)
            ]
            found = advantages(traces, patience_s=plan.patience * mean_jct_s)
            for player, result, advantage in zip(players, results, found, strict=True):
                self._keep(player, result, advantage)
                turns += len(player.ordered) + len(player.placed)
            jct.append(mean_jct_s)
            fee.append(mean_fee)
        with torch.no_grad():
            network = DasNetwork(self._shape, parameters)
            self._old = (
                [batch.log_probability(network)[0] for batch in self._orders],
                [batch.judged(network)[0] for batch in self._places],
            )
        return {"jct_s": float(np.mean(jct)), "fee": float(np.mean(fee)), "turns": float(turns)}

    def gradient(self, parameters: Parameters, speeds_only: bool) -> tuple[Parameters, dict[str, float]]:
        """Of the round's loss, summed over turns; and figures, summed too."""
        plan = self._plan
        network, critic = DasNetwork(self._shape, _without_critic(parameters)), Critic()
        critic.load_state_dict(
            {name[len(CRITIC) :]: torch.as_tensor(value) for name, value in parameters.items() if _is_critic(name)}
        )
        figures: dict[str, float] = {}

        def add(**values: torch.Tensor | float) -> None:
            for name, value in values.items():
                figures[name] = figures.get(name, 0.0) + float(torch.as_tensor(value).detach())

        for orders, old in zip(self._orders, self._old[0], strict=True):
            if speeds_only:
                break
            log_probability, entropy = orders.log_probability(network)
            expected = critic(orders.states)
            error = (orders.advantage - expected) ** 2
            advantage = orders.advantage - expected.detach()
            gained, outside, moved = surrogate(log_probability, old, advantage, torch.ones_like(old), plan.clip)
            loss = -gained - plan.entropy * entropy.sum() + plan.critic * error.sum()
            loss.backward()
            add(gained_order=gained, outside_order=outside, moved_order=moved, critic=error.sum(), orders=len(old))
        for places, old in zip(self._places, self._old[1], strict=True):
            log_probability, entropy, speed = places.judged(network)
            error = (speed - places.log_ratio) ** 2 * places.known
            loss = plan.speed * error.sum()
            add(speed=error.sum(), known=places.known.sum())
            if not speeds_only:
                gained, outside, moved = surrogate(log_probability, old, places.advantage, places.matters, plan.clip)
                loss = loss - gained - plan.entropy * (entropy * places.matters).sum()
                add(gained_place=gained, outside_place=outside, moved_place=moved, places=places.matters.sum())
            loss.backward()  # type: ignore[no-untyped-call]
        found = {name: _gradient(value) for name, value in network.named.items()}
        found |= {f"{CRITIC}{name}": _gradient(value) for name, value in critic.named_parameters()}
        return found, figures

    def _keep(self, player: Explorer, result: GpuResult, advantage: Floats) -> None:
        ratio = np.log(np.maximum(result.relative_speed, 1e-3))
        for start in range(0, len(player.ordered), PIECE):
            orders = player.ordered[start : start + PIECE]
            self._orders.append(OrderBatch(orders, advantage[[turn.decision for turn in orders]]))
        for start in range(0, len(player.placed), PIECE):
            places = player.placed[start : start + PIECE]
            jobs = [turn.job_id for turn in places]
            self._places.append(PlaceBatch(places, advantage[[turn.decision for turn in places]], ratio[jobs]))

    def _run(self, task: Task, scheduler: GpuScheduler, rng: np.random.Generator | None = None) -> GpuResult:
        number, seed = task
        opened = self._opened[number]
        rng = np.random.default_rng(0) if rng is None else rng
        return opened.run(opened.world(opened.sequence(seed), SeedTree(seed)), scheduler, rng)

    def _forward(self, parameters: Parameters) -> DasForward:
        return DasForward(self._shape, _without_critic(parameters))


@dataclass(frozen=True)
class MakeDasWorker:
    """Makes worker number n; can be sent to another process."""

    settings: tuple[GpuSetting, ...]
    shape: DasShape
    plan: MappoPlan

    def __call__(self, number: int) -> DasWorker:
        return DasWorker(self.settings, self.shape, self.plan)


def fresh_critic(seed: int) -> Parameters:
    torch.manual_seed(seed)
    return {f"{CRITIC}{name}": value.detach().numpy().copy() for name, value in Critic().named_parameters()}


def trace(result: GpuResult, time_s: Floats, mean_jct_s: float, fee_weight: float) -> Trace:
    """What had been paid by each decision: time in the system and fees, in units of their means."""
    arrival_s, start_s, finish_s = result.workload.arrival_s, result.start_s, result.finish_s
    running_s = np.maximum(finish_s - start_s, 1e-9)
    at = time_s[:, None]
    in_system = np.clip(np.minimum(at, finish_s) - arrival_s, 0.0, None).sum(axis=1) / mean_jct_s
    fees = (np.clip((at - start_s) / running_s, 0.0, 1.0) * result.fee).sum(axis=1) * fee_weight
    total = float(result.completion_s.sum()) / mean_jct_s + float(result.fee.sum()) * fee_weight
    return Trace(time_s, in_system + fees, result.end_s, total, group=0)


def _is_critic(name: str) -> bool:
    return name.startswith(CRITIC)


def _without_critic(parameters: Parameters) -> Parameters:
    return {name: value for name, value in parameters.items() if not _is_critic(name)}


def _gradient(value: torch.Tensor) -> Floats:
    found: Floats = np.zeros(value.shape) if value.grad is None else value.grad.numpy().copy()
    return found
