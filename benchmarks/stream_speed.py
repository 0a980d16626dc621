"""How fast the stream simulator is, how that grows with operators and worlds, and against plain Python.

    .venv/bin/python benchmarks/stream_speed.py            # a minute or two
    .venv/bin/python benchmarks/stream_speed.py --quick    # less of everything, within half a minute

1. Operator-steps per CPU-second on one core, hourly decisions: a quiet chain of ten operators, a busy one, one that is
   overloaded with buffers full, one that is rescaled every hour, and a graph with joins; target: 1,000,000.
2. One job-week (ten operators, steps of a second) with a decision every minute by a scheduler in Python that does
   nothing; target: a second.
3. Growth to 200 operators, and to 64 worlds at a time, on one thread and on two (on the clock as well, there).
4. The ratio to the plain-Python world (`dovetail.testing.stream_reference`) on the same job and the same decisions.

Rates go up and down by day with noise from minute to minute.  Compiling is not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from time import perf_counter, process_time
from typing import Any

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamDecision
from dovetail.sim.stream import StreamBatch, StreamOptions, StreamWorld, run
from dovetail.testing.stream_reference import ReferenceStreamWorld
from dovetail.workloads.stream import StreamWorkload

TARGET = 1e6  # operator-steps per second
TARGET_WEEK_S = 1.0
MINUTES = 7 * 24 * 60
OPERATORS = (1, 10, 50, 200)
WORLDS = (1, 4, 16, 64)
KINDS = {
    "quiet": {"load": 0.5},
    "busy": {"load": 0.9},
    "overloaded": {"load": 1.3, "buffer": 100.0},
    "rescaled": {"load": 0.6, "rescaled": True},
    "joins": {"load": 0.6, "joins": True},
}
REPEATS = 3


def job(
    operators: int, minutes: int, *, load: float = 0.6, buffer: float = 1000.0, joins: bool = False, seed: int = 0
) -> StreamWorkload:
    """A chain, or with `joins` a graph in which an operator also feeds the next but one.  The mean load is given."""
    rng = np.random.default_rng(seed)
    minute = np.arange(minutes)
    rate = 1000.0 * (1 + 0.4 * np.sin(2 * np.pi * minute / 1440)) * rng.lognormal(0.0, 0.1, size=minutes)
    instances = rng.integers(1, 9, size=operators)
    edges = [(i - back, i) for i in range(operators) for back in ((2, 1) if joins else (1,)) if i >= back]
    chain = StreamWorkload(
        job_name=("job",),
        job_slo_s=np.ones(1),
        job_restart_s=np.full(1, 2.0),
        job_checkpoint_s=np.full(1, 60.0),
        op_name=tuple(f"op-{i}" for i in range(operators)),
        op_job=np.zeros(operators, np.int64),
        op_service_s=load * instances / 1000.0,
        op_selectivity=np.ones(operators),
        op_source=np.eye(1, operators)[0],
        op_skew=np.where(rng.random(operators) < 0.2, 0.1, 0.0),
        op_variability=np.ones(operators),
        op_buffer=np.full(operators, buffer),
        op_state_mb=np.full(operators, 10.0),
        op_max=np.full(operators, 10),
        op_start=instances,
        edge_from=np.array([edge[0] for edge in edges], np.int64),
        edge_to=np.array([edge[1] for edge in edges], np.int64),
        edge_share=np.full(len(edges), 0.5 if joins else 1.0),
        bin_s=60.0,
        rate=rate[None],
        clock_s=0.0,
        slots=10 * operators,
    )
    # Joins multiply records, and skew takes capacity away: the load is meant with both.
    servers = 1 / (chain.op_skew + (1 - chain.op_skew) / instances)
    chain.op_service_s[:] = load * servers / (1000.0 * chain.gain)
    return chain


class Nothing:
    def reset(self, info: Any, rng: Any) -> None: ...

    def decide(self, view: Any) -> tuple[StreamDecision, ...]:
        return ()


class EveryTime:
    """One operator, one instance more or less at each decision."""

    def reset(self, info: Any, rng: Any) -> None: ...

    def decide(self, view: Any) -> tuple[StreamDecision, ...]:
        now = int(view.parallelism[0])
        return (StreamDecision(0, now + 1 if now < 10 else 9),)


def measure(workload: StreamWorkload, interval_s: float, scheduler: Any, repeats: int) -> dict[str, Any]:
    """A whole run, the median of some; making the world is counted apart."""
    options = StreamOptions(interval_s=interval_s)
    rows = []
    for seed in range(repeats):
        start = process_time()
        world = StreamWorld(workload, options, SeedTree(seed))
        made = process_time()
        result = run(world, scheduler, np.random.default_rng(0))
        rows.append((process_time() - made, made - start))
    run_s, set_up_s = sorted(rows)[len(rows) // 2]
    return {
        "operators": workload.num_operators,
        "steps": int(workload.duration_s),
        "run_s": run_s,
        "set_up_s": set_up_s,
        "operator_steps_per_s": workload.num_operators * workload.duration_s / run_s,
        "latency_s": float(result.latency_s.mean()),
    }


def measure_batch(worlds: int, threads: int, minutes: int) -> dict[str, Any]:
    """On the clock too, because of the threads."""
    workloads = [job(10, minutes, seed=seed) for seed in range(worlds)]
    batch = StreamBatch(workloads, StreamOptions(), [SeedTree(seed) for seed in range(worlds)], threads=threads)
    start, cpu_s = perf_counter(), process_time()
    while (view := batch.advance()) is not None:
        batch.apply(view.parallelism)
    took_s, cpu_s = perf_counter() - start, process_time() - cpu_s
    batch.close()
    steps = worlds * 10 * minutes * 60
    return {
        "worlds": worlds,
        "threads": threads,
        "operator_steps_per_s": steps / took_s,
        "operator_steps_per_cpu_s": steps / cpu_s,
    }


def against_reference(minutes: int) -> dict[str, Any]:
    workload, options, seeds = job(10, minutes), StreamOptions(), SeedTree(0)
    start = process_time()
    slow = ReferenceStreamWorld(workload, options, seeds)
    while slow.advance() is not None:
        slow.apply(())
    slow_s = process_time() - start
    start = process_time()
    run(StreamWorld(workload, options, seeds), Nothing(), np.random.default_rng(0))
    fast_s = process_time() - start
    steps = 10 * minutes * 60
    return {
        "minutes": minutes,
        "reference_operator_steps_per_s": steps / slow_s,
        "operator_steps_per_s": steps / fast_s,
        "ratio": slow_s / fast_s,
    }


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def figures(quick: bool) -> dict[str, Any]:
    repeats, minutes = (1, MINUTES // 7) if quick else (REPEATS, MINUTES)
    say("compiling")
    measure(job(2, 180), 3600.0, EveryTime(), 1)
    measure_batch(2, 1, 180)
    found: dict[str, Any] = {"target": TARGET, "target_week_s": TARGET_WEEK_S, "speed": [], "growth": [], "batch": []}
    say("speed")
    for name, chosen in KINDS.items():
        scheduler = EveryTime() if chosen.get("rescaled") else Nothing()
        shape = {key: value for key, value in chosen.items() if key != "rescaled"}
        found["speed"].append({"kind": name, **measure(job(10, minutes, **shape), 3600.0, scheduler, repeats)})
    say("week")
    found["week"] = measure(job(10, MINUTES), 60.0, Nothing(), repeats)
    say("growth")
    found["growth"] = [measure(job(count, minutes), 3600.0, Nothing(), repeats) for count in OPERATORS]
    worlds = WORLDS[:3] if quick else WORLDS
    found["batch"] = [measure_batch(count, threads, MINUTES // 7) for count in worlds for threads in (1, 2)]
    say("reference")
    found["reference"] = against_reference(120 if quick else 600)
    return found


def table(found: dict[str, Any]) -> str:
    lines = [f"target: {found['target']:,.0f} operator-steps per CPU-second on one core"]
    lines.append(f"{'speed':12} {'operators':>9} {'op-steps/s':>12} {'s':>8} {'latency s':>10}")
    for title in ("speed", "growth"):
        for row in found[title]:
            name = row.get("kind", title)
            line = f"{name:12} {row['operators']:9} {row['operator_steps_per_s']:12,.0f} {row['run_s']:8.3f}"
            reached = row["operator_steps_per_s"] >= found["target"]
            lines.append(f"{line} {row['latency_s']:10.2f} {'reached' if reached else 'MISSED'}")
    week = found["week"]
    reached = week["run_s"] + week["set_up_s"] <= found["target_week_s"]
    lines.append(
        f"a job-week of {week['operators']} operators with a decision a minute: {week['run_s'] + week['set_up_s']:.3f} "
        f"s (target {found['target_week_s']:g} s, {'reached' if reached else 'MISSED'})"
    )
    lines.append(f"{'batch':12} {'worlds':>9} {'threads':>8} {'op-steps/s':>12} {'on the clock':>14}")
    for row in found["batch"]:
        line = f"{'':12} {row['worlds']:9} {row['threads']:8} {row['operator_steps_per_cpu_s']:12,.0f}"
        lines.append(f"{line} {row['operator_steps_per_s']:14,.0f}")
    row = found["reference"]
    lines.append(
        f"plain Python: {row['reference_operator_steps_per_s']:,.0f} operator-steps/s; ours, the same {row['minutes']} "
        f"minutes with a decision an hour, are {row['ratio']:,.0f} x as fast"
    )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    args = parser.parse_args()
    found = figures(args.quick)
    print(json.dumps(found, indent=2) if args.json else table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
