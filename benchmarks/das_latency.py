"""How long one decision of gpu/das takes, on one core.

    .venv/bin/python benchmarks/das_latency.py
    .venv/bin/python benchmarks/das_latency.py --waiting 1000 --workload large

The dearest case first: so many jobs wait and the cluster is empty, so that nearly all of them are placed at once.  Then
the rest of the run, as it comes.  Beside it `gpu/srtf+topology`, which is interpreted in Python, in the same run.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from dovetail import SCHEDULERS
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.workloads.gpu_arrivals import GpuArrivals

TARGET_MS = 50.0


def timed(setting: GpuSetting, name: str, seed: int) -> tuple[int, list[float]]:
    """Jobs that the first decision placed, and milliseconds of every decision."""
    opened = setting.open()
    scheduler = SCHEDULERS.create(name)
    for one in (seed + 1, seed):  # the first is to have everything compiled
        world = opened.world(opened.sequence(one), SeedTree(one))
        scheduler.reset(world.info, np.random.default_rng(0))
        taken, first = [], -1
        while (view := world.advance()) is not None:
            start = time.perf_counter()
            decisions = scheduler.decide(view)
            taken.append(1000 * (time.perf_counter() - start))
            first = len(decisions) if first < 0 else first
            world.apply(decisions)
    return first, taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, default=100, help="jobs, all there from the start (100)")
    parser.add_argument("--workload", default="large", help="and its cluster (large: 128 machines)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    setting = GpuSetting(args.workload, jobs=args.waiting, arrivals=GpuArrivals("batch"))
    print(f"{args.waiting} jobs of {args.workload}, {setting.open().cluster.machines} machines; milliseconds")
    for name in ("gpu/das", "gpu/srtf+topology"):
        first, taken = timed(setting, name, args.seed)
        rest = f"; then {np.median(taken[1:]):.2f} at the median, {max(taken[1:]):.2f} at most" if taken[1:] else ""
        print(f"{name:20} first decision, {first} jobs placed: {taken[0]:.1f}{rest}")
        if name == "gpu/das":
            print(f"  target {TARGET_MS:g} ms: {'reached' if max(taken) < TARGET_MS else 'missed'}")


if __name__ == "__main__":
    main()
