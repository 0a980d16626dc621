"""How long one decision of the learned autoscalers takes as their history grows, on one core.

    .venv/bin/python benchmarks/sure_latency.py
    .venv/bin/python benchmarks/sure_latency.py --operators 200 --history 60 240

SURE samples a few snapshots of the history; ASTGCN and CCRNN read all of it, and so does SURE without its sampler.  All
of them decide by the same code, with numpy, features and everything included.  Networks are untrained: that takes as
long.  CPU time on one thread, the median of some decisions.
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

ROWS = (
    ("sure", StreamShape()),
    ("sure", StreamShape(sampler="none")),
    ("astgcn", StreamShape()),
    ("ccrnn", StreamShape()),
    ("tvw-rl", StreamShape()),
    ("dream", StreamShape()),
    ("deepwave", StreamShape()),
)
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


def milliseconds(policy: StreamPolicy, world: StreamWorld, view: StreamView, repeats: int) -> float:
    policy.reset(world.info, np.random.default_rng(0))
    policy.decide(view)
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        policy.decide(view)
        taken.append(1000.0 * (time.process_time() - start))
    return float(np.median(taken))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operators", type=int, default=50)
    parser.add_argument("--history", type=int, nargs="+", default=[15, 30, 60, 120, 240], help="snapshots")
    parser.add_argument("--repeats", type=int, default=11)
    args = parser.parse_args()
    print(f"one decision for {args.operators} operators, milliseconds of CPU time; history in snapshots")
    print(f"{'':16}" + "".join(f"{history:>10}" for history in args.history))
    views = [last_view(args.operators, history) for history in args.history]
    found: dict[str, list[float]] = {}
    for kind, shape in ROWS:
        name = kind if shape.sampler == "learned" else f"{kind}, all of it"
        found[name] = [milliseconds(untrained(kind, shape), *view, args.repeats) for view in views]
        print(f"{name:16}" + "".join(f"{value:>10.2f}" for value in found[name]), flush=True)
    if AT in args.history:
        at = args.history.index(AT)
        ours = found["sure"][at]
        print(f"sure at {AT}: {ours:.2f} ms, target {TARGET_MS:g}: {'reached' if ours < TARGET_MS else 'missed'}")
        for other in ("astgcn", "ccrnn"):
            ratio = found[other][at] / ours
            verdict = "reached" if ratio >= TARGET_RATIO else "missed"
            print(f"{other} takes {ratio:.1f} times as long, target {TARGET_RATIO:g}: {verdict}")


if __name__ == "__main__":
    main()
