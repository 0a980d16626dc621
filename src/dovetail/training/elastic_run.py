"""A training run of a price network in a directory, by evolution strategies, with the best by validation kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import __version__
from dovetail.core.elastic import Floats
from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_elastic import ElasticSetting
from dovetail.records.manifest import plain
from dovetail.schedulers.learned.elastic.checkpoint import PriceCheckpoint, save_checkpoint
from dovetail.schedulers.learned.elastic.network import PriceNetwork
from dovetail.training.commit import current_commit
from dovetail.training.elastic_worker import ElasticWorker, MakeElasticWorker, Task
from dovetail.training.evolution import EvolutionPlan, EvolutionState, step
from dovetail.training.run_directory import RunDirectory
from dovetail.training.workers import LocalWorker, ProcessWorkers, Workers

FIRST_TRAINING_SEED, TRAINING_SEEDS = 1_000, 900
FIRST_VALIDATION_SEED = 2_000
PROFILES: dict[str, dict[str, Any]] = {
    "quick": {"iterations": 20, "pairs": 6, "validation": 4, "every": 5},
    "full": {"iterations": 150},
}


@dataclass(frozen=True)
class ElasticTrainJob:
    """Everything that decides a run.  `arguments` is the setting as the command line says it."""

    settings: tuple[ElasticSetting, ...]  # the first is the one it is for; the others are there to learn from
    plan: EvolutionPlan
    seed: int = 0
    arguments: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """The same as plain values, to tell whether a directory holds this run."""
        settings = [asdict(setting) for setting in self.settings]
        facts: dict[str, Any] = plain({"settings": settings, "plan": asdict(self.plan), "seed": self.seed})
        return facts


@dataclass(frozen=True)
class Progress:
    """After an iteration; figures are those of `evolution`, and of the validation where there was one."""

    iteration: int
    of: int
    figures: dict[str, float]


def start_workers(job: ElasticTrainJob, count: int) -> Workers:
    make = MakeElasticWorker(job.settings, job.plan.hidden)
    return LocalWorker(make) if count == 1 else ProcessWorkers(make, count)


class ElasticTrainRun:
    """A run in a directory."""

    def __init__(self, path: Path, job: ElasticTrainJob, command: str, *, resume: bool) -> None:
        self.directory = RunDirectory(path, job.facts(), resume=resume)
        self.job = job
        self.command = command
        self.resumed = resume
        self.curve: list[dict[str, float]] = []
        self.elapsed_s = 0.0
        fresh = PriceNetwork.fresh(job.plan.hidden, SeedTree(job.seed).child("network").generator()).vector()
        self.state, self.best_parameters = EvolutionState.start(fresh), fresh
        self.untrained: Floats = np.zeros(0)  # utilities on the validation sequences
        if resume:
            self._read()

    @property
    def best(self) -> float:
        """Mean of the best network's utilities over those of the untrained one, on the validation sequences."""
        return max((1.0, *(point["validation"] for point in self.curve)))

    def go_on(self, workers: Workers, until: Callable[[], bool]) -> Iterator[Progress]:
        """Train until the plan is done or `until` says so; everything is on disk when a `Progress` comes out."""
        self.directory.make()
        plan = self.job.plan
        if not self.untrained.size:
            self.untrained = play(workers, self._validation(), self.state.parameters[None])[0]
            self._write()
        try:
            while self.state.iteration < plan.iterations:
                start = time.monotonic()
                number = self.state.iteration
                rng = SeedTree(self.job.seed).child("iteration", number).generator()
                figures = step(self.state, plan, partial(play, workers, self._tasks(rng)), rng)
                if self.state.iteration % plan.every == 0 or self.state.iteration == plan.iterations:
                    figures |= self._validate(workers)
                self.elapsed_s += time.monotonic() - start
                self.directory.log({"iteration": self.state.iteration, **figures})
                self._write()
                yield Progress(self.state.iteration, plan.iterations, figures)
                if until():
                    return
        finally:
            if self.state.iteration:
                self.save()  # before the first validation, what is best is the untrained network

    def _tasks(self, rng: np.random.Generator) -> list[Task]:
        """Settings in turn, sequences at random."""
        count = len(self.job.settings)
        first = int(rng.integers(count))
        seeds = rng.integers(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + TRAINING_SEEDS, size=self.job.plan.sequences)
        return [((first + i) % count, int(seed)) for i, seed in enumerate(seeds)]

    def _validation(self) -> list[Task]:
        seeds = range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + self.job.plan.validation)
        return [(number, seed) for number in range(len(self.job.settings)) for seed in seeds]

    def _validate(self, workers: Workers) -> dict[str, float]:
        found = play(workers, self._validation(), self.state.parameters[None])[0]
        ratio = float((found / np.maximum(self.untrained, 1e-9)).mean())
        if ratio > self.best:  # the untrained one is the first to beat
            self.best_parameters = self.state.parameters.copy()
        self.curve.append({"iteration": self.state.iteration, "validation": ratio})
        self.save()
        return {"validation": ratio}

    def save(self) -> Path:
        """The best network so far, with its card."""
        card = {
            "arguments": plain(self.job.arguments),
            "objective": "total-utility",
            "plan": self.job.facts()["plan"],
            "settings": self.job.facts()["settings"],
            "seed": self.job.seed,
            "command": self.command,
            "version": __version__,
            "commit": current_commit(),
            "validation": {"of_untrained": self.best, "iterations": self.state.iteration},
            "minutes": round(self.elapsed_s / 60, 2),
            "curve": self.curve,
        }
        network = PriceNetwork.of_vector(self.best_parameters, self.job.plan.hidden)
        return save_checkpoint(self.directory.checkpoint, PriceCheckpoint(network, card))

    def _write(self) -> None:
        arrays = {
            "parameters": self.state.parameters,
            "mean": self.state.mean,
            "square": self.state.square,
            "best": self.best_parameters,
            "untrained": self.untrained,
        }
        document = {"iteration": self.state.iteration, "elapsed_s": self.elapsed_s, "curve": self.curve}
        self.directory.write(arrays, document)

    def _read(self) -> None:
        arrays, document = self.directory.read()
        try:
            state = EvolutionState(arrays["parameters"], arrays["mean"], arrays["square"])
            self.best_parameters, self.untrained = arrays["best"], arrays["untrained"]
            state.iteration = int(document["iteration"])
            self.curve, self.elapsed_s = list(document["curve"]), float(document["elapsed_s"])
        except (KeyError, TypeError, ValueError) as error:
            raise DovetailError(f"{self.directory.path}: the run is damaged ({error}); start again") from error
        if state.parameters.shape != self.state.parameters.shape:
            raise DovetailError(f"{self.directory.path}: its network has another size; it is damaged, start again")
        self.state = state


def play(workers: Workers, tasks: Sequence[Task], parameters: Floats) -> Floats:
    """(P, T) utilities, the work divided among the workers."""
    count = workers.count
    pairs = [(p, t) for p in range(len(parameters)) for t in range(len(tasks))]
    shares = [pairs[number::count] for number in range(count)]
    asked = [([(parameters[p], tasks[t]) for p, t in share],) for share in shares]
    found = np.empty((len(parameters), len(tasks)))
    for share, answer in zip(shares, workers.call("play_each", asked), strict=True):
        for (p, t), value in zip(share, answer, strict=True):
            found[p, t] = value
    return found


def rivals(job: ElasticTrainJob, names: Sequence[str]) -> dict[str, float]:
    """Mean utility of other schedulers on the validation sequences of the first setting."""
    from dovetail.schedulers import SCHEDULERS

    worker = ElasticWorker(job.settings[:1], job.plan.hidden)
    seeds = range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + job.plan.validation)
    return {
        name: float(np.mean([worker.utility(SCHEDULERS.create(name), (0, seed)) for seed in seeds])) for name in names
    }
