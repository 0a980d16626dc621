"""The options of all commands that talk to a running engine: where it is, and how to show who we are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.execution.client import Client


def add_address(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("engine")
    where.add_argument("--directory", type=Path, metavar="DIR", help="its state directory (the user's default one)")
    where.add_argument("--connect", metavar="HOST:PORT", help="over TCP instead; needs --token-file")
    where.add_argument("--token-file", type=Path, metavar="FILE", help="with the token of that engine")


def open_client(args: argparse.Namespace) -> Client:
    """Nothing is connected yet."""
    from dovetail.execution.addresses import TcpAddress, control_socket, default_directory, read_token
    from dovetail.execution.client import Client

    if args.connect is None:
        if args.token_file is not None:
            raise ConfigError("--token-file: only an engine reached by --connect asks for a token")
        return Client(control_socket(args.directory or default_directory()))
    if args.directory is not None:
        raise ConfigError("--directory and --connect name two engines; expected one of them")
    if args.token_file is None:
        raise ConfigError("--connect: needs --token-file, with what the engine has in its own")
    return Client(TcpAddress.parse(args.connect), token=read_token(args.token_file))
