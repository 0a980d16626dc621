"""How a DAS network is to be learned: all parts of a run (`das_run`)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any

from dovetail.core.errors import ConfigError

FORKS, MAPPO = "forks", "mappo"
POLICY_GRADIENTS = (FORKS, MAPPO)
REWARDS = ("das", "cost")
ADVANTAGES = ("td", "q")


@dataclass(frozen=True)
class MappoPlan:
    """Of `mappo` alone."""

    reward: str = field(default="das", metadata={"help": "das: as published; cost: minus time in the system and fees"})
    alpha: float = field(default=0.01, metadata={"help": "of `das`: price of an hour's waiting, for each GPU"})
    advantage: str = field(default="td", metadata={"help": "td: TD errors of the value; q: Q less the value"})
    trace: float = field(default=0.95, metadata={"help": "lambda: 0: one-step TD errors; 1: all that comes"})
    entropy: float = field(default=1e-3, metadata={"help": "weight of the entropy of each score"})
    steps: int = field(default=20, metadata={"help": "of the critic, in a round"})
    rate: float = field(default=3e-3, metadata={"help": "learning rate of the critic"})
    slow: float = field(default=0.05, metadata={"help": "how far the old network follows the critic in a step"})
    width: int = field(default=32, metadata={"help": "of the critic"})

    def __post_init__(self) -> None:
        check_choice("mappo.reward", self.reward, REWARDS)
        check_choice("mappo.advantage", self.advantage, ADVANTAGES)
        for name, low, high in (
            ("alpha", 0.0, 1e3),
            ("trace", 0.0, 1.0),
            ("entropy", 0.0, 1e3),
            ("steps", 0, 10**6),
            ("rate", 1e-9, 1.0),
            ("slow", 0.0, 1.0),
            ("width", 1, 1024),
        ):
            check_range(f"mappo.{name}", getattr(self, name), low, high)


@dataclass(frozen=True)
class DasPlan:
    """How to learn."""

    iterations: int = field(default=8, metadata={"help": "rounds of playing and learning"})
    sequences: int = field(default=16, metadata={"help": "job sequences in a round"})
    episodes: int = field(default=24, metadata={"help": "forks: times each of them is played otherwise in a round"})
    epochs: int = field(default=4, metadata={"help": "steps of learning from a round"})
    neighbours: int = field(
        default=40, metadata={"help": "episodes at random from which it is learned who slows whom down; 0: it is not"}
    )
    rules: int = field(
        default=60, metadata={"help": "steps of evolution of rules of thumb and last layers, before the first round"}
    )
    pairs: int = field(default=64, metadata={"help": "directions that such a step tries, each both ways"})
    warm_up: int = field(default=3, metadata={"help": "rounds in which only speeds are learned, before all others"})
    rate: float = field(default=1e-3, metadata={"help": "learning rate"})
    clip: float = field(default=0.2, metadata={"help": "how far a ratio may go"})
    order_noise: float = field(default=0.5, metadata={"help": "of priorities; 0: nothing is learned"})
    start_noise: float = field(default=0.3, metadata={"help": "of what speaks for starting"})
    place_noise: float = field(default=0.4, metadata={"help": "of affinities"})
    speed: float = field(default=0.1, metadata={"help": "weight of the likelihood of speeds"})
    wait: float = field(default=1.0, metadata={"help": "weight of the error of expected waits"})
    fee: float = field(default=0.3, metadata={"help": "what a percent of fee is worth, in percent of completion time"})
    patience: float = field(default=1.0, metadata={"help": "how fast later jobs fade, in mean completion times"})
    validation: int = field(default=16, metadata={"help": "sequences a network is chosen by, of each setting"})
    every: int = field(default=5, metadata={"help": "rounds between validations"})
    policy_gradient: str = field(
        default=FORKS, metadata={"help": "forks: decisions taken the other way (`fork_gradient`); mappo: as published"}
    )
    mappo: MappoPlan = field(default_factory=MappoPlan)

    def __post_init__(self) -> None:
        for name, low, high in (
            ("iterations", 0, 10**6),
            ("sequences", 1, 10**4),
            ("episodes", 1, 10**4),
            ("epochs", 1, 10**3),
            ("neighbours", 0, 10**6),
            ("rules", 0, 10**6),
            ("pairs", 1, 10**5),
            ("warm_up", 0, 10**6),
            ("rate", 1e-9, 1.0),
            ("clip", 1e-3, 10.0),
            ("order_noise", 0.0, 1e3),
            ("start_noise", 0.0, 1e3),
            ("place_noise", 0.0, 1e3),
            ("speed", 0.0, 1e3),
            ("wait", 0.0, 1e3),
            ("fee", 0.0, 1e3),
            ("patience", 1e-2, 1e6),
            ("validation", 1, 10**4),
            ("every", 1, 10**6),
        ):
            check_range(name, getattr(self, name), low, high)
        check_choice("policy_gradient", self.policy_gradient, POLICY_GRADIENTS)
        if self.policy_gradient == MAPPO:
            for name in ("order_noise", "start_noise", "place_noise"):
                if not getattr(self, name) > 0.0:
                    raise ConfigError(f"{name} is 0; policy_gradient=mappo draws scores, so expected more than 0")
        elif self.mappo != MappoPlan():
            raise ConfigError(f"mappo: numbers of policy_gradient={MAPPO} alone; it is {self.policy_gradient}")

    def facts(self) -> dict[str, Any]:
        """What decides a run: what it does not use is left out, so that runs of before can go on."""
        found = asdict(self)
        if self.policy_gradient == FORKS:
            del found["policy_gradient"], found["mappo"]
        return found


def check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} is {value}; expected {low:g} to {high:g}")


def check_choice(name: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ConfigError(f"{name} is {value!r}; expected {' or '.join(known)}")
