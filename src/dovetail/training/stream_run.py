"""A training run of a learned autoscaler in a directory; the best network by validation is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import __version__
from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Floats
from dovetail.evaluation.setting_stream import StreamSetting
from dovetail.evaluation.stream_networks import facts_of_network
from dovetail.records.manifest import plain
from dovetail.schedulers.learned.stream.arrays import Parameters, fresh
from dovetail.schedulers.learned.stream.checkpoint import StreamCheckpoint, save_checkpoint
from dovetail.schedulers.learned.stream.head import LAST
from dovetail.schedulers.learned.stream.kinds import fresh_parameters
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.training.adam import Adam
from dovetail.training.commit import current_commit
from dovetail.training.run_directory import RunDirectory
from dovetail.training.stream_losses import OBJECTIVE, objective_shapes
from dovetail.training.stream_plan import StreamPlan
from dovetail.training.stream_worker import MakeStreamWorker, Task
from dovetail.training.workers import LocalWorker, ProcessWorkers, Workers

FIRST_TRAINING_SEED, TRAINING_SEEDS = 1_000, 900
FIRST_VALIDATION_SEED = 2_000
LARGEST_STEP = 0.5  # norm of a gradient
LAST_RATE = 0.1  # of the first
LEVEL, MOST_LEVELS = f"{LAST}.bias", 6
LEAST_SPREAD = 0.1  # of a column, when the first layer is scaled


@dataclass(frozen=True)
class StreamTrainJob:
    """Everything that decides a run.  `arguments` is the setting as the command line says it."""

    settings: tuple[StreamSetting, ...]  # to learn from
    validation: tuple[StreamSetting, ...]  # to choose by
    kind: str
    shape: StreamShape
    plan: StreamPlan
    seed: int = 0
    arguments: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """The same as plain values, to tell whether a directory holds this run."""
        parts = {
            "settings": [asdict(setting) for setting in self.settings],
            "validation": [asdict(setting) for setting in self.validation],
            "kind": self.kind,
            "shape": asdict(self.shape),
            "plan": asdict(self.plan),
            "seed": self.seed,
        }
        facts: dict[str, Any] = plain(parts)
        return facts


@dataclass(frozen=True)
class Progress:
    """After a round; figures are those of `stream_losses`, and of the validation where there was one."""

    iteration: int
    of: int
    figures: dict[str, float]


def start_workers(job: StreamTrainJob, count: int) -> Workers:
    make = MakeStreamWorker(job.settings, job.validation, job.kind, job.shape, job.plan)
    return LocalWorker(make) if count == 1 else ProcessWorkers(make, count)


class StreamTrainRun:
    """A run in a directory."""

    def __init__(self, path: Path, job: StreamTrainJob, command: str, *, resume: bool) -> None:
        self.directory = RunDirectory(path, job.facts(), resume=resume)
        self.job = job
        self.command = command
        self.resumed = resume
        self.curve: list[dict[str, float]] = []
        self.elapsed_s = 0.0
        self.iteration = -job.plan.lessons  # below 0, the network is taught
        rng = SeedTree(job.seed).child("network").generator()
        self.parameters: Parameters = fresh_parameters(job.kind, job.shape, rng)
        self.parameters |= fresh(objective_shapes(job.kind, job.shape), rng)
        self.best_parameters: Parameters = dict(self.parameters)
        self.adam = Adam(self.parameters, job.plan.rate)
        self.untrained: Floats = np.zeros(0)  # rewards on the validation sequences
        self._taught: list[Parameters] = []  # who played each lesson so far; workers have forgotten where it goes on
        self._replay = False
        if resume:
            self._read()

    @property
    def best(self) -> float:
        """The best network's mean reward on the validation sequences."""
        return max((float(self.untrained.mean()), *(point["validation"] for point in self.curve)))

    def go_on(self, workers: Workers, until: Callable[[], bool]) -> Iterator[Progress]:
        """Train until the plan is done or `until` says so; everything is on disk when a `Progress` comes out."""
        self.directory.make()
        plan = self.job.plan
        if not self.untrained.size:
            self.untrained = scores(workers, self.parameters, self._validation())
            self._write()
        while self.iteration < plan.iterations:
            start = time.monotonic()
            figures = self._lesson(workers) if self.iteration < 0 else self._round(workers)
            self.iteration += 1
            if self._is_checked():
                figures |= self._validate(workers)
            if self.iteration == 0 and plan.level:
                figures |= self._set_level(workers)
            self.elapsed_s += time.monotonic() - start
            self.directory.log({"iteration": self.iteration, **figures})
            self._write()
            yield Progress(self.iteration, plan.iterations, figures)
            if until():
                self.save()
                return

    def _is_checked(self) -> bool:
        """Every few lessons, after the last of them, and every few rounds."""
        plan = self.job.plan
        if self.iteration > 0:
            return self.iteration % plan.every == 0
        return self.iteration == 0 or (self.iteration + plan.lessons) % plan.check_lessons == 0

    def _teach(self, workers: Workers, lesson: int, parameters: Parameters) -> tuple[list[Any], np.random.Generator]:
        """What workers said of it, and what draws the steps of learning that follow."""
        rng = SeedTree(self.job.seed).child("lesson", lesson).generator()
        tasks, seed = self._tasks(rng), int(rng.integers(2**31))
        shares = [tasks[number :: workers.count] for number in range(workers.count)]
        return workers.call("teach", [(parameters, share, seed) for share in shares]), rng

    def _lesson(self, workers: Workers) -> dict[str, float]:
        if self._replay:  # lessons take much room on disk, and little time
            for before, parameters in enumerate(self._taught, start=-self.job.plan.lessons):
                self._teach(workers, before, parameters)
            self._replay = False
        self._taught.append(dict(self.parameters))
        played, rng = self._teach(workers, self.iteration, self.parameters)
        if self.iteration == -self.job.plan.lessons:
            seen = workers.call("columns", [()] * workers.count)
            self.parameters = standardised(self.parameters, sum(seen[1:], seen[0]))
        weights = np.array([answer["actions"] for answer in played])
        plan = self.job.plan
        figures: dict[str, float] = {}
        for step in range(plan.lesson_steps):
            self.adam.rate = plan.rate * falling(1.0 + (self.iteration + step / plan.lesson_steps) / plan.lessons)
            found = self._step(workers, weights, "gradient_of_lessons", int(rng.integers(2**31)))
            figures = {name: figures.get(name, 0.0) + value / plan.lesson_steps for name, value in found.items()}
        return {"reward": _weighed(weights, [answer["reward"] for answer in played]), **figures}

    def _step(self, workers: Workers, weights: Floats, method: str, *arguments: int) -> dict[str, float]:
        """One step against the gradient; workers count by what they have seen."""
        found = workers.call(method, [(self.parameters, *arguments)] * workers.count)
        gradient = {name: _weighed(weights, [answer[0][name] for answer in found]) for name in self.parameters}
        self.adam.step(self.parameters, gradient, LARGEST_STEP)
        self.parameters = {name: np.asarray(value, np.float32) for name, value in self.parameters.items()}
        return {name: _weighed(weights, [answer[1].get(name, 0.0) for answer in found]) for name in found[0][1]}

    def _round(self, workers: Workers) -> dict[str, float]:
        plan = self.job.plan
        rng = SeedTree(self.job.seed).child("iteration", self.iteration).generator()
        tasks = self._tasks(rng)
        seed = int(rng.integers(2**31))
        shares = [tasks[number :: workers.count] for number in range(workers.count)]
        played = workers.call("play", [(self.parameters, share, seed) for share in shares])
        weights = np.array([answer["actions"] for answer in played])
        figures = {name: _weighed(weights, [answer[name] for answer in played]) for name in ("reward", "rescales")}
        self.adam.rate = plan.rate * plan.later * falling(self.iteration / plan.iterations)
        for _ in range(1 if plan.algorithm == "reinforce" else plan.epochs):
            figures |= self._step(workers, weights, "gradient")
        return figures

    def _tasks(self, rng: np.random.Generator) -> list[Task]:
        """Settings in turn, sequences at random."""
        count = len(self.job.settings)
        first = int(rng.integers(count))
        seeds = rng.integers(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + TRAINING_SEEDS, size=self.job.plan.sequences)
        return [((first + place) % count, int(seed)) for place, seed in enumerate(seeds)]

    def _validation(self) -> list[Task]:
        seeds = range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + self.job.plan.validation)
        return [(number, seed) for number in range(len(self.job.validation)) for seed in seeds]

    def _validate(self, workers: Workers) -> dict[str, float]:
        value = float(scores(workers, self.parameters, self._validation()).mean())
        if value > self.best:  # the untrained one is the first to beat
            self.best_parameters = {name: array.copy() for name, array in self.parameters.items()}
        self.curve.append({"iteration": self.iteration, "validation": value})
        self.save()
        return {"validation": value}

    def _set_level(self, workers: Workers) -> dict[str, float]:
        """Move all actions of the best network, down or else up, while that is better; it goes on from there."""
        level = 0.0
        for step in (-self.job.plan.level, self.job.plan.level):
            for _ in range(MOST_LEVELS):
                moved = self.best_parameters | {LEVEL: np.float32(self.best_parameters[LEVEL] + step)}
                value = float(scores(workers, moved, self._validation()).mean())
                if value <= self.best:
                    break
                level += step
                self.best_parameters = moved
                self.curve.append({"iteration": self.iteration, "level": level, "validation": value})
            if level:
                break
        self.parameters = dict(self.best_parameters)
        self.save()
        return {"level": level, "validation": self.best}

    def save(self) -> Path:
        """The best network so far, with its card."""
        facts = self.job.facts()
        card = {
            "arguments": plain(self.job.arguments),
            "objective": "reward",
            "plan": facts["plan"],
            "settings": facts["settings"],
            "validated_on": facts["validation"],
            **facts_of_network(self.job.settings, self.job.validation),
            "seed": self.job.seed,
            "command": self.command,
            "version": __version__,
            "commit": current_commit(),
            "validation": {
                "reward": self.best,
                "untrained": float(self.untrained.mean()),
                "iterations": self.iteration,
            },
            "minutes": round(self.elapsed_s / 60, 2),
            "curve": self.curve,
        }
        parameters = {name: value for name, value in self.best_parameters.items() if not name.startswith(OBJECTIVE)}
        checkpoint = StreamCheckpoint(self.job.kind, self.job.shape, parameters, card)
        return save_checkpoint(self.directory.checkpoint, checkpoint)

    def _write(self) -> None:
        arrays = {f"now/{name}": value for name, value in self.parameters.items()}
        arrays |= {f"best/{name}": value for name, value in self.best_parameters.items()}
        arrays |= {f"adam/{name}": value for name, value in self.adam.state().items()}
        for lesson, parameters in enumerate(self._taught if self.iteration < 0 else ()):
            arrays |= {f"taught/{lesson}/{name}": value for name, value in parameters.items()}
        document = {"iteration": self.iteration, "elapsed_s": self.elapsed_s, "curve": self.curve}
        self.directory.write({**arrays, "untrained": self.untrained}, document)

    def _read(self) -> None:
        """Where the run is; of lessons, who played them is kept, which makes them again."""
        arrays, document = self.directory.read()
        try:
            self.untrained = arrays["untrained"]
            self.parameters = {name: arrays[f"now/{name}"] for name in self.parameters}
            self.best_parameters = {name: arrays[f"best/{name}"] for name in self.parameters}
            self.adam.restore({name[5:]: value for name, value in arrays.items() if name.startswith("adam/")})
            self.iteration, self.elapsed_s = int(document["iteration"]), float(document["elapsed_s"])
            self.curve = list(document["curve"])
            count = self.iteration + self.job.plan.lessons if self.iteration < 0 else 0
            names = list(self.parameters)
            self._taught = [{name: arrays[f"taught/{k}/{name}"] for name in names} for k in range(count)]
            self._replay = count > 0
        except (KeyError, TypeError, ValueError) as error:
            raise DovetailError(f"{self.directory.path}: the run is damaged ({error}); start again") from error


def standardised(parameters: Parameters, seen: Floats) -> Parameters:
    """With the first layer as if columns had a mean of 0 and a spread of 1; `seen` as `StreamWorker.columns` has it.

    A column that hardly moves is not blown up: it may move elsewhere.  Some networks take several windows of them.
    """
    count, total, squares = seen
    mean = total / count
    spread = np.maximum(np.sqrt(np.maximum(squares / count - mean**2, 0.0)), LEAST_SPREAD)
    windows = len(parameters["project.weight"]) // len(mean)
    weight = parameters["project.weight"] / np.tile(spread, windows)[:, None]
    bias = parameters["project.bias"] - np.tile(mean, windows) @ weight
    return parameters | {"project.weight": np.float32(weight), "project.bias": np.float32(bias)}


def falling(share: float) -> float:
    """Of the learning rate, when this share of the lessons, or of the rounds, is behind."""
    return 1.0 - (1.0 - LAST_RATE) * share


def _weighed(weights: Floats, values: Sequence[Any]) -> Any:
    """The mean of numbers or arrays, one of each worker."""
    return sum(weight * value for weight, value in zip(weights / max(weights.sum(), 1.0), values, strict=True))


def scores(workers: Workers, parameters: Parameters, tasks: Sequence[Task]) -> Floats:
    """(T,) rewards, the work divided among the workers."""
    shares = [tasks[number :: workers.count] for number in range(workers.count)]
    found = np.empty(len(tasks))
    for number, answer in enumerate(workers.call("score_each", [(parameters, share) for share in shares])):
        found[number :: workers.count] = answer
    return found
