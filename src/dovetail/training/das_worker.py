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
from dovetail.schedulers.learned.das.kernel import Nudge
from dovetail.schedulers.learned.das.network import DasNetwork
from dovetail.schedulers.learned.das.scheduler import Das
from dovetail.schedulers.learned.das.shape import DasShape, Parameters
from dovetail.sim.gpu import GpuResult, GpuScheduler
from dovetail.training.das_recorder import Recorder
from dovetail.training.mappo import MappoPlan, OrderBatch, PlaceBatch, surrogate, weigh_later
from dovetail.training.neighbours import Samples, Witness

Task = tuple[int, int]
"""Which setting, and the seed of the job sequence."""

AT_RANDOM = ("gpu/random+random", "gpu/random+pack")


@dataclass(frozen=True)
class Score:
    """What a network came to on a sequence."""

    avg_jct_s: float
    avg_fee: float

    @classmethod
    def of(cls, result: GpuResult) -> Score:
        return cls(float(result.completion_s.mean()), float(result.fee.mean()))


@dataclass(eq=False)
class Replayed:
    """A job sequence of a round: what the network did, the noise it was played with (E times), and what came of it."""

    orders: OrderBatch
    places: PlaceBatch
    order_noise: torch.Tensor  # (2, E, N) of priorities, of readiness; in standard deviations
    place_noise: torch.Tensor  # (E, n, C)
    order_advantage: torch.Tensor  # (E, N) above 0 = better
    place_advantage: torch.Tensor  # (E, n)
    old: tuple[torch.Tensor, torch.Tensor] | None = None  # scores before anything was learned from it

    def remember(self, network: DasNetwork) -> None:
        self.old = (self.orders.scores(network), self.places.judged(network)[0])


class DasWorker:
    """Settings in memory, and the last round."""

    def __init__(self, settings: Sequence[GpuSetting], shape: DasShape, plan: MappoPlan) -> None:
        torch.set_num_threads(1)
        self._opened: list[OpenGpuSetting] = [setting.open() for setting in settings]
        self._shape = shape
        self._plan = plan
        self._replayed: list[Replayed] = []

    def score_each(self, pairs: Sequence[tuple[Parameters, Task]]) -> list[Score]:
        """What each network comes to on its job sequence, without exploring."""
        return [
            Score.of(self._run(task, Das(network=DasForward(self._shape, parameters)))) for parameters, task in pairs
        ]

    def witness(self, tasks: Sequence[Task], seed: int) -> Samples | None:
        """What is seen of neighbours while jobs come at random; packed on every other sequence, so that they meet."""
        found = []
        for number, task in enumerate(tasks):
            scheduler = Witness(SCHEDULERS.create(AT_RANDOM[number % len(AT_RANDOM)]), self._shape.kinds)
            self._run(task, scheduler, SeedTree(seed).child("random", number).generator())
            found.append(scheduler.samples())
        return Samples.together(found) if found else None

    def play(
        self, parameters: Parameters, tasks: Sequence[Task], seed: int, speeds_only: bool
    ) -> dict[str, float] | None:
        """A round: each sequence as the network is, and, unless only speeds count, with noise.  All of it is kept."""
        network = DasForward(self._shape, parameters)
        self._replayed, jct_s, fee = [], [], []
        for number, task in enumerate(tasks):
            recorder = Recorder(network)
            result = self._run(task, recorder)
            jct_s.append(float(result.completion_s.mean()))
            fee.append(float(result.fee.mean()))
            rng = SeedTree(seed).child("explore", number).generator()
            self._replayed.append(self._replay(network, task, recorder, result, rng, 0 if speeds_only else None))
        with torch.no_grad():
            learner = DasNetwork(self._shape, parameters)
            for replayed in self._replayed if not speeds_only else ():
                replayed.remember(learner)
        if not tasks:
            return None
        return {"jct_s": float(np.mean(jct_s)), "fee": float(np.mean(fee)), "turns": float(len(tasks))}

    def gradient(self, parameters: Parameters, speeds_only: bool) -> tuple[Parameters, dict[str, float]]:
        """Of the round's loss, summed over sequences; and figures, summed too."""
        plan = self._plan
        network = DasNetwork(self._shape, parameters)
        figures: dict[str, float] = {"sequences": float(len(self._replayed))}

        def add(**values: torch.Tensor | float) -> None:
            for name, value in values.items():
                figures[name] = figures.get(name, 0.0) + float(torch.as_tensor(value).detach())

        for replayed in self._replayed:
            places = replayed.places
            affinity, error, unlikely = places.judged(network)
            known = places.known.sum()
            loss = plan.speed * unlikely.sum() / known.clamp(min=1.0)
            add(speed=error.sum(), known=known)
            if replayed.old is not None and not speeds_only:
                noise = (plan.order_noise, plan.start_noise)
                scores = replayed.orders.scores(network) - replayed.old[0]
                for agent, change, drawn, acted, width in zip(
                    ("order", "start"), scores, replayed.order_noise, replayed.orders.acted, noise, strict=True
                ):
                    if not width:
                        continue
                    middle = (change * acted).sum() / acted.sum().clamp(min=1.0)  # who, not how many
                    moved = (change - middle) / width
                    log_ratio = drawn * moved - 0.5 * moved**2
                    found = surrogate(log_ratio, replayed.order_advantage, acted, plan.clip)
                    loss = loss - found[0] / acted.sum().clamp(min=1.0)
                    add(**dict(zip((f"gained_{agent}", f"outside_{agent}", f"moved_{agent}"), found, strict=True)))
                    add(**{f"{agent}s": acted.sum()})
                if plan.place_noise:
                    moved = (affinity - replayed.old[1]) / plan.place_noise
                    log_ratio = (replayed.place_noise * moved - 0.5 * moved**2).sum(dim=2)
                    found = surrogate(log_ratio, replayed.place_advantage, places.matters, plan.clip)
                    loss = loss - found[0] / places.matters.sum().clamp(min=1.0)
                    add(gained_place=found[0], outside_place=found[1], moved_place=found[2])
                    add(places=places.matters.sum())
            loss.backward()  # type: ignore[no-untyped-call]
        return {name: _gradient(value) for name, value in network.named.items()}, figures

    def _replay(
        self,
        network: DasForward,
        task: Task,
        recorder: Recorder,
        result: GpuResult,
        rng: np.random.Generator,
        episodes: int | None,
    ) -> Replayed:
        plan, jobs = self._plan, len(result.fee)
        pairs = (plan.episodes if episodes is None else episodes) // 2
        drawn = [rng.standard_normal((pairs, *size)) for size in ((jobs,), (jobs,), (jobs, recorder.machines))]
        noise = Nudge(*(np.concatenate((part, -part)) for part in drawn))
        costs = np.zeros((2 * pairs, jobs))
        for episode, (order, start, place) in enumerate(zip(*noise, strict=True)):
            nudge = Nudge(plan.order_noise * order, plan.start_noise * start, plan.place_noise * place)
            costs[episode] = costs_of_jobs(self._run(task, Das(network=network, nudge=nudge)), result, plan.fee)
        places = PlaceBatch(recorder.placed, np.log(np.maximum(result.relative_speed, 1e-3))[_ids(recorder)])
        arrival_s, patience_s = result.workload.arrival_s, plan.patience * float(result.completion_s.mean())
        advantage = [
            saved(costs, weigh_later(arrival_s, result.finish_s, from_s, patience_s))
            for from_s in (arrival_s, result.start_s)
        ]
        order_noise, place_noise = np.stack(noise[:2]), noise.place[:, places.job_id[:, None], places.where]
        return Replayed(
            OrderBatch(recorder.ordered, jobs, plan.start_noise),
            places,
            torch.as_tensor(order_noise),
            torch.as_tensor(place_noise),
            torch.as_tensor(advantage[0]),
            torch.as_tensor(advantage[1][:, places.job_id]),
        )

    def _run(self, task: Task, scheduler: GpuScheduler, rng: np.random.Generator | None = None) -> GpuResult:
        number, seed = task
        opened = self._opened[number]
        rng = np.random.default_rng(0) if rng is None else rng
        return opened.run(opened.world(opened.sequence(seed), SeedTree(seed)), scheduler, rng)


@dataclass(frozen=True)
class MakeDasWorker:
    """Makes worker number n; can be sent to another process."""

    settings: tuple[GpuSetting, ...]
    shape: DasShape
    plan: MappoPlan

    def __call__(self, number: int) -> DasWorker:
        return DasWorker(self.settings, self.shape, self.plan)


def costs_of_jobs(result: GpuResult, usual: GpuResult, fee_weight: float) -> Floats:
    """(N,) time in the system and fee of each job, in units of the usual means."""
    time = result.completion_s / float(usual.completion_s.mean())
    return time + fee_weight * result.fee / max(float(usual.fee.mean()), 1e-9)


def saved(costs: Floats, weights: Floats) -> Floats:
    """(E, N) of (E, N): what each episode saved against their mean, on the jobs that count; standard deviation 1."""
    if not len(costs):
        return costs
    found: Floats = (costs.mean(axis=0) - costs) @ weights.T
    return found / max(float(found.std()), 1e-9)


def _ids(recorder: Recorder) -> list[int]:
    return [turn.job_id for turn in recorder.placed]


def _gradient(value: torch.Tensor) -> Floats:
    found: Floats = np.zeros(value.shape) if value.grad is None else value.grad.numpy().copy()
    return found
