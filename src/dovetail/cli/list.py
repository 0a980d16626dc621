"""`dovetail list`: the registered schedulers, or the parts that they are put together from, and learners.

Imports none of them unless their parameters are asked for.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, NamedTuple

from dovetail.core.config import FieldInfo, describe, to_plain
from dovetail.core.errors import MissingExtra, UnknownName
from dovetail.core.registry import Entry, Registry
from dovetail.schedulers import SCHEDULERS

Params = dict[str, list[FieldInfo] | MissingExtra]


class Row(NamedTuple):
    """An entry, and the name it is listed under."""

    name: str
    registry: Registry
    entry: Entry


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", nargs="?", help="only this family, such as dag; of parts, only this family or verb")
    parser.add_argument("--params", action="store_true", help="also show the parameters and their defaults")
    parser.add_argument("--parts", action="store_true", help="instead, what schedulers are put together from")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    if args.parts:
        rows = _parts(args.family)
    else:
        rows = [Row(entry.name, SCHEDULERS, entry) for entry in SCHEDULERS.entries(args.family)]
    params = {row.name: _params(row.registry, row.entry.name) for row in rows} if args.params else None
    for registry in dict.fromkeys(row.registry for row in rows):
        for problem in registry.problems():
            print(f"dovetail: warning: {problem}", file=sys.stderr)
    kind = "parts" if args.parts else "schedulers"
    print(_as_json(rows, params, kind) if args.json else _as_text(rows, params))
    return 0


def _parts(wanted: str | None) -> list[Row]:
    """Those of a family are named with it, but for the parts of dag and the learners, which were there first."""
    from dovetail.adaptation.learners import LEARNERS
    from dovetail.adaptation.parts import PARTS
    from dovetail.schedulers.gpu_parts import GPU_PARTS

    rows = [Row(entry.name, registry, entry) for registry in (PARTS, LEARNERS) for entry in registry.entries()]
    families = {"dag": rows, "gpu": [Row(f"gpu/{entry.name}", GPU_PARTS, entry) for entry in GPU_PARTS.entries()]}
    found = [row for of_family in families.values() for row in of_family]
    verbs = dict.fromkeys(row.entry.family for row in found)
    if wanted in families:
        return families[wanted]
    if wanted is not None and wanted not in verbs:
        raise UnknownName("family or verb", wanted, [*families, *verbs])
    return [row for row in found if wanted in (None, row.entry.family)]


def _params(registry: Registry, name: str) -> list[FieldInfo] | MissingExtra:
    """Parameters, or what must be installed to see them: one such scheduler does not spoil the list."""
    try:
        params_type = registry.params_type(name)
    except MissingExtra as missing:
        return missing
    return [] if params_type is None else list(describe(params_type))


def _as_text(rows: list[Row], params: Params | None) -> str:
    width = max(len(row.name) for row in rows)
    lines = []
    for row in rows:
        lines.append(f"{row.name:<{width}}  {row.entry.summary}")
        if params is not None:
            lines += [f"{'':<{width}}    {line}" for line in _params_as_text(params[row.name])]
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


def _as_json(rows: list[Row], params: Params | None, kind: str) -> str:
    documents = []
    for row in rows:
        document: dict[str, Any] = {
            "name": row.name,
            "family": row.entry.family,
            "summary": row.entry.summary,
            "origin": row.entry.origin,
        }
        fields = None if params is None else params[row.name]
        if isinstance(fields, MissingExtra):
            document["missing_extra"] = fields.extra
        elif fields is not None:
            document["params"] = [_field_as_json(field) for field in fields]
        documents.append(document)
    return json.dumps({"schema": 1, kind: documents}, indent=2)


def _field_as_json(field: FieldInfo) -> dict[str, Any]:
    row: dict[str, Any] = {"name": field.name, "type": field.type, "required": field.is_required}
    if not field.is_required:
        row["default"] = to_plain(field.default)
    return {**row, "help": field.help}
