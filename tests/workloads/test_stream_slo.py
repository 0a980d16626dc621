"""What SLOs of the presets are made from, held to the simulator."""

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamDecision, StreamInfo, StreamView
from dovetail.sim.stream import StreamOptions, StreamWorld, run
from dovetail.workloads.stream_jobs import instances_for
from dovetail.workloads.stream_source import open_stream


class Known:
    """Knows the mean rate of the coming hour, and keeps instances 70 % busy."""

    CLAIRVOYANT = True

    def __init__(self, skew):
        self.skew = skew

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        self.info = info

    def decide(self, view: StreamView) -> list[StreamDecision]:
        info, future = self.info, self.info.future
        first, count = int(view.time_s // future.bin_s), int(info.interval_s // future.bin_s)
        rate = future.rate[:, first : first + count].mean(axis=1)
        demand = future.operator_load_s * rate[info.operator_job]
        wanted = zip(demand, self.skew, info.operator_max, strict=True)
        counts = [instances_for(work, skew, int(most)) for work, skew, most in wanted]
        return [StreamDecision(operator, count) for operator, count in enumerate(counts)]


@pytest.mark.parametrize("name", ["small-1", "small-2", "medium-1", "medium-2", "large-1"])
def test_a_well_run_job_is_at_about_a_third_of_its_slo(name):
    shares = []
    for seed in range(2):
        work = open_stream(name).sequence(None, SeedTree(seed))
        world = StreamWorld(work, StreamOptions(), SeedTree(seed).child("world"))
        result = run(world, Known(work.op_skew), SeedTree(seed).child("scheduler").generator())
        shares.append(float((result.latency_s / work.job_slo_s).mean()))
    assert 0.2 < np.mean(shares) < 0.5
