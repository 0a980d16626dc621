"""`dovetail run`: a workload's jobs on a real engine, as synthetic tasks on a time scale, beside their simulation."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dovetail.cli import run_elastic, run_gpu, run_spark
from dovetail.cli.arguments import add_output, read_arguments
from dovetail.cli.exit_codes import EXIT_FAILED
from dovetail.cli.matrix_progress import note, open_run_set
from dovetail.cli.options_dag import DagArguments, add_setting
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.replay import Replay
    from dovetail.execution.serve import EngineName
    from dovetail.records.dag import DagRun
    from dovetail.records.writer import RecordWriter

ENGINES = ("local", "ray")
DEFAULT_EXECUTORS = 10  # fewer than a simulation's 50, for here each is a process


def family_of(arguments: Sequence[str]) -> str:
    """`run elastic` trains for real, `run gpu` stands in front of Slurm, `run spark` steers an application; everything
    else names a workload of DAGs."""
    return arguments[0] if arguments[:1] in (["elastic"], ["gpu"], ["spark"]) else "dag"


def configure(parser: argparse.ArgumentParser, family: str) -> None:
    if family == "elastic":
        run_elastic.configure(parser)
        return
    if family == "gpu":
        run_gpu.configure(parser)
        return
    if family == "spark":
        run_spark.configure(parser)
        return
    add_setting(parser, positional=True, executors=DEFAULT_EXECUTORS)
    parser.add_argument("--scheduler", required=True, metavar="NAME", help="such as dag/weighted-fair:alpha=-1")
    parser.add_argument("--engine", default="local", metavar="NAME", help="local or ray (local)")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="node managers that share the executors (1)")
    parser.add_argument("--address", metavar="A", help="HOST:PORT of a Ray cluster's head, or auto (Ray starts here)")
    parser.add_argument(
        "--time-scale", type=float, default=0.1, metavar="X", help="real seconds for a second of the workload (0.1)"
    )
    parser.add_argument("--kind", default="sleep", metavar="KIND", help="of task: sleep, busy, memory or io (sleep)")
    parser.add_argument("--seed", type=int, metavar="K", help="of the job sequence and everything drawn (0)")
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    if args.workload == "elastic":
        return run_elastic.run(args)
    if args.workload == "gpu":
        return run_gpu.run(args)
    if args.workload == "spark":
        return run_spark.run(args)
    from dovetail.core.seeds import SeedTree
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.replay import Replay
    from dovetail.execution.synthetic import KINDS
    from dovetail.sim.dag.world import duration_key

    for what, name, known in (("engine", args.engine, ENGINES), ("kind of task", args.kind, KINDS)):
        if name not in known:
            raise UnknownName(what, name, known)
    check_address(args.engine, args.address)
    if args.nodes < 1:
        raise ConfigError(f"--nodes is {args.nodes}; expected 1 or more")
    asked = read_arguments(DagArguments, args, seeds=1)
    if asked.executors is None and not asked.classes:
        asked = replace(asked, executors=DEFAULT_EXECUTORS)
    contender = Contender.of(args.scheduler, "dag")
    opened = asked.setting().open()
    options = opened.options
    executors = sum(kind.count for kind in options.executor_classes())
    if args.engine == "local" and args.nodes > executors:
        raise ConfigError(f"--nodes is {args.nodes}; expected no more than the {executors} executors")
    words = command(asked, contender.spec, args.time_scale, args.kind)
    writer = open_run_set(opened, asked, args, words, notes=asked.notes())
    replay = Replay(
        opened.sequence(asked.seed),
        duration_key(options, SeedTree(asked.seed)),
        options,
        time_scale=args.time_scale,
        kind=args.kind,
    )
    found, record = replayed(
        replay, contender, asked.seed, nodes=args.nodes, engine=args.engine, address=args.address or ""
    )
    if writer is not None:
        keep(writer, contender, asked.seed, record)
    facts = {"schema": 1, "workload": opened.facts(), "scheduler": contender.spec, "seed": asked.seed}
    print(json.dumps({**facts, "engine": args.engine, **found}, indent=2) if args.json else as_text(found))
    if writer is not None:
        note(f"records: {args.out}; `dovetail report {args.out}` draws them")
    return EXIT_FAILED if found["jobs_failed"] else 0


def command(asked: DagArguments, spec: str, time_scale: float, kind: str = "sleep") -> str:
    """What to type to make this again."""
    words = asked.command(f"run {asked.workload}", workload=None, seeds=None, schedulers=None)
    return f"{words} --scheduler {shlex.quote(spec)} --time-scale {time_scale:g} --kind {kind}"


def check_address(engine: str, address: str | None) -> None:
    if address is not None and engine != "ray":
        raise ConfigError(f"--address is {address!r}, but the engine is {engine}; expected --engine ray with it")


def replayed(
    replay: Replay, contender: Contender, seed: int, *, nodes: int = 1, engine: EngineName = "local", address: str = ""
) -> tuple[dict[str, Any], DagRun]:
    """What the real run came to beside its simulation, and its record."""
    from dovetail.core.seeds import SeedTree
    from dovetail.execution.replay_run import run_replay
    from dovetail.execution.replay_summary import ReplaySummary
    from dovetail.sim.dag import DagWorld, run

    note("simulating (the first time, it is compiled first, which takes a minute or two) ...")
    seeds = SeedTree(seed)
    chance = seeds.child("scheduler", contender.name)
    simulated = run(DagWorld(replay.workload, replay.options, seeds), contender.create(), chance.generator())
    expected_s = simulated.last_finish_s * replay.time_scale
    note(
        f"replaying {replay.workload.num_jobs} jobs on {replay.options.executors} executors at {replay.time_scale:g} "
        f"of their time, some {expected_s:.0f} s ..."
    )
    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what it has to say; standard output is for the result
        found = run_replay(
            replay,
            contender.spec,
            params=contender.params,
            seed=seed,
            rng=chance.generator(),
            nodes=nodes,
            engine=engine,
            address=address,
        )
    summary = ReplaySummary(found.jobs, replay.time_scale, simulated.completion_s, found.overheads)
    return summary.to_json(), found.run


def keep(writer: RecordWriter, contender: Contender, seed: int, record: DagRun) -> None:
    """Write the record of a run, as `dovetail simulate` does."""
    import numpy as np

    from dovetail.evaluation.metrics_dag import run_metrics

    writer.add_run(record, flush=False)
    if np.isfinite(record.jobs.finish_s).all():
        writer.add(contender.name, seed, run_metrics(record), params=contender.params, kind=contender.kind, flush=False)
    writer.flush()


def as_text(found: dict[str, Any]) -> str:
    lines = [f"{found['jobs_completed']} jobs and {found['tasks_completed']} tasks completed"]
    if found["jobs_failed"]:
        lines.append(f"{found['jobs_failed']} jobs failed")
    if found["avg_jct_s"] is not None:
        more = 100.0 * (found["ratio"] - 1.0)
        lines.append(
            f"average JCT {found['avg_jct_s']:.2f} s, simulated {found['simulated_avg_jct_s']:.2f} s ({more:+.1f} %)"
        )
    for name, one in found["overheads"].items():
        lines.append(f"{name}: p50 {one['p50_us']:.0f} us, p95 {one['p95_us']:.0f} us ({one['count']} times)")
    return "\n".join(lines)
