"""A training run of a DAS network in a directory: neighbours, speeds, rules, gradients; the best network is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dovetail import __version__
from dovetail.core.errors import DovetailError
from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.records.manifest import plain
from dovetail.schedulers.learned.das.checkpoint import DasCheckpoint, save_checkpoint
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.scheduler import load_network
from dovetail.schedulers.learned.das.shape import DEVICE_RANK, HOST_RANK, DasShape, Parameters
from dovetail.training.adam import Adam
from dovetail.training.commit import current_commit
from dovetail.training.das_evolution import (
    RECENT,
    evolution_plan,
    evolved_of,
    rewards_of_pairs,
    scales_of,
    with_evolved,
)
from dovetail.training.das_plan import MAPPO, DasPlan
from dovetail.training.das_worker import DasWorker, MakeDasWorker, Task
from dovetail.training.evolution import EvolutionState, step
from dovetail.training.mappo_trainer import MappoTrainer
from dovetail.training.mappo_worker import MappoWorker
from dovetail.training.neighbours import Samples, fit
from dovetail.training.run_directory import RunDirectory
from dovetail.training.workers import LocalWorker, ProcessWorkers, Workers

FIRST_TRAINING_SEED, TRAINING_SEEDS = 1_000, 900
FIRST_VALIDATION_SEED = 2_000
PROFILES: dict[str, dict[str, Any]] = {
    "quick": {
        "neighbours": 20,
        "rules": 40,
        "pairs": 48,
        "warm_up": 2,
        "iterations": 2,
        "sequences": 8,
        "validation": 8,
    },
    "full": {"rules": 80, "iterations": 6, "validation": 24},
}
LARGEST_STEP = 1.0  # norm of a gradient
SPEED_STEPS, SPEED_RATE = 20, 5e-3  # of learning from a round of the warm-up
HEARING_STEPS = 150  # where the network has to learn all that follows from the state of machines


@dataclass(frozen=True)
class DasTrainJob:
    """Everything that decides a run.  `arguments` is the setting as the command line says it."""

    settings: tuple[GpuSetting, ...]  # the first is the one it is for; the others are there to learn from
    shape: DasShape
    plan: DasPlan
    seed: int = 0
    arguments: dict[str, Any] = field(default_factory=dict)
    start: str = ""  # a network to go on from, of this shape but for its `PARTS`; it knows its neighbours

    def facts(self) -> dict[str, Any]:
        """The same as plain values, to tell whether a directory holds this run."""
        settings = [asdict(setting) for setting in self.settings]
        parts = {"settings": settings, "shape": asdict(self.shape), "plan": self.plan.facts(), "seed": self.seed}
        parts |= {"start": self.start} if self.start else {}
        facts: dict[str, Any] = plain(parts)
        return facts


@dataclass(frozen=True)
class Progress:
    """After an iteration; figures are those of `fork_gradient` or `mappo`, and of the validation where there was one.

    Before the first, `prepared` says in words what was learned so far.
    """

    iteration: int
    of: int
    figures: dict[str, float]
    prepared: str = ""


def start_workers(job: DasTrainJob, count: int) -> Workers:
    kind = MappoWorker if job.plan.policy_gradient == MAPPO else DasWorker
    make = MakeDasWorker(job.settings, job.shape, job.plan, kind)
    return LocalWorker(make) if count == 1 else ProcessWorkers(make, count)


class DasTrainRun:
    """A run in a directory."""

    def __init__(self, path: Path, job: DasTrainJob, command: str, *, resume: bool) -> None:
        self.directory = RunDirectory(path, job.facts(), resume=resume)
        self.job = job
        self.command = command
        self.resumed = resume
        self.curve: list[dict[str, float]] = []
        self.elapsed_s = 0.0
        self.iteration = -job.plan.rules  # below 0, rules evolve
        fresh = job.shape.fresh(SeedTree(job.seed).child("network").generator())
        if job.start:
            fresh |= {name: value for name, value in load_network(job.start).parameters.items() if name in fresh}
        self.parameters: Parameters = fresh
        self.best_parameters: Parameters = dict(fresh)
        self.adam = Adam(fresh, job.plan.rate)
        self.mappo = MappoTrainer(job.plan, job.seed) if job.plan.policy_gradient == MAPPO else None
        self.evolution = EvolutionState.start(evolved_of(fresh))
        self.average = evolved_of(fresh)  # of what evolves, over the last steps
        self.untrained: Floats = np.zeros((0, 2))  # (tasks, 2) completion time and fee on the validation sequences
        if resume:
            self._read()

    @property
    def best(self) -> float:
        """The best network's cost over that of the untrained one, on the validation sequences, time and fee weighed."""
        return min((1.0, *(point["validation"] for point in self.curve)))

    @property
    def best_iteration(self) -> int:
        """That of the best network: below 0 only rules have evolved, at 0 all of them have; `-rules`: untrained."""
        points = [(1.0, -self.job.plan.rules), *((one["validation"], int(one["iteration"])) for one in self.curve)]
        return min(points)[1]

    def go_on(self, workers: Workers, until: Callable[[], bool]) -> Iterator[Progress]:
        """Train until the plan is done or `until` says so; everything is on disk when a `Progress` comes out."""
        self.directory.make()
        plan = self.job.plan
        if not self.untrained.size:
            self._write()  # whoever is interrupted from here on begins anew with --resume
            yield from self._prepare(workers)
            if self.iteration == plan.iterations:  # that was all
                self._validate(workers)
                self._write()
        while self.iteration < plan.iterations:
            start = time.monotonic()
            figures = self._step(workers) if self.iteration >= 0 else self._evolve(workers)
            self.iteration += 1
            if self.iteration % plan.every == 0 or self.iteration == plan.iterations:
                figures |= self._validate(workers)
            self.elapsed_s += time.monotonic() - start
            self.directory.log({"iteration": self.iteration, **figures})
            self._write()
            yield Progress(self.iteration, plan.iterations, figures)
            if until():
                self.save()
                return

    def _prepare(self, workers: Workers) -> Iterator[Progress]:
        """What the rules take for granted: who slows whom down, and how fast jobs are where."""
        start, plan = time.monotonic(), self.job.plan
        if self.job.shape.kinds and not self.job.start:
            yield Progress(self.iteration, plan.iterations, {}, self._meet_neighbours(workers))
        adam = Adam(self.parameters, SPEED_RATE)
        for number in range(plan.warm_up):
            yield Progress(self.iteration, plan.iterations, {}, self._learn_speeds(workers, adam, number))
        self.best_parameters = dict(self.parameters)
        self.untrained = self._costs_on_validation(workers)
        self.elapsed_s += time.monotonic() - start
        self._write()

    def _meet_neighbours(self, workers: Workers) -> str:
        """Who slows whom down."""
        seed = self.job.seed
        rng = SeedTree(seed).child("neighbours").generator()
        tasks = self._tasks(rng, self.job.plan.neighbours)
        asked = [(tasks[number :: workers.count], seed + number) for number in range(workers.count)]
        samples = Samples.together([found for found in workers.call("witness", asked) if found is not None])
        if not len(samples.kind):
            return "neighbours: no speed was measured, so nothing is learned of them"
        found, error = fit(samples, HOST_RANK, DEVICE_RANK, seed)
        self.parameters |= {f"neighbours.{name.replace('_', '.')}": part for name, part in found._asdict().items()}
        spread = float(samples.log_ratio.std())
        self.directory.log({"neighbours": len(samples.kind), "spread": spread, "error": error})
        return f"neighbours: {len(samples.kind):,} speeds, which vary by {spread:.3f}, explained up to {error:.3f}"

    def _learn_speeds(self, workers: Workers, adam: Adam, number: int) -> str:
        """How fast jobs are where: a regression as well, on what the untrained network does."""
        self._play(workers, SeedTree(self.job.seed).child("speeds", number).generator(), speeds_only=True)
        for _ in range(SPEED_STEPS if self.job.shape.aware else HEARING_STEPS):
            figures = self._learn(workers, adam, speeds_only=True)
        self.directory.log({"warm_up": number + 1, **figures})
        speed, wait = figures["speed"] ** 0.5, figures["wait"] ** 0.5
        heard = "" if self.job.shape.aware else f", what machines say of starts up to {figures['ready'] ** 0.5:.3f}"
        done = f"round {number + 1} of {self.job.plan.warm_up}"
        return f"speeds and waits, {done}: expected up to {speed:.3f} and {wait:.3f}{heard}"

    def _evolve(self, workers: Workers) -> dict[str, float]:
        """Rules and last layers are tried changed, both ways, each pair on a sequence of its own."""
        rng = SeedTree(self.job.seed).child("rules", -self.iteration).generator()
        plan = evolution_plan(1.0 + self.iteration / self.job.plan.rules, self.job.plan.pairs)
        tasks = self._tasks(rng, plan.pairs)
        seen: list[Floats] = []

        def play(tried: Floats) -> Floats:
            networks = [with_evolved(self.parameters, each) for each in tried]
            costs = costs_of(workers, list(zip(networks, 2 * tasks, strict=True)))
            seen.append(costs.mean(axis=0))
            return rewards_of_pairs(costs, self._weighed)

        figures = step(self.evolution, plan, play, rng, scales_of(self.parameters))
        self.average = RECENT * self.evolution.parameters + (1.0 - RECENT) * self.average
        self.parameters = with_evolved(self.parameters, self.average)
        return {"jct_s": float(seen[0][0]), "fee": float(seen[0][1]), "rules_step": figures["step"]}

    def _step(self, workers: Workers) -> dict[str, float]:
        rng = SeedTree(self.job.seed).child("iteration", self.iteration).generator()
        if self.mappo is not None:
            tasks = self._tasks(rng, self.job.plan.sequences)
            return self.mappo.round(workers, self.parameters, self.adam, tasks, rng)
        found = self._play(workers, rng, speeds_only=False)
        for _ in range(self.job.plan.epochs):
            found |= self._learn(workers, self.adam, speeds_only=False)
        return found

    def _play(self, workers: Workers, rng: np.random.Generator, *, speeds_only: bool) -> dict[str, float]:
        tasks = self._tasks(rng, self.job.plan.sequences)
        shares = [tasks[number :: workers.count] for number in range(workers.count)]
        seeds = rng.integers(1 << 31, size=workers.count).tolist()
        asked = [(self.parameters, share, seed, speeds_only) for share, seed in zip(shares, seeds, strict=True)]
        played = [answer for answer in workers.call("play", asked) if answer is not None]
        weights = [answer["turns"] for answer in played]
        return {name: float(np.average([answer[name] for answer in played], weights=weights)) for name in played[0]}

    def _learn(self, workers: Workers, adam: Adam, *, speeds_only: bool) -> dict[str, float]:
        answers = workers.call("gradient", [(self.parameters, speeds_only)] * workers.count)
        gradients, figures = zip(*(answer for answer in answers if answer is not None), strict=True)
        sums = {name: sum(one.get(name, 0.0) for one in figures) for name in figures[0]}
        gradient = {name: sum(one[name] for one in gradients) / sums["sequences"] for name in self.parameters}
        adam.step(self.parameters, gradient, LARGEST_STEP)
        return _means(sums)

    def _weighed(self, ratios: Floats) -> Floats:
        """One number of completion time and fee, which are along the last axis."""
        fee = self.job.plan.fee
        found: Floats = (ratios[..., 0] + fee * ratios[..., 1]) / (1.0 + fee)
        return found

    def _tasks(self, rng: np.random.Generator, sequences: int) -> list[Task]:
        """Settings in turn, sequences at random."""
        count = len(self.job.settings)
        first = int(rng.integers(count))
        seeds = rng.integers(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + TRAINING_SEEDS, size=sequences)
        return [((first + i) % count, int(seed)) for i, seed in enumerate(seeds)]

    def _costs_on_validation(self, workers: Workers) -> Floats:
        """(settings x sequences, 2) mean completion time and fee."""
        seeds = range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + self.job.plan.validation)
        tasks = [(number, seed) for number in range(len(self.job.settings)) for seed in seeds]
        return costs_of(workers, [(self.parameters, task) for task in tasks])

    def _validate(self, workers: Workers) -> dict[str, float]:
        ratio = (self._costs_on_validation(workers) / self.untrained).mean(axis=0)
        found = {
            "validation": float(self._weighed(ratio)),
            "validation_jct": float(ratio[0]),
            "validation_fee": float(ratio[1]),
        }
        if found["validation"] < self.best:  # the untrained one is the first to beat
            self.best_parameters = {name: value.copy() for name, value in self.parameters.items()}
        self.curve.append({"iteration": self.iteration, **found})
        self.save()
        return found

    def save(self) -> Path:
        """The best network so far, with its card."""
        card = {
            "arguments": plain(self.job.arguments),
            "objective": "jct-and-fee",
            "plan": self.job.facts()["plan"],
            "settings": self.job.facts()["settings"],
            "seed": self.job.seed,
            "command": self.command,
            "version": __version__,
            "commit": current_commit(),
            "validation": {
                "of_untrained": self.best,
                "iterations": self.iteration,
                "best_iteration": self.best_iteration,
            },
            "minutes": round(self.elapsed_s / 60, 2),
            "curve": self.curve,
            "corrections": corrections(self.best_parameters),
        }
        network = DasForward(self.job.shape, self.best_parameters)
        return save_checkpoint(self.directory.checkpoint, DasCheckpoint(network, card))

    def _write(self) -> None:
        arrays = {f"now/{name}": value for name, value in self.parameters.items()}
        arrays |= {f"best/{name}": value for name, value in self.best_parameters.items()}
        arrays |= {f"adam/{name}": value for name, value in self.adam.state().items()}
        arrays["rules/average"] = self.average
        arrays |= {f"rules/{name}": getattr(self.evolution, name) for name in ("parameters", "mean", "square")}
        if self.mappo is not None:
            arrays |= {f"mappo/{name}": value for name, value in self.mappo.arrays().items()}
        document = {"iteration": self.iteration, "elapsed_s": self.elapsed_s, "curve": self.curve}
        self.directory.write({**arrays, "untrained": self.untrained}, document)

    def _read(self) -> None:
        arrays, document = self.directory.read()
        try:
            self.parameters = {name: arrays[f"now/{name}"] for name in self.parameters}
            self.best_parameters = {name: arrays[f"best/{name}"] for name in self.parameters}
            self.adam.restore({name[5:]: value for name, value in arrays.items() if name.startswith("adam/")})
            if self.mappo is not None:
                self.mappo.restore({name[6:]: value for name, value in arrays.items() if name.startswith("mappo/")})
            self.untrained = arrays["untrained"]
            self.average = arrays["rules/average"]
            self.evolution = EvolutionState(arrays["rules/parameters"], arrays["rules/mean"], arrays["rules/square"])
            self.iteration, self.elapsed_s = int(document["iteration"]), float(document["elapsed_s"])
            self.curve = list(document["curve"])
            self.evolution.iteration = min(self.iteration, 0) + self.job.plan.rules
        except (KeyError, TypeError, ValueError) as error:
            raise DovetailError(f"{self.directory.path}: the run is damaged ({error}); start again") from error


def costs_of(workers: Workers, played: Sequence[tuple[Parameters, Task]]) -> Floats:
    """(N, 2) mean completion time and fee of each network on its sequence, the work divided among the workers."""
    shares = [range(number, len(played), workers.count) for number in range(workers.count)]
    asked = [([played[n] for n in share],) for share in shares]
    found = np.empty((len(played), 2))
    for share, answer in zip(shares, workers.call("score_each", asked), strict=True):
        if answer is None:
            raise DovetailError("a worker was lost; go on with --resume")
        for n, score in zip(share, answer, strict=True):
            found[n] = score.avg_jct_s, score.avg_fee
    return found


def corrections(parameters: Parameters) -> dict[str, float]:
    """What the agents add to the rules of thumb; 0: nothing.

    The length of the weights of their last layers, and what is made of the waits and the surprises they expect.
    """
    found = {agent: float(np.linalg.norm(parameters[f"{agent}.out.weight"])) for agent in ("order", "place")}
    found["waits"] = float(np.linalg.norm(parameters["order.trust"]))
    return found | {"process": float(np.linalg.norm(parameters.get("place.walk.trust", np.zeros(1))))}


def _means(sums: dict[str, float]) -> dict[str, float]:
    """Figures by turn; how many turns there were is left out."""
    counts = {"order": "orders", "start": "starts", "place": "places"}
    counts |= {"speed": "known", "wait": "waited", "ready": "asked"}
    found = {}
    for name, value in sums.items():
        count = counts.get(name.rpartition("_")[2])
        if count is not None:
            found[name] = value / max(sums.get(count, 0.0), 1.0)
    return found
