"""Chance in the dag world: task durations, stragglers and failures, as `docs/dag-model.md` defines them.

All of it is counters through a hash, not streams: the c-th start of a task of a stage meets the same luck
whatever was scheduled before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dovetail.sim.dag.options import DagOptions
from dovetail.testing.dag_reference_state import Executor, Stage
from dovetail.workloads.dag import FIRST, FRESH, REST, DagCatalogue

MASK = 2**64 - 1
STEP_OF_NUMBER = 0x9E3779B97F4A7C15
STEP_OF_COUNT = 0xD1B54A32D192ED03

Samples = list[float]


def mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z &= MASK
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & MASK
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK
    z ^= z >> 31
    return z


def counter_hash(key: int, number: int, count: int) -> int:
    return mix(key + number * STEP_OF_NUMBER + count * STEP_OF_COUNT)


class StageSamples:
    """The samples of one stage for every wave and level, gaps filled."""

    def __init__(self, measured: Mapping[int, Mapping[int, Samples]], levels: Sequence[int], warm_up_s: float) -> None:
        """`measured` has the samples by wave and executor count, at least one; `levels` are the catalogue's."""
        self.levels = list(levels)
        known = sorted({level for by_level in measured.values() for level in by_level})
        filled = {level: self._fill_waves(measured, level, warm_up_s) for level in known}

        def nearest(level: int) -> int:
            return min(known, key=lambda other: (abs(other - level), -other))

        self._by_level = {level: filled[nearest(level)] for level in self.levels}

    @staticmethod
    def _fill_waves(measured: Mapping[int, Mapping[int, Samples]], level: int, warm_up_s: float) -> dict[int, Samples]:
        by_wave = {wave: by_level[level] for wave, by_level in measured.items() if level in by_level}
        if FIRST not in by_wave:
            by_wave[FIRST] = by_wave[FRESH] if FRESH in by_wave else by_wave[REST]
        if REST not in by_wave:
            by_wave[REST] = by_wave[FIRST]
        if FRESH not in by_wave:
            by_wave[FRESH] = [s + warm_up_s for s in by_wave[FIRST]]
        return by_wave

    def at(self, wave: int, level: int) -> Samples:
        return self._by_level[level][wave]

    def around(self, executors: int) -> tuple[int, int]:
        """The levels between which a number of executors lies; twice the same one at and beyond the ends."""
        below = [level for level in self.levels if level <= executors]
        above = [level for level in self.levels if level >= executors]
        low = below[-1] if below else above[0]
        return low, above[0] if above else low


def measured_samples(catalogue: DagCatalogue) -> list[dict[int, dict[int, Samples]]]:
    """For each stage of the catalogue, its samples by wave and executor count."""
    stages: list[dict[int, dict[int, Samples]]] = [{} for _ in range(catalogue.num_stages)]
    for group, stage in enumerate(catalogue.duration_stage.tolist()):
        wave, level = int(catalogue.duration_wave[group]), int(catalogue.duration_executors[group])
        samples = catalogue.duration_s[catalogue.duration_ptr[group] : catalogue.duration_ptr[group + 1]]
        stages[stage].setdefault(wave, {}).setdefault(level, []).extend(samples.tolist())
    return stages


class Chance:
    """Answers "how long will this task take" and "when does this executor fail next"."""

    def __init__(self, catalogue: DagCatalogue, options: DagOptions, duration_key: int, failure_key: int) -> None:
        self._options = options
        self._duration_key = duration_key
        self._failure_key = failure_key
        levels = sorted(set(catalogue.duration_executors.tolist()))
        self._samples = [StageSamples(by_wave, levels, options.warm_up_s) for by_wave in measured_samples(catalogue)]

    def duration_s(self, stage: Stage, wave: int, executors: int) -> float:
        """Of the next task of `stage` to start, while its job has so many executors at home."""
        h = counter_hash(self._duration_key, stage.number, stage.starts)
        samples = self._samples[stage.row]
        low, high = samples.around(executors)
        level = low
        if low < high:
            share = (executors - low) / (high - low)
            chance_of_high = 1.0 - share if self._options.compat.inverted_levels else share
            level = high if (h >> 32) / 2**32 < chance_of_high else low
        drawn = samples.at(wave, level)
        duration_s = drawn[((h & 0xFFFFFFFF) * len(drawn)) >> 32]
        if (mix(h + 1) >> 32) / 2**32 < self._options.straggler_probability:
            duration_s *= self._options.straggler_factor
        return duration_s

    def draw_next_failure(self, executor: Executor) -> None:
        """Move the executor's next failure one gap on, from the last one or from the start of time."""
        mean_s = self._options.mean_time_to_failure_s
        if mean_s == 0:
            return  # never: stays at infinity
        h = counter_hash(self._failure_key, executor.number, executor.failures_drawn)
        last_s = executor.next_failure_s if executor.failures_drawn else 0.0
        executor.next_failure_s = last_s - mean_s * math.log(1.0 - (h >> 11) / 2**53)
        executor.failures_drawn += 1

    def next_failure_s(self, executor: Executor, now_s: float) -> float:
        """The first failure from now on; earlier ones fell into idle or moving time and had no effect."""
        while executor.next_failure_s < now_s:
            self.draw_next_failure(executor)
        return executor.next_failure_s
