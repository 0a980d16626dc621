"""What training has in common whatever learns: where the run is kept, how long it takes, what is drawn."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dovetail.cli.arguments import Arguments
from dovetail.core.errors import ConfigError
from dovetail.core.suggest import did_you_mean

PLAIN: dict[str, Any] = {"seed": 0, "seeds": 20, "schedulers": ("all",)}
"""Of the options of comparisons: what a recorded command leaves out."""


def add_learning(parser: argparse.ArgumentParser, full: str) -> argparse._ArgumentGroup:
    """Options of every training run; `full`: how long the profile of that name takes."""
    learn = parser.add_argument_group("learning")
    learn.add_argument("--out", type=Path, metavar="DIR", required=True, help="where the run and its network are kept")
    learn.add_argument("--resume", action="store_true", help="go on with the run in --out")
    learn.add_argument("--profile", default="full", metavar="NAME", help=f"quick: a few minutes; full: {full} (full)")
    learn.add_argument("--iterations", type=int, metavar="N", help="steps of learning")
    learn.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other part of the plan")
    learn.add_argument("--minutes", type=float, metavar="M", help="stop after this time; --resume goes on")
    learn.add_argument("--seed", type=int, default=0, metavar="K", help="of everything that is drawn (0)")
    learn.add_argument("--workers", type=int, metavar="N", help="processes that play (all processors)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return learn


def check_learning(args: argparse.Namespace) -> None:
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"workers is {args.workers}; expected at least 1")
    if args.minutes is not None and not args.minutes > 0:
        raise ConfigError(f"minutes is {args.minutes:g}; expected more than 0")


def check_set(given: Mapping[str, str], known: Collection[str]) -> None:
    """Keys of --set, before they are shared out: what is refused is told all that `known` has, not a part's own."""
    for key in given:
        if key.partition(".")[0] not in known:
            raise ConfigError(f"--set: {key}: unknown key{did_you_mean(key, known, len(known))}")


def training_command(args: argparse.Namespace, asked: Arguments, *more: str, workers: int) -> str:
    """What to type to make this run again; `more`: names of options of this family's training.

    How many workers there are decides the run, too: each draws for itself.
    """
    words = [asked.command(f"train {asked.FAMILY}", **PLAIN)]
    for name, default in (("profile", "full"), *((name, None) for name in more), ("iterations", None), ("seed", 0)):
        value = getattr(args, name)
        if value != default:
            words.append(f"--{name.replace('_', '-')} {shlex.quote(str(value))}")
    words += [f"--set {shlex.quote(text)}" for text in args.set]
    return " ".join([*words, f"--out {shlex.quote(str(args.out))}", f"--workers {workers}"])
