"""How long one decision of the learned autoscalers takes as their history grows, on one core.

    .venv/bin/python benchmarks/sure_latency.py
    .venv/bin/python benchmarks/sure_latency.py --operators 200 --history 60 240
    .venv/bin/python benchmarks/sure_latency.py --keep-memory

SURE samples a few snapshots of the history; ASTGCN and CCRNN read all of it, and so does SURE without its sampler.  All
of them decide by the same code, with the same operations (numpy, and some compiled), features and everything included,
and have as many numbers for each operator and snapshot, 32, so that the comparison is about structure; ASTGCN was
published with 64 and has a second row with these.  Networks are untrained: that takes as long.  CPU time on one thread,
the median of some decisions, by turns, so that others on the machine disturb all alike.

A good part of what large networks take is memory: the C library gives large arrays back to the system, which hands out
every page anew.  How much of it depends on what the process did before.  `--keep-memory` leaves that out, which is the
strictest comparison for SURE, whose arrays are small.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamView
from dovetail.schedulers.learned.stream.checkpoint import StreamCheckpoint
from dovetail.schedulers.learned.stream.kinds import fresh_parameters
from dovetail.schedulers.learned.stream.scheduler import POLICIES, StreamPolicy
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.sim.stream import StreamOptions, StreamWorld
from dovetail.workloads.stream_source import open_stream

ROWS = {
    "sure": ("sure", StreamShape()),
    "sure, all of it": ("sure", StreamShape(sampler="none")),
    "astgcn": ("astgcn", StreamShape()),
    "astgcn, 64 wide": ("astgcn", StreamShape(width=64)),
    "ccrnn": ("ccrnn", StreamShape()),
    "tvw-rl": ("tvw-rl", StreamShape()),
    "dream": ("dream", StreamShape()),
    "deepwave": ("deepwave", StreamShape()),
}
RIVALS = {"astgcn": "as wide as sure", "astgcn, 64 wide": "as wide as published", "ccrnn": "as wide as sure"}
LARGE_BYTES = 31 << 20
TARGET_MS, TARGET_RATIO, AT = 5.0, 3.0, 60


def untrained(kind: str, shape: StreamShape) -> StreamPolicy:
    parameters = fresh_parameters(kind, shape, np.random.default_rng(0))
    return POLICIES[kind](network=StreamCheckpoint(kind, shape, parameters, {}))


def last_view(operators: int, history: int) -> tuple[StreamWorld, StreamView]:
    """Of a job with so many operators, when its history is full."""
    source = open_stream(f"stream-layered:operators={operators}")
    options = StreamOptions(interval_s=60.0 * history, history=history, step_s=10.0)
    world = StreamWorld(source.sequence(options.interval_s * 2, SeedTree(0)), options, SeedTree(0))
    view = world.advance()
    assert view is not None
    return world, view


def milliseconds(policies: list[StreamPolicy], world: StreamWorld, view: StreamView, repeats: int) -> list[float]:
    """Of each of them."""
    for policy in policies:
        policy.reset(world.info, np.random.default_rng(0))
        policy.decide(view)
    taken = np.zeros((repeats, len(policies)))
    for row in taken:
        for place, policy in enumerate(policies):
            start = time.process_time()
            policy.decide(view)
            row[place] = 1000.0 * (time.process_time() - start)
    found: list[float] = np.median(taken, axis=0).tolist()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", type=int, default=50)
    parser.add_argument("--history", type=int, nargs="+", default=[15, 30, 60, 120, 240], help="snapshots")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--keep-memory", action="store_true", help="no page faults: glibc keeps what is freed")
    args = parser.parse_args()
    if args.keep_memory:
        np.empty(LARGE_BYTES, np.uint8)  # freed at once; from then on glibc keeps all that are smaller
    print(f"one decision for {args.operators} operators, milliseconds of CPU time; history in snapshots")
    print(f"{'':16}" + "".join(f"{history:>10}" for history in args.history))
    policies = [untrained(kind, shape) for kind, shape in ROWS.values()]
    columns = [milliseconds(policies, *last_view(args.operators, each), args.repeats) for each in args.history]
    for name, values in zip(ROWS, zip(*columns, strict=True), strict=True):
        print(f"{name:16}" + "".join(f"{value:>10.2f}" for value in values))
    if AT in args.history:
        found = dict(zip(ROWS, columns[args.history.index(AT)], strict=True))
        ours = found["sure"]
        print(f"sure at {AT}: {ours:.2f} ms, target {TARGET_MS:g}: {'reached' if ours < TARGET_MS else 'missed'}")
        for name, meaning in RIVALS.items():
            ratio = found[name] / ours
            verdict = "reached" if ratio >= TARGET_RATIO else "missed"
            print(f"{name} ({meaning}) takes {ratio:.1f} times as long, target {TARGET_RATIO:g}: {verdict}")


if __name__ == "__main__":
    main()
