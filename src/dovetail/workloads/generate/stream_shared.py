"""Three streaming jobs that share slots, too few of them for all peaks at once; all figures are ours."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.workloads.generate.stream_layered import Layered
from dovetail.workloads.generate.stream_preset import StreamPreset
from dovetail.workloads.stream_alone import with_slo
from dovetail.workloads.stream_jobs import StreamBuilder, StreamJobs

# Name, operators, layers, sources, rate as a multiple of `rate`.
JOBS = (("clicks", 4, 4, 1, 0.6), ("orders", 6, 4, 2, 0.9), ("sensors", 8, 5, 2, 1.5))


@dataclass(frozen=True)
class Shared(StreamPreset):
    """Each job has rates of its own, which have the same rhythm; so their peaks come together, more or less."""

    budget: float = 1.9  # slots for each instance that is busy at the mean rates, unless `slots` says how many
    seed: int = 11

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.budget <= 100:
            raise ValueError(f"budget is {self.budget:g}; expected 1 to 100")

    def jobs(self) -> StreamJobs:
        builder = StreamBuilder()
        for place, (name, operators, layers, sources, times) in enumerate(JOBS):
            Layered(
                rate=self.rate * times,
                runtime=self.runtime,
                restart_s=self.restart_s,
                checkpoint_s=self.checkpoint_s,
                instances=self.instances,
                operators=operators,
                layers=layers,
                sources=sources,
                seed=self.seed + place,
            ).add(builder, name)
        slots = self.slots
        if slots is None:
            demand = builder.build(self.instances * len(builder.operators)).demand()
            slots = max(len(builder.operators), round(self.budget * float(demand.sum())))
        return with_slo(builder.build(slots), self.slo_s)
