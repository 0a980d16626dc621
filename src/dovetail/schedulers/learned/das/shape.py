"""The sizes of a DAS network, which of its parts it has, and its parameters by name."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import Floats
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS, NEIGHBOUR_COLUMNS, PAIR_COLUMNS, START_COLUMNS

NODE_COLUMNS = (*MACHINE_COLUMNS, *PAIR_COLUMNS, *NEIGHBOUR_COLUMNS, *JOB_COLUMNS)
"""Of a node of the graph: a machine, as the job at hand would find it."""
PLACE_COLUMNS = NODE_COLUMNS[: -len(JOB_COLUMNS)]
"""Those in which machines differ for one job."""
ORDER_RULE = {"gpu time left": -6.0, "waited": 1.0}
PLACE_RULE = {
    "takes all": 2.0,
    "workers it takes, of the job": 1.0,
    "gpus left over": -3.0,
    "left over of the device": -1.0,
    "slowed by neighbours": -4.0,
    "slows its neighbours": -4.0,
}
START_RULE = {
    "one": 3.0,
    "needs no gpu": 5.0,
    "time left": -1.0,
    "waited over time left": 0.3,
    "gpus free after it": 4.0,
    "gpus held by those that last longer": -2.0,
    "gpus that much shorter ones ask for": -4.0,
}
"""The rules of thumb that learning begins with: weights of columns, whose sum is the score."""
OF_MACHINES = {
    "order": ("share of machines that take a worker", "workers that fit now, of those it has", "one machine takes all"),
    "start": (
        "gpus free after it",
        "gpus free after it x time left",
        "whole machines free after it",
        "machines more than it needs",
        "slower for want of one machine",
        "speed of the types free, of the best",
        "gpus held by those that last longer",
        "time until the next ends",
    ),
}
"""Columns of jobs and of starts that come from the state of machines: the published ordering agent has none of them."""
MOST_READY, MOST_READY_ALONE = 0.3, 8.0
"""That the network adds to the rule of starting a job, or takes from it; and where it alone hears of machines."""
HOST_RANK, DEVICE_RANK = 2, 5  # of what is learned of neighbours on machines, and on devices

PARTS = ("communicate", "aware", "random_walk")
"""Of a `DasShape`: what a network may be taken away or given without another meaning of what it has learned."""

Parameters = dict[str, Floats]


@dataclass(frozen=True)
class DasShape:
    """`communicate` (MC) and `random_walk` (RWGP) are the two parts that the published ablation leaves out.

    `aware` is ours: besides what its network hears, the ordering agent has columns of machines made by hand.  Where it
    has none, as published, the network says all that follows from the state of machines, so it has more of a say.
    """

    width: int = field(default=32, metadata={"help": "of a job inside the ordering agent"})
    heads: int = field(default=4, metadata={"help": "of attention"})
    layers: int = field(default=1, metadata={"help": "of the Transformer encoder"})
    hidden: int = field(default=32, metadata={"help": "of the placement agent"})
    rank: int = field(default=12, metadata={"help": "features of a node in the random walk"})
    history: int = field(default=48, metadata={"help": "observations that are kept (tau)"})
    kinds: tuple[str, ...] = field(default=(), metadata={"help": "of training whose neighbours it has learned of"})
    communicate: bool = field(default=True, metadata={"help": "squeeze-and-communicate: the network hears of machines"})
    aware: bool = field(default=True, metadata={"help": "rules of the ordering agent read the state of machines"})
    random_walk: bool = field(default=True, metadata={"help": "the placement agent is a random-walk Gaussian process"})

    def __post_init__(self) -> None:
        limits = (("width", 1024), ("heads", 64), ("layers", 8), ("hidden", 1024), ("rank", 256), ("history", 4096))
        for name, most in limits:
            if not 1 <= getattr(self, name) <= most:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 1 to {most}")
        if self.width % self.heads:
            raise ConfigError(f"width is {self.width}, which {self.heads} heads cannot divide")

    @property
    def walk_rank(self) -> int:
        """What is remembered of a node; 0 where nobody walks."""
        return self.rank if self.random_walk else 0

    def seen(self) -> tuple[Floats, Floats]:
        """1 for each column of jobs, and of starts, that the ordering agent has; 0 for those it lacks, if unaware."""
        of = (("order", JOB_COLUMNS), ("start", START_COLUMNS))
        jobs, starts = (
            np.array([float(self.aware or name not in OF_MACHINES[part]) for name in columns]) for part, columns in of
        )
        return jobs, starts

    @property
    def most_ready(self) -> float:
        return MOST_READY if self.aware else MOST_READY_ALONE

    def sizes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter and its size."""
        w, h = self.width, self.hidden
        found: dict[str, tuple[int, ...]] = {
            "order.base": (len(JOB_COLUMNS),),
            "order.job.weight": (len(JOB_COLUMNS), w),
            "order.job.bias": (w,),
            "order.out.weight": (w, 2),
            "order.out.bias": (2,),
            "order.wait.weight": (w, 1),
            "order.wait.bias": (1,),
            "order.trust": (2,),
            "start.base": (len(START_COLUMNS),),
            "place.base": (len(PLACE_COLUMNS),),
            "place.speed": (1,),
            "place.rack": (1,),
            "place.in.weight": (len(NODE_COLUMNS), h),
            "place.in.bias": (h,),
            "place.prior.weight": (h, 1),
            "place.prior.bias": (1,),
            "place.out.weight": (h, 1),
            "place.out.bias": (1,),
        }
        for where, rank in (("host", HOST_RANK), ("device", DEVICE_RANK)):
            found |= {f"neighbours.{where}.{part}": (len(self.kinds), rank) for part in ("press", "feel")}
        if self.communicate:
            found |= {
                "order.squeeze.weight": (len(MACHINE_COLUMNS), w),
                "order.squeeze.bias": (w,),
                "order.gate.weight": (2 * w, w),
                "order.gate.bias": (w,),
            }
        for layer in range(self.layers):
            name = f"order.layer{layer}"
            found |= {f"{name}.{part}.weight": (w, w) for part in ("query", "key", "value", "mix")}
            found |= {f"{name}.{norm}": (w,) for norm in ("norm1", "norm2")}
            found |= {f"{name}.up.weight": (w, 2 * w), f"{name}.up.bias": (2 * w,)}
            found |= {f"{name}.down.weight": (2 * w, w), f"{name}.down.bias": (w,)}
        if self.random_walk:
            found |= {
                "place.walk.weight": (h, self.rank),
                "place.walk.bias": (self.rank,),
                "place.walk.topology": (1,),
                "place.walk.machine": (1,),
                "place.walk.length": (1,),
                "place.walk.noise": (1,),
                "place.walk.amplitude": (1,),
                "place.walk.age": (1,),
                "place.walk.trust": (1,),
            }
        return found

    def fresh(self, rng: np.random.Generator) -> Parameters:
        """Before anything is learned: the order and places of the base, and small random numbers elsewhere."""
        found: Parameters = {}
        for name, size in self.sizes().items():
            if name.endswith(".weight"):
                found[name] = rng.normal(size=size) / np.sqrt(size[0])
            else:
                found[name] = np.zeros(size)
            if ".norm" in name:
                found[name] = np.ones(size)
        for name in ("order.out.weight", "order.wait.weight", "place.out.weight", "place.prior.weight"):
            found[name] = np.zeros_like(found[name])
        found |= {
            "order.base": np.array([ORDER_RULE.get(name, 0.0) for name in JOB_COLUMNS]),
            "start.base": np.array([START_RULE.get(name, 0.0) for name in START_COLUMNS]),
            "place.base": np.array([PLACE_RULE.get(name, 0.0) for name in PLACE_COLUMNS]),
            "place.speed": np.array([4.0]),
            "place.rack": np.array([1.0]),
        }
        if self.random_walk:
            found |= {
                "place.walk.topology": np.array([-2.0]),
                "place.walk.machine": np.array([2.0]),
                "place.walk.length": np.array([2.0]),
                "place.walk.noise": np.array([-1.0]),
                "place.walk.amplitude": np.array([-2.0]),
                "place.walk.age": np.array([-1.0]),
                "place.walk.trust": np.array([4.0]),
            }
        return found
