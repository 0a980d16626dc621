"""`dovetail doctor`: which engines can be used on this machine, and what is missing for the others."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from dovetail import __version__
from dovetail.cli.exit_codes import EXIT_FAILED

if TYPE_CHECKING:
    from dovetail.execution.probes import Finding


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Say which engines can be used on this machine, and what to install for the others. Nothing is started. "
        "Ends with 0 if the default engine, processes of this machine, can be used."
    )
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help="only these (all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    from dovetail.core.errors import UnknownName
    from dovetail.execution.probes import DEFAULT, PROBES, probe

    for name in args.engines:
        if name not in PROBES:
            raise UnknownName("engine", name, PROBES)
    findings = {name: probe(name) for name in PROBES if not args.engines or name in args.engines}
    default = findings.get(DEFAULT) or probe(DEFAULT)
    if args.json:
        engines = [finding.to_json() for finding in findings.values()]
        print(json.dumps({"schema": 1, "dovetail": __version__, "engines": engines}, indent=2))
    else:
        print("\n".join(_as_text(finding) for finding in findings.values()))
    return 0 if default.is_usable else EXIT_FAILED


def _as_text(finding: Finding) -> str:
    state = "ready  " if finding.is_usable else "missing"
    lines = [f"{finding.engine:<6} {state}  {', '.join(finding.there)}".rstrip()]
    lines += [f"                needs {text}" for text in finding.missing]
    lines += [f"                {text}" for text in finding.notes]
    if finding.is_usable and finding.use:
        lines.append(f"                {finding.use}")
    return "\n".join(lines)
