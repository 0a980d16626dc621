"""`dovetail train`: a scheduler learned for a workload; how it learns is each family's own."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from dovetail.cli.options import first_family
from dovetail.core.errors import UnknownName

TRAINERS = {
    "dag": "dovetail.cli.train_dag",
    "elastic": "dovetail.cli.train_elastic",
    "gpu": "dovetail.cli.train_gpu",
    "stream": "dovetail.cli.train_stream",
}
"""Family -> the module with `configure` and `run`."""

family_of = first_family


def configure(parser: argparse.ArgumentParser, family: str | None) -> None:
    parser.add_argument("family", metavar="FAMILY", help=f"kind of work: {', '.join(TRAINERS)}")
    if family is None:
        parser.epilog = f"Options depend on the kind of work: `{parser.prog} FAMILY --help`."
        return
    _trainer(family).configure(parser)


def run(args: argparse.Namespace) -> int:
    code: int = _trainer(args.family).run(args)
    return code


def _trainer(family: str) -> Any:
    if family not in TRAINERS:
        raise UnknownName("family that learns", family, TRAINERS)
    return import_module(TRAINERS[family])
