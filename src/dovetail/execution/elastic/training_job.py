"""What is to be trained: a model, generated data in chunks of mini-batches, and how often to go through them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from dovetail.core.errors import ConfigError, UnknownName

MODELS = ("mlp", "cnn")
MAX_BATCHES = 10**8  # of one job, over all epochs
MAX_PAD_S = 3600.0


@dataclass(frozen=True)
class TrainingJob:
    """Plain values only: a job travels to its workers as a tuple."""

    model: str  # one of MODELS
    seed: int  # of the data and of the first parameters
    epochs: int
    chunks: int  # of the data; a chunk has one worker at a time, so this is also the largest number of workers
    batches: int  # mini-batches of one chunk
    batch_size: int = 32  # samples of one mini-batch
    learning_rate: float = 0.02
    momentum: float = 0.5
    pad_s: float = 0.0  # pretended GPU time: a worker sleeps so long for each mini-batch, on top of the real gradient

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise UnknownName("model", self.model, MODELS)
        for name in ("epochs", "chunks", "batches", "batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 1 or more")
        if self.total_batches > MAX_BATCHES:
            raise ConfigError(f"{self.total_batches:,} mini-batches in all; expected {MAX_BATCHES:,} at most")
        if not 0.0 <= self.pad_s <= MAX_PAD_S:
            raise ConfigError(f"pad_s is {self.pad_s}; expected 0 to {MAX_PAD_S:g} seconds")
        if not (self.learning_rate > 0.0 and 0.0 <= self.momentum < 1.0):
            raise ConfigError(
                f"learning_rate {self.learning_rate} and momentum {self.momentum}; expected above 0, and 0 to below 1"
            )

    @property
    def chunk_batches(self) -> int:
        """Mini-batches of one chunk over all epochs."""
        return self.epochs * self.batches

    @property
    def total_batches(self) -> int:
        return self.chunks * self.chunk_batches

    def to_plain(self) -> tuple[Any, ...]:
        return astuple(self)
