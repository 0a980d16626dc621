"""A scheduler and a world, from start to end."""

from __future__ import annotations

import numpy as np

from dovetail.core.protocols import Scheduler
from dovetail.core.stream import StreamDecision, StreamInfo, StreamView
from dovetail.sim.stream.result import StreamResult
from dovetail.sim.stream.world import StreamWorld

StreamScheduler = Scheduler[StreamInfo, StreamView, StreamDecision]


def run(world: StreamWorld, scheduler: StreamScheduler, rng: np.random.Generator) -> StreamResult:
    """Run to the end."""
    scheduler.reset(world.info_for(scheduler), rng)
    view = world.advance()
    while view is not None:
        world.apply(scheduler.decide(view))
        view = world.advance()
    return world.result()
