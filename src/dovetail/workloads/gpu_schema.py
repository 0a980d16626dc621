"""The canonical form of a gpu workload on disk; `docs/workloads.md` documents it for people."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import MAX_JOBS
from dovetail.workloads.schema import JOBS, Column, Layout

MACHINES = "machines.parquet"
ANY_TYPE = "any"

JOB_COLUMNS = (
    Column("job", "text"),
    Column("arrival_s", "number"),
    Column("user", "text"),
    Column("kind", "text"),
    Column("workers", "integer"),
    Column("gpus", "number"),
    Column("cpus", "number"),
    Column("memory", "number"),
    Column("types", "text"),
    Column("work_s", "number"),
    Column("estimate_s", "number"),
)
MACHINE_COLUMNS = (
    Column("machine", "text"),
    Column("type", "text"),
    Column("gpus", "integer"),
    Column("cpus", "number"),
    Column("memory", "number"),
    Column("rack", "integer"),
)
GPU_LAYOUT = Layout(
    family="gpu",
    tables={JOBS: JOB_COLUMNS, MACHINES: MACHINE_COLUMNS},
    required=(JOBS, MACHINES),
    counted={"jobs": JOBS, "machines": MACHINES},
)


@dataclass(frozen=True)
class GpuSetting:
    """Defaults of commands that use the workload: what its manifest says beside its tables."""

    jobs: int
    arrivals: GpuArrivals

    def __post_init__(self) -> None:
        if not 1 <= self.jobs <= MAX_JOBS:
            raise ValueError(f"jobs is {self.jobs}; expected 1 to {MAX_JOBS:,}")
