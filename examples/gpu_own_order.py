"""An order of GPU jobs of your own in one file, combined with places that are there, on a cluster of your own.

python examples/gpu_own_order.py
"""

from dataclasses import dataclass, field

import numpy as np

from dovetail import SCHEDULERS, SeedTree
from dovetail.cluster.gpu import Machine, cluster_of
from dovetail.core.gpu import Floats, GpuView, Reason
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.gpu_parts import GPU_PARTS
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.room import Room

CLUSTER = cluster_of(
    tuple(Machine(f"v{number}", "V100", gpus=4, cpus=32, memory=244, rack=number // 3) for number in range(6))
    + tuple(Machine(f"a{number}", "A100", gpus=4, cpus=48, memory=340, rack=2) for number in range(2))
)


@dataclass(frozen=True)
class Params:
    patience: float = field(default=10.0, metadata={"help": "a job's waiting time, over its own, that puts it first"})


class Patient(OrderPart):
    """The least GPU time left first, but those who have waited many times as long as they take come before all."""

    Params = Params
    REASON = Reason.LEAST_LEFT

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        """(C,) the smallest is taken."""
        job = candidates.job
        area: Floats = view.job_left_s[job] * view.job_workers[job] * np.maximum(view.job_gpus[job], 0.1)
        waited = (view.time_s - view.job_arrival_s[job]) / view.job_left_s[job]
        return np.where(waited > self.params.patience, -waited, area)


def main(jobs: int = 120, seeds: int = 3) -> dict[str, tuple[float, float]]:
    """Mean and 95th percentile of the slowdown of each scheduler, over the same `seeds` sequences of `jobs` jobs."""
    GPU_PARTS.register("order/patient", f"{__name__}:Patient", "least GPU time left, unless others have waited long")
    setting = GpuSetting("small", jobs=jobs, cluster=CLUSTER, load=1.0).open()
    scores = {}
    for spec in ("gpu/patient+topology", "gpu/patient+pack:patience=3", "gpu/srtf+topology", "gpu/fifo+first-fit"):
        slowdown = []
        for seed in range(seeds):
            world = setting.world(setting.sequence(seed), SeedTree(seed))
            result = setting.run(world, SCHEDULERS.create(spec), SeedTree(seed).child("scheduler").generator())
            slowdown.append(result.completion_s / result.workload.work_s)
        every = np.concatenate(slowdown)
        scores[spec] = float(every.mean()), float(np.percentile(every, 95))
        print(f"{spec:28} {scores[spec][0]:6.2f} times as long as at speed 1, {scores[spec][1]:6.2f} for one in twenty")
    return scores


if __name__ == "__main__":
    main()
