"""Which episodes an environment plays: drawn from a seed, one after the other, or all of a given workload.

Seed k's first episode is the job sequence, and the luck, of seed k in `dovetail compare`; the n-th after it
comes from the branch ("episode", n) of the same tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.core.suggest import did_you_mean
from dovetail.envs.dag_setting import DagSetting
from dovetail.sim.dag.batch import Episode
from dovetail.workloads.dag import DagWorkload
from dovetail.workloads.source import DagSource

OPTIONS = ("workload", "horizon_s")
PATIENCE = 1000  # sequences in a row whose first job comes after the horizon


class EpisodeStream:
    """The episodes of one world.  `next()` never ends."""

    def __init__(self, setting: DagSetting, source: DagSource, seed: int) -> None:
        self._setting = setting
        self._source = source
        self._tree = SeedTree(seed)
        self._count = 0
        self.workload: DagWorkload | None = None  # if given, played every time, each with durations of its own
        self.horizon_s = setting.horizon_s

    def __next__(self) -> Episode:
        for _ in range(PATIENCE):
            episode = self._draw()
            if episode.workload.arrival_s[0] < episode.horizon_s:
                return episode  # otherwise it would be over before the first decision
            if self.workload is not None:
                break
        raise ConfigError(
            f"no job arrives before the horizon of {self.horizon_s:g} s; expected a horizon beyond the first arrival"
        )

    def _draw(self) -> Episode:
        number = self._count
        self._count += 1
        seeds = self._tree if number == 0 else self._tree.child("episode", number)
        workload = self.workload
        if workload is None:
            workload = self._source.sequence(
                self._setting.jobs,
                self._setting.arrival_process(),
                seeds,
                weights=self._setting.weights,
                deadlines=self._setting.due_dates(),
            )
        return Episode(workload, seeds, self.horizon_s, tag=number)

    def set_options(self, options: Mapping[str, Any] | None) -> None:
        """What `reset(options=...)` may say.  It holds until the next reset."""
        given = options or {}
        for name in given:
            if name not in OPTIONS:
                raise ConfigError(f"reset has no option {name!r}{did_you_mean(name, OPTIONS)}")
        self.workload = given.get("workload")
        changed = replace(self._setting, horizon_s=float(given.get("horizon_s", self._setting.horizon_s)))
        self.horizon_s = changed.horizon_s
