"""What schedulers that look one decision ahead have in common: several candidates, the first of them proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.dag import DagDecision, DagView, Floats, Reason


@dataclass(frozen=True)
class CandidateParams:
    """Which decisions are tried."""

    max_candidates: int = field(default=4, metadata={"help": "decisions tried besides the base's"})
    jobs: int = field(default=4, metadata={"help": "jobs with the least work left to take them from"})
    stages: int = field(default=2, metadata={"help": "stages of each job to try"})

    def __post_init__(self) -> None:
        if min(self.max_candidates, self.jobs, self.stages) < 1:
            raise ValueError("max_candidates, jobs and stages must be at least 1")

    def beside(self, view: DagView, proposed: DagDecision) -> list[DagDecision]:
        """Up to `max_candidates` decisions that hand over executors differently, the most promising first.

        They are for the foremost stages of the job the executors are at and of those with the least work left, each
        with all executors on offer, half of them, or one.
        """
        offered = int(view.source_executors)
        held = view.job_executors.tolist()
        unclaimed = view.stage_unclaimed.tolist()
        job = int(view.stage_job[proposed.stage])
        seen = {(proposed.stage, min(proposed.limit - held[job], offered, unclaimed[proposed.stage]))}
        others: list[DagDecision] = []
        by_rank = _stages_by_rank(view, self.jobs, self.stages)
        for share in (offered, (offered + 1) // 2, 1):
            for stage, job in by_rank:
                given = min(share, unclaimed[stage])
                if (stage, given) not in seen:
                    seen.add((stage, given))
                    others.append(DagDecision(stage, held[job] + given))
                    if len(others) == self.max_candidates:
                        return others
        return others


@dataclass(frozen=True)
class AheadParams:
    """How far each try goes, and what it must save."""

    horizon_s: float = field(
        default=float("inf"), metadata={"help": "how far each try goes; inf: until all jobs are done"}
    )
    margin_s: float = field(default=5.0, metadata={"help": "job-seconds another decision must save"})

    def __post_init__(self) -> None:
        if not self.horizon_s > 0.0:
            raise ValueError(f"horizon_s is {self.horizon_s}; expected more than 0 seconds")
        if not self.margin_s >= 0.0:
            raise ValueError(f"margin_s is {self.margin_s}; expected 0 or more job-seconds")


def best_of(candidates: Sequence[DagDecision], costs: Floats, margin_s: float = 0.0) -> DagDecision:
    """The cheapest, if it saves more than the margin against the first; else the first."""
    best = int(np.argmin(costs))
    if costs[best] < costs[0] - margin_s:
        return candidates[best]._replace(reason=Reason.LOOK_AHEAD)
    return candidates[0]._replace(reason=Reason.LOOK_AHEAD_AGREES)


def _stages_by_rank(view: DagView, most_jobs: int, most_stages: int) -> list[tuple[int, int]]:
    """(stage, job): the foremost stage of each job, then the second of each, and so on."""
    valid = view.stage_valid.nonzero()[0]
    left = view.job_work_left_s.tolist()
    by_job: dict[int, list[tuple[bool, float, int]]] = {}
    for stage, job, ready, path in zip(
        valid.tolist(),
        view.stage_job[valid].tolist(),
        view.stage_ready[valid].tolist(),
        view.stage_critical_path_s[valid].tolist(),
        strict=True,
    ):
        by_job.setdefault(job, []).append((not ready, -path, stage))
    jobs = sorted(by_job, key=lambda job: (job != view.source_job, left[job], job))[:most_jobs]
    ranked = {job: sorted(by_job[job]) for job in jobs}
    return [(ranked[job][place][2], job) for place in range(most_stages) for job in jobs if place < len(ranked[job])]
