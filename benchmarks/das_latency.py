"""How long one decision of gpu/das takes on one core, in CPU time.

    .venv/bin/python benchmarks/das_latency.py
    .venv/bin/python benchmarks/das_latency.py --waiting 1000 --workload large

The dearest case: so many jobs wait and the cluster is empty, so that nearly all of them are placed at once.  Twice: at
the very beginning, when nothing is remembered of earlier jobs, and after so many other jobs (--before) that the history
of the Gaussian process is full.  Then the rest of the run, as it comes.  Beside it `gpu/srtf+topology`, which is
interpreted in Python, in the same run.  Each is played several times, and the median of each decision counts.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail import SCHEDULERS
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting, OpenGpuSetting
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals

TARGET_MS = 50.0
HOUR_S = 3600.0
REPEATS = 5


Row = tuple[float, int, float]
"""Of a decision: time, jobs placed, milliseconds."""


def played(opened: OpenGpuSetting, workload: GpuWorkload, scheduler: Any, seed: int) -> tuple[list[Row], float]:
    """Every decision; when all was done."""
    world = opened.world(workload, SeedTree(seed))
    scheduler.reset(world.info, np.random.default_rng(0))
    rows = []
    while (view := world.advance()) is not None:
        start = time.process_time()
        decisions = scheduler.decide(view)
        rows.append((view.time_s, len(decisions), 1000 * (time.process_time() - start)))
        world.apply(decisions)
    return rows, float(np.nanmax(world.result().finish_s))


def timed(name: str, workload: str, waiting: int, before: int, seed: int) -> tuple[Row, list[Row]]:
    """The decision about all that wait, and those that follow.  `before`: jobs that have come and gone by then."""
    opened = GpuSetting(workload, jobs=before + waiting, arrivals=GpuArrivals("batch")).open()
    scheduler = SCHEDULERS.create(name)
    jobs, begin_s = opened.sequence(seed), 0.0
    if before:
        _, done_s = played(opened, jobs.take(np.arange(before)), scheduler, seed)
        begin_s = done_s + HOUR_S
        jobs = replace(jobs, arrival_s=np.where(np.arange(jobs.num_jobs) < before, 0.0, begin_s))
    played(opened, jobs, scheduler, seed)  # so that everything is compiled
    again = [played(opened, jobs, scheduler, seed)[0] for _ in range(REPEATS)]
    took = np.median([[row[2] for row in rows] for rows in again], axis=0)
    rows = [(time_s, placed, float(ms)) for (time_s, placed, _), ms in zip(again[0], took, strict=True)]
    if before and name == "gpu/das" and before < 2 * scheduler.network.shape.history:
        raise ConfigError(f"--before {before} does not fill a history of {scheduler.network.shape.history}")
    first, *rest = [row for row in rows if row[0] >= begin_s]
    return first, rest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, default=100, help="jobs, all there at once (100)")
    parser.add_argument("--before", type=int, default=300, help="jobs that fill the history (300)")
    parser.add_argument("--workload", default="large", help="and its cluster (large: 128 machines)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    machines = GpuSetting(args.workload).open().cluster.machines
    print(f"{args.waiting} jobs of {args.workload}, {machines} machines; milliseconds of CPU time")
    slowest = 0.0
    for name in ("gpu/das", "gpu/srtf+topology"):
        for before in (0, args.before):
            (_, placed, took), rest = timed(name, args.workload, args.waiting, before, args.seed)
            after = [row[2] for row in rest]
            then = f"; then {np.median(after):.2f} at the median, {max(after):.2f} at most" if after else ""
            when = f"after {before} jobs" if before else "at the beginning"
            print(f"{name:18} {when:16} {placed} jobs placed: {took:.1f}{then}")
            slowest = max([slowest, took, *after]) if name == "gpu/das" else slowest
    print(f"target of gpu/das, {TARGET_MS:g} ms in every decision: {'reached' if slowest < TARGET_MS else 'missed'}")


if __name__ == "__main__":
    main()
