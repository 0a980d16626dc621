"""Batched worlds in which every world plays a stream of episodes of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dovetail.core.dag import Floats
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.dag.options import DagOptions
from dovetail.sim.dag.result import DagResult
from dovetail.workloads.dag import DagCatalogue


class DagWorlds(DagBatch):
    """A batch that asks `next_of(w)` for the next episode of world w; None leaves the world empty."""

    def __init__(
        self,
        catalogue: DagCatalogue,
        options: DagOptions,
        next_of: Callable[[int], Episode | None],
        num_worlds: int,
        *,
        threads: int = 1,
    ) -> None:
        self._next_of = next_of
        self._asking = 0
        super().__init__(catalogue, options, self._endless(), num_worlds, threads=threads)

    def _endless(self) -> Iterator[Episode]:
        while True:
            yield self._next_of(self._asking)  # type: ignore[misc]  # None is what an ended iterator would give

    def _next_episode(self, w: int) -> None:
        self._asking = w
        super()._next_episode(w)


def costs_of(result: DagResult) -> Floats:
    """(5,) the integrals at the end of a run, in the order of `COSTS`."""
    return np.array([result.costs[name] for name in COSTS])


def statistics(result: DagResult, cost: float) -> dict[str, float | int]:
    """What an episode came to; means are over the jobs that were completed."""
    done = result.completion_s[~np.isnan(result.completion_s)]
    return {
        "avg_jct_s": float(done.mean()) if len(done) else float("nan"),
        "jobs_completed": len(done),
        "jobs_left": len(result.finish_s) - len(done),
        "end_s": result.end_s,
        "cost": cost,
        "decisions": result.decisions,
    }
