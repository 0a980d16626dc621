"""A worker: fetches parameters, computes the gradient of a mini-batch, sends it to all parameter servers, and so on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from dovetail.execution.elastic.data import Data
from dovetail.execution.elastic.network import Network
from dovetail.execution.elastic.training_job import TrainingJob


class ShardClient(Protocol):
    """The way to one parameter server.  `ask` all of them, then take each `answer`: so they work at the same time."""

    def ask(self, method: str, *arguments: Any) -> None: ...

    def answer(self) -> Any: ...

    def close(self) -> None: ...


class ServerLost(Exception):
    """A parameter server does not answer any more."""


class Trained(NamedTuple):
    """What became of a lease."""

    chunk: int
    done: int  # mini-batches of the chunk, over all epochs; -1: not known
    batches: int  # trained under this lease
    loss: float  # sum over them, each before its own step
    elapsed_s: float
    broken: str = ""  # why it was cut short: a parameter server is lost


class Trainer:
    """`connect` makes the client of a server from its address."""

    def __init__(self, connect: Callable[[Any], ShardClient]) -> None:
        self._connect = connect
        self._job: TrainingJob | None = None
        self._shards: list[tuple[slice, ShardClient]] = []

    def join(self, job: Sequence[Any], servers: Sequence[tuple[int, int, Any]]) -> bool:
        """Work for this job with these servers: first and last + 1 of their slices, and where they are."""
        asked = TrainingJob(*job)
        if asked != self._job:
            self._job, self._data = asked, Data(asked)
            self._network = Network.open(asked.model, asked.seed)
        for _, shard in self._shards:
            shard.close()
        self._shards = []
        try:
            self._shards = [(slice(low, high), self._connect(address)) for low, high, address in servers]
        except ServerLost:
            return False
        return True

    def train(self, chunk: int, batches: int, budget_s: float) -> Trained:
        """So many mini-batches of a chunk, or fewer if they are all that is left, or if time is up before one."""
        assert self._job is not None, "join comes first"
        start_s = time.monotonic()
        trained, loss, number = 0, 0.0, -1
        try:
            versions, number = self._pull(chunk)
            while trained < batches and number < self._job.chunk_batches:
                if trained and time.monotonic() - start_s >= budget_s:
                    break
                loss += self._network.gradient(*self._data.batch(chunk, number))
                if self._job.pad_s:
                    time.sleep(self._job.pad_s)
                versions = self._push(chunk, number, versions)
                number += 1
                trained += 1
        except ServerLost as error:
            return Trained(chunk, -1, trained, loss, time.monotonic() - start_s, str(error) or "connection lost")
        return Trained(chunk, number, trained, loss, time.monotonic() - start_s)

    def _pull(self, chunk: int) -> tuple[list[int], int]:
        """Fresh parameters; their versions, and the mini-batch that is next.

        Some servers may have applied it already, if a worker died while it was sending: they will ignore it.
        """
        for _, shard in self._shards:
            shard.ask("pull", chunk)
        versions, numbers = [], []
        for part, shard in self._shards:
            version, done, parameters = shard.answer()
            self._network.parameters[part] = np.frombuffer(parameters, dtype=np.float32)
            versions.append(version)
            numbers.append(done)
        return versions, min(numbers)

    def _push(self, chunk: int, number: int, versions: list[int]) -> list[int]:
        """Send the gradient; what comes back are the parameters after it, for the next mini-batch."""
        for (part, shard), version in zip(self._shards, versions, strict=True):
            shard.ask("push", chunk, number, version, self._network.gradients[part].tobytes())
        fresh = []
        for part, shard in self._shards:
            version, parameters = shard.answer()
            self._network.parameters[part] = np.frombuffer(parameters, dtype=np.float32)
            fresh.append(version)
        return fresh

    def methods(self) -> dict[str, Callable[..., Any]]:
        """What may be asked from outside."""
        return {"join": self.join, "train": lambda *arguments: tuple(self.train(*arguments))}
