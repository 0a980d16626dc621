"""`dovetail up`: an engine on this machine, in the foreground, until `dovetail down` or Ctrl-C."""

from __future__ import annotations

import argparse
from pathlib import Path

from dovetail.cli.matrix_progress import note
from dovetail.core.errors import ConfigError

DEFAULT_SCHEDULER = "dag/fair-spill"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--directory", type=Path, metavar="DIR", help="of its state (the user's default one)")
    parser.add_argument("--executors", type=int, metavar="N", help="processes that run tasks (one per processor)")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="node managers that share them (1)")
    parser.add_argument(
        "--scheduler", default=DEFAULT_SCHEDULER, metavar="NAME", help=f"who gets what ({DEFAULT_SCHEDULER})"
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="for clients over TCP too, who must have the token in DIR/token"
    )


def run(args: argparse.Namespace) -> int:
    from dovetail.core.dag import MAX_EXECUTORS
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.addresses import TOKEN_FILE, TcpAddress, control_socket, default_directory

    directory = Path(args.directory or default_directory()).absolute()
    control_socket(directory)  # refuses a path too long before anything is made
    for name, value in (("executors", args.executors), ("nodes", args.nodes)):
        if value is not None and not 1 <= value <= MAX_EXECUTORS:
            raise ConfigError(f"--{name} is {value}; expected 1 to {MAX_EXECUTORS:,}")
    Contender.of(args.scheduler)
    if args.listen is not None:
        TcpAddress.parse(args.listen)

    from dovetail.execution.engines.local import LocalOptions
    from dovetail.execution.serve import ServerOptions, serve

    local = LocalOptions(executors=args.executors or 0, nodes=args.nodes)

    def ready(server: object, address: str) -> None:
        note(f"{directory}: {local.count} executors, {args.scheduler}; `dovetail down` or Ctrl-C ends it")
        if address:
            note(f"clients over TCP: --connect {address} --token-file {directory / TOKEN_FILE}")

    serve(directory, ServerOptions(scheduler=args.scheduler, local=local, listen=args.listen or ""), ready)
    return 0
