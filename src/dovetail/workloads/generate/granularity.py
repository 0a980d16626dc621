"""Jobs of coarse, fine or mixed grain, five shapes of each: what one fixed policy does not serve equally well.

After the synthetic workloads of emergent scheduling (Dean and Porter, SEAMS 2021), of which only the kinds are
public: 15 of them, coarse, fine and mixed, submitted at once or one by one.  Here a kind says how long tasks take and
how many there are, a shape what tells the jobs apart:

    coarse  few tasks of 2 to 15 s that hardly slow each other down
    fine    many tasks of 0.05 to 0.5 s that do, and for which the start of an executor is long
    mixed   every job is the one or the other
    even    all jobs carry about the same work
    skewed  most jobs are small, and a few carry most of the work
    memory  every third job needs the largest executors
    wide    one broad stage, then a narrow one
    deep    long chains of narrow stages

Memory is a share of the largest executor, as in every workload.  On the cluster these were made for, 5 machines with
8 cores and 16 GB each, cut into `--classes 20:1:0.25,10:1:0.5,10:1:1`, 1 is 4 GB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.seeds import SeedTree
from dovetail.workloads.dag import DagCatalogue, pointer
from dovetail.workloads.generate.durations import LEVELS, StageTimes, draw_samples, normal

Kind = Literal["coarse", "fine", "mixed"]
Shape = Literal["even", "skewed", "memory", "wide", "deep"]
KINDS: tuple[Kind, ...] = ("coarse", "fine", "mixed")
SHAPES: tuple[Shape, ...] = ("even", "skewed", "memory", "wide", "deep")

_SAMPLES = 16  # of durations, per stage and number of executors
_TAIL_SIGMA = 1.5  # of the log of a skewed job's size: the largest tenth carries two thirds of the work
_EVERY_LARGE = 3  # of the shape `memory`


@dataclass(frozen=True)
class Grain:
    """Tasks of one granularity; pairs are ranges."""

    task_s: tuple[float, float]
    tasks: tuple[int, int]  # of a stage of a job of size 1
    inflation: tuple[float, float]  # how many times longer a task takes with 100 executors
    warm_up_s: float  # added to the first task of a job on an executor


GRAINS = {
    "coarse": Grain((2.0, 15.0), (2, 10), (1.05, 1.4), 0.5),
    "fine": Grain((0.05, 0.5), (50, 400), (1.1, 1.8), 0.5),
}


@dataclass(frozen=True)
class Granularity:
    """Parameters of the bundled workload `granularity`."""

    kind: Kind = "mixed"
    shape: Shape = "skewed"
    dags: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        if self.dags < 1:
            raise ValueError(f"dags must be at least 1, not {self.dags}")

    def catalogue(self) -> DagCatalogue:
        return generate_granularity(self)


def generate_granularity(params: Granularity) -> DagCatalogue:
    seeds = SeedTree(params.seed).child("granularity", params.kind, params.shape)
    rng = seeds.child("jobs").generator()
    kinds = ["coarse", "fine"] if params.kind == "mixed" else [params.kind]
    grains = [GRAINS[kinds[dag % len(kinds)]] for dag in range(params.dags)]
    lengths = np.array([_stages(params.shape, rng) for _ in grains])
    row = np.repeat(np.arange(params.dags), lengths)
    place = np.arange(row.size) - pointer(lengths)[row]  # of the stage in its chain
    num_tasks = _tasks(params.shape, grains, lengths, row, place, rng)
    times = _times(grains, row, rng)
    samples = draw_samples(times, num_tasks, _SAMPLES, seeds.child("durations").generator())
    child = np.flatnonzero(place > 0)
    return DagCatalogue(
        name="granularity",
        dag_name=tuple(f"{kinds[d % len(kinds)]}-{params.shape}-{d}" for d in range(params.dags)),
        stage_ptr=pointer(lengths),
        stage_name=tuple(str(s) for s in place.tolist()),
        num_tasks=num_tasks,
        cpu=np.ones(row.size),
        memory=_memory(params.shape, row, len(kinds), rng),
        edge_ptr=pointer(lengths - 1),
        edge_parent=place[child] - 1,
        edge_child=place[child],
        duration_stage=samples.stage,
        duration_wave=samples.wave,
        duration_executors=samples.executors,
        duration_ptr=samples.ptr,
        duration_s=samples.seconds,
    )


def _stages(shape: Shape, rng: np.random.Generator) -> int:
    low, high = {"deep": (6, 12), "wide": (2, 2)}.get(shape, (1, 4))
    return low + int(rng.random() * (high - low + 1))


def _tasks(shape: Shape, grains: list[Grain], lengths: Ints, row: Ints, place: Ints, rng: np.random.Generator) -> Ints:
    """(stages,) how many tasks each has."""
    low, high = (np.array([float(grain.tasks[side]) for grain in grains])[row] for side in (0, 1))
    if shape == "even":  # the same in all jobs, however many stages it is divided among
        return _whole(np.sqrt(low * high) * 2.5 / lengths[row])
    tasks: Floats = low * np.exp(np.log(high / low) * rng.random(row.size))
    if shape == "skewed":
        tasks *= np.exp(_TAIL_SIGMA * normal(rng, (lengths.size,)) - 0.5)[row]
    elif shape == "wide":
        tasks *= np.where(place == 0, 2.0, 0.5)
    elif shape == "deep":
        tasks /= 3.0
    return _whole(tasks)


def _whole(tasks: Floats) -> Ints:
    return np.maximum(np.round(tasks), 1.0).astype(np.int64)


def _memory(shape: Shape, row: Ints, kinds: int, rng: np.random.Generator) -> Floats:
    """(stages,) mostly small; in the shape `memory` every third job of a kind needs the largest executors."""
    demand = np.array((0.2, 0.25, 0.25, 0.5))[(rng.random(row.size) * 4).astype(np.int64)]
    large = (row // kinds) % _EVERY_LARGE == 0
    return np.where(large, 1.0, demand) if shape == "memory" else demand


def _times(grains: list[Grain], row: Ints, rng: np.random.Generator) -> StageTimes:
    low, high = (np.array([grain.task_s[side] for grain in grains])[row] for side in (0, 1))
    steady_s = low * np.exp(np.log(high / low) * rng.random(row.size))
    least, most = (np.array([grain.inflation[side] for grain in grains])[row] for side in (0, 1))
    everywhere = np.ones((row.size, len(LEVELS)), dtype=np.bool_)
    return StageTimes(
        steady_s=steady_s,
        inflation=least + (most - least) * rng.random(row.size),
        first_s=0.2 * steady_s,
        fresh_s=0.2 * steady_s + np.array([grain.warm_up_s for grain in grains])[row],
        fresh_growth=np.zeros(row.size),
        spread=np.full((row.size, 3), 0.2),
        stragglers=np.zeros((row.size, 3)),
        has_fresh=everywhere,
        has_first=everywhere,
    )
