"""`dovetail submit`: a job file to a running engine."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.cli.engine_options import add_address, open_client
from dovetail.cli.exit_codes import EXIT_FAILED
from dovetail.cli.matrix_progress import note

if TYPE_CHECKING:
    from dovetail.execution.handle import JobHandle


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_file", type=Path, metavar="JOBFILE", help="a job in TOML")
    parser.add_argument("--wait", action="store_true", help="until the job has ended; exit with 1 if it failed")
    parser.add_argument("--results", metavar="STAGE", help="wait, then print what the tasks of that stage returned")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_address(parser)


def run(args: argparse.Namespace) -> int:
    from dovetail.core.errors import UnknownName
    from dovetail.execution.handle import submit
    from dovetail.execution.job_file import load_job

    job = load_job(args.job_file)
    names = [stage.name for stage in job.stages]
    if args.results is not None and args.results not in names:
        raise UnknownName("stage", args.results, names)
    with open_client(args) as client:
        handle = submit(client, job)
        if not args.wait and args.results is None:
            print(json.dumps({"job": handle.job}) if args.json else handle.job)
            return 0
        note(f"job {handle.job}; it goes on if this command is interrupted")
        return _wait(handle, args)


def _wait(handle: JobHandle, args: argparse.Namespace) -> int:
    from dovetail.execution.errors import JobCancelled, JobFailed

    try:
        status = handle.wait()
    except (JobCancelled, JobFailed) as error:
        print(f"dovetail: {error}", file=sys.stderr)
        return EXIT_FAILED
    if args.results is None:
        print(json.dumps(status.to_json()) if args.json else handle.job)
        return 0
    for result in handle.iterate(args.results):
        text = result if isinstance(result, str) else repr(result)
        # What commands print ends its last line by itself.
        print(json.dumps(result, default=repr) if args.json else text.removesuffix("\n"))
    return 0
