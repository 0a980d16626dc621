"""How long the tasks of a replayed workload take: exactly what the simulator would draw.

A duration depends on the wave, on the executors at home and on how many tasks of the stage were started before, which
is known only when a task is sent off; so the engine asks here at that moment and passes the answer to the task.  Rules
and numbers are those of docs/dag-model.md, "Task durations".
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from dovetail.workloads.dag import DagWorkload, pointer
from dovetail.workloads.durations import SampleTable, fill_samples

if TYPE_CHECKING:
    from dovetail.sim.dag import DagOptions  # would bring the compiler along

_MASK = 2**64 - 1
_STEP_OF_STAGE = 0x9E3779B97F4A7C15
_STEP_OF_START = 0xD1B54A32D192ED03


class ReplayDurations:
    """Pure: the same question has the same answer, in any order of asking."""

    def __init__(self, workload: DagWorkload, key: int, options: DagOptions) -> None:
        self.workload = workload
        self.key = key  # as `dovetail.sim.dag.world.duration_key` makes it
        self.options = options

    def duration_s(self, job: int, stage: int, start_counter: int, wave: int, executors_at_home: int) -> float:
        """Of the start number `start_counter` (from 0, lost tasks counted again) of stage `stage` of job `job`."""
        number = self._first_stage[job] + stage
        h = _mix(self.key + number * _STEP_OF_STAGE + start_counter * _STEP_OF_START)
        level = self._level(executors_at_home, (h >> 32) / 2**32)
        row = self._first_row[self._dag[job]] + stage
        samples = self._samples
        pick = ((h & 0xFFFFFFFF) * samples.count.item(row, wave, level)) >> 32
        drawn_s = samples.samples_s.item(samples.start.item(row, wave, level) + pick)
        if (_mix(h + 1) >> 32) / 2**32 < self.options.straggler_probability:
            drawn_s *= self.options.straggler_factor
        return drawn_s

    def _level(self, executors: int, chance: float) -> int:
        """Position of the level: the one below or the one above, more likely the nearer one."""
        levels = self._levels
        below = max(0, bisect_right(levels, executors) - 1)
        if below + 1 == len(levels) or executors <= levels[below]:
            return below
        share = (executors - levels[below]) / (levels[below + 1] - levels[below])
        of_above = 1.0 - share if self.options.compat.inverted_levels else share
        return below + 1 if chance < of_above else below

    @cached_property
    def _samples(self) -> SampleTable:
        return fill_samples(self.workload.catalogue, self.options.warm_up_s)

    @cached_property
    def _levels(self) -> list[int]:
        levels: list[int] = self._samples.levels.tolist()
        return levels

    @cached_property
    def _dag(self) -> list[int]:
        dags: list[int] = self.workload.job_dag.tolist()
        return dags

    @cached_property
    def _first_row(self) -> list[int]:
        """(D + 1,) first stage of each dag among those of the catalogue."""
        rows: list[int] = self.workload.catalogue.stage_ptr.tolist()
        return rows

    @cached_property
    def _first_stage(self) -> list[int]:
        """(J + 1,) number of the first stage of each job among those of all jobs."""
        numbers: list[int] = pointer(self.workload.catalogue.dag_stages[self.workload.job_dag]).tolist()
        return numbers


def _mix(z: int) -> int:
    """The finaliser of splitmix64."""
    z &= _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)
