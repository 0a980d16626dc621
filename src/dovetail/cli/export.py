"""`dovetail export`: records in another tool's format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="records, as `--out` of other commands made them")
    parser.add_argument(
        "--perfetto",
        type=Path,
        metavar="FILE",
        required=True,
        help="write a trace that ui.perfetto.dev opens; compressed if the name ends in .gz",
    )
    parser.add_argument(
        "--run",
        action="append",
        metavar="RUN",
        help="only this run; may be given again (default: all kept in full)",
    )


def run(args: argparse.Namespace) -> int:
    from dovetail.core.errors import RecordError
    from dovetail.records import read_records
    from dovetail.records.perfetto import write_perfetto

    records = read_records(args.directory)
    if not records.runs:
        raise RecordError(f"{args.directory}: no run was kept in full, so there is nothing to export")
    chosen = [records.find(run=name) for name in args.run] if args.run else list(records.runs)
    runs = ((records.summary.label(entry.entry), records.run(entry.run)) for entry in chosen)
    events = write_perfetto(runs, args.perfetto)
    print(args.perfetto)
    print(f"dovetail: {events:,} events; open the file at https://ui.perfetto.dev", file=sys.stderr)
    return 0
