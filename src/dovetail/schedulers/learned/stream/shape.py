"""How large a learned autoscaler's network is, and what of it is left out; everything but its parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dovetail.core.errors import ConfigError

Sampler = Literal["learned", "random", "none"]
Present = Literal["whole", "own"]
Past = Literal["trend", "weighed", "sampled"]
Action = Literal["demand", "bursts", "relative", "published"]


@dataclass(frozen=True)
class StreamShape:
    """Shared by all kinds of networks; what a kind has no use for makes no difference to it."""

    width: int = field(default=32, metadata={"help": "numbers for each operator and snapshot"})
    hidden: int = field(default=100, metadata={"help": "first layer of the policy; the second has half of it"})
    layers: int = field(default=3, metadata={"help": "of the graph network"})
    hops: int = field(default=2, metadata={"help": "how far downstream the neighbours of an operator are"})
    neighbours: int = field(default=8, metadata={"help": "SURE: of these, the nearest, at most"})
    snapshots: int = field(default=10, metadata={"help": "SURE: snapshots that are sampled of the history"})
    share: float = field(default=0.5, metadata={"help": "SURE: share of the neighbours sampled in each of them"})
    sampler: Sampler = field(
        default="learned", metadata={"help": "SURE: how these are chosen: learned, random, or none: all are taken"}
    )
    present: Present = field(
        default="whole",
        metadata={"help": "SURE: of the newest snapshot it looks at the whole job, or at each operator's own alone"},
    )
    past: Past = field(
        default="trend",
        metadata={
            "help": "SURE: of its own history an operator sees those sampled, and (trend) the mean of all, and how the "
            "one by the weights they are sampled with differs from it; (weighed) that one; (sampled) no more"
        },
    )
    faults: bool = field(
        default=False,
        metadata={
            "help": "SURE: as its published code, for comparison: choices have no gradient, and noise is scaled by the "
            "variance"
        },
    )
    action: Action = field(
        default="bursts",
        metadata={
            "help": "what an action means: bursts: how much spare capacity over what the last day lets expect of the "
            "coming hour; demand: over the measured demand; "
            "relative: more or fewer than now; published: the same as it was published, which hardly leaves 1"
        },
    )

    def __post_init__(self) -> None:
        for name, low, high in (
            ("width", 1, 1024),
            ("hidden", 2, 4096),
            ("layers", 1, 16),
            ("hops", 1, 64),
            ("neighbours", 1, 10_000),
            ("snapshots", 1, 10_000),
            ("share", 1e-3, 1.0),
        ):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected {low:g} to {high:g}")
