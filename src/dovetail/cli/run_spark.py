"""`dovetail run spark APPLICATION.py`: a PySpark script with any `dag/...` scheduler beside it, or in charge."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.execution.engines.spark.steering import Steering

DEFAULT_SCHEDULER = "dag/fair-spill"
SAID = ("attached", "detached", "warning", "scheduler", "slots", "executors", "expired", "failed", "stopped", "summary")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run a PySpark script and record which stage a scheduler would have launched next. With --act, launch it."
    )
    parser.add_argument("workload", metavar="spark", help="(the word `spark`)")
    parser.add_argument("--scheduler", default=DEFAULT_SCHEDULER, metavar="NAME", help=f"({DEFAULT_SCHEDULER})")
    parser.add_argument("--act", action="store_true", help="act; without, it is only recorded what would be done")
    parser.add_argument("--workload", dest="known", metavar="W", help="kinds of job that are known, such as an import")
    parser.add_argument(
        "--jobs", default="auto", metavar="G", help="what is one job: group, query, job, or auto: the first there is"
    )
    parser.add_argument(
        "--every", default="stage", metavar="E", help="slots are offered when a stage has run dry, or with every task"
    )
    parser.add_argument("--interval", type=float, default=0.05, metavar="S", help="seconds between two looks (0.05)")
    parser.add_argument("--executors", metavar="A-B", help="ask the cluster for A to B executors (as they are)")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of everything the scheduler draws (0)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="append what was decided to DIR/decisions.jsonl")
    parser.add_argument("--verbose", action="store_true", help="say each decision")
    parser.add_argument("application", type=Path, metavar="APPLICATION.py", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what the script is given")


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.engines.spark.messages import SparkOptions
    from dovetail.execution.engines.spark.script import run_script
    from dovetail.execution.engines.spark.steering import steer_spark

    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}; expected 0 or more")
    executors = None if args.executors is None else _bounds(args.executors)
    Contender.of(args.scheduler, "dag")  # what is wrong is said before Java is started
    SparkOptions(act=args.act, jobs=args.jobs, every=args.every, interval_s=args.interval, executors=executors)

    def tell(line: dict[str, Any], text: str) -> None:
        if args.verbose or line["event"] in SAID:
            print(f"dovetail: {text}", file=sys.stderr, flush=True)

    def steer(context: Any) -> Steering:
        return steer_spark(
            context,
            args.scheduler,
            act=args.act,
            out=args.out,
            workload=args.known,
            jobs=args.jobs,
            every=args.every,
            interval_s=args.interval,
            executors=executors,
            seed=args.seed,
            tell=tell,
        )

    run_script(args.application, args.arguments, steer)
    return 0


def _bounds(text: str) -> tuple[int, int]:
    """`2-8`."""
    least, dash, most = text.partition("-")
    if not (dash and least.isdigit() and most.isdigit()):
        raise ConfigError(f"--executors {text!r}; expected the least and the most, such as 2-8")
    return int(least), int(most)
