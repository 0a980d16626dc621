"""Place parts: which class of executor a stage gets, of those on offer that fit it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dovetail.core.dag import DagInfo, DagView


class PlacePart(ABC):
    """-1 leaves the choice to the world, which takes the smallest that fit."""

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._cpu = [kind.cpu for kind in info.classes]
        self._memory = [kind.memory for kind in info.classes]

    @abstractmethod
    def executor_class(self, view: DagView, stage: int) -> int: ...

    def _fitting(self, view: DagView, stage: int) -> list[int]:
        """Classes on offer that fit; there is one, for the stage is valid."""
        cpu, memory = view.stage_cpu.item(stage), view.stage_memory.item(stage)
        return [
            c
            for c, count in enumerate(view.source_by_class.tolist())
            if count > 0 and self._cpu[c] >= cpu and self._memory[c] >= memory
        ]


class SmallestFit(PlacePart):
    def executor_class(self, view: DagView, stage: int) -> int:
        return -1


class LargestFit(PlacePart):
    def executor_class(self, view: DagView, stage: int) -> int:
        return max(self._fitting(view, stage), key=lambda c: (self._memory[c], self._cpu[c], -c))


class MostFree(PlacePart):
    def executor_class(self, view: DagView, stage: int) -> int:
        return max(self._fitting(view, stage), key=lambda c: (view.source_by_class.item(c), -c))
