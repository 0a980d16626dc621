"""A training run on disk: what it was asked for, where it is, what it has reached; it can be interrupted and go on.

DIR/checkpoint.safetensors, .json   the best network so far and its card
DIR/state.pt                        where the run is
DIR/progress.jsonl                  one line for each lesson and iteration
DIR/tensorboard/                    the same for TensorBoard
"""

from __future__ import annotations

import json
import math
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dovetail import __version__
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.extras import require
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import choose
from dovetail.records.manifest import plain
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.decima.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from dovetail.schedulers.learned.decima.network import DecimaNetwork
from dovetail.schedulers.learned.decima.shape import DecimaShape
from dovetail.sim.dag import DagWorld, run
from dovetail.training.commit import current_commit
from dovetail.training.dag_trainer import (
    FIRST_VALIDATION_SEED,
    Progress,
    Trainer,
    TrainPlan,
    TrainState,
    fresh_state,
)
from dovetail.training.dag_worker import DagWorker, Setting, Weights
from dovetail.training.run_directory import check_place
from dovetail.training.workers import LocalWorker, ProcessWorkers, Workers
from dovetail.workloads.source import open_source

CHECKPOINT, STATE, PROGRESS = "checkpoint", "state.pt", "progress.jsonl"
ROLLOUTS = ("processes", "ray")


@dataclass(frozen=True)
class TrainJob:
    """Everything that decides a run.  `arguments` is the setting as the command line says it."""

    setting: Setting
    shape: DecimaShape
    plan: TrainPlan
    arguments: dict[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """The same as plain values, for the card and to tell whether a directory holds this run."""
        facts: dict[str, Any] = plain({name: asdict(getattr(self, name)) for name in ("setting", "shape", "plan")})
        return facts


@dataclass(frozen=True)
class Rival:
    """The heuristic to beat on the validation sequences."""

    name: str
    jct_s: float
    cost: float


def best_heuristic(setting: Setting, plan: TrainPlan) -> Rival:
    """Of all heuristics, the one with the lowest objective on the validation sequences."""
    source = open_source(setting.workload)
    rivals = []
    for contender in choose("all", jobs=plan.jobs, family="dag").contenders:
        if contender.kind != "heuristic":
            continue
        costs, jct_s = [], []
        for seed in range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + plan.validation):
            workload = source.sequence(plan.jobs, setting.arrivals, SeedTree(seed))
            world = DagWorld(workload, setting.options, SeedTree(seed))
            result = run(world, SCHEDULERS.create(contender.spec), SeedTree(seed).generator())
            costs.append(setting.objective.cost(result.costs))
            jct_s.append(result.avg_jct_s)
        rivals.append(Rival(contender.spec, float(np.mean(jct_s)), float(np.mean(costs))))
    return min(rivals, key=lambda rival: rival.cost)


@dataclass(frozen=True)
class MakeDagWorker:
    """Makes worker number n; can be sent to another process."""

    setting: Setting
    shape: DecimaShape

    def __call__(self, number: int) -> DagWorker:
        return DagWorker(self.setting, self.shape, number)


def start_workers(job: TrainJob, count: int | None, rollouts: str = "processes", address: str | None = None) -> Workers:
    """`count` workers (None: as many as there are processors), of a kind in `ROLLOUTS`."""
    make = MakeDagWorker(job.setting, job.shape)
    if rollouts == "ray":
        from dovetail.training.ray_workers import RayWorkers

        return RayWorkers(make, count, address)
    count = default_workers() if count is None else count
    return LocalWorker(make) if count == 1 else ProcessWorkers(make, count)


class TrainRun:
    """A run in a directory."""

    def __init__(
        self, directory: Path, job: TrainJob, command: str, *, resume: bool, start: Path | None = None
    ) -> None:
        self.directory = directory
        self.job = job
        self.command = command
        self.resumed = False
        self.origin: dict[str, Any] | None = None  # how the network was made that it started from
        check_place(directory, STATE, resume=resume)
        if resume:
            self.state = self._read_state(directory / STATE)
            self.resumed = True
        else:
            self.state = fresh_state(job.shape, job.plan.seed)
            if start is not None:
                begun = load_checkpoint(start)
                self.state.weights = weights_of(begun, job.shape, start)
                self.origin = {name: begun.card.get(name) for name in ("command", "commit", "from")}

    def go_on(self, workers: Workers, rival: Rival, until: Callable[[], bool]) -> Iterator[Progress]:
        """Train until the plan is done or `until` says so; everything is on disk when a `Progress` comes out."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_state()
        objective = self.job.setting.objective
        plan = self.job.plan.against(rival.name, rival.jct_s, to_the_end=objective.time > 0.0)
        trainer = Trainer(plan, workers, self.state)
        writer = _tensorboard(self.directory)
        best = self.state.best
        try:
            for progress in trainer.run():
                self._log(progress, writer)
                if self.state.best < best:
                    best = self.state.best
                    self.save_best(rival)
                self._write_state()
                yield progress
                if until():
                    return
        finally:
            writer.close()
            if self.state.best_weights is not None:
                self.save_best(rival)  # with the whole curve

    def save_best(self, rival: Rival) -> Path:
        """The best network so far, with its card."""
        network = DecimaNetwork(self.job.shape)
        weights = self.state.weights if self.state.best_weights is None else self.state.best_weights
        torch.nn.utils.vector_to_parameters(torch.from_numpy(weights.copy()), network.parameters())
        at_best = min(self.state.curve, key=lambda point: point["validation_cost"], default={})
        card = {
            "arguments": plain(self.job.arguments),
            "objective": self.job.setting.objective.name,
            "plan": self.job.facts()["plan"],
            "command": self.command,
            "version": __version__,
            "commit": current_commit(),
            "from": self.origin,
            "validation": {**at_best, "best_heuristic": rival.name, "best_heuristic_jct_s": round(rival.jct_s, 4)},
            "curve": self.state.curve,
        }
        return save_checkpoint(
            self.directory / CHECKPOINT, Checkpoint(self.job.shape, network.parameter_arrays(), card)
        )

    def _log(self, progress: Progress, writer: Any) -> None:
        finite = {name: value for name, value in progress.figures.items() if math.isfinite(value)}
        line = {"phase": progress.phase, "number": progress.number, **finite}
        with (self.directory / PROGRESS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        for name, value in finite.items():
            writer.add_scalar(f"{progress.phase}/{name}", value, progress.number)

    def _write_state(self) -> None:
        partial = self.directory / f"{STATE}.part"
        state = {
            name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
            for name, value in vars(self.state).items()
        }
        torch.save({"job": self.job.facts(), "state": state, "origin": self.origin}, partial)
        partial.replace(self.directory / STATE)

    def _read_state(self, file: Path) -> TrainState:
        try:
            found = torch.load(file, weights_only=True)
        except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise DovetailError(f"{file}: cannot be read ({error}); start again in another directory") from error
        ours = self.job.facts()
        try:
            theirs, origin, parts = found["job"], found["origin"], found["state"]
            differs = [
                f"{part}.{key}" for part in ours for key, value in ours[part].items() if value != theirs[part].get(key)
            ]
            values: dict[str, Any] = {
                name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in parts.items()
            }
            state = TrainState(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise DovetailError(f"{file}: not the state of a training run; start again in another directory") from error
        differs = [name for name in differs if name != "plan.iterations"]  # a run may be made longer
        if differs:
            raise ConfigError(
                f"{self.directory}: the run there has another {', '.join(differs)}; give the same options"
            )
        if len(state.weights) != self.job.shape.num_parameters:
            raise DovetailError(f"{file}: its network has {len(state.weights)} parameters; it is damaged, start again")
        self.origin = origin
        return state


def weights_of(checkpoint: Checkpoint, shape: DecimaShape, path: Path) -> Weights:
    """The weights of a checkpoint, to start from."""
    if checkpoint.shape != shape:
        raise ConfigError(f"{path}: its shape is another one ({checkpoint.shape}); leave out --shape to go on with it")
    network = DecimaNetwork(shape)
    network.load_arrays(checkpoint.parameters)
    return torch.nn.utils.parameters_to_vector(network.parameters()).detach().numpy().copy()


def _tensorboard(directory: Path) -> Any:
    require("tensorboard", "the logs of `dovetail train`")
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(directory / "tensorboard"))


def default_workers() -> int:
    return max(1, len(os.sched_getaffinity(0)))
