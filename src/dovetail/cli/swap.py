"""`dovetail swap`: another scheduler for a running engine, while its work goes on."""

from __future__ import annotations

import argparse

from dovetail.cli.engine_options import add_address, open_client
from dovetail.cli.matrix_progress import note


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scheduler", metavar="NAME", help="such as dag/adaptive or dag/weighted-fair:alpha=-1")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    with open_client(args) as client:
        note(client.swap(args.scheduler))
    return 0
