"""What the duration samples of a catalogue say for every stage, wave and executor count, holes filled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.workloads.dag import FIRST, FRESH, REST, DagCatalogue


@dataclass(frozen=True, eq=False)
class SampleTable:
    """Samples of each of S stages, three waves and L levels (executor counts at which any stage was measured).

    The samples are there twice: as measured, then with the warm-up added, which is what *fresh* becomes where only
    *first* is known.
    """

    levels: Ints  # (L,) ascending
    start: Ints  # (S, 3, L) first sample
    count: Ints  # (S, 3, L) at least 1
    samples_s: Floats  # (2 N,)

    @cached_property
    def mean_s(self) -> Floats:
        """(S, 3, L) mean duration."""
        sums = np.concatenate([[0.0], np.cumsum(self.samples_s)])
        return (sums[self.start + self.count] - sums[self.start]) / self.count  # type: ignore[no-any-return]

    def mean_at_s(self, executors: float) -> Floats:
        """(S, 3) expected duration in a job that holds so many executors: interpolated between levels."""
        at = np.clip(np.interp(executors, self.levels, np.arange(len(self.levels))), 0, len(self.levels) - 1)
        below = int(at)
        above = min(below + 1, len(self.levels) - 1)
        return self.mean_s[:, :, below] * (1 - (at - below)) + self.mean_s[:, :, above] * (at - below)


@lru_cache(maxsize=8)
def fill_samples(catalogue: DagCatalogue, warm_up_s: float = 1.0) -> SampleTable:
    """The catalogue's samples with every hole filled from another wave, else from the nearest level."""
    levels = np.unique(np.asarray(catalogue.duration_executors, dtype=np.int64))
    samples = np.asarray(catalogue.duration_s, dtype=np.float64)
    start = np.zeros((catalogue.num_stages, 3, len(levels)), dtype=np.int64)
    count = np.zeros((catalogue.num_stages, 3, len(levels)), dtype=np.int64)
    level = np.searchsorted(levels, catalogue.duration_executors)
    slot = (catalogue.duration_stage, catalogue.duration_wave, level)
    start[slot] = catalogue.duration_ptr[:-1]
    count[slot] = np.diff(catalogue.duration_ptr)

    def take(wave: int, other: int, shift: int = 0) -> None:
        hole = (count[:, wave] == 0) & (count[:, other] > 0)
        start[:, wave][hole] = start[:, other][hole] + shift
        count[:, wave][hole] = count[:, other][hole]

    take(FIRST, FRESH)
    take(FIRST, REST)
    take(REST, FIRST)
    take(FRESH, FIRST, shift=len(samples))
    known = count[:, FIRST] > 0
    for target in range(len(levels)):
        missing = ~known[:, target]
        distance = np.abs(levels - levels[target])
        for other in np.lexsort((-levels, distance)):
            rows = np.flatnonzero(missing & known[:, other])
            start[rows, :, target] = start[rows, :, other]
            count[rows, :, target] = count[rows, :, other]
            missing[rows] = False
    return SampleTable(levels, start, count, np.concatenate([samples, samples + warm_up_s]))


def ideal_s(catalogue: DagCatalogue, executors: int) -> Floats:
    """(D,) least time each dag takes alone on so many executors, by mean durations; moves and warm-up come on top.

    With p of them it takes its longest chain of stages, each in as few waves as p allows, or its work divided by p,
    whichever is more.  The best p counts: work grows with it.
    """
    samples = fill_samples(catalogue)
    tried = {p for p in (1, 2, 3, 4, *samples.levels.tolist(), executors) if p <= executors}
    least = np.full(catalogue.num_dags, np.inf)
    for p in sorted(tried):
        mean_s = samples.mean_at_s(p)
        waves = -(-catalogue.num_tasks // p)
        chain_s = catalogue.longest_chain_s(mean_s[:, FIRST] + (waves - 1) * mean_s[:, REST])
        longest = np.zeros(catalogue.num_dags)
        np.maximum.at(longest, catalogue.stage_dag, chain_s)
        least = np.minimum(least, np.maximum(longest, dag_work_at_s(catalogue, p) / p))
    return least


def dag_work_at_s(catalogue: DagCatalogue, executors: float) -> Floats:
    """(D,) work of each dag in a job that holds so many executors: one task each in the first wave, then the rest."""
    mean_s = fill_samples(catalogue).mean_at_s(executors)
    first = np.minimum(catalogue.num_tasks, max(executors, 1.0))
    work_s = first * mean_s[:, FIRST] + (catalogue.num_tasks - first) * mean_s[:, REST]
    return np.bincount(catalogue.stage_dag, work_s, catalogue.num_dags).astype(np.float64, copy=False)
