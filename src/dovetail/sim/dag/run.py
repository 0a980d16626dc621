"""A scheduler and a world, from start to end."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagView, HasKernel
from dovetail.core.protocols import Scheduler
from dovetail.sim.dag.result import DagResult
from dovetail.sim.dag.world import DagWorld

DagScheduler = Scheduler[DagInfo, DagView, DagDecision]


def run(world: DagWorld, scheduler: DagScheduler, rng: np.random.Generator, *, compiled: bool = True) -> DagResult:
    """Run to the end: compiled if the scheduler offers a kernel (and `compiled` is not switched off)."""
    scheduler.reset(world.info_for(scheduler), rng)
    kernel = scheduler.kernel() if compiled and isinstance(scheduler, HasKernel) else None
    if kernel is not None:
        world.run_kernel(kernel)
        return world.result()
    view = world.advance()
    while view is not None:
        world.apply(scheduler.decide(view))
        view = world.advance()
    return world.result()
