"""No-op tasks a second through the whole engine, and how long a free executor waits for its next task.

    .venv/bin/python benchmarks/execution_speed.py
    .venv/bin/python benchmarks/execution_speed.py --tasks 20000 --json

The same number of worker processes in every row, one run, ratios to `multiprocessing.Pool`.  Our rows include the
scheduler, the journal and results that outlast a crash; the others have none of these.  Rows of Ray and dask appear if
they are installed (extras `ray` and `bench`).  Targets: 10,000 tasks/s, 200 us at the median from free to start.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

from dovetail.execution import Engine, Job
from dovetail.execution.outfile import scan

REFERENCE = "multiprocessing.Pool"
TARGET_PER_S, TARGET_US = 10_000, 200.0
BATCH_S = 0.005


def nothing(_: int) -> None:
    return None


def a_millisecond(_: int) -> None:
    """Of computing, so that an executor is really busy."""
    until_s = time.perf_counter() + 0.001
    while time.perf_counter() < until_s:
        pass


def twenty_milliseconds(_: int) -> None:
    """Of waiting: nobody competes for the processors."""
    time.sleep(0.02)


def pool(workers: int, tasks: int) -> float:
    with multiprocessing.Pool(workers) as made:
        made.map(nothing, range(100), chunksize=1)
        start_s = time.perf_counter()
        for _ in made.imap_unordered(nothing, range(tasks), chunksize=1):
            pass
        return time.perf_counter() - start_s


def pool_in_chunks(workers: int, tasks: int) -> float:
    with multiprocessing.Pool(workers) as made:
        made.map(nothing, range(100))
        start_s = time.perf_counter()
        made.map(nothing, range(tasks))
        return time.perf_counter() - start_s


def process_pool_executor(workers: int, tasks: int) -> float:
    with ProcessPoolExecutor(workers) as made:
        list(made.map(nothing, range(100)))
        start_s = time.perf_counter()
        list(made.map(nothing, range(tasks)))
        return time.perf_counter() - start_s


def ray_tasks(workers: int, tasks: int) -> float:
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    try:
        remote = ray.remote(nothing)
        ray.get([remote.remote(n) for n in range(100)])
        start_s = time.perf_counter()
        ray.get([remote.remote(n) for n in range(tasks)])
        return time.perf_counter() - start_s
    finally:
        ray.shutdown()


def dask(workers: int, tasks: int) -> float:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(nothing, range(100), pure=False))
        start_s = time.perf_counter()
        client.gather(client.map(nothing, range(tasks), pure=False))
        return time.perf_counter() - start_s


def dovetail(batch_s: float) -> Callable[[int, int], float]:
    def measure(workers: int, tasks: int) -> float:
        with Engine(workers, batch_s=batch_s) as engine:
            warm_up = Job("no-op")
            warm_up.stage(nothing, tasks=100, name="no-op")
            engine.run(warm_up)
            job = Job("no-op")
            job.stage(nothing, tasks=tasks, name="no-op")
            start_s = time.perf_counter()
            engine.run(job)
            return time.perf_counter() - start_s

    return measure


def waiting(function: Callable[[int], None], workers: int, tasks: int, batch_s: float) -> dict[str, float]:
    """From an executor's being free to its next task's start, by the executors' own records.

    Inside a batch the next task begins, by definition, when the last one ends: what the executor does in between is
    booked on the task.  So over all tasks this says what batches cost each of them, not how long a task waits.
    """
    with Engine(workers, batch_s=batch_s) as engine:
        job = Job("waiting")
        job.stage(function, tasks=tasks, name="work")
        engine.run(job)
        gaps_us: list[float] = []
        for path in engine.directory.glob("jobs/*/out-*"):
            records = sorted(scan(str(path)), key=lambda record: record.started_s)
            gaps_us += [1e6 * (after.started_s - before.ended_s) for before, after in pairwise(records)]
        between = engine.status().overheads[0]
    p50_us, p95_us = np.percentile(gaps_us, (50, 95)).tolist()
    return {"p50_us": p50_us, "p95_us": p95_us, "mean_us": float(np.mean(gaps_us)), "dispatch_p50_us": between.p50_us}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20_000, help="of a row; a tenth for Ray and dask (20000)")
    parser.add_argument("--workers", type=int, default=2, help="processes that run tasks (2)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows: dict[str, tuple[Callable[[int, int], float], int]] = {
        REFERENCE: (pool, args.tasks),
        "multiprocessing.Pool, in chunks": (pool_in_chunks, args.tasks),
        "ProcessPoolExecutor": (process_pool_executor, args.tasks),
        "dovetail, local": (dovetail(BATCH_S), 5 * args.tasks),
        "dovetail, local, task by task": (dovetail(0.0), args.tasks),
    }
    if find_spec("ray") is not None:
        rows["Ray tasks"] = (ray_tasks, args.tasks // 10)
    if find_spec("distributed") is not None:
        rows["dask.distributed"] = (dask, args.tasks // 10)
    per_s = {name: tasks / measure(args.workers, tasks) for name, (measure, tasks) in rows.items()}
    found = {
        "workers": args.workers,
        "tasks_per_s": per_s,
        "ratio_to_pool": {name: value / per_s[REFERENCE] for name, value in per_s.items()},
        "free_to_start": {
            "no-op tasks": waiting(nothing, args.workers, args.tasks, BATCH_S),
            "1 ms of computing": waiting(a_millisecond, args.workers, args.tasks // 4, BATCH_S),
            "20 ms of waiting": waiting(twenty_milliseconds, args.workers, args.tasks // 40, BATCH_S),
            "20 ms of waiting, one at a time": waiting(twenty_milliseconds, args.workers, args.tasks // 40, 0.0),
        },
    }
    print(json.dumps(found, indent=2) if args.json else as_text(found))
    return 0


def as_text(found: dict) -> str:  # type: ignore[type-arg]
    lines = [f"{found['workers']} workers; no-op tasks a second (target {TARGET_PER_S:,})"]
    for name, value in found["tasks_per_s"].items():
        lines.append(f"  {name:<34}{value:>10,.0f}  {found['ratio_to_pool'][name]:>7.2f} x {REFERENCE}")
    lines.append(f"from free to start, over all tasks (target {TARGET_US:g} us at the median); between batches only")
    for name, one in found["free_to_start"].items():
        lines.append(
            f"  {name:<34}p50 {one['p50_us']:.0f} us, p95 {one['p95_us']:.0f} us, mean {one['mean_us']:.0f} us; "
            f"p50 {one['dispatch_p50_us']:.0f} us"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
