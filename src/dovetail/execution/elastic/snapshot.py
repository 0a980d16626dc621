"""All there is to know of a job's training at one moment; as a file, a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dovetail.core.dag import Ints
from dovetail.core.errors import CheckpointError
from dovetail.execution.elastic.network import Network, Vector
from dovetail.execution.elastic.training_job import TrainingJob
from dovetail.records.files import replacing


@dataclass(frozen=True, eq=False)
class Part:
    """What one parameter server has: the slice of the parameters that begins at `low`."""

    low: int
    version: int  # gradients applied so far
    parameters: Vector
    velocity: Vector  # state of the optimiser
    done: Ints  # (N,) mini-batches of each chunk whose gradient was applied, over all epochs


@dataclass(frozen=True, eq=False)
class Snapshot:
    version: int
    parameters: Vector  # (P,)
    velocity: Vector  # (P,)
    done: Ints  # (N,) a chunk's mini-batches are trained in order, so a number says which

    @classmethod
    def first(cls, job: TrainingJob) -> Snapshot:
        parameters = Network.open(job.model, job.seed).parameters.copy()
        return cls(0, parameters, np.zeros_like(parameters), np.zeros(job.chunks, dtype=np.int64))

    @classmethod
    def merge(cls, parts: Sequence[Part]) -> Snapshot:
        """Parts of all servers.  A mini-batch counts when all of them have applied its gradient."""
        ordered = sorted(parts, key=lambda part: part.low)
        return cls(
            version=max(part.version for part in ordered),
            parameters=np.concatenate([part.parameters for part in ordered]),
            velocity=np.concatenate([part.velocity for part in ordered]),
            done=np.min([part.done for part in ordered], axis=0),
        )

    @property
    def batches_done(self) -> int:
        return int(self.done.sum())

    def split(self, servers: int) -> list[Part]:
        """Slices as equal as can be, one for each of so many servers."""
        bounds = [len(self.parameters) * server // servers for server in range(servers + 1)]
        return [
            Part(low, self.version, self.parameters[low:high], self.velocity[low:high], self.done)
            for low, high in pairwise(bounds)
        ]

    def save(self, path: Path) -> None:
        """Whole or not at all."""
        from safetensors.numpy import save_file

        with replacing(path) as part:
            save_file(
                {
                    "parameters": np.ascontiguousarray(self.parameters),
                    "velocity": np.ascontiguousarray(self.velocity),
                    "done": np.ascontiguousarray(self.done),
                    "version": np.array([self.version], dtype=np.int64),
                },
                part,
            )

    @classmethod
    def load(cls, path: Path) -> Snapshot:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            found = load_file(path)
            return cls(int(found["version"][0]), found["parameters"], found["velocity"], found["done"])
        except (OSError, KeyError, IndexError, SafetensorError) as error:
            raise CheckpointError(f"{path}: is no checkpoint of a training job ({error})") from error
