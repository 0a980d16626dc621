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
from dovetail.training.das_plan import DasPlan
from dovetail.training.das_recorder import Recorder
from dovetail.training.fork_gradient import OrderForks, PlaceBatch, TurnBatch, clipped
from dovetail.training.forks import AGENTS, PLACE, START, Fork, draw_forks, nudge_of, possible_forks, worth
from dovetail.training.neighbours import Samples, Witness

Task = tuple[int, int]
"""Which setting, and the seed of the job sequence."""

LARGEST_WORTH = 3.0  # of a decision, in deviations
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
    """A job sequence of a round: what the network did, and what would have come of other decisions."""

    orders: OrderForks
    places: PlaceBatch
    turns: TurnBatch
    agent: torch.Tensor  # (F,) of forks; those of places come last
    worth: torch.Tensor  # (F,)
    old: torch.Tensor | None = None  # (F,) what spoke for each before anything was learned from it

    def judged(self, network: DasNetwork) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """As `PlaceBatch.judged`, of all forks."""
        lean, error, unlikely = self.places.judged(network)
        return torch.cat((self.orders.lean(network), lean)), error, unlikely

    def remember(self, network: DasNetwork) -> None:
        self.old = self.judged(network)[0]


class DasWorker:
    """Settings in memory, and the last round."""

    def __init__(self, settings: Sequence[GpuSetting], shape: DasShape, plan: DasPlan) -> None:
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
        """A round: each sequence as it is, and, unless only speeds count, with forks.  All of it is kept."""
        network = DasForward(self._shape, parameters)
        self._replayed, jct_s, fee = [], [], []
        episodes = 0 if speeds_only else self._plan.episodes
        for number, task in enumerate(tasks):
            recorder = Recorder(network)
            result = self._run(task, recorder)
            jct_s.append(float(result.completion_s.mean()))
            fee.append(float(result.fee.mean()))
            rng = SeedTree(seed).child("explore", number).generator()
            self._replayed.append(self._replay(network, task, recorder, result, rng, episodes))
        normalise(self._replayed)
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

        noise = torch.as_tensor(np.maximum(noises(plan), 1e-9))
        for replayed in self._replayed:
            lean, error, unlikely = replayed.judged(network)
            known = replayed.places.known.sum()
            loss = plan.speed * unlikely.sum() / known.clamp(min=1.0)
            turns = replayed.turns.errors(network)
            loss = loss + plan.wait * turns.wait / turns.waited.clamp(min=1.0)
            add(speed=error.sum(), known=known, **turns._asdict())
            if speeds_only and not self._shape.aware:
                loss = loss + turns.ready / turns.asked.clamp(min=1.0)
            if replayed.old is not None and not speeds_only:
                moved = (lean - replayed.old) / noise[replayed.agent]
                for number, agent in enumerate(AGENTS):
                    mine = replayed.agent == number
                    if not mine.any():
                        continue
                    change = moved[mine]
                    if number == START:
                        change = change - change.mean()  # who, not how many
                    gained, outside = clipped(change, replayed.worth[mine], plan.clip)
                    loss = loss - gained
                    add(**{f"gained_{agent}": gained, f"outside_{agent}": outside})
                    add(**{f"{agent}s": 1.0})
            loss.backward()  # type: ignore[no-untyped-call]
        return {name: _gradient(value) for name, value in network.named.items()}, figures

    def _replay(
        self,
        network: DasForward,
        task: Task,
        recorder: Recorder,
        result: GpuResult,
        rng: np.random.Generator,
        episodes: int,
    ) -> Replayed:
        plan, jobs, arrival_s = self._plan, len(result.fee), result.workload.arrival_s
        noise, patience_s = noises(plan), plan.patience * float(result.completion_s.mean())
        close = possible_forks(recorder, result.start_s, noise, rng)
        tried: list[tuple[Fork, float]] = []
        usual = costs_of_jobs(result, result, plan.fee)
        for fork in draw_forks(close, noise, episodes, rng):
            other = self._run(task, Das(network=network, nudge=nudge_of(fork, jobs, recorder.machines)))
            saved = usual - costs_of_jobs(other, result, plan.fee)
            tried.append((fork, worth(fork, saved, arrival_s, result.finish_s, patience_s)))
        forks = [fork for fork, _ in tried]
        placed = [fork for fork in forks if fork.agent == PLACE]
        log_ratio = np.log(np.maximum(result.relative_speed, 1e-3))[_ids(recorder)]
        return Replayed(
            OrderForks(recorder.ordered, forks[: len(forks) - len(placed)]),
            PlaceBatch(recorder.placed, log_ratio, placed),
            TurnBatch(recorder.ordered, result.start_s, rng),
            torch.as_tensor(np.array([fork.agent for fork in forks], np.int64)),
            torch.as_tensor(np.array([value for _, value in tried])),
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
    plan: DasPlan
    kind: type[DasWorker] = DasWorker

    def __call__(self, number: int) -> DasWorker:
        return self.kind(self.settings, self.shape, self.plan)


def costs_of_jobs(result: GpuResult, usual: GpuResult, fee_weight: float) -> Floats:
    """(N,) time in the system and fee of each job, in units of the usual means."""
    time = result.completion_s / float(usual.completion_s.mean())
    return time + fee_weight * result.fee / max(float(usual.fee.mean()), 1e-9)


def noises(plan: DasPlan) -> tuple[float, float, float]:
    """Of each agent of `forks`."""
    return plan.start_noise, plan.order_noise, plan.place_noise


def normalise(replayed: Sequence[Replayed]) -> None:
    """Advantages of an agent in units of their deviation, over the whole round; a few huge ones do not count more."""
    for number in range(len(AGENTS)):
        every = torch.cat([one.worth[one.agent == number] for one in replayed])
        scale = max(float(every.pow(2).mean().sqrt()) if len(every) else 1.0, 1e-9)
        for one in replayed:
            mine = one.agent == number
            one.worth[mine] = (one.worth[mine] / scale).clamp(-LARGEST_WORTH, LARGEST_WORTH)


def _ids(recorder: Recorder) -> list[int]:
    return [turn.job_id for turn in recorder.placed]


def _gradient(value: torch.Tensor) -> Floats:
    found: Floats = np.zeros(value.shape) if value.grad is None else value.grad.numpy().copy()
    return found
