"""`dovetail evaluate`: a trained network against the heuristics, on held-out sequences of what it was trained for."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import Arguments
from dovetail.cli.compare import FIRST_TRAINING_SEED, compare, show
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options import arguments_of
from dovetail.core.config import build
from dovetail.core.errors import CheckpointError, ConfigError
from dovetail.core.spec import split_specs

if TYPE_CHECKING:
    from dovetail.evaluation.matrix_results import MatrixResults
    from dovetail.evaluation.networks import TrainedNetwork

SEEDS = 100
CHANGES = ("workload", "rates", "jobs")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="NAME|PATH", help="a bundled network, or one that `train` made")
    parser.add_argument("--schedulers", metavar="NAME,...", help="what to compare it with (heuristics)")
    parser.add_argument("--workload", metavar="NAME|DIR", help="another workload than it was trained for")
    parser.add_argument("--rates", metavar="KIND|DIR", help="streaming jobs: other rates than it was trained on")
    parser.add_argument("--jobs", type=int, metavar="N", help="another number of jobs in a sequence")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"job sequences ({SEEDS})")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="seed of the first of them (0)")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one per processor if worth it)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep records there; what is there is not run again")
    parser.add_argument("--force", action="store_true", help="replace records of something else there")
    parser.add_argument("--write", action="store_true", help="put the result into the network's card")


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.family import family_named
    from dovetail.evaluation.networks import TrainedNetwork

    network = TrainedNetwork.find(args.checkpoint)
    asked = _arguments(args, network)
    opened, results, finished = compare(asked, args, f"dovetail evaluate {args.checkpoint}")
    objective = network.card.get("objective")
    usual = family_named(network.kind.family).yardstick
    if objective not in network.kind.yardsticks:
        note(f"no metric stands for the objective {objective!r}, so it is judged by {usual}")
    yardstick = network.kind.yardsticks.get(str(objective), usual)
    show(opened, results, yardstick, as_json=args.json, finished=finished)
    if not finished:
        note("interrupted; the card stays as it was")
        return EXIT_INTERRUPTED
    if results.failures:
        return EXIT_FAILED
    if args.write:
        network.write(_held_out(network, asked, results, yardstick))
        note(f"written to the card of {network.path}")
    return 0


def _arguments(args: argparse.Namespace, network: TrainedNetwork) -> Arguments:
    """The setting on the card, with what the command line changes."""
    from dovetail.workloads.family import is_bundled

    path, on_card = network.path, network.card.get("arguments")
    if on_card is None:
        raise CheckpointError(f"{path}: its card does not say what it was trained for; use `dovetail compare`")
    kind = arguments_of(network.kind.family)
    known = {item.name for item in fields(kind)}
    changes = {name: getattr(args, name) for name in CHANGES if getattr(args, name) is not None}
    for name in changes:
        if name not in known:
            raise ConfigError(f"--{name} means nothing to {network.kind.scheduler}; leave it out")
    for name, least in (("seeds", 1), ("seed", 0)):
        if getattr(args, name) < least:
            raise ConfigError(f"--{name} is {getattr(args, name)}; expected {least} or more")
    if args.write and "jobs" in changes:
        raise ConfigError("--write keeps the result for what the network was trained for; leave out --jobs")
    if args.write and "workload" in changes and Path(args.workload).name != Path(on_card["workload"]).name:
        raise ConfigError(
            f"--write keeps the result for what the network was trained for: {on_card['workload']}, not {args.workload}"
        )
    if args.write and args.seed + args.seeds > FIRST_TRAINING_SEED:
        raise ConfigError(
            f"--write keeps what was held out: seeds below {FIRST_TRAINING_SEED}, but {args.seed} to "
            f"{args.seed + args.seeds - 1} were asked for"
        )
    others = split_specs(network.kind.others if args.schedulers is None else args.schedulers)
    values = {**on_card, **changes, "seeds": args.seeds, "seed": args.seed, "schedulers": [*others, network.spec]}
    found: Any = build(kind, values, f"{path}: arguments")
    if args.workload is None and not Path(found.workload).exists() and not is_bundled(found.workload):
        raise ConfigError(
            f"{path}: it was trained on {found.workload}, which is not here; say with --workload where it is"
        )
    if network.kind.family == "stream":
        check_rates(network, found.rates, said=args.rates is not None, write=args.write)
    asked: Arguments = found
    return asked


def check_rates(network: TrainedNetwork, rates: str | None, *, said: bool, write: bool) -> None:
    """A recorded series that it knows is refused, unless the command names it: its windows are not held out."""
    from dovetail.evaluation.stream_networks import known_to

    if rates is not None and "/" in rates.partition(":")[0] and not Path(rates).exists() and not said:
        raise ConfigError(
            f"{network.path}: it was trained on {rates}, which is not here; name other rates with --rates"
        )
    if (use := known_to(network.card, rates)) is None:
        return
    if write:
        raise ConfigError(f"--write keeps what was held out; the network was {use} windows of {rates}")
    if not said:
        raise ConfigError(
            f"{network.path}: it was {use} windows of {rates}, so these are not held out; name later rates with "
            f"--rates, or `--rates {rates}` to see how well it knows them"
        )
    note(f"it was {use} windows of {rates}: what follows says how well it knows them, not how it would do later")


def _held_out(network: TrainedNetwork, asked: Arguments, results: MatrixResults, yardstick: str) -> dict[str, Any]:
    """The table in short."""
    document = results.comparison(yardstick).as_json({})
    rows = {_label(row, network): row for row in document["rows"]}
    percent = any(row["vs_best_heuristic_pct"] is not None for row in rows.values())
    difference = "vs_best_heuristic_pct" if percent else "vs_best_heuristic"  # in units of what may be below 0
    return {
        "seeds": [asked.seed_range[0], asked.seed_range[-1]],
        "best_heuristic": document["best_heuristic"],
        yardstick: {name: row["metrics"][yardstick] for name, row in rows.items()},
        difference: {name: row[difference] for name, row in rows.items()},
    }


def _label(row: dict[str, Any], network: TrainedNetwork) -> str:
    """A scheduler by its spec; the network itself without its path, others with theirs."""
    from dovetail.schedulers import SCHEDULERS

    name, params = str(row["scheduler"]), row.get("params") or {}
    if name == network.kind.scheduler:
        usual: Any = SCHEDULERS.params_type(name)
        params = {"checkpoint": usual().checkpoint, **params}
        if params == {"checkpoint": network.name}:
            return name
    if not params:
        return name
    return f"{name}:{','.join(f'{key}={value}' for key, value in params.items())}"
