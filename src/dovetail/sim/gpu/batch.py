"""Many gpu worlds at once, for roll-outs: each goes its own way, exactly as it would alone.

    batch = GpuBatch(worlds)
    while batch.views:
        batch.step({number: scheduler.decide(view) for number, view in batch.views.items()})

Worlds of a batch may differ in everything.  What is done between two decisions is compiled and holds no lock, so
`threads` above 1 work on several worlds at a time.  For schedulers with a kernel `run_kernels` plays whole episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dovetail.core.gpu import GpuDecision, GpuKernel, GpuView
from dovetail.sim.gpu.result import GpuResult
from dovetail.sim.gpu.world import GpuWorld

Item = TypeVar("Item")
Made = TypeVar("Made")


class GpuBatch:
    """Worlds, and the views of those that wait for an answer, by number."""

    def __init__(self, worlds: Sequence[GpuWorld], *, threads: int = 1) -> None:
        self.worlds = tuple(worlds)
        self.views: dict[int, GpuView] = {}
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._look(range(len(self.worlds)))

    def step(self, answers: Mapping[int, Sequence[GpuDecision]]) -> None:
        """Carry out the answers, each in its world, and run those worlds on to their next views.

        Worlds that are not named stay where they are.  `InvalidDecision` if one of the answers is refused: those
        before it (by number) have been carried out, its own world and those after it have not changed.
        """
        done: list[int] = []
        try:
            for number in sorted(answers):
                self.worlds[number].apply(answers[number])
                self.views.pop(number, None)
                done.append(number)
        finally:
            self._look(done)

    def run_kernels(self, kernels: Sequence[GpuKernel]) -> list[GpuResult]:
        """Play every world to its end under a kernel of its own; kernels have memory, so each serves one world."""
        self._map(lambda pair: pair[0].run_kernel(pair[1]), list(zip(self.worlds, kernels, strict=True)))
        self.views.clear()
        return self.results()

    def results(self) -> list[GpuResult]:
        return [world.result() for world in self.worlds]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _look(self, numbers: Sequence[int]) -> None:
        views = self._map(lambda number: self.worlds[number].advance(), list(numbers))
        found = {number: view for number, view in zip(numbers, views, strict=True) if view is not None}
        self.views = dict(sorted((self.views | found).items()))

    def _map(self, function: Callable[[Item], Made], items: list[Item]) -> list[Made]:
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))
