"""Plays price networks on job sequences; one of these lives in every worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.elastic import Floats
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_elastic import ElasticSetting, OpenElasticSetting
from dovetail.schedulers.learned.elastic.learned import Learned
from dovetail.schedulers.learned.elastic.network import PriceNetwork
from dovetail.sim.elastic import ElasticScheduler

Task = tuple[int, int]
"""Which setting, and the seed of the job sequence."""


class ElasticWorker:
    """Settings in memory."""

    def __init__(self, settings: Sequence[ElasticSetting], hidden: int) -> None:
        self._hidden = hidden
        self._opened: list[OpenElasticSetting] = [setting.open() for setting in settings]

    def play_each(self, pairs: Sequence[tuple[Floats, Task]]) -> list[float]:
        """Total utility of each network, given by its parameters, on its job sequence."""
        return [
            self.utility(Learned(network=PriceNetwork.of_vector(parameters, self._hidden)), task)
            for parameters, task in pairs
        ]

    def utility(self, scheduler: ElasticScheduler, task: Task) -> float:
        number, seed = task
        opened = self._opened[number]
        world = opened.world(opened.sequence(seed), SeedTree(seed))
        return opened.run(world, scheduler, np.random.default_rng(seed)).total_utility


@dataclass(frozen=True)
class MakeElasticWorker:
    """Makes worker number n; can be sent to another process."""

    settings: tuple[ElasticSetting, ...]
    hidden: int

    def __call__(self, number: int) -> ElasticWorker:
        return ElasticWorker(self.settings, self.hidden)
