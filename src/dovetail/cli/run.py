"""`dovetail run`: a workload's jobs on a real engine, as synthetic tasks on a time scale, beside their simulation."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dovetail.cli.dag_options import add_setting, read_arguments
from dovetail.cli.exit_codes import EXIT_FAILED
from dovetail.cli.matrix_progress import note
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.core.dag import Floats
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.replay import Replay

ENGINES = ("local", "ray")
DEFAULT_EXECUTORS = 10  # fewer than a simulation's 50, for here each is a process


def configure(parser: argparse.ArgumentParser) -> None:
    add_setting(parser, positional=True)
    parser.add_argument("--scheduler", required=True, metavar="NAME", help="such as dag/weighted-fair:alpha=-1")
    parser.add_argument("--engine", default="local", metavar="NAME", help="local or ray (local)")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="node managers that share the executors (1)")
    parser.add_argument("--address", metavar="A", help="HOST:PORT of a Ray cluster's head, or auto (Ray starts here)")
    parser.add_argument(
        "--time-scale", type=float, default=0.01, metavar="X", help="real seconds for a second of the workload (0.01)"
    )
    parser.add_argument("--kind", default="sleep", metavar="KIND", help="of task: sleep, busy, memory or io (sleep)")
    parser.add_argument("--seed", type=int, metavar="K", help="of the job sequence and everything drawn (0)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    from dovetail.core.seeds import SeedTree
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.matrix_cell import OpenSetting
    from dovetail.execution.replay import Replay
    from dovetail.execution.synthetic import KINDS
    from dovetail.sim.dag.world import duration_key

    for what, name, known in (("engine", args.engine, ENGINES), ("kind of task", args.kind, KINDS)):
        if name not in known:
            raise UnknownName(what, name, known)
    check_address(args.engine, args.address)
    asked = read_arguments(args, seeds=1)
    if asked.executors is None and not asked.classes:
        asked = replace(asked, executors=DEFAULT_EXECUTORS)
    contender = Contender.of(args.scheduler)
    opened = OpenSetting.of(asked.setting())
    options = opened.setting.options
    replay = Replay(
        opened.sequence(asked.seed),
        duration_key(options, SeedTree(asked.seed)),
        options,
        time_scale=args.time_scale,
        kind=args.kind,
    )
    simulated_s = _simulate(replay, contender, asked.seed)
    found = _replay(replay, contender, args, simulated_s)
    facts = {"schema": 1, "workload": opened.facts(), "scheduler": contender.spec, "seed": asked.seed}
    print(json.dumps({**facts, "engine": args.engine, **found}, indent=2) if args.json else _as_text(found))
    return EXIT_FAILED if found["jobs_failed"] else 0


def check_address(engine: str, address: str | None) -> None:
    if address is not None and engine != "ray":
        raise ConfigError(f"--address is {address!r}, but the engine is {engine}; expected --engine ray with it")


def _simulate(replay: Replay, contender: Contender, seed: int) -> Floats:
    from dovetail.core.seeds import SeedTree
    from dovetail.sim.dag import DagWorld, run

    note("simulating (the first time, it is compiled first, which takes a minute or two) ...")
    seeds = SeedTree(seed)
    world = DagWorld(replay.workload, replay.options, seeds)
    return run(world, contender.create(), seeds.child("scheduler", contender.name).generator()).completion_s


def _replay(replay: Replay, contender: Contender, args: argparse.Namespace, simulated_s: Floats) -> dict[str, Any]:
    from dovetail.execution.replay_run import run_replay
    from dovetail.execution.replay_summary import ReplaySummary

    note(f"replaying {replay.workload.num_jobs} jobs at {replay.time_scale:g} of their time ...")
    # Ray prints what it has to say about lost actors, and standard output is for the result.
    with contextlib.redirect_stdout(sys.stderr):
        found = run_replay(replay, contender.spec, nodes=args.nodes, engine=args.engine, address=args.address or "")
    return ReplaySummary(found.jobs, replay.time_scale, simulated_s, found.overheads).to_json()


def _as_text(found: dict[str, Any]) -> str:
    lines = [f"{found['jobs_completed']} jobs and {found['tasks_completed']} tasks completed"]
    if found["jobs_failed"]:
        lines.append(f"{found['jobs_failed']} jobs failed")
    if found["avg_jct_s"] is not None:
        lines.append(f"average JCT  {found['avg_jct_s']:.2f} s, simulated {found['simulated_avg_jct_s']:.2f} s")
    for name, one in found["overheads"].items():
        lines.append(f"{name}: p50 {one['p50_us']:.0f} us, p95 {one['p95_us']:.0f} us ({one['count']} times)")
    return "\n".join(lines)
