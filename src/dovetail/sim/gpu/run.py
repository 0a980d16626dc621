"""A scheduler and a world, from start to end."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView, HasKernel
from dovetail.core.protocols import Scheduler
from dovetail.sim.gpu.result import GpuResult
from dovetail.sim.gpu.world import GpuWorld

GpuScheduler = Scheduler[GpuInfo, GpuView, GpuDecision]


def run(world: GpuWorld, scheduler: GpuScheduler, rng: np.random.Generator, *, compiled: bool = True) -> GpuResult:
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
