"""`dovetail drain`: a running engine finishes its jobs and takes no new ones."""

from __future__ import annotations

import argparse

from dovetail.cli.engine_options import add_address, open_client


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--off", action="store_true", help="take new jobs again")
    parser.add_argument("--wait", action="store_true", help="until the last job has ended")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    with open_client(args) as client:
        client.drain(not args.off)
        if args.wait and not args.off:
            for job in client.status().jobs:
                if job.state == "running":
                    client.wait(job.job)
    return 0
