"""`dovetail list`: the registered schedulers. Imports none of them unless their parameters are asked for."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from dovetail.core.config import FieldInfo, describe, to_plain
from dovetail.core.errors import MissingExtra
from dovetail.core.registry import Entry
from dovetail.schedulers import SCHEDULERS

Params = dict[str, list[FieldInfo] | MissingExtra]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", help="only this family, such as dag")
    parser.add_argument("--params", action="store_true", help="also show the parameters and their defaults")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    entries = SCHEDULERS.entries(args.family)
    params = {entry.name: _params(entry.name) for entry in entries} if args.params else None
    for problem in SCHEDULERS.problems():
        print(f"dovetail: warning: {problem}", file=sys.stderr)
    print(_as_json(entries, params) if args.json else _as_text(entries, params))
    return 0


def _params(name: str) -> list[FieldInfo] | MissingExtra:
    """Parameters, or what must be installed to see them: one such scheduler does not spoil the list."""
    try:
        params_type = SCHEDULERS.params_type(name)
    except MissingExtra as missing:
        return missing
    return [] if params_type is None else list(describe(params_type))


def _as_text(entries: list[Entry], params: Params | None) -> str:
    width = max(len(entry.name) for entry in entries)
    lines = []
    for entry in entries:
        lines.append(f"{entry.name:<{width}}  {entry.summary}")
        if params is not None:
            lines += [f"{'':<{width}}    {line}" for line in _params_as_text(params[entry.name])]
    return "\n".join(lines)


def _params_as_text(fields: list[FieldInfo] | MissingExtra) -> list[str]:
    if isinstance(fields, MissingExtra):
        return [f"(parameters are shown when the extra {fields.extra!r} is installed)"]
    lines = []
    for field in fields:
        default = "required" if field.is_required else f"= {_shown(field.default)}"
        help_text = f"  {field.help}" if field.help else ""
        lines.append(f"{field.name}: {field.type} {default}{help_text}")
    return lines


def _shown(default: object) -> str:
    """A default in the spelling that `name:key=value` accepts."""
    plain = to_plain(default)
    if plain is None or isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, list):
        return f"[{','.join(_shown(item) for item in plain)}]"
    return str(plain)


def _as_json(entries: list[Entry], params: Params | None) -> str:
    rows = []
    for entry in entries:
        row: dict[str, Any] = {
            "name": entry.name,
            "family": entry.family,
            "summary": entry.summary,
            "origin": entry.origin,
        }
        fields = None if params is None else params[entry.name]
        if isinstance(fields, MissingExtra):
            row["missing_extra"] = fields.extra
        elif fields is not None:
            row["params"] = [_field_as_json(field) for field in fields]
        rows.append(row)
    return json.dumps({"schema": 1, "schedulers": rows}, indent=2)


def _field_as_json(field: FieldInfo) -> dict[str, Any]:
    row: dict[str, Any] = {"name": field.name, "type": field.type, "required": field.is_required}
    if not field.is_required:
        row["default"] = to_plain(field.default)
    return {**row, "help": field.help}
