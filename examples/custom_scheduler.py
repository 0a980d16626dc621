"""A scheduler of your own in one file, compared with two heuristics on the same job sequences.

python examples/custom_scheduler.py
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail import SCHEDULERS, SeedTree
from dovetail.core.dag import DagDecision, DagInfo, DagView, Reason
from dovetail.sim.dag import DagOptions, DagWorld, run
from dovetail.workloads import Arrivals, open_source


@dataclass(frozen=True)
class Params:
    share: float = field(default=0.5, metadata={"help": "part of the cluster that one job may hold"})


class ShortestWithinShare:
    """The job with the least work left first, but no job may hold more than its share of the cluster."""

    Params = Params

    def __init__(self, params: Params = Params()) -> None:
        self.params = params

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self.executors = info.num_executors
        self.cap = max(1, round(self.params.share * info.num_executors))

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        stages = np.flatnonzero(view.stage_valid)
        held = view.job_executors[view.stage_job[stages]]
        below = stages[held < self.cap]
        candidates = below if len(below) else stages  # everybody has a share: what is left goes to anyone
        stage = int(candidates[np.argmin(view.job_work_left_s[view.stage_job[candidates]])])
        limit = self.cap if len(below) else self.executors
        return [DagDecision(stage, limit, reason=Reason.LEAST_WORK_LEFT)]


def main(jobs: int = 10, seeds: int = 5) -> dict[str, float]:
    """Average completion time of each scheduler, over the same `seeds` sequences of `jobs` jobs."""
    SCHEDULERS.register("dag/mine", f"{__name__}:ShortestWithinShare", "least work left, within a share")
    source, options = open_source("tpch-like"), DagOptions(executors=25)
    scores = {}
    for spec in ("dag/mine", "dag/mine:share=0.25", "dag/fair", "dag/fair-spill"):
        results = []
        for seed in map(SeedTree, range(seeds)):
            world = DagWorld(source.sequence(jobs, Arrivals("batch"), seed), options, seed)
            results.append(run(world, SCHEDULERS.create(spec), seed.child(spec).generator()).avg_jct_s)
        scores[spec] = float(np.mean(results))
        print(f"{spec:22} {scores[spec]:7.1f} s")
    return scores


if __name__ == "__main__":
    main()
