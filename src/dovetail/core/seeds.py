"""One tree of named random streams per run.

Every part of a run that draws random numbers asks for its own stream by name, so adding a draw in
one part never shifts the numbers of another. In particular the stream of job arrivals is separate
from the stream of actions: the first can be replayed with fresh draws of the second.

A stream depends only on the seed and the names on the path to it, through a cryptographic hash:
the same on every platform, for every version of Python, in any order of asking.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np


@dataclass(frozen=True, slots=True)
class SeedTree:
    """A node of the tree: `SeedTree(7).child("workload", 3, "arrivals").generator()`."""

    seed: int
    path: tuple[str, ...] = ()

    def child(self, *names: str | int) -> SeedTree:
        """The node below this one; a number names the same stream as its decimal text."""
        return SeedTree(self.seed, self.path + tuple(str(name) for name in names))

    def generator(self) -> np.random.Generator:
        """A fresh generator at the start of this node's stream: two calls give equal draws."""
        return np.random.Generator(np.random.PCG64(int.from_bytes(self._digest(b"generator", 16), "little")))

    def key(self) -> int:
        """An unsigned 64-bit key for counter-based streams, unrelated to the generator's draws."""
        return int.from_bytes(self._digest(b"key", 8), "little")

    def _digest(self, purpose: bytes, size: int) -> bytes:
        # Each part is preceded by its length, so ("ab", "c") and ("a", "bc") stay different streams.
        digest = blake2b(digest_size=size, person=purpose)
        for part in (str(int(self.seed)), *self.path):
            encoded = part.encode()
            digest.update(len(encoded).to_bytes(8, "little"))
            digest.update(encoded)
        return digest.digest()
