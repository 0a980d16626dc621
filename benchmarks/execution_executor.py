"""What an executor costs per task: no-op tasks in one batch, against a plain loop and multiprocessing.Pool.map.

    .venv/bin/python benchmarks/execution_executor.py
    .venv/bin/python benchmarks/execution_executor.py --json

A real node manager forks one real executor; this process plays the server.  The executor's rate is taken from its own
times (first task started to last task ended, writes and reports included) and from here (batch sent to last report
read).  The plain loop calls the same function and pickles the result; the pool has one worker.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

import cloudpickle

from dovetail.execution.payload import Payload, StagePayload, encode
from dovetail.execution.wire import Frames, Message, listen, send

TARGET_TASKS_PER_S = 100_000


def no_op(argument: int) -> None:
    pass


def plain_loop(tasks: int) -> float:
    start_s = time.perf_counter()
    for task in range(tasks):
        pickle.dumps(no_op(task))
    return time.perf_counter() - start_s


class Server:
    """Just enough of one."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.socket_path = os.path.join(directory, "workers.sock")
        self.listener = listen(self.socket_path)
        self.listener.setblocking(True)

    def accept(self) -> tuple[socket.socket, Frames, Message]:
        sock = self.listener.accept()[0]
        frames = Frames()
        return sock, frames, self.receive(sock, frames)[0]

    def receive(self, sock: socket.socket, frames: Frames) -> list[Message]:
        messages: list[Message] = []
        while not messages:
            messages = frames.feed(sock.recv(1 << 18))
        return messages

    def measure(self, tasks: int, repeats: int) -> dict[str, Any]:
        started_s = time.perf_counter()
        command = [sys.executable, "-m", "dovetail.execution.node_manager", "--socket", self.socket_path]
        manager = subprocess.Popen([*command, "--node", "bench"])
        node = self.accept()[0]
        manager_up_s = time.perf_counter() - started_s
        fork_s = []
        for executor in range(1, 11):
            started_s = time.perf_counter()
            send(node, ("start", executor, 0, 0))
            self.accept()
            fork_s.append(time.perf_counter() - started_s)
        send(node, ("start", 0, 0, 0))
        sock, frames, _ = self.accept()
        path = os.path.join(self.directory, "payload")
        blobs = [pickle.dumps(task) for task in range(tasks)]
        function = cloudpickle.dumps(no_op)
        Payload.from_bytes(
            encode([StagePayload(function, tasks), StagePayload(function, tasks, blobs)]),
        ).write(path)
        settings = {"payload": path, "directory": self.directory, "inputs": None, "cpus": 1, "memory_bytes": 0}
        kinds = {"range": (0, {}), "arguments": (1, {}), "memory_limit": (0, {"memory_bytes": 1 << 30})}
        figures: dict[str, Any] = {"manager_up_s": manager_up_s, "executor_up_s": median(fork_s)}
        for kind, (stage, more) in kinds.items():
            send(sock, ("stage", 0, stage, settings | more))
            runs = [self.batch(sock, frames, stage, tasks) for _ in range(repeats)]
            figures[f"{kind}_tasks_per_s"] = tasks / median(run[0] for run in runs)
            figures[f"{kind}_round_trip_tasks_per_s"] = tasks / median(run[1] for run in runs)
            figures[f"{kind}_messages"] = runs[-1][2]
        node.close()
        manager.wait(30)
        return figures

    def batch(self, sock: socket.socket, frames: Frames, stage: int, tasks: int) -> tuple[float, float, int]:
        start_s = time.perf_counter()
        send(sock, ("run", 1, 0, stage, list(range(tasks))))
        entries: list[Any] = []
        messages = 0
        while len(entries) < tasks:
            for message in self.receive(sock, frames):
                entries += message[2]
                messages += 1
        return entries[-1][5] - entries[0][4], time.perf_counter() - start_s, messages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200_000, help="no-op tasks in a batch (200000)")
    parser.add_argument("--repeats", type=int, default=5, help="batches of which the median counts (5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    args = parser.parse_args()
    plain = args.tasks / median(plain_loop(args.tasks) for _ in range(args.repeats))
    pool_s: dict[str, list[float]] = {"pool": [], "pool_one_by_one": []}
    with multiprocessing.Pool(1) as pool:
        for name, chunk in (("pool", None), ("pool_one_by_one", 1)):
            for _ in range(args.repeats):
                start_s = time.perf_counter()
                pool.map(no_op, range(args.tasks), chunksize=chunk)
                pool_s[name].append(time.perf_counter() - start_s)
    with tempfile.TemporaryDirectory(prefix="dvt-") as directory:
        figures = Server(directory).measure(args.tasks, args.repeats)
    figures["plain_tasks_per_s"] = plain
    for name, seconds in pool_s.items():
        figures[f"{name}_tasks_per_s"] = args.tasks / median(seconds)
    if args.json:
        print(json.dumps(figures, indent=2))
        return 0
    print(f"node manager up after {figures['manager_up_s'] * 1e3:.0f} ms", end="")
    print(f", an executor {figures['executor_up_s'] * 1e3:.1f} ms after it was asked for")
    for name in ("plain", "pool", "pool_one_by_one", "range", "arguments", "memory_limit", "range_round_trip"):
        rate = figures[f"{name}_tasks_per_s"]
        others = ", ".join(
            f"{rate / figures[f'{other}_tasks_per_s']:.3g} x {other}" for other in ("plain", "pool", "pool_one_by_one")
        )
        print(f"{name:18s} {rate:12,.0f} tasks/s   {others}")
    verdict = "reached" if figures["range_tasks_per_s"] >= TARGET_TASKS_PER_S else "MISSED"
    print(f"target of {TARGET_TASKS_PER_S:,} tasks/s in the executor: {verdict}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
