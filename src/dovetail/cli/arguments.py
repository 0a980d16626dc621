"""Options that every family has, and how file and command line are read into them.

Every option is also a key of the configuration file, under the same name with underscores.  The file's values
are laid over the defaults, the command line's over the file's.
"""

from __future__ import annotations

import argparse
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from dovetail.core.config import build, read_toml
from dovetail.core.errors import ConfigError
from dovetail.core.spec import split_specs

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.setting import Setting

Own = TypeVar("Own", bound="Arguments")


@dataclass(frozen=True)
class Arguments(ABC):
    """All of a comparison, as configuration file and command line say it.  A family adds its fields."""

    FAMILY: ClassVar[str]
    EXAMPLE: ClassVar[str]  # schedulers of this family, as they are written
    PARSERS: ClassVar[Mapping[str, Callable[[str], object]]] = {}  # of options that are not plain
    INSTEAD: ClassVar[tuple[tuple[str, ...], ...]] = ()  # (one, others of the file it replaces)

    seeds: int = 20
    seed: int = 0
    schedulers: tuple[str, ...] = ("all",)

    def __post_init__(self) -> None:
        check_range(self, ("seeds", 1, 10**6), ("seed", 0, 2**62))

    @staticmethod
    @abstractmethod
    def add_setting(parser: argparse.ArgumentParser) -> None:
        """The options about what is simulated."""

    @abstractmethod
    def setting(self) -> Setting:
        """What every scheduler meets; errors of value are found here."""

    def notes(self, contenders: Collection[Contender] = ()) -> list[str]:
        """What the person who chose these options and schedulers should know."""
        return []

    @property
    def seed_range(self) -> tuple[int, ...]:
        return tuple(range(self.seed, self.seed + self.seeds))

    def command(self, verb: str, **changed: Any) -> str:
        """What to type to make this again: the options that differ from the defaults."""
        words = ["dovetail", *verb.split()]
        shared = {item.name for item in fields(Arguments)}
        for item in sorted(fields(self), key=lambda item: item.name in shared):  # the family's own first
            value = changed.get(item.name, getattr(self, item.name))
            default = item.default if item.default_factory is MISSING else item.default_factory()
            if value is True and default is False:
                words.append(f"--{item.name.replace('_', '-')}")
            elif value is not None and value != default:
                words += [f"--{item.name.replace('_', '-')}", _written(value)]
        return shlex.join(words)


def check_range(values: object, *ranges: tuple[str, int, int]) -> None:
    """Whole numbers between the two given."""
    for name, low, high in ranges:
        value = getattr(values, name)
        if value is not None and not low <= value <= high:
            raise ValueError(f"{name} is {value}; expected {low} or more, {high} at most")


def read_numbers(option: str, text: str, expected: str, *counts: int) -> list[float]:
    """So many numbers between colons."""
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in counts or any(number != number for number in numbers):
        raise ConfigError(f"{option}: cannot read {text!r}; expected {expected}")
    return numbers


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with these options as keys")


def add_matrix(parser: argparse.ArgumentParser, *, seed: int = 0) -> None:
    """The options about seeds and processes."""
    parser.add_argument("--seeds", type=int, metavar="N", help="job sequences (20)")
    parser.add_argument("--seed", type=int, metavar="K", help=f"seed of the first of them ({seed})")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one per processor if worth it)")


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep records there; what is there already is not run again"
    )
    parser.add_argument("--force", action="store_true", help="replace records of something else there")


def read_arguments(
    kind: type[Own], args: argparse.Namespace, *, not_from_file: Collection[str] = (), **defaults: object
) -> Own:
    """Defaults, then the file but for some keys, then the command line."""
    parsers: dict[str, Callable[[str], object]] = {"schedulers": split_specs, **kind.PARSERS}
    given: dict[str, object] = {}
    for item in fields(kind):
        value = getattr(args, item.name, None)
        if value is not None:
            given[item.name] = parsers[item.name](value) if item.name in parsers else value
    if args.config is None:
        return build(kind, {**defaults, **given}, "options")
    filed = read_toml(args.config)
    # Checked alone first, so that an error names the place where it stands.
    build(kind, {**defaults, **filed}, str(args.config))
    filed = {key: value for key, value in filed.items() if key not in not_from_file}
    for one, *others in kind.INSTEAD:
        if one in given:
            filed = {key: value for key, value in filed.items() if key not in others}
    return build(kind, {**defaults, **filed, **given}, f"options over {args.config}")


def _written(value: object) -> str:
    """A value as the command line takes it."""
    if isinstance(value, tuple):
        return ",".join(map(_written, value))
    if is_dataclass(value):
        return ":".join(_written(getattr(value, item.name)) for item in fields(value))
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)
