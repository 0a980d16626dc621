"""`dovetail adapt`: a scheduler chooses among compositions while work is running, and says why.

`dovetail adapt dag` simulates: the workload `changing` on the cluster that was made for, unless something else is asked
for.  `dovetail adapt` alone watches a running engine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.adapt_live import watch
from dovetail.cli.arguments import read_arguments
from dovetail.cli.engine_options import add_address
from dovetail.cli.exit_codes import EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options import require_family
from dovetail.cli.options_dag import DagArguments, add_setting
from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.adaptation.adaptive import Adaptive, AdaptiveParams
    from dovetail.records.beliefs import BeliefsFile
    from dovetail.sim.dag import DagResult

WORKLOAD = "changing"
CLASSES = (
    {"count": 20, "cpu": 1.0, "memory": 0.25},
    {"count": 10, "cpu": 1.0, "memory": 0.5},
    {"count": 10, "cpu": 1.0, "memory": 1.0},
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "family", nargs="?", metavar="FAMILY", help="kind of work to simulate: dag; without it: watch a running engine"
    )
    add_setting(parser)
    choice = parser.add_argument_group("choice")
    choice.add_argument("--learner", metavar="NAME", help="such as ucb1, thompson, exp3, linear (thompson)")
    choice.add_argument(
        "--compositions",
        nargs="+",
        metavar="PARTS",
        help="order+size+place+dispatch, such as drf+equal-dominant+smallest-fit+local, or schedulers",
    )
    choice.add_argument("--objective", metavar="NAME", help="completion, makespan, utilisation, overhead (completion)")
    choice.add_argument("--explore-share", type=float, metavar="SHARE", help="most of the windows that explore (0.4)")
    choice.add_argument("--beliefs", type=Path, metavar="FILE", help="of earlier runs: read if there, then written")
    choice.add_argument("--fallback", metavar="PARTS", help="what decides when a composition fails")
    add_address(parser)
    parser.add_argument("--seed", type=int, metavar="K", help="of the job sequence and everything drawn (0)")
    parser.add_argument("--json", action="store_true", help="print everything that happened as JSON at the end")


def run(args: argparse.Namespace) -> int:
    if args.family is None:
        return watch(args)
    from dovetail.adaptation.adaptive import Adaptive
    from dovetail.cli.adapt_display import AdaptDisplay
    from dovetail.core.handover import BELIEFS
    from dovetail.core.seeds import SeedTree
    from dovetail.records.beliefs import BeliefsFile
    from dovetail.sim.dag import DagWorld, run

    require_family(args.family, "dag")
    defaults: dict[str, Any] = {"seeds": 1}
    if args.workload is None and args.config is None:
        own = {"workload": WORKLOAD, "jobs": 1000, "arrivals": "trace", "moving_delay": 0.5}
        defaults.update({key: value for key, value in own.items() if getattr(args, key) is None})
        if args.executors is None and args.classes is None:
            defaults["classes"] = CLASSES
    asked = read_arguments(DagArguments, args, **defaults)
    opened = asked.setting().open()
    seeds = SeedTree(asked.seed)
    world = DagWorld(opened.sequence(asked.seed), opened.setting.options, seeds)
    params = _params(args)
    file = BeliefsFile(args.beliefs) if args.beliefs else None
    scheduler = Adaptive(params, beliefs=_beliefs(file, params) if file else None)
    display = AdaptDisplay(scheduler.names, live=sys.stdout.isatty())
    if not args.json:
        scheduler.on_event = display.show
    try:
        with display if not args.json else AdaptDisplay((), live=False):
            result = run(world, scheduler, seeds.child("scheduler", "dag/adaptive").generator())
    except KeyboardInterrupt:
        note(f"interrupted at {world.time_s:.0f} s of the simulation")
        return EXIT_INTERRUPTED
    if file:
        file.save(scheduler.export_state()[BELIEFS])
    if args.json:
        document = {"workload": opened.facts(), "seed": asked.seed, **_outcome(scheduler, result)}
        print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        note(_summary(scheduler, result))
    return 0


def _params(args: argparse.Namespace) -> AdaptiveParams:
    from dovetail.adaptation.adaptive import AdaptiveParams
    from dovetail.core.config import build

    names = ("learner", "compositions", "objective", "explore_share", "fallback")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return build(AdaptiveParams, given, "options")


def _beliefs(file: BeliefsFile, params: AdaptiveParams) -> Any | None:
    from dovetail.adaptation.experience import checked

    found = file.load()
    if found is not None:
        try:
            checked(found, params.objective)
        except ConfigError as error:
            raise ConfigError(f"{file.path}: {error}") from error
    return found


def _outcome(scheduler: Adaptive, result: DagResult) -> dict[str, Any]:
    return {
        "schema": 1,
        "family": "dag",
        "compositions": list(scheduler.names[: scheduler.arms]),
        "learner": scheduler.params.learner,
        "objective": scheduler.params.objective,
        "avg_jct_s": result.avg_jct_s,
        "decisions": result.decisions,
        "swaps": scheduler.assembly.swaps,
        "events": [event.as_json() for event in scheduler.events],
    }


def _summary(scheduler: Adaptive, result: DagResult) -> str:
    windows = [event for event in scheduler.events if event.kind != "guard"]
    explored = sum(event.explores for event in windows)
    return (
        f"{result.workload.num_jobs:,} jobs, {result.decisions:,} decisions, average JCT {result.avg_jct_s:.1f} s; "
        f"{len(windows)} windows of {len({event.work for event in windows})} classes of work, {explored} explored, "
        f"{scheduler.assembly.swaps} swaps, {len(scheduler.events) - len(windows)} failures"
    )
