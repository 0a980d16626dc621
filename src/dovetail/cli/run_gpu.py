"""`dovetail run gpu --engine slurm`: a queue in front of Slurm, ordered and placed by any `gpu/...` scheduler."""

from __future__ import annotations

import argparse
import json
import math
import socket
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.matrix_progress import COMPILING, note
from dovetail.cli.signals import terminable
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.execution.engines.slurm.client import SlurmClient
    from dovetail.execution.engines.slurm.controller import SlurmController
    from dovetail.execution.engines.slurm.estimates import Estimates
    from dovetail.execution.engines.slurm.messages import SlurmOptions

ENGINES = ("slurm",)
DEFAULT_SCHEDULER = "gpu/fifo+first-fit"
HISTORY_DAYS = 30


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Stand in front of Slurm: say which of its waiting jobs should begin where, and why. With --act, have it done."
    )
    parser.add_argument("workload", metavar="gpu", help="(the word `gpu`)")
    parser.add_argument("--engine", default="slurm", metavar="NAME", help="slurm (slurm)")
    parser.add_argument("--scheduler", default=DEFAULT_SCHEDULER, metavar="NAME", help=f"({DEFAULT_SCHEDULER})")
    which = parser.add_argument_group("which jobs")
    which.add_argument("--partition", metavar="P", help="all jobs of this partition")
    which.add_argument("--marker", metavar="M", help="jobs with the comment M or M:..., or called M-...")
    how = parser.add_argument_group("what is done")
    how.add_argument("--act", action="store_true", help="act; without, it is only said what would be done")
    how.add_argument(
        "--release", action="store_true", help="only give back to Slurm what an earlier run on this host left behind"
    )
    how.add_argument(
        "--of",
        action="append",
        default=[],
        metavar="HOST",
        help="with --release: and what runs on HOST left behind, even if they are alive",
    )
    how.add_argument("--interval", type=float, default=5.0, metavar="S", help="seconds between two looks (5)")
    how.add_argument("--once", action="store_true", help="look once")
    how.add_argument("--for", dest="for_s", type=float, metavar="S", help="end after so many seconds (never)")
    how.add_argument(
        "--lease", type=float, default=120.0, metavar="S", help="a job nobody looks after is Slurm's after this (120)"
    )
    how.add_argument(
        "--patience", type=float, default=120.0, metavar="S", help="for a job to begin where it was told to (120)"
    )
    how.add_argument("--nice", type=int, metavar="N", help="niceness of jobs that may begin (as it is)")
    know = parser.add_argument_group("what is known")
    know.add_argument("--history", type=Path, metavar="FILE", help="of jobcomp/filetxt, to estimate times from")
    know.add_argument("--speeds", type=Path, metavar="FILE", help="of kinds of training, measured or fitted (shipped)")
    know.add_argument("--untyped", default="V100", metavar="TYPE", help="GPUs whose type Slurm does not know (V100)")
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of everything the scheduler draws (0)")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of text")
    parser.add_argument("--out", type=Path, metavar="DIR", help="append the JSON lines to a file there, too")


def run(args: argparse.Namespace) -> int:
    from dovetail.execution.engines.slurm.client import SlurmClient
    from dovetail.execution.engines.slurm.loop import GUARDIAN_LOG, Notes, SlurmLoop
    from dovetail.execution.engines.slurm.trace import this_owner

    if args.engine not in ENGINES:
        raise UnknownName("engine", args.engine, ENGINES)
    _check(args)
    if args.release:
        return _release(SlurmClient(), args.of)
    options = _options(args)
    owner = this_owner(socket.gethostname())
    controller = _controller(args, options, owner)
    told = 0 if args.history is None else _read_history(args.history, controller.estimates)
    client = SlurmClient()
    version = client.check()
    _check_partition(args.partition, client)
    _rehearse(args.scheduler)
    _learn(client, controller, told)
    notes = Notes(lambda line, text: _print(args.json, line, text), args.out)
    notes.open()
    doing = "acting" if options.act else "shadow mode, nothing is touched (--act acts)"
    scope = f"partition {options.partition}" if options.partition else f"jobs marked {options.marker}"
    note(f"{version}, {scope}, {args.scheduler}: {doing}; Ctrl-C ends it")
    log = None if args.out is None else args.out / GUARDIAN_LOG
    loop = SlurmLoop(client, controller, options, owner, notes, log)
    try:
        with terminable():
            loop.run(args.interval, math.inf if args.for_s is None else time.monotonic() + args.for_s, args.once)
    finally:
        counts = dict(sorted(notes.counts.items()))
        text = ", ".join(f"{event} {many}" for event, many in counts.items()) or "nothing happened"
        _print(args.json, {"event": "summary", "counts": counts}, text)
        notes.close()
    return 0


def _check(args: argparse.Namespace) -> None:
    if not 0.1 <= args.interval <= 3600.0:
        raise ConfigError(f"--interval {args.interval:g}; expected 0.1 to 3600 seconds")
    if args.for_s is not None and not 0.0 < args.for_s < math.inf:
        raise ConfigError(f"--for {args.for_s:g}; expected seconds above 0")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}; expected 0 or more")
    if args.release and args.act:
        raise ConfigError("--release only gives jobs back, and --act takes some; expected one of them")
    if args.release:
        return
    if args.of:
        raise ConfigError(f"--of {args.of[0]} says whose jobs --release gives back; expected --release with it")
    if (args.partition is None) == (args.marker is None):
        raise ConfigError("expected either --partition P or --marker M: which jobs may be touched")
    if args.interval > args.lease / 3:
        raise ConfigError(
            f"--interval {args.interval:g} is too long for --lease {args.lease:g}; expected a third at most"
        )


def _check_partition(name: str | None, client: SlurmClient) -> None:
    if name is None:
        return
    there = {partition for node in client.nodes() for partition in node.partitions}
    if name not in there:
        known = f"expected one of {', '.join(sorted(there))}" if there else "no node is in any"
        raise ConfigError(f"--partition {name}: no node of this Slurm is in such a partition; {known}")


def _options(args: argparse.Namespace) -> SlurmOptions:
    from dovetail.execution.engines.slurm.cluster import known_type
    from dovetail.execution.engines.slurm.messages import SlurmOptions
    from dovetail.execution.engines.slurm.trace import MARKER

    try:
        known_type(args.untyped)
    except UnknownName as error:
        raise ConfigError(f"--untyped: {error}") from error
    return SlurmOptions(
        partition=args.partition,
        marker=MARKER if args.marker is None else args.marker,
        act=args.act,
        lease_s=args.lease,
        patience_s=args.patience,
        nice=args.nice,
        untyped=args.untyped,
    )


def _controller(args: argparse.Namespace, options: SlurmOptions, owner: str) -> SlurmController:
    from dovetail.cluster.gpu_speed import default_speeds
    from dovetail.cluster.gpu_speed_file import read_speeds
    from dovetail.core.seeds import SeedTree
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.engines.slurm.cluster import Kinds
    from dovetail.execution.engines.slurm.controller import SlurmController

    contender = Contender.of(args.scheduler, "gpu")
    kinds = Kinds.of(default_speeds() if args.speeds is None else read_speeds(args.speeds))
    chance = SeedTree(args.seed).child("scheduler", contender.name)
    return SlurmController(contender.create(), chance.generator(), options, owner, kinds)


def _rehearse(spec: str) -> None:
    """What has to be compiled is compiled before anybody's job depends on it; another of its kind decides then."""
    from dovetail.evaluation.contenders import OTHER, Contender
    from dovetail.evaluation.warm_up import after_patience
    from dovetail.execution.engines.slurm.rehearsal import rehearse

    contender = Contender.of(spec, "gpu")
    if contender.kind == OTHER:  # not ours to call more often than was asked for
        return
    with after_patience(lambda: note(COMPILING)), suppress(Exception):  # whatever is wrong comes up again
        rehearse(contender.create())


def _learn(client: SlurmClient, controller: SlurmController, told: int) -> None:
    """How long jobs took, from accounting where there is any; `told`: how many a file has told of."""
    past = client.history(HISTORY_DAYS)
    known = told + (0 if past is None else controller.estimates.read_sacct(past))
    where = "accounting is off here" if past is None else f"sacct, {HISTORY_DAYS} days"
    note(f"{known} completed jobs say how long jobs take ({where}); without, a job's time limit does")


def _read_history(file: Path, estimates: Estimates) -> int:
    """How many jobs it says something of; a line that nobody understands may be one, all of them are another file."""
    from dovetail.execution.engines.slurm.estimates import COMPLETION_FORM

    try:
        found = estimates.read_completions(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise ConfigError(f"--history {file}: cannot be read ({error.strerror or error})") from error
    first = f"line {found.odd_line} is {found.odd_text!r}; expected lines of jobcomp/filetxt: {COMPLETION_FORM}"
    if found.odd and not found.jobs:
        raise ConfigError(f"--history {file}: no line is about a job: {first}")
    if found.odd:
        note(f"--history {file}: {found.odd} of {found.odd + found.jobs} lines are not about a job: {first}")
    return found.known


def _release(client: SlurmClient, hosts: list[str]) -> int:
    """Who lives is only known of this host; of others, whoever names them answers for it."""
    from dovetail.execution.engines.slurm.guardian import give_back, is_looked_after
    from dovetail.execution.engines.slurm.trace import host_of, is_dead, trace_of

    client.check()
    here = socket.gethostname()
    named = set(hosts) - {here}
    given, left = give_back(client, lambda owner: is_dead(owner, here) or host_of(owner) in named)
    print(f"{given} jobs were given back to Slurm, {left} run where they were told to")
    found = ((job, trace_of(job)) for job in client.jobs())
    others = Counter(host_of(trace.owner) for job, trace in found if trace is not None and is_looked_after(job, trace))
    for host, many in sorted(others.items()):
        if host != here and host not in named:
            print(f"{many} jobs are left to a run on {host}; if none is alive there: --release --of {host}")
    return 0


def _print(as_json: bool, line: dict[str, Any], text: str) -> None:
    print(json.dumps(line) if as_json else f"{time.strftime('%H:%M:%S')}  {text}", flush=True)
