"""Duration samples by wave and executor count, drawn from a small model of how tasks of a stage behave.

The model was fitted to the public measurements of TPC-H on Spark (22 queries, 2 to 100 GB).  With
x = (executors - 5) / 95, the mean duration of a task of some stage is

    rest   r(x) = steady_s * (1 + (inflation - 1) * x^0.9)      work inflates with parallelism
    first  r(x) + first_s * (1 + 1.3 x)                         the first task of a stage on an executor
    fresh  r(x) + fresh_s * (1 + fresh_growth * x)              the first task of a job on an executor

and single durations are log-normal around it, a few of them stragglers.  Groups are as large as they would
be if every task had been measured once, scaled down to a budget: the mean over all samples of a stage is
then the mean duration of its tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Bools, Floats, Ints
from dovetail.workloads.dag import FIRST, FRESH, REST, WAVES, pointer

LEVELS = (5, 10, 20, 40, 50, 60, 80, 100)
_TAIL_MEDIAN, _TAIL_SIGMA = 2.4, 0.6  # a straggler takes this many times longer
_LEVEL_SIGMA = 0.04  # how far a single measurement campaign strays from the trend
_TICK_S = 1e-4  # durations are rounded to it, so that no platform's last digit shows


@dataclass(frozen=True, eq=False)
class StageTimes:
    """What the samples of S stages are drawn from."""

    steady_s: Floats  # (S,) mean duration on an executor that is already working on the stage, 5 executors
    inflation: Floats  # (S,) how many times longer that is with 100 executors
    first_s: Floats  # (S,) added for the first task of the stage on an executor
    fresh_s: Floats  # (S,) added instead if it is also the first task of the job there
    fresh_growth: Floats  # (S,) how much more that is with 100 executors (1 = twice as much)
    spread: Floats  # (S, 3) sigma of log duration, by wave
    stragglers: Floats  # (S, 3) share of stragglers, by wave
    has_fresh: Bools  # (S, L) whether that wave was seen, by level
    has_first: Bools  # (S, L)


@dataclass(frozen=True, eq=False)
class Samples:
    """Sample groups in the layout of `DagCatalogue`."""

    stage: Ints
    wave: Ints
    executors: Ints
    ptr: Ints
    seconds: Floats


def draw_samples(times: StageTimes, num_tasks: Ints, budget: int, rng: np.random.Generator) -> Samples:
    """About `budget` samples for each stage and level, divided among the waves as tasks would be."""
    level = np.array(LEVELS, dtype=np.int64)
    mean_s = _group_means(times, level, rng)  # (S, 3, L)
    size = _group_sizes(times, num_tasks, level, budget)  # (S, 3, L)
    stage, wave, position = np.nonzero(size)  # sorted by (stage, wave, executors)
    group_size = size[stage, wave, position]
    group = np.repeat(np.arange(stage.size), group_size)
    shape = _shape(times.spread[stage, wave][group], times.stragglers[stage, wave][group], rng)
    seconds = mean_s[stage, wave, position][group] * shape
    return Samples(
        stage=stage,
        wave=wave,
        executors=level[position],
        ptr=pointer(group_size),
        seconds=np.maximum(np.round(seconds / _TICK_S), 1) * _TICK_S,
    )


def _group_means(times: StageTimes, level: Ints, rng: np.random.Generator) -> Floats:
    x = np.maximum(level - LEVELS[0], 0) / (LEVELS[-1] - LEVELS[0])
    rest = times.steady_s[:, None] * (1 + (times.inflation[:, None] - 1) * x**0.9)
    mean = np.empty((rest.shape[0], len(WAVES), level.size))
    mean[:, REST] = rest
    mean[:, FIRST] = rest + times.first_s[:, None] * (1 + 1.3 * x)
    mean[:, FRESH] = rest + times.fresh_s[:, None] * (1 + times.fresh_growth[:, None] * x)
    return mean * np.exp(_LEVEL_SIGMA * normal(rng, mean.shape))


def _group_sizes(times: StageTimes, num_tasks: Ints, level: Ints, budget: int) -> Ints:
    tasks = num_tasks[:, None]
    at_once = np.minimum(tasks, level)  # tasks that are the first of the stage on their executor
    scale = np.minimum(1.0, budget / tasks)
    opening = np.maximum(np.round(scale * at_once), np.minimum(at_once, 2)).astype(np.int64)
    size = np.zeros((num_tasks.size, len(WAVES), level.size), dtype=np.int64)
    size[:, REST] = np.ceil(scale * (tasks - at_once))
    size[:, FIRST] = np.where(times.has_first, opening, 0)
    size[:, FRESH] = np.where(times.has_fresh, opening, 0)
    return size


def _shape(sigma: Floats, straggling: Floats, rng: np.random.Generator) -> Floats:
    """Factors of mean 1."""
    usual = np.exp(sigma * normal(rng, sigma.shape) - sigma**2 / 2)
    late = rng.random(sigma.shape) < straggling
    tail = np.where(late, _TAIL_MEDIAN * np.exp(_TAIL_SIGMA * normal(rng, sigma.shape)), 1.0)
    tail_mean = _TAIL_MEDIAN * np.exp(_TAIL_SIGMA**2 / 2)
    factor: Floats = usual * tail / (1 + straggling * (tail_mean - 1))
    return factor


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Standard normal numbers made from uniform ones (Box-Muller).

    numpy keeps its right to change how it makes normal numbers; the bundled workloads must never change.
    """
    radius: Floats = np.sqrt(-2.0 * np.log(1.0 - rng.random(shape)))
    return radius * np.cos(2.0 * np.pi * rng.random(shape))
