"""Random DAG jobs of plain shapes: layered graphs, chains, and fork-joins.

Simple worlds to learn in and to test with: how wide, how long and how uneven they are is all up to the
parameters. The bundled workloads of these names are what the defaults give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.seeds import SeedTree
from dovetail.workloads.dag import DagCatalogue, pointer
from dovetail.workloads.demands import memory_demands
from dovetail.workloads.generate.durations import LEVELS, StageTimes, draw_samples

Graph = tuple[int, list[tuple[int, int]]]  # number of stages, edges


@dataclass(frozen=True)
class TaskShape:
    """Tasks of a stage; each pair is a range.  Numbers and durations are log-uniform, inflation uniform."""

    tasks: tuple[int, int] = (1, 200)
    task_s: tuple[float, float] = (0.1, 5.0)  # mean duration, 5 executors, after the first task
    inflation: tuple[float, float] = (1.1, 2.5)  # how many times longer a task takes with 100 executors
    spread: float = 0.2  # sigma of log duration within a stage
    warm_up_s: float = 1.0  # added to the first task of a job on an executor
    memory: bool = False  # memory demands, for clusters with several classes of executor
    samples: int = 16  # duration samples per stage and executor count, about

    def __post_init__(self) -> None:
        _check_range("tasks", self.tasks, 1)
        _check_range("inflation", self.inflation, 1)
        _check_range("task_s", self.task_s, 1e-3)
        if not (0 <= self.spread <= 3 and 0 <= self.warm_up_s < float("inf") and self.samples >= 1):
            raise ValueError("spread must be 0 to 3, warm_up_s 0 or more, samples 1 or more")


@dataclass(frozen=True)
class Layered:
    """Layers of stages; each depends on one of the layer before, and by chance on others further up."""

    dags: int = 64
    layers: tuple[int, int] = (2, 7)
    width: tuple[int, int] = (1, 4)
    edge_chance: float = 0.25
    tasks: TaskShape = field(default_factory=TaskShape)
    seed: int = 0

    def __post_init__(self) -> None:
        _check_dags(self.dags)
        _check_range("layers", self.layers, 1)
        _check_range("width", self.width, 1)
        if not 0 <= self.edge_chance <= 1:
            raise ValueError(f"edge_chance must be 0 to 1, not {self.edge_chance:g}")

    def catalogue(self) -> DagCatalogue:
        return generate_layered(self)


@dataclass(frozen=True)
class Chains:
    """Stages one after the other."""

    dags: int = 64
    length: tuple[int, int] = (2, 10)
    tasks: TaskShape = field(default_factory=TaskShape)
    seed: int = 0

    def __post_init__(self) -> None:
        _check_dags(self.dags)
        _check_range("length", self.length, 1)

    def catalogue(self) -> DagCatalogue:
        return generate_chains(self)


@dataclass(frozen=True)
class ForkJoins:
    """One stage, then several side by side, then one that waits for all; a few times over."""

    dags: int = 64
    phases: tuple[int, int] = (1, 3)
    branches: tuple[int, int] = (2, 6)
    tasks: TaskShape = field(default_factory=TaskShape)
    seed: int = 0

    def __post_init__(self) -> None:
        _check_dags(self.dags)
        _check_range("phases", self.phases, 1)
        _check_range("branches", self.branches, 1)

    def catalogue(self) -> DagCatalogue:
        return generate_fork_joins(self)


def generate_layered(params: Layered) -> DagCatalogue:
    def graph(rng: np.random.Generator) -> Graph:
        edges: list[tuple[int, int]] = []
        before: list[int] = []
        earlier: list[int] = []
        for _ in range(_between(rng, params.layers)):
            first = len(earlier) + len(before)
            layer = list(range(first, first + _between(rng, params.width)))
            earlier += before
            for stage in layer if earlier else []:
                needed = before[_between(rng, (0, len(before) - 1))]
                others = [s for s in earlier if s != needed and rng.random() < params.edge_chance]
                edges += [(parent, stage) for parent in sorted([needed, *others])]
            before = layer
        return len(earlier) + len(before), edges

    return _catalogue("layered", params.dags, graph, params.tasks, params.seed)


def generate_chains(params: Chains) -> DagCatalogue:
    def graph(rng: np.random.Generator) -> Graph:
        length = _between(rng, params.length)
        return length, [(stage, stage + 1) for stage in range(length - 1)]

    return _catalogue("chains", params.dags, graph, params.tasks, params.seed)


def generate_fork_joins(params: ForkJoins) -> DagCatalogue:
    def graph(rng: np.random.Generator) -> Graph:
        edges: list[tuple[int, int]] = []
        last = 0
        for _ in range(_between(rng, params.phases)):
            branches = range(last + 1, last + 1 + _between(rng, params.branches))
            join = branches.stop
            edges += [(last, branch) for branch in branches] + [(branch, join) for branch in branches]
            last = join
        return last + 1, edges

    return _catalogue("fork-joins", params.dags, graph, params.tasks, params.seed)


def _catalogue(
    name: str, dags: int, graph: Callable[[np.random.Generator], Graph], shape: TaskShape, seed: int
) -> DagCatalogue:
    seeds = SeedTree(seed).child(name)
    rng = seeds.child("graphs").generator()
    graphs = [graph(rng) for _ in range(dags)]
    num_stages = sum(stages for stages, _ in graphs)
    edge = np.array([pair for _, edges in graphs for pair in edges], dtype=np.int64).reshape(-1, 2)
    tasks = seeds.child("tasks").generator()
    num_tasks = np.floor(_log_uniform(tasks, (shape.tasks[0], shape.tasks[1] + 1), num_stages)).astype(np.int64)
    num_tasks = np.minimum(num_tasks, shape.tasks[1])
    times = _times(shape, num_stages, tasks)
    samples = draw_samples(times, num_tasks, shape.samples, seeds.child("durations").generator())
    return DagCatalogue(
        name=name,
        dag_name=tuple(f"{name}-{d}" for d in range(dags)),
        stage_ptr=pointer(np.array([stages for stages, _ in graphs])),
        stage_name=tuple(str(stage) for stages, _ in graphs for stage in range(stages)),
        num_tasks=num_tasks,
        cpu=np.ones(num_stages),
        memory=memory_demands(num_stages, seeds if shape.memory else None),
        edge_ptr=pointer(np.array([len(edges) for _, edges in graphs])),
        edge_parent=edge[:, 0].copy(),
        edge_child=edge[:, 1].copy(),
        duration_stage=samples.stage,
        duration_wave=samples.wave,
        duration_executors=samples.executors,
        duration_ptr=samples.ptr,
        duration_s=samples.seconds,
    )


def _times(shape: TaskShape, num_stages: int, rng: np.random.Generator) -> StageTimes:
    steady_s = _log_uniform(rng, shape.task_s, num_stages)
    low, high = shape.inflation
    everywhere = np.ones((num_stages, len(LEVELS)), dtype=np.bool_)
    return StageTimes(
        steady_s=steady_s,
        inflation=low + (high - low) * rng.random(num_stages),
        first_s=0.2 * steady_s,
        fresh_s=0.2 * steady_s + shape.warm_up_s,
        fresh_growth=np.zeros(num_stages),
        spread=np.full((num_stages, 3), shape.spread),
        stragglers=np.zeros((num_stages, 3)),
        has_fresh=everywhere,
        has_first=everywhere,
    )


def _log_uniform(rng: np.random.Generator, between: tuple[float, float], size: int) -> Floats:
    low, high = between
    value: Floats = low * np.exp(np.log(high / low) * rng.random(size))
    return value


def _between(rng: np.random.Generator, inclusive: tuple[int, int]) -> int:
    low, high = inclusive
    return low + int(rng.random() * (high - low + 1))


def _check_dags(dags: int) -> None:
    if dags < 1:
        raise ValueError(f"dags must be at least 1, not {dags}")


def _check_range(name: str, between: tuple[float, float], least: float) -> None:
    if not least <= between[0] <= between[1] < float("inf"):
        raise ValueError(f"{name}: must be a range from at least {least:g} upwards, not {between}")
