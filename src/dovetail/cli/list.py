"""`dovetail list`: the registered schedulers, or the parts and learners that adaptation chooses from.

Imports none of them unless their parameters are asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from dovetail.core.config import FieldInfo, describe, to_plain
from dovetail.core.errors import MissingExtra, UnknownName
from dovetail.core.registry import Entry, Registry
from dovetail.schedulers import SCHEDULERS

Params = dict[str, list[FieldInfo] | MissingExtra]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", help="only this family, such as dag; of parts, only this verb")
    parser.add_argument("--params", action="store_true", help="also show the parameters and their defaults")
    parser.add_argument("--parts", action="store_true", help="instead, the parts and learners of dag/adaptive")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    found = _parts(args.family) if args.parts else [(SCHEDULERS, entry) for entry in SCHEDULERS.entries(args.family)]
    entries = [entry for _, entry in found]
    params = {entry.name: _params(registry, entry.name) for registry, entry in found} if args.params else None
    for registry in dict.fromkeys(registry for registry, _ in found):
        for problem in registry.problems():
            print(f"dovetail: warning: {problem}", file=sys.stderr)
    kind = "parts" if args.parts else "schedulers"
    print(_as_json(entries, params, kind) if args.json else _as_text(entries, params))
    return 0


def _parts(verb: str | None) -> list[tuple[Registry, Entry]]:
    from dovetail.adaptation.learners import LEARNERS
    from dovetail.adaptation.parts import PARTS

    found = [(registry, entry) for registry in (PARTS, LEARNERS) for entry in registry.entries()]
    verbs = dict.fromkeys(entry.family for _, entry in found)
    if verb is not None and verb not in verbs:
        raise UnknownName("verb", verb, verbs)
    return [(registry, entry) for registry, entry in found if verb in (None, entry.family)]


def _params(registry: Registry, name: str) -> list[FieldInfo] | MissingExtra:
    """Parameters, or what must be installed to see them: one such scheduler does not spoil the list."""
    try:
        params_type = registry.params_type(name)
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


def _as_json(entries: list[Entry], params: Params | None, kind: str) -> str:
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
    return json.dumps({"schema": 1, kind: rows}, indent=2)


def _field_as_json(field: FieldInfo) -> dict[str, Any]:
    row: dict[str, Any] = {"name": field.name, "type": field.type, "required": field.is_required}
    if not field.is_required:
        row["default"] = to_plain(field.default)
    return {**row, "help": field.help}
