"""`dovetail up`: an engine, in the foreground, until `dovetail down` or Ctrl-C."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.cli.matrix_progress import note
from dovetail.cli.run import ENGINES, check_address
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.execution.server import Server

DEFAULT_SCHEDULER = "dag/fair-spill"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--directory", type=Path, metavar="DIR", help="of its state (the user's default one)")
    parser.add_argument("--executors", type=int, metavar="N", help="processes that run tasks (one per processor)")
    parser.add_argument("--engine", default="local", metavar="NAME", help="local or ray (local)")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="node managers that share them (1)")
    parser.add_argument("--address", metavar="A", help="HOST:PORT of a Ray cluster's head, or auto (Ray starts here)")
    parser.add_argument(
        "--scheduler", default=DEFAULT_SCHEDULER, metavar="NAME", help=f"who gets what ({DEFAULT_SCHEDULER})"
    )
    parser.add_argument(
        "--beliefs",
        type=Path,
        metavar="FILE",
        help="what dag/adaptive learned: read if it is there, and kept up to date",
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
    if args.engine not in ENGINES:
        raise UnknownName("engine", args.engine, ENGINES)
    check_address(args.engine, args.address)
    Contender.of(args.scheduler)
    if args.listen is not None:
        TcpAddress.parse(args.listen)

    from dovetail.execution.engines.local_options import LocalOptions
    from dovetail.execution.engines.ray import RayOptions
    from dovetail.execution.serve import ServerOptions, serve

    local = LocalOptions(executors=args.executors or 0, nodes=args.nodes)

    ray = RayOptions(address=args.address or "", executors=args.executors or 0)
    options = ServerOptions(
        scheduler=args.scheduler,
        engine=args.engine,
        local=local,
        ray=ray,
        listen=args.listen or "",
        beliefs=str(args.beliefs.absolute()) if args.beliefs else "",
    )

    def ready(server: Server, address: str) -> None:
        executors = sum(kind.count for kind in server.workers.classes())
        name = server.controller.incumbent.name
        note(f"{directory}: {executors} executors, {name}; `dovetail down` or Ctrl-C ends it")
        if name != args.scheduler:
            note(f"{name} was swapped in for {args.scheduler} earlier; `dovetail swap {args.scheduler}` undoes that")
        if server.is_draining:
            note("it is draining, and takes no new jobs; `dovetail drain --off` undoes that")
        if address:
            note(f"clients over TCP: --connect {address} --token-file {directory / TOKEN_FILE}")

    serve(directory, options, ready)
    return 0
