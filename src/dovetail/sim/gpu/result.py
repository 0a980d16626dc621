"""What a gpu run came to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, Ints
from dovetail.sim.kernels.dag_state import Records
from dovetail.sim.kernels.gpu_state import ROW_TABLE, RUNNING, GpuOne, GpuRecords
from dovetail.workloads.gpu import GpuWorkload


@dataclass(frozen=True, eq=False)
class GpuResult:
    """Times, fees and speeds of every job; and, if recorded, where each ran, decisions, speeds, machines."""

    workload: GpuWorkload
    num_gpus: int  # of the cluster
    end_s: float
    start_s: Floats  # (J,) the first time, nan = never
    finish_s: Floats  # (J,) nan for jobs not complete
    running_s: Floats  # (J,)
    served_s: Floats  # (J,) GPU-seconds
    fee: Floats  # (J,) USD
    stops: Ints  # (J,) how often it was stopped, or lost a machine
    work_run_s: Floats  # (J,) integral of its speed, what was lost and restarts included
    alone_run_s: Floats  # (J,) the same, had nobody else been there and no mood, nor network
    events: int
    decisions: int
    asked: int
    segments: Records  # (S,) in order of start: job, why (gpu_state), first_row, rows, start_s, end_s
    rows: Records  # (P,) where segments ran: segment, machine, device (shared, -1 = none), workers, mask (whole ones)
    decision_log: Records  # (K,) asked, job, stops, reason, place, segment, waiting, time_s, priority, affinity
    speeds: Records  # (V,) job, time_s, speed from then on
    machine_log: Records  # (L,) machine, up, time_s

    @property
    def completion_s(self) -> Floats:
        """(J,) from arrival to finish."""
        return self.finish_s - self.workload.arrival_s

    @property
    def waiting_s(self) -> Floats:
        """(J,) the part of it in which the job did not run."""
        return self.completion_s - self.running_s

    @property
    def mean_speed(self) -> Floats:
        """(J,) while running; nan for jobs that never ran."""
        return _ratio(self.work_run_s, self.running_s)

    @property
    def relative_speed(self) -> Floats:
        """(J,) relative to being alone on the same types."""
        return _ratio(self.work_run_s, self.alone_run_s)

    @property
    def makespan_s(self) -> float:
        """When the last job was complete."""
        return float(np.max(self.finish_s, initial=0.0))

    @property
    def gpu_utilisation(self) -> float:
        """Held GPU-seconds out of all until the end."""
        whole = self.num_gpus * self.end_s
        return float(self.served_s.sum()) / whole if whole > 0 else 0.0

    @classmethod
    def of(cls, workload: GpuWorkload, info: GpuInfo, one: GpuOne, records: GpuRecords) -> GpuResult:
        """Read off a world; running jobs are counted up to now."""
        world, jobs = one.world[0], one.jobs
        now = float(world["now"])
        runs = jobs["state"] == RUNNING
        span = np.where(runs, now - jobs["start_s"], 0.0)
        since = np.where(runs, now - jobs["since_s"], 0.0)
        logs = ("segment_records", "row_records", "decision_records", "speed_records", "machine_records")
        tables = [table[: int(world[name])].copy() for table, name in zip(records, logs, strict=True)]
        return cls(
            workload=workload,
            num_gpus=int(info.machine_gpus.sum()),
            end_s=now,
            start_s=jobs["first_start_s"].copy(),
            finish_s=jobs["finish_s"].copy(),
            running_s=jobs["running_s"] + span,
            served_s=jobs["served_s"] + span * (jobs["workers"] * jobs["gpus"]),
            fee=jobs["fee"] + span / 3600.0 * jobs["fee_rate"],
            stops=jobs["stops"].copy(),
            work_run_s=jobs["speed_s"] + since * jobs["speed"],
            alone_run_s=jobs["alone_s"] + span * jobs["alone"],
            events=int(world["events"]),
            decisions=int(world["decisions"]),
            asked=int(world["asked"]),
            segments=tables[0],
            rows=tables[1].view(ROW_TABLE),
            decision_log=tables[2],
            speeds=tables[3],
            machine_log=tables[4],
        )


def _ratio(above: Floats, below: Floats) -> Floats:
    ratio = np.full(len(below), np.nan)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio
