"""A parameter server: a slice of the parameters, to which gradients are applied as they come.

Each mini-batch of a chunk has a number, and a chunk's are trained in order by one worker at a time.  The server keeps
how many it has applied of each chunk, and ignores a gradient that it has applied already.  So whatever is sent again
after a failure counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.errors import DovetailError
from dovetail.execution.elastic.snapshot import Part

PlainPart = tuple[int, int, bytes, bytes, list[int]]


def to_plain(part: Part) -> PlainPart:
    """As it travels."""
    return part.low, part.version, part.parameters.tobytes(), part.velocity.tobytes(), part.done.tolist()


def from_plain(plain: PlainPart) -> Part:
    low, version, parameters, velocity, done = plain
    return Part(
        low,
        version,
        np.frombuffer(parameters, dtype=np.float32),
        np.frombuffer(velocity, dtype=np.float32),
        np.array(done, dtype=np.int64),
    )


class ShardError(DovetailError):
    """A worker asked for something that no correct worker asks for."""


class Shard:
    """Single-threaded: requests are carried out one after the other."""

    def load(self, plain: PlainPart, learning_rate: float, momentum: float) -> int:
        part = from_plain(plain)
        self._low, self._version = part.low, part.version
        self._parameters, self._velocity, self._done = part.parameters.copy(), part.velocity.copy(), part.done
        self._learning_rate, self._momentum = np.float32(learning_rate), np.float32(momentum)
        self._pushes = self._stale = 0
        return self._version

    def pull(self, chunk: int) -> tuple[int, int, bytes]:
        """Version, mini-batches done of the chunk, parameters."""
        return self._version, int(self._done[chunk]), self._parameters.tobytes()

    def push(self, chunk: int, number: int, pulled: int, gradient: bytes) -> tuple[int, bytes]:
        """Apply the gradient of a mini-batch, computed with parameters of version `pulled`; the parameters after it."""
        done = int(self._done[chunk])
        if number > done:
            raise ShardError(f"chunk {chunk}: given mini-batch {number}, but {done} is the next one")
        if number == done:
            self._velocity *= self._momentum
            self._velocity += np.frombuffer(gradient, dtype=np.float32)
            self._parameters -= self._learning_rate * self._velocity
            self._done[chunk] += 1
            self._pushes += 1
            self._stale += self._version - pulled
            self._version += 1
        return self._version, self._parameters.tobytes()

    def export(self) -> tuple[PlainPart, int, int]:
        """Everything; and since the last time, how many gradients came and how many versions old they were in all."""
        part = Part(self._low, self._version, self._parameters, self._velocity, self._done)
        pushes, stale = self._pushes, self._stale
        self._pushes = self._stale = 0
        return to_plain(part), pushes, stale

    def ping(self) -> None:
        """Whether it answers."""

    def methods(self) -> dict[str, Any]:
        """What may be asked from outside."""
        return {name: getattr(self, name) for name in ("load", "pull", "push", "export", "ping")}
