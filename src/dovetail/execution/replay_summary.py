"""What a replay came to, beside what the simulator says about the same jobs under the same scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import Floats
from dovetail.execution.status import JobStatus, OverheadStatus


@dataclass(frozen=True, eq=False)
class ReplaySummary:
    """Times are those of the workload: real ones divided by the time scale."""

    jobs: Sequence[JobStatus]  # in the order of the workload
    time_scale: float
    simulated_jct_s: Floats  # (J,) the simulator's
    overheads: Sequence[OverheadStatus] = ()

    @property
    def jct_s(self) -> Floats:
        """(completed jobs,) in their order."""
        return np.array([_real_s(job) / self.time_scale for job in self.jobs if job.state == "succeeded"])

    @property
    def tasks_completed(self) -> int:
        return sum(stage.finished for job in self.jobs for stage in job.stages)

    def to_json(self) -> dict[str, Any]:
        """`ratio` compares completed jobs only, on both sides; None where there is nothing to compare."""
        done = np.array([job.state == "succeeded" for job in self.jobs], dtype=bool)
        real_s = float(np.mean(self.jct_s)) if done.any() else None
        simulated_s = float(np.mean(self.simulated_jct_s[done])) if done.any() else None
        return {
            "jobs_completed": int(done.sum()),
            "jobs_failed": len(self.jobs) - int(done.sum()),
            "tasks_completed": self.tasks_completed,
            "avg_jct_s": real_s,
            "simulated_avg_jct_s": simulated_s,
            "ratio": real_s / simulated_s if real_s is not None and simulated_s else None,
            "time_scale": self.time_scale,
            "overheads": {
                one.name: {"count": one.count, "p50_us": one.p50_us, "p95_us": one.p95_us} for one in self.overheads
            },
        }


def _real_s(job: JobStatus) -> float:
    assert job.ended_s is not None
    return job.ended_s - job.submitted_s
