"""`dovetail explain`: why a job waited, from the decisions and reasons recorded."""

from __future__ import annotations

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="records, as `--out` of other commands made them")
    parser.add_argument("--job", required=True, metavar="J", help="the job's number, or its name")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", metavar="RUN", help="the run, by its name (needed if there are several)")
    which.add_argument("--scheduler", metavar="NAME", help="the run, by its scheduler")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    import json

    from dovetail.evaluation.family import family_named
    from dovetail.records import read_records

    records = read_records(args.directory)
    recorded, job = records.find_with_job(args.job, run=args.run, scheduler=args.scheduler)
    family = family_named(records.family)
    print(json.dumps(family.explain_json(recorded, job), indent=2) if args.json else family.explain_text(recorded, job))
    return 0
