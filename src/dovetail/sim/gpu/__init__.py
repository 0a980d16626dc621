"""Training jobs on machines with GPUs, in virtual time."""

from dovetail.sim.gpu.options import GpuOptions
from dovetail.sim.gpu.result import GpuResult
from dovetail.sim.gpu.run import GpuScheduler, run
from dovetail.sim.gpu.world import GpuWorld

__all__ = ["GpuOptions", "GpuResult", "GpuScheduler", "GpuWorld", "run"]
