"""Training jobs to run for real, and the same jobs as schedulers and the simulator know them.

Everything is drawn: model, size, demands, utility (with the published shares of jobs insensitive, sensitive and
critical to time).  How much work a job is, in worker-slots, follows from the time that a mini-batch takes here, which
is measured beforehand (`calibration`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.elastic import BANDWIDTH
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.execution.elastic.training_job import MODELS, TrainingJob
from dovetail.execution.elastic.virtual_cluster import SERVER_PLACE, WORKER_PLACE
from dovetail.workloads.elastic import BITS_OF_A_MEGABYTE, ElasticWorkload

PARAMETERS = {"mlp": 9_794, "cnn": 2_118}
LEARNING_RATE = {"mlp": 0.01, "cnn": 0.02}
CHUNKS = (2, 4)
WORK_PER_CHUNK = (1.5, 4.0)  # worker-slots; so a job takes some two to four slots with all its workers
ARRIVALS = 0.6  # share of the slots in which jobs arrive
SHARES = (0.10, 0.55, 0.35)  # insensitive, sensitive, critical to time
HISTORY = 50
MAX_JOBS = 1_000
MAX_SLOTS = 10_000


@dataclass(frozen=True)
class LiveOptions:
    """What to draw."""

    jobs: int = 6
    slots: int = 16
    slot_s: float = 2.0
    pad_s: float = 0.04  # of a mini-batch, see `TrainingJob`
    margin: float = 0.05  # by which workers are expected to be slower than measured
    models: tuple[str, ...] = MODELS

    def __post_init__(self) -> None:
        for name, most in (("jobs", MAX_JOBS), ("slots", MAX_SLOTS)):
            if not 1 <= getattr(self, name) <= most:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 1 to {most:,}")
        if not 0.2 <= self.slot_s <= 3600.0:
            raise ConfigError(f"a slot of {self.slot_s:g} s; expected 0.2 to 3600")
        if not 0.0 <= self.pad_s <= self.slot_s / 4:
            raise ConfigError(f"a mini-batch padded with {self.pad_s:g} s; expected 0 to a quarter of a slot")
        if not 0.0 <= self.margin <= 10.0:
            raise ConfigError(f"a margin of {self.margin:g}; expected 0 to 10")

    def facts(self, batch_s: Mapping[str, float]) -> dict[str, Any]:
        """For records: runs with the same facts are of the same jobs."""
        drawn = {name: getattr(self, name) for name in ("jobs", "slots", "slot_s", "pad_s", "margin")}
        return {"name": "live", **drawn, "models": list(self.models), "batch_s": dict(batch_s)}


@dataclass(frozen=True, eq=False)
class LiveWorkload:
    training: tuple[TrainingJob, ...]  # (J,)
    table: ElasticWorkload

    @property
    def total_batches(self) -> Ints:
        return self.table.epochs * self.table.chunks * self.table.batches

    @property
    def slot_batches(self) -> Floats:
        """(J,) mini-batches that one worker is expected to train in a slot."""
        return slot_batches(self.table)


def slot_batches(table: ElasticWorkload) -> Floats:
    gradient_s = BITS_OF_A_MEGABYTE * table.gradient_mb / table.worker_demand[:, BANDWIDTH]
    return np.asarray(table.slot_s / (table.batch_s + 2.0 * gradient_s), dtype=np.float64)


def draw(options: LiveOptions, batch_s: Mapping[str, float], seeds: SeedTree) -> LiveWorkload:
    """`batch_s`: seconds that a worker takes for a mini-batch of each model, all in all."""
    for model, seconds in batch_s.items():
        if seconds * (1.0 + options.margin) > options.slot_s:
            raise ConfigError(
                f"a mini-batch of {model} takes {seconds:.3g} s, with a margin of {options.margin:g} more than a slot "
                f"of {options.slot_s:g} s; expected longer slots"
            )
    history, _ = _draw(options, batch_s, HISTORY, seeds.child("history"))
    table, training = _draw(options, batch_s, options.jobs, seeds.child("jobs"))
    return LiveWorkload(training, table.with_history(history.jobs()))


def _draw(
    options: LiveOptions, batch_s: Mapping[str, float], count: int, seeds: SeedTree
) -> tuple[ElasticWorkload, tuple[TrainingJob, ...]]:
    rng = seeds.generator()
    models = [options.models[place % len(options.models)] for place in range(count)]
    step_s = np.array([batch_s[model] * (1.0 + options.margin) for model in models])
    chunks = rng.integers(CHUNKS[0], CHUNKS[1] + 1, count)
    chunk_batches = rng.uniform(*WORK_PER_CHUNK, count) * options.slot_s / step_s
    epochs = np.minimum(rng.integers(2, 7, count), np.maximum(chunk_batches.astype(np.int64), 1))
    batches = np.maximum(np.rint(chunk_batches / epochs).astype(np.int64), 1)
    places = 1.0 + (rng.random((count, 1)) < 0.3)  # a third of the jobs has workers of twice the size
    worker = places * np.array(WORKER_PLACE.capacity) * np.array([1.0, 0.5, 0.5, 0.2, 1.0])
    server = np.tile(np.array(SERVER_PLACE.capacity) * np.array([0.0, 0.5, 0.5, 0.2, 1.0]), (count, 1))
    gradient_mb = np.array([4e-6 * PARAMETERS[model] for model in models])
    gradient_s = BITS_OF_A_MEGABYTE * gradient_mb / worker[:, BANDWIDTH]
    arrival = np.sort(rng.integers(0, max(1, int(ARRIVALS * options.slots)), count))
    arrival -= arrival[0]
    kind = rng.choice(3, count, p=SHARES)
    decay = np.choose(kind, (np.zeros(count), rng.uniform(0.01, 1.0, count), rng.uniform(4.0, 6.0, count)))
    table = ElasticWorkload(
        slots=options.slots,
        slot_s=options.slot_s,
        job_name=tuple(f"{model}-{number}" for number, model in enumerate(models)),
        arrival=arrival,
        epochs=epochs,
        chunks=chunks,
        batches=batches,
        batch_s=np.maximum(step_s - 2.0 * gradient_s, 0.5 * step_s),
        gradient_mb=gradient_mb,
        worker_demand=worker,
        server_demand=server,
        utility=np.column_stack([rng.uniform(1, 100, count), decay, rng.uniform(1, 15, count)]),
        history=None,  # type: ignore[arg-type]  # it is given by the caller, or these are the history
    )
    training = tuple(
        TrainingJob(
            model=model,
            seed=number,
            epochs=int(epochs[number]),
            chunks=int(chunks[number]),
            batches=int(batches[number]),
            learning_rate=LEARNING_RATE[model],
            pad_s=options.pad_s,
        )
        for number, model in enumerate(models)
    )
    return table, training
