"""`dovetail down`: end a running engine."""

from __future__ import annotations

import argparse

from dovetail.cli.engine_options import add_address, open_client
from dovetail.cli.matrix_progress import note


def configure(parser: argparse.ArgumentParser) -> None:
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    with open_client(args) as client:
        unfinished = sum(job.state == "running" for job in client.status().jobs)
        client.down()
    if unfinished:
        note(f"{unfinished} jobs are not complete; `dovetail up` in the same directory goes on with them")
    return 0
