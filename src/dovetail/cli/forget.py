"""`dovetail forget`: delete what a running engine keeps of ended jobs, their results too."""

from __future__ import annotations

import argparse

from dovetail.cli.engine_options import add_address, open_client


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="+", type=int, metavar="JOB", help="numbers of jobs that have ended")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    with open_client(args) as client:
        for job in args.jobs:
            client.forget(job)
    return 0
