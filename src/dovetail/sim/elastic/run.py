"""A scheduler and a world, from start to end."""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticInfo, ElasticView
from dovetail.core.protocols import Scheduler
from dovetail.sim.elastic.result import ElasticResult
from dovetail.sim.elastic.world import ElasticWorld

ElasticScheduler = Scheduler[ElasticInfo, ElasticView, ElasticDecision]


def run(world: ElasticWorld, scheduler: ElasticScheduler, rng: np.random.Generator) -> ElasticResult:
    """Run to the end."""
    scheduler.reset(world.info_for(scheduler), rng)
    view = world.advance()
    while view is not None:
        world.apply(scheduler.decide(view))
        view = world.advance()
    return world.result()
