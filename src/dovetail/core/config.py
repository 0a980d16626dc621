"""Configuration: a TOML file or a mapping becomes a frozen dataclass, or an error that says where.

A field's annotation is its schema. Known are `int`, `float` (which accepts an integer), `bool`,
`str`, `None`, `Literal`, `Enum` (by value), `tuple`, unions of these, and nested dataclasses. What is
unknown, missing or of the wrong type is an error; nothing is ignored and nothing is guessed.

A dataclass checks its own ranges in `__post_init__` by raising `ValueError`; the place is added here.
"""

from __future__ import annotations

import dataclasses
import enum
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast

from dovetail.core.errors import ConfigError
from dovetail.core.suggest import did_you_mean

MOST = 1e300  # of a number in a configuration
Config = TypeVar("Config")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: its source (a file, an option) and the path of keys to it."""

    source: str
    keys: tuple[str, ...] = ()

    def at(self, key: str) -> Place:
        return Place(self.source, (*self.keys, key))

    def item(self, index: int) -> Place:
        return Place(self.source, (*self.keys[:-1], f"{self.keys[-1] if self.keys else ''}[{index}]"))

    def __str__(self) -> str:
        return f"{self.source}: {'.'.join(self.keys)}" if self.keys else self.source


def load(cls: type[Config], path: str | Path) -> Config:
    """Read a TOML file into the frozen dataclass `cls`."""
    return build(cls, read_toml(path), str(path))


def read_toml(path: str | Path) -> dict[str, object]:
    """The file's values as they stand there, for callers that lay others over them before they `build`."""
    try:
        with Path(path).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text, as TOML must be (byte {error.start})") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not usable: its values are nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, or a number too long to be read
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def build(cls: type[Config], values: Mapping[str, object], source: str = "configuration") -> Config:
    """Make a `cls` from a mapping; `source` is what error messages name as the origin."""
    return cast(Config, _build(cls, values, Place(source)))


def _build(cls: type[Any], values: Mapping[str, object], place: Place, base: Any = None) -> object:
    """`base` with `values` laid over it; without a base, the defaults of `cls` are the base."""
    hints = field_types(cls)
    for key in values:
        if key not in hints:
            within = [repr(one.name) for one in describe(cls) if one.name.endswith(f".{key}")]
            close = f"; did you mean {' or '.join(within)}?" if within else did_you_mean(str(key), hints)
            raise ConfigError(f"{place.at(str(key))}: unknown key{close}")
    given = {field.name: _default(field, base) for field in _fields(cls)}
    for key, value in values.items():
        hint, below = hints[key], given[key]
        if isinstance(value, Mapping) and dataclasses.is_dataclass(hint) and type(below) is hint:
            given[key] = _build(hint, value, place.at(key), below)
        else:
            given[key] = convert(value, hint, place.at(key))
    missing = [repr(name) for name, value in given.items() if value is dataclasses.MISSING]
    if missing:
        raise ConfigError(f"{place}: missing {', '.join(missing)}")
    try:
        return cls(**given)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}") from error


def convert(value: object, hint: Any, place: Place) -> object:
    """`value` as the annotated type `hint`, or a ConfigError that names the place."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _convert_union(value, hint, arguments, place)
    if origin is Literal:
        # Compared with the type as well: to Python, True == 1 == 1.0.
        if any(type(value) is type(choice) and value == choice for choice in arguments):
            return value
    elif origin is tuple:
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return _convert_tuple(value, hint, arguments, place)
    elif hint is type(None):
        if value is None:
            return None
    elif not isinstance(hint, type):
        raise TypeError(f"{place}: fields annotated {hint!r} cannot be configured")
    elif isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    elif dataclasses.is_dataclass(hint):
        if isinstance(value, Mapping):
            return _build(hint, value, place)
    elif issubclass(hint, enum.Enum):
        for member in hint:
            if type(member.value) is type(value) and member.value == value:
                return member
    elif hint is float:
        if isinstance(value, int) and not isinstance(value, bool):
            if abs(value) > MOST:
                raise ConfigError(f"{place}: a number of {len(str(abs(value)))} digits; expected at most {MOST:g}")
            return float(value)
    elif hint not in (int, str, bool):
        raise TypeError(f"{place}: fields annotated {hint!r} cannot be configured")
    raise _wrong_type(value, hint, place)


def _convert_union(value: object, hint: Any, members: tuple[Any, ...], place: Place) -> object:
    for member in members:
        if dataclasses.is_dataclass(member) and isinstance(value, Mapping):
            return convert(value, member, place)  # its own message is the more precise one
        try:
            return convert(value, member, place)
        except ConfigError:
            continue
    raise _wrong_type(value, hint, place)


def _convert_tuple(value: Sequence[object], hint: Any, items: tuple[Any, ...], place: Place) -> object:
    if len(items) == 2 and items[1] is Ellipsis:
        items = (items[0],) * len(value)
    elif len(items) != len(value):
        raise _wrong_type(value, hint, place)
    return tuple(convert(item, items[i], place.item(i)) for i, item in enumerate(value))


def _wrong_type(value: object, hint: Any, place: Place) -> ConfigError:
    close = did_you_mean(value, choices(hint)) if isinstance(value, str) and choices(hint) else ""
    close = close if close.startswith("; did you mean") else ""  # the choices are in type_name already
    return ConfigError(f"{place}: expected {type_name(hint)}, got {value!r}{close}")


def choices(hint: Any) -> list[str]:
    """The texts a Literal or an Enum admits; empty for every other type."""
    if typing.get_origin(hint) is Literal:
        return [str(choice) for choice in typing.get_args(hint)]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [str(member.value) for member in hint]
    return []


def type_name(hint: Any) -> str:
    """The type as a reader of an error message or of a listing would write it."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(type_name(argument) for argument in arguments)
    if choices(hint):
        return f"one of {', '.join(choices(hint))}"
    if origin is tuple:
        return f"[{', '.join('...' if a is Ellipsis else type_name(a) for a in arguments)}]"
    if hint is type(None):
        return "none"
    if dataclasses.is_dataclass(hint):
        return "a table"
    return str(getattr(hint, "__name__", hint))


def field_types(cls: type[Any]) -> dict[str, Any]:
    """The configurable fields of a dataclass with their resolved annotations, in order."""
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in _fields(cls)}


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """One configurable value, as listings show it. `name` is dotted for a nested dataclass."""

    name: str
    type: str
    default: object  # `dataclasses.MISSING` when the field must be given
    help: str = ""  # from `field(metadata={"help": ...})`

    @property
    def is_required(self) -> bool:
        return self.default is dataclasses.MISSING


def describe(cls: type[Any], base: Any = None, prefix: str = "") -> Iterator[FieldInfo]:
    """Every configurable value of a dataclass, nested ones included, with its effective default."""
    hints = field_types(cls)
    for field in _fields(cls):
        name, hint = prefix + field.name, hints[field.name]
        default = _default(field, base)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from describe(hint, default if isinstance(default, hint) else None, f"{name}.")
        else:
            yield FieldInfo(name, type_name(hint), default, field.metadata.get("help", ""))


def to_plain(value: Any) -> Any:
    """The inverse of `build`, in values that TOML and JSON can hold; manifests keep this."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in _fields(type(value))}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    return value


def _fields(cls: type[Any]) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if field.init]


def _default(field: dataclasses.Field[Any], base: Any) -> Any:
    """What the field holds when nothing is said about it; `MISSING` when something must be."""
    if base is not None:
        return getattr(base, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
