"""Very many small tasks while executors are killed at random: nothing may be lost, nothing may be finished twice.

    .venv/bin/python benchmarks/execution_soak.py                 # 200,000 tasks, a kill every second
    .venv/bin/python benchmarks/execution_soak.py --server-every 10   # and the server itself every 10 s

Tasks last some milliseconds, so that it takes minutes and many die.  Exit code 1 if a result is missing or wrong, a
task has two finished records in the out files, or fewer were killed than there should have been.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

from dovetail.execution import Engine, Job
from dovetail.execution.outfile import FINISHED, scan
from dovetail.execution.process_tree import children


def small(argument: tuple[int, float]) -> int:
    """A tenth of a millisecond or so of computing, and some waiting."""
    number, lasts_s = argument
    time.sleep(lasts_s)
    return result(number)


def result(number: int) -> int:
    total = number
    for n in range(1000):
        total ^= n
    return total


def kill_executor(engine: Engine, rng: random.Random) -> bool:
    executors = [pid for node in children(engine.pid) for pid in children(node)]
    if not executors:
        return False
    os.kill(rng.choice(executors), signal.SIGKILL)
    return True


def soak(directory: Path, args: argparse.Namespace) -> dict[str, object]:
    rng = random.Random(args.seed)
    kills = server_kills = 0
    with Engine(args.executors, directory=directory, nodes=args.nodes) as engine:
        start_s = time.monotonic()
        handles = []
        for number in range(args.jobs):
            job = Job(f"job {number}")
            tasks = [(task, args.lasts_ms / 1000.0) for task in range(args.tasks // args.jobs)]
            job.stage(small, tasks=tasks, name="small")
            handles.append(engine.submit(job))
        server_due_s = start_s + args.server_every if args.server_every else float("inf")
        kill_due_s = start_s + args.every
        for handle in handles:
            while not handle.status().has_ended:
                time.sleep(0.02)
                now_s = time.monotonic()
                if now_s >= server_due_s:
                    os.kill(engine.pid, signal.SIGKILL)
                    engine.restart()
                    server_kills += 1
                    server_due_s = time.monotonic() + args.server_every
                elif now_s >= kill_due_s:
                    kills += kill_executor(engine, rng)
                    kill_due_s += args.every
        took_s = time.monotonic() - start_s
        expected = [result(n) for n in range(args.tasks // args.jobs)]
        wrong = sum(handle.results("small") != expected for handle in handles)
    finished: Counter[tuple[str, int]] = Counter()
    for path in directory.glob("jobs/*/out-*"):
        finished.update((path.parent.name, record.task) for record in scan(str(path)) if record.ok == FINISHED)
    return {
        "tasks": args.tasks,
        "seconds": round(took_s, 1),
        "tasks_per_s": round(args.tasks / took_s),
        "executors_killed": kills,
        "servers_killed": server_kills,
        "jobs_with_wrong_results": wrong,
        "tasks_finished": len(finished),
        "tasks_finished_twice": sum(count > 1 for count in finished.values()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200_000, help="in all (200000)")
    parser.add_argument("--lasts-ms", type=float, default=2.5, help="milliseconds that a task waits (2.5)")
    parser.add_argument("--jobs", type=int, default=10, help="that share them (10)")
    parser.add_argument("--executors", type=int, default=4, help="processes that run them (4)")
    parser.add_argument("--nodes", type=int, default=2, help="node managers (2)")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between kills of an executor (1)")
    parser.add_argument("--server-every", type=float, default=0.0, help="seconds between kills of the server (never)")
    parser.add_argument("--least-executors", type=int, default=100, help="that must have been killed (100)")
    parser.add_argument("--least-servers", type=int, default=0, help="that must have been killed (0)")
    parser.add_argument("--seed", type=int, default=0, help="of who is killed (0)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dvt-") as directory:
        found = soak(Path(directory), args)
    print(json.dumps(found, indent=2))
    kills, servers = (int(str(found[name])) for name in ("executors_killed", "servers_killed"))
    lost = args.tasks // args.jobs * args.jobs - int(str(found["tasks_finished"]))
    too_tame = kills < args.least_executors or servers < args.least_servers
    return 1 if lost or found["tasks_finished_twice"] or found["jobs_with_wrong_results"] or too_tame else 0


if __name__ == "__main__":
    raise SystemExit(main())
