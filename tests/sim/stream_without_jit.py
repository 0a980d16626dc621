"""Prints what a few small runs come to; run with and without the JIT by `test_stream_without_jit.py`."""

from __future__ import annotations

import json

import numpy as np
from tests.sim.stream_toys import Anything, chain, random_workload

from dovetail.core.seeds import SeedTree
from dovetail.sim.stream import StreamBatch, StreamOptions, StreamWorld


def main() -> None:
    outcome: dict[str, object] = {}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        world = StreamWorld(random_workload(rng), StreamOptions(interval_s=20.0, snapshot_s=5.0), SeedTree(seed))
        scheduler = Anything()
        scheduler.reset(world.info, rng)
        while (view := world.advance()) is not None:
            world.apply(scheduler.decide(view))
        result = world.result()
        # libraries of powers and the like differ in the last bit
        outcome[str(seed)] = [
            [[float(f"{value:.6g}") for value in row] for row in table.tolist()]
            for table in (result.busy, result.delivered, result.parallelism)
        ]
    workloads = [chain([0.01, 0.02], rate, minutes=4) for rate in (30.0, 60.0)]
    batch = StreamBatch(workloads, StreamOptions(interval_s=60.0), [SeedTree(0), SeedTree(1)])
    while batch.advance() is not None:
        batch.apply(np.array([[1, 2], [2, 2]]))
    outcome["batch"] = [[float(f"{value:.6g}") for value in result.latency_s[:, 0]] for result in batch.results()]
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
