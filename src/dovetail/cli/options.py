"""The options of every family, found by its name, and how a command line says which family it is about.

A verb that runs schedulers offers `family_of(arguments)`; its `configure` then gets the family too, so that its
`--help` shows the options of that family.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from dovetail.cli.arguments import Arguments, add_config
from dovetail.core.errors import UnknownName
from dovetail.core.spec import parse_spec
from dovetail.schedulers import SCHEDULERS

OPTIONS = {
    "dag": "dovetail.cli.options_dag:DagArguments",
    "elastic": "dovetail.cli.options_elastic:ElasticArguments",
    "gpu": "dovetail.cli.options_gpu:GpuArguments",
    "stream": "dovetail.cli.options_stream:StreamArguments",
}
"""Family -> its options, imported when a command is about it."""


def arguments_of(family: str) -> type[Arguments]:
    """The options of this family."""
    if family not in OPTIONS:
        raise UnknownName("family", family, OPTIONS)
    module, name = OPTIONS[family].split(":")
    found: type[Arguments] = getattr(import_module(module), name)
    return found


def first_family(arguments: Sequence[str]) -> str | None:
    """The family that a command line is about, which stands first; None if it names none, as with --help alone."""
    if arguments and not arguments[0].startswith("-"):
        return arguments[0]
    return next((word for word in arguments if word in OPTIONS), None)


def family_of_name(arguments: Sequence[str]) -> str | None:
    """The same where a scheduler is named instead: the family is the part of its name before the slash."""
    named = [word for word in arguments if word.partition("/")[0] in OPTIONS]
    if not named and arguments and not arguments[0].startswith("-"):
        return SCHEDULERS.entry(parse_spec(arguments[0])[0]).family  # which says what is wrong with it
    return named[0].partition("/")[0] if named else None


def require_family(name: str, *known: str) -> None:
    """For verbs that not every family has."""
    if name not in known:
        raise UnknownName("family", name, known)


def add_family(parser: argparse.ArgumentParser, family: str | None) -> type[Arguments] | None:
    """The family as an argument, and its options; without one, where to find them."""
    parser.add_argument("family", metavar="FAMILY", help=f"kind of work: {', '.join(OPTIONS)}")
    return add_options(parser, family, "FAMILY")


def add_options(parser: argparse.ArgumentParser, family: str | None, missing: str) -> type[Arguments] | None:
    """The options of the family about what is simulated."""
    if family is None:
        add_config(parser)
        parser.epilog = f"Options of workload and cluster depend on the kind of work: `{parser.prog} {missing} --help`."
        return None
    kind = arguments_of(family)
    kind.add_setting(parser)
    return kind


def examples(kind: type[Arguments] | None) -> str:
    """Schedulers, as they are written."""
    return "FAMILY/NAME:KEY=VALUE" if kind is None else kind.EXAMPLE


def yardstick_of(kind: type[Arguments] | None) -> str:
    """What schedulers are ranked by, in words for --help."""
    from dovetail.evaluation.family import family_named

    return "that of the family" if kind is None else family_named(kind.FAMILY).yardstick
