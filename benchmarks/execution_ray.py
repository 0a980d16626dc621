"""What the ray engine costs per task: no-op tasks, against bare calls of Ray actors and bare Ray tasks.

    .venv/bin/python benchmarks/execution_ray.py
    .venv/bin/python benchmarks/execution_ray.py --json

All in one Ray on this machine, with the same number of actors, in turns, and of each the median counts.  Bare calls are
submitted ahead, up to a window, and their answers fetched in between.  The engine runs a whole job: decided,
journalled, results in out files.  Once with batches of one task, of which an executor has up to four (those that it is
given while a call is on its way share the next call); once with batches of the usual size.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from dovetail.execution import Job
from dovetail.execution.engines import ray_cluster
from dovetail.execution.engines.ray import OBJECT_STORE_BYTES, RayOptions
from dovetail.execution.journal import Journal
from dovetail.execution.payload import Payload
from dovetail.execution.serve import ServerOptions, make_controller, make_workers, prepare
from dovetail.execution.server import Server

TARGET_RATIO = 0.8
SETTLE_S = 2.0  # before anything is timed: Ray starts processes ahead, beside whatever has begun


def no_op(argument: int) -> None:
    pass


class Bare:
    def call(self, argument: int) -> None:
        return no_op(argument)


def windowed(ray: Any, submit: Callable[[int], Any], tasks: int, window: int) -> None:
    waiting: list[Any] = []
    for task in range(tasks):
        if len(waiting) == window:
            ray.get(waiting[: window // 2])
            del waiting[: window // 2]
        waiting.append(submit(task))
    ray.get(waiting)


def bare_actors(ray: Any, actors: int, tasks: int, window: int) -> float:
    made = [ray.remote(num_cpus=1)(Bare).remote() for _ in range(actors)]
    ray.get([actor.call.remote(0) for actor in made])
    calls = [actor.call for actor in made]
    time.sleep(SETTLE_S)
    start_s = time.perf_counter()
    windowed(ray, lambda task: calls[task % actors].remote(task), tasks, window)
    spent_s = time.perf_counter() - start_s
    for actor in made:
        ray.kill(actor)
    return tasks / spent_s


def bare_tasks(ray: Any, tasks: int, window: int) -> float:
    function = ray.remote(num_cpus=1)(no_op)
    ray.get([function.remote(0) for _ in range(10)])
    time.sleep(SETTLE_S)
    start_s = time.perf_counter()
    windowed(ray, function.remote, tasks, window)
    return tasks / (time.perf_counter() - start_s)


def engine(executors: int, tasks: int, batches: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="dvt-") as name:
        directory = prepare(Path(name))
        options = ServerOptions(engine="ray", ray=RayOptions(executors=executors))
        workers = make_workers(directory, options)
        controller = make_controller(options, workers.classes())
        if not batches:
            controller._manager.batching.size = lambda stage: 1  # type: ignore[method-assign]
        server = Server(directory, controller, workers, Journal.open(directory / "journal.sqlite"))
        server.start()
        try:
            while len(server.executors_up) < executors:
                server.step()
            run_job(server, 100 * executors)  # loads the function, and shows that tasks are short
            time.sleep(SETTLE_S)
            start_s = time.perf_counter()
            run_job(server, tasks)
            return tasks / (time.perf_counter() - start_s)
        finally:
            server.close()


def run_job(server: Server, tasks: int) -> None:
    job = Job("no-op")
    job.stage(no_op, tasks=tasks)
    number = server.submit(job.spec(), Payload.from_bytes(job.payload()).write)
    while not server.jobs[number].has_ended:
        server.step()
    assert server.jobs[number].stages[0].finished == tasks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actors", type=int, default=2, help="and executors of the engine (2)")
    parser.add_argument("--tasks", type=int, default=5_000, help="no-op tasks, one in a call (5000)")
    parser.add_argument("--batched-tasks", type=int, default=200_000, help="the same, in batches (200000)")
    parser.add_argument("--window", type=int, default=1000, help="bare calls submitted ahead (1000)")
    parser.add_argument("--repeats", type=int, default=5, help="turns, of which the median counts (5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    args = parser.parse_args()
    ray, _ = ray_cluster.connect(None, args.actors, OBJECT_STORE_BYTES, "this benchmark")
    kinds: dict[str, Callable[[], float]] = {
        "bare_actor_calls": lambda: bare_actors(ray, args.actors, args.tasks, args.window),
        "bare_tasks": lambda: bare_tasks(ray, args.tasks, args.window),
        "engine_one_by_one": lambda: engine(args.actors, args.tasks, batches=False),
        "engine_batched": lambda: engine(args.actors, args.batched_tasks, batches=True),
    }
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(args.repeats):
        for kind, measure in kinds.items():
            rates[kind].append(measure())
    ray.shutdown()
    figures: dict[str, Any] = {f"{kind}_tasks_per_s": median(each) for kind, each in rates.items()}
    bare = rates["bare_actor_calls"]
    for kind in ("engine_one_by_one", "engine_batched"):
        ratios = [ours / theirs for ours, theirs in zip(rates[kind], bare, strict=True)]
        figures[f"{kind}_ratio"] = median(ratios)
        figures[f"{kind}_ratios"] = ratios  # turn by turn
    if args.json:
        print(json.dumps(figures, indent=2))
        return 0
    for kind in kinds:
        rate = figures[f"{kind}_tasks_per_s"]
        print(f"{kind:18s} {rate:10,.0f} tasks/s   {rate / figures['bare_actor_calls_tasks_per_s']:.2f} x bare calls")
    for kind in ("engine_one_by_one", "engine_batched"):
        ratio = figures[f"{kind}_ratio"]
        print(
            f"{kind}: {ratio:.2f} of bare calls (median of turns), {'reached' if ratio >= TARGET_RATIO else 'MISSED'}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
