"""How fast the gpu simulator is, how that grows with jobs and machines, and against plain Python.

    .venv/bin/python benchmarks/gpu_speed.py            # some minutes
    .venv/bin/python benchmarks/gpu_speed.py --quick    # small sizes, within a minute
    .venv/bin/python benchmarks/gpu_speed.py --scheduler gpu/sjf+best-fit

1. Jobs per CPU-second on 1,200 machines, two thirds of them with 8 GPUs as in the public trace, under first come, most
   packed; target: 5,000.  At a load of 0.75, which slow-downs make about 0.9, and at 1.5: a queue of thousands.
2. Growth to 100,000 jobs and to 10,000 machines, each in a process of its own; memory is its own too.
3. The ratio to the plain-Python world (`dovetail.testing.gpu_reference`) on the same jobs and the same decisions.

The scheduler is `gpu_packing.py` beside this file, so that the simulator is measured and not the scheduler; in the
first part one of the registry (--scheduler) follows.  Workloads are drawn there as well, with the mix of the public
trace.  Compiling is not counted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
from time import process_time
from typing import Any

from dovetail.core.errors import DovetailError

OWN = "first come, most packed"
TARGET = 5000.0
SIZE = (50_000, 1200)  # jobs, machines
LOADS = (0.75, 1.5)
JOBS = (1000, 10_000, 30_000, 100_000)
MACHINES = (120, 1200, 10_000)
QUICK_SIZE = (30_000, 1200)  # fewer jobs do not fill the machines: at a load of 1.5 nobody would wait
QUICK_JOBS, QUICK_MACHINES = (1000, 10_000), (120, 1200)
REFERENCE = ((150, 40), (60, 1200))
QUICK_REFERENCE = ((60, 40),)
REPEATS = 3


def scheduler_named(name: str) -> Any:
    if name == OWN:
        from gpu_packing import Packing

        return Packing()
    from dovetail.schedulers import SCHEDULERS

    return SCHEDULERS.create(name)


def measure(jobs: int, machines: int, load: float, name: str, seed: int = 0) -> dict[str, Any]:
    """A whole run; the first, of a few jobs, compiles."""
    import numpy as np
    from gpu_packing import MIXED, some_speeds, trace_like

    from dovetail.cluster.gpu import GpuCluster
    from dovetail.core.seeds import SeedTree
    from dovetail.sim.gpu import GpuOptions, GpuWorld, run

    cluster, model = GpuCluster(machines, MIXED), some_speeds()
    few = trace_like(20, cluster, load, seed)
    run(GpuWorld(few, model, GpuOptions(cluster), SeedTree(0)), scheduler_named(name), np.random.default_rng(0))
    workload, options = trace_like(jobs, cluster, load, seed), GpuOptions(cluster)
    start = process_time()
    world = GpuWorld(workload, model, options, SeedTree(seed))
    made = process_time()
    result = run(world, scheduler_named(name), np.random.default_rng(0))
    end = process_time()
    return {
        "scheduler": name,
        "jobs": jobs,
        "machines": machines,
        "load": load,
        "set_up_s": made - start,
        "run_s": end - made,
        "jobs_per_s": jobs / (end - start),
        "events": result.events,
        "asked": result.asked,
        "avg_waiting_s": float(result.waiting_s.mean()),
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def against_reference(jobs: int, machines: int, name: str) -> dict[str, Any]:
    """Both worlds with the same decisions: taken down first, then played to each, so that nobody decides meanwhile."""
    import numpy as np
    from gpu_packing import MIXED, some_speeds, trace_like

    from dovetail.cluster.gpu import GpuCluster
    from dovetail.core.seeds import SeedTree
    from dovetail.sim.gpu import GpuOptions, GpuWorld, run
    from dovetail.testing.gpu_reference import ReferenceGpuWorld

    cluster, model, seeds = GpuCluster(machines, MIXED), some_speeds(), SeedTree(1)
    workload, options = trace_like(jobs, cluster, 0.75, 1), GpuOptions(cluster)
    scheduler, world = scheduler_named(name), GpuWorld(workload, model, options, seeds)
    scheduler.reset(world.info_for(scheduler), np.random.default_rng(0))
    answers = []
    while (view := world.advance()) is not None:
        answers.append(scheduler.decide(view))
        world.apply(answers[-1])
    keys = seeds.child("failures").key(), seeds.child("moods").key()
    slow = ReferenceGpuWorld(workload, model, options, *keys)
    start = process_time()
    for answer in answers:
        slow.advance()
        slow.apply(answer)
    assert slow.advance() is None
    slow_s = process_time() - start
    again = GpuWorld(workload, model, options, seeds)
    start = process_time()
    for answer in answers:
        again.advance()
        again.apply(answer)
    assert again.advance() is None
    stepped_s = process_time() - start
    for _ in range(2):  # the first compiles
        start = process_time()
        run(GpuWorld(workload, model, options, seeds), scheduler, np.random.default_rng(0))
        run_s = process_time() - start
    return {
        "jobs": jobs,
        "machines": machines,
        "reference_jobs_per_s": jobs / slow_s,
        "stepped_jobs_per_s": jobs / stepped_s,
        "stepped_ratio": slow_s / stepped_s,
        "whole_run_ratio": slow_s / run_s,
    }


def apart(function: Any, *given: Any) -> Any:
    """In a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, given)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def figures(name: str, quick: bool) -> dict[str, Any]:
    jobs, machines = QUICK_SIZE if quick else SIZE
    found: dict[str, Any] = {"target_jobs_per_s": TARGET, "speed": [], "growth": [], "reference": []}
    say("speed")
    for scheduler in (OWN, name):
        for load in LOADS:
            rows = [apart(measure, jobs, machines, load, scheduler, seed) for seed in range(1 if quick else REPEATS)]
            found["speed"].append(sorted(rows, key=lambda row: row["jobs_per_s"])[len(rows) // 2])
    say("growth")
    sizes = [(count, machines) for count in (QUICK_JOBS if quick else JOBS)]
    sizes += [(jobs, count) for count in (QUICK_MACHINES if quick else MACHINES)]
    found["growth"] = [apart(measure, *size, LOADS[0], OWN) for size in sizes]
    say("reference")
    found["reference"] = [apart(against_reference, *size, OWN) for size in (QUICK_REFERENCE if quick else REFERENCE)]
    return found


def table(found: dict[str, Any]) -> str:
    lines = [f"target: {found['target_jobs_per_s']:,.0f} jobs per CPU-second"]
    for title in ("speed", "growth"):
        lines.append(
            f"{title:24} {'jobs':>8} {'machines':>9} {'load':>5} {'jobs/s':>9} {'s':>8} {'waiting s':>10} {'MB':>6}"
        )
        for row in found[title]:
            took = row["set_up_s"] + row["run_s"]
            line = (
                f"{row['scheduler']:24} {row['jobs']:8,} {row['machines']:9,} {row['load']:5} {row['jobs_per_s']:9,.0f}"
            )
            line += f" {took:8.2f} {row['avg_waiting_s']:10,.0f} {row['memory_mb']:6,.0f}"
            if title == "speed":
                line += " reached" if row["jobs_per_s"] >= found["target_jobs_per_s"] else " MISSED"
            lines.append(line)
    lines.append("reference: jobs per CPU-second of plain Python; how much faster ours is, stepped and in whole runs")
    for row in found["reference"]:
        lines.append(
            f"{'':24} {row['jobs']:8,} {row['machines']:9,} {row['reference_jobs_per_s']:15.1f} "
            f"{row['stepped_ratio']:9,.0f} x {row['whole_run_ratio']:9,.0f} x"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--scheduler", default="gpu/fifo+pack", help="of the registry, beside our own")
    args = parser.parse_args()
    try:
        found = figures(args.scheduler, args.quick)
    except DovetailError as error:
        print(f"gpu_speed: error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found, indent=2) if args.json else table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
