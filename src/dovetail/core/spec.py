"""How a person writes a configured thing in one word: `dag/weighted-fair:alpha=-0.5,sizes=[1,2]`.

A spec is a name, then optionally a colon and `key=value` overrides between commas. Values are read
as the annotated type of the field they set, `key.inner=value` reaches into a nested dataclass, a
tuple stands in brackets and `none` is None. Several specs may stand in one list between commas.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

from dovetail.core.config import Place, convert, field_types
from dovetail.core.errors import ConfigError

_TRUTH = {"true": True, "false": False}


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """`family/name:key=value,...` as the name and its overrides, still as text."""
    name, colon, rest = text.strip().partition(":")
    overrides: dict[str, str] = {}
    if colon and not rest.strip():
        raise ConfigError(f"{text!r}: nothing after the colon; expected key=value")
    for part in split_commas(rest) if colon else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            raise ConfigError(f"{text!r}: cannot read {part.strip()!r}; expected key=value")
        if key in overrides:
            raise ConfigError(f"{text!r}: {key!r} is given twice")
        overrides[key] = value
    return name.strip(), overrides


def parse_assignments(option: str, texts: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE, each of them what an option was given with."""
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"{option} {text}: expected KEY=VALUE")
        found[key] = value
    return found


def split_specs(text: str) -> list[str]:
    """A list such as `dag/fair,dag/weighted-fair:alpha=1,window=3,dag/fifo` as its three specs.

    A comma also separates overrides, so a part without a slash or a colon before its first `=`
    belongs to the spec before it when that spec has a colon.
    """
    specs: list[str] = []
    for part in split_commas(text):
        continues = "=" in part and not set("/:") & set(part.partition("=")[0])
        if continues and specs and ":" in specs[-1]:
            specs[-1] += f",{part.strip()}"
        elif part.strip():
            specs.append(part.strip())
    return specs


def split_commas(text: str) -> list[str]:
    """Split at the commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def read_overrides(cls: type[Any], values: Mapping[str, object], source: str) -> dict[str, object]:
    """Overrides as `config.build` takes them: dotted keys nested, texts read by their field's type.

    Values that are not text are left as they are. Nothing is rejected here, except two keys that
    contradict each other: `build` knows all the rules and reports what does not fit.
    """
    nested: dict[str, object] = {}
    for dotted, value in values.items():
        *path, key = dotted.split(".")
        table = nested
        for step in path:
            below = table.setdefault(step, {})
            if not isinstance(below, dict):
                raise ConfigError(f"{source}: {dotted!r} is set both as a whole and in part")
            table = below
        if key in table:
            raise ConfigError(f"{source}: {dotted!r} is set both as a whole and in part")
        table[key] = dict(value) if isinstance(value, Mapping) else value
    return _read_table(cls, nested)


def _read_table(cls: type[Any], values: Mapping[str, object]) -> dict[str, object]:
    hints = field_types(cls)
    return {key: _read(value, hints[key]) if key in hints else value for key, value in values.items()}


def _read(value: object, hint: Any) -> object:
    if isinstance(value, str):
        return read_text(value, hint)
    if isinstance(value, Mapping) and dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _read_table(hint, value)
    return value


def read_text(text: str, hint: Any) -> object:
    """`text` as the value it stands for under the annotation, or unchanged when it stands for none."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        # `none` first and text last, whatever the order of the annotation: "3" in `str | int` is 3.
        for member in sorted(arguments, key=lambda member: (member is str, member is not type(None))):
            value = read_text(text, member)
            if _fits(value, member):
                return value
    elif origin is Literal:
        return next((choice for choice in arguments if str(choice).lower() == text.lower()), text)
    elif origin is tuple:
        return _read_tuple(text, arguments)
    elif hint is type(None):
        return None if text.lower() == "none" else text
    elif hint is bool:
        return _TRUTH.get(text.lower(), text)
    elif hint is int or hint is float:
        try:
            return hint(text)
        except ValueError:
            return text
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        return next((member for member in hint if str(member.value).lower() == text.lower()), text)
    return text


def _read_tuple(text: str, items: tuple[Any, ...]) -> object:
    if not (text.startswith("[") and text.endswith("]")):
        return text
    parts = [part.strip() for part in split_commas(text[1:-1])] if text[1:-1].strip() else []
    if len(items) == 2 and items[1] is Ellipsis:
        items = (items[0],) * len(parts)
    if len(items) != len(parts):
        return tuple(parts)
    return tuple(read_text(part, item) for part, item in zip(parts, items, strict=True))


def _fits(value: object, hint: Any) -> bool:
    try:
        convert(value, hint, Place(""))
    except ConfigError:
        return False
    return True
