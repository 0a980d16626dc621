"""A workload's jobs as real ones, made of synthetic tasks, on a time scale.

With a time scale of 0.01, what takes a second in the workload takes 10 ms.  How long a task lasts is known when it is
sent off, not before: the engine asks `durations`, and calls the task with the answer times `time_scale`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import cloudpickle

from dovetail.core.errors import ConfigError
from dovetail.execution.payload import StagePayload, encode
from dovetail.execution.replay_durations import ReplayDurations
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.execution.synthetic import Kind, Synthetic
from dovetail.workloads.dag import DagWorkload

if TYPE_CHECKING:
    from dovetail.sim.dag import DagOptions

MIN_SCALE, MAX_SCALE = 1e-6, 1000.0


@dataclass(frozen=True, eq=False)
class Replay:
    """Everything about a replay.  Jobs are numbered as in the workload; the engine must number them alike."""

    workload: DagWorkload
    duration_key: int
    options: DagOptions
    time_scale: float = 0.01
    kind: Kind = "sleep"
    memory_bytes: int = 64 * 10**6  # of a `memory` task whose stage needs all of an executor's

    def __post_init__(self) -> None:
        if not MIN_SCALE <= self.time_scale <= MAX_SCALE:
            raise ConfigError(f"time scale {self.time_scale}; expected {MIN_SCALE:g} to {MAX_SCALE:g}")
        if self.options.mean_time_to_failure_s:
            raise ConfigError("a replay cannot let executors fail as the simulator does; leave the failures out")
        if any(vars(self.options.compat).values()):
            raise ConfigError("a replay imitates no faults of the published simulator; leave `compat` out")

    @property
    def num_executors(self) -> int:
        return sum(kind.count for kind in self.options.executor_classes())

    @cached_property
    def durations(self) -> ReplayDurations:
        return ReplayDurations(self.workload, self.duration_key, self.options)

    @cached_property
    def submit_s(self) -> list[float]:
        """(J,) when to submit each job, in real seconds from the start."""
        return [arrival_s * self.time_scale for arrival_s in self.workload.arrival_s.tolist()]

    def spec(self, job: int) -> JobSpec:
        """Times in it are the workload's, and so is the controller's clock.  Demands matter only if executors differ;
        nobody is held to them."""
        catalogue, dag = self.workload.catalogue, int(self.workload.job_dag[job])
        first, end = catalogue.stage_ptr[dag : dag + 2].tolist()
        edges = slice(*catalogue.edge_ptr[dag : dag + 2].tolist())
        after: list[list[int]] = [[] for _ in range(end - first)]
        for parent, child in zip(
            catalogue.edge_parent[edges].tolist(), catalogue.edge_child[edges].tolist(), strict=True
        ):
            after[child].append(parent)
        stages = tuple(
            StageSpec(
                catalogue.stage_name[row],
                int(catalogue.num_tasks[row]),
                tuple(after[row - first]),
                cpus=float(catalogue.cpu[row]) if self.options.classes else 1.0,
                memory_gb=float(catalogue.memory[row]) if self.options.classes else 0.0,
                expected_s=float(catalogue.stage_mean_s[row]),
            )
            for row in range(first, end)
        )
        left_s = float(self.workload.deadline_s[job] - self.workload.arrival_s[job])
        deadline_s = max(left_s, 1e-9) if math.isfinite(left_s) else None
        return JobSpec(self.workload.job_name[job], stages, float(self.workload.weight[job]), deadline_s)

    def payload(self, job: int) -> bytes:
        catalogue, dag = self.workload.catalogue, int(self.workload.job_dag[job])
        return encode(
            [
                StagePayload(self._function(float(catalogue.memory[row])), int(catalogue.num_tasks[row]))
                for row in range(*catalogue.stage_ptr[dag : dag + 2].tolist())
            ]
        )

    def _function(self, share: float) -> bytes:
        function: bytes = cloudpickle.dumps(Synthetic(self.kind, int(self.memory_bytes * share)))
        return function
