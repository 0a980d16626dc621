"""Streaming jobs of layers, in the style of the batch DAGs of large clusters; all figures are ours.

Sources are the first layer, and each of them reads every record of the job.  Every other operator is fed by one of the
layer before and, by chance, by others further up, which makes it a join.  The last layer is sinks.  An operator sends
everything to everyone it feeds, or now and then splits it.  How much work an operator has at the mean rate is spread
evenly over the magnitudes of a range, and its time for a record follows from that and from how many come to it.

The six sizes are what fixed seeds give, chosen such that operators, depth and joins are those of their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Floats
from dovetail.workloads.generate.stream_preset import Runtime, StreamPreset
from dovetail.workloads.stream_alone import with_slo
from dovetail.workloads.stream_jobs import StreamBuilder, StreamJobs, most_skew

PEAK = 2.2  # an operator's most instances can do so many times its work at the mean rate, in spite of skew
SERVICE_S = (5e-5, 5e-3)  # range of the time for a record


class _Graph(NamedTuple):
    layer: list[int]  # of each operator
    parents: list[list[int]]


@dataclass(frozen=True)
class Layered(StreamPreset):
    """A job of layers of operators."""

    operators: int = 8
    layers: int = 4
    sources: int = 2
    sinks: int = 1
    join_chance: float = 0.35  # of an operator: fed by another one, too
    split_chance: float = 0.25  # of an operator with several to feed: each gets a part
    demand: tuple[float, float] = (0.4, 4.5)  # instances busy at the mean rate
    keep: tuple[float, float] = (0.75, 1.3)  # records out for each record in, of joins for each set of records
    window_chance: float = 0.25  # of an operator that is no join: keeps state
    skew_chance: float = 0.5  # of an operator with state
    skew: tuple[float, float] = (0.02, 0.12)
    variability: tuple[float, float] = (0.7, 1.5)
    buffer_s: tuple[float, float] = (0.5, 2.0)
    state_mb: tuple[float, float] = (10.0, 60.0)
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.layers <= self.operators <= 1000:
            raise ValueError(
                f"{self.operators} operators in {self.layers} layers; expected 2 layers or more, and 1,000 operators "
                "at most, no fewer than layers"
            )
        inner = self.operators - self.sources - self.sinks
        if self.sources < 1 or self.sinks < 1 or inner < self.layers - 2 or (self.layers == 2 and inner):
            raise ValueError(
                f"{self.sources} sources, {self.sinks} sinks and {self.operators} operators in {self.layers} layers; "
                "expected at least one operator in every layer, and none beside sources and sinks if there are 2"
            )
        for name in ("join_chance", "split_chance", "window_chance", "skew_chance"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name):g}; expected 0 to 1")
        for name, least, most in (
            ("demand", 1e-3, 1e4),
            ("keep", 1e-3, 1e3),
            ("skew", 0, 1),
            ("variability", 0, 100),
            ("buffer_s", 1e-3, 1e4),
            ("state_mb", 0, 1e7),
        ):
            low, high = getattr(self, name)
            if not least <= low <= high <= most:
                raise ValueError(f"{name} is [{low:g},{high:g}]; expected a range within {least:g} to {most:g}")

    def jobs(self) -> StreamJobs:
        builder = StreamBuilder()
        self.add(builder, "job")
        return with_slo(builder.build(self.slots_for(self.operators)), self.slo_s)

    def add(self, builder: StreamBuilder, name: str) -> None:
        """Adds the job under this name."""
        seeds = SeedTree(self.seed).child("stream", "layered")
        graph = self._graph(seeds.child("graph").generator())
        rng = seeds.child("operators").generator()
        count = self.operators
        demand = np.exp(np.interp(rng.permutation(count) + rng.random(count), (0, count), np.log(self.demand)))
        children: list[list[int]] = [[] for _ in range(count)]
        for operator, parents in enumerate(graph.parents):
            for parent in parents:
                children[parent].append(operator)
        shares = [self._shares(children[operator], rng) for operator in range(count)]
        gain, out = np.zeros(count), np.zeros(count)
        builder.job(name, **self.job())
        first = len(builder.operators)
        for operator, parents in enumerate(graph.parents):
            fed = [(parent, shares[parent][children[parent].index(operator)]) for parent in parents]
            gain[operator] = sum(out[parent] * share for parent, share in fed) if fed else 1.0
            kind = self._kind(operator, len(parents), bool(children[operator]), rng)
            selectivity = _round(rng.uniform(*self.keep) / max(1, len(parents)), 2)
            selectivity = 1.0 if kind in ("source", "sink") else selectivity
            out[operator] = gain[operator] * selectivity
            service_s = float(np.clip(demand[operator] / (self.rate * gain[operator]), *SERVICE_S))
            service_s = _round(service_s, 6)
            stateful = kind in ("join", "window")
            work = service_s * self.rate * gain[operator]
            skewed = rng.random() < self.skew_chance
            skew = min(rng.uniform(*self.skew), most_skew(work, self.instances, PEAK))
            state_mb = rng.uniform(*self.state_mb)
            builder.operator(
                f"{kind}-{operator}",
                *((first + parent, share) for parent, share in fed),
                service_s=service_s,
                selectivity=selectivity,
                source=0.0 if fed else 1.0,
                skew=_round(skew, 3, down=True) if stateful and skewed else 0.0,
                variability=_round(rng.uniform(*self.variability), 2),
                buffer_s=rng.uniform(*self.buffer_s),
                state_mb=_round(state_mb, 0) if stateful else 0.0,
                most=self.instances,
            )

    def _graph(self, rng: np.random.Generator) -> _Graph:
        inner = self.operators - self.sources - self.sinks
        sizes = np.ones(self.layers, dtype=np.int64)
        sizes[0], sizes[-1] = self.sources, self.sinks
        for _ in range(inner - (self.layers - 2)):
            sizes[1 + rng.integers(self.layers - 2)] += 1
        layer = np.repeat(np.arange(self.layers), sizes).tolist()
        parents: list[list[int]] = []
        for operator, depth in enumerate(layer):
            if depth == 0:
                parents.append([])
                continue
            above = [each for each in range(operator) if layer[each] == depth - 1]
            unused = [each for each in above if not any(each in fed for fed in parents)]
            chosen = {int(rng.choice(unused or above))}
            if rng.random() < self.join_chance:
                chosen.add(int(rng.integers(above[0] if depth == self.layers - 1 else 0, above[-1] + 1)))
            parents.append(sorted(chosen))
        for operator in range(self.operators - self.sinks):  # whom nobody takes records from yet
            if not any(operator in fed for fed in parents):
                below = [each for each in range(self.operators) if layer[each] == layer[operator] + 1]
                target = parents[int(rng.choice(below))]
                target.append(operator)
                target.sort()
        return _Graph(layer, parents)

    def _shares(self, children: list[int], rng: np.random.Generator) -> Floats:
        """Of what an operator sends out, for each that it feeds."""
        split = rng.random() < self.split_chance
        if len(children) < 2 or not split:
            return np.ones(len(children))
        parts = np.round(rng.dirichlet(np.full(len(children), 4.0)), 2)
        parts = np.maximum(parts, 0.05)
        return np.asarray(parts / parts.sum(), dtype=np.float64)

    def _kind(self, operator: int, parents: int, feeds: bool, rng: np.random.Generator) -> str:
        window = rng.random() < self.window_chance
        if parents == 0:
            return "source"
        if not feeds:
            return "sink"
        return "join" if parents > 1 else "window" if window else "map"


def _round(value: float, digits: int, *, down: bool = False) -> float:
    """So that tables of the presets can be read."""
    scaled = value * 10**digits
    return float((np.floor(scaled) if down else np.round(scaled)) / 10**digits)


@dataclass(frozen=True)
class Small1(Layered):
    rate: float = 600.0
    operators: int = 5
    layers: int = 4
    sources: int = 1
    seed: int = 1


@dataclass(frozen=True)
class Small2(Layered):
    rate: float = 900.0
    runtime: Runtime = "python"
    operators: int = 6
    layers: int = 4
    sources: int = 2
    seed: int = 2


@dataclass(frozen=True)
class Medium1(Layered):
    rate: float = 800.0
    runtime: Runtime = "cold"
    operators: int = 11
    layers: int = 5
    sources: int = 2
    seed: int = 3


@dataclass(frozen=True)
class Medium2(Layered):
    rate: float = 1200.0
    operators: int = 14
    layers: int = 6
    sources: int = 3
    sinks: int = 2
    seed: int = 4


@dataclass(frozen=True)
class Large1(Layered):
    rate: float = 1000.0
    runtime: Runtime = "cold"
    operators: int = 26
    layers: int = 8
    sources: int = 4
    sinks: int = 2
    seed: int = 5


@dataclass(frozen=True)
class Large2(Layered):
    rate: float = 1500.0
    runtime: Runtime = "python"
    operators: int = 38
    layers: int = 9
    sources: int = 5
    sinks: int = 3
    seed: int = 6
