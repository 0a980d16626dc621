"""`dovetail train gpu`: the two agents of DAS learned for a workload."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import read_arguments
from dovetail.cli.exit_codes import EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options_gpu import GpuArguments
from dovetail.cli.train_options import PLAIN, add_learning, check_learning, check_set, training_command
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_assignments, read_overrides, split_specs

if TYPE_CHECKING:
    from dovetail.training.das_run import DasTrainJob, DasTrainRun, Progress

RIVALS = "gpu/fifo+first-fit,gpu/srtf+topology"


def configure(parser: argparse.ArgumentParser) -> None:
    GpuArguments.add_setting(parser)
    learn = add_learning(parser, "about twenty minutes")
    learn.add_argument("--mix", metavar="NAME,...", help="learn from these workloads too, not only from its own")
    learn.add_argument(
        "--start",
        metavar="NAME|PATH",
        help="go on from this network, with its parts or others (--set aware=false): a bundled one, or a checkpoint",
    )


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.matrix import default_workers
    from dovetail.training.das_run import DasTrainRun, start_workers
    from dovetail.training.stop_after import stop_after

    asked = read_arguments(GpuArguments, args, not_from_file=("seeds", "seed", "schedulers"))
    check_learning(args)
    job = _job(args, asked)
    count = args.workers or default_workers()
    command = training_command(args, asked, "mix", "start", workers=count)
    train = DasTrainRun(args.out, job, command, resume=args.resume)
    finished = False
    with closing(start_workers(job, count)) as workers:
        if train.resumed:
            note(f"going on after iteration {train.iteration}")
        try:
            for progress in train.go_on(workers, stop_after(args.minutes)):
                _tell(train, progress)
            finished = True
        except KeyboardInterrupt:
            note(f"interrupted; the same command with --resume goes on from {args.out}")
    if train.curve:
        print(json.dumps(_as_json(train), indent=2) if args.json else _as_text(train, asked))
    return 0 if finished else EXIT_INTERRUPTED


def _job(args: argparse.Namespace, asked: GpuArguments) -> DasTrainJob:
    from dovetail.core.config import build, to_plain
    from dovetail.schedulers.learned.das.scheduler import load_network
    from dovetail.schedulers.learned.das.shape import PARTS, DasShape
    from dovetail.training.das_plan import DasPlan
    from dovetail.training.das_run import PROFILES, DasTrainJob

    if args.profile not in PROFILES:
        raise UnknownName("profile", args.profile, PROFILES)
    given = parse_assignments("--set", args.set)
    names = {one.name for one in fields(DasShape)} - {"kinds"}
    check_set(given, {*names, *(one.name for one in fields(DasPlan))})
    if args.start == "":
        raise ConfigError("--start is empty; expected the name of a bundled network, or a checkpoint")
    start = load_network(args.start) if args.start else None
    sizes = sorted(names & set(given) - set(PARTS))
    if start is not None and sizes:
        raise ConfigError(f"--start: the network has its shape, but for {', '.join(PARTS)}; leave out --set {sizes[0]}")
    of_shape = read_overrides(DasShape, {k: v for k, v in given.items() if k in names}, "--set")
    shape = build(DasShape, {**(asdict(start.shape) if start else {}), **of_shape}, "--set")
    rest = read_overrides(DasPlan, {k: v for k, v in given.items() if k not in names}, "--set")
    if args.iterations is not None:
        rest["iterations"] = args.iterations
    plan = build(DasPlan, {**PROFILES[args.profile], **rest}, "--set")
    if start is not None and "neighbours" in given and plan.neighbours:
        raise ConfigError("--start: the network knows its neighbours; leave out --set neighbours")
    setting = asked.setting()
    settings = (setting, *(replace(setting, workload=name) for name in split_specs(args.mix or "")))
    kinds: dict[str, None] = {}
    for one in settings:
        opened = one.open()
        opened.check(0)  # whatever is wrong with it, now
        if opened.is_one_sequence:
            note(
                f"{one.workload}: the whole record is one sequence of {opened.jobs} jobs, the same for every seed: "
                "what is learned is that sequence, and validation is on it too; --arrivals poisson --jobs N --load L "
                "draws others from it, a smaller --jobs takes windows of it"
            )
        kinds |= dict.fromkeys(opened.sequence(0).kind_name)
    if not shape.aware and not plan.warm_up and (start is None or start.shape.aware):
        note(
            "warm_up=0 with aware=false: nobody tells the network what the rules no longer see, so jobs may never start"
        )
    if plan.neighbours and start is None:
        shape = replace(shape, kinds=tuple(kinds))
    if args.mix and (asked.machines is not None or asked.cluster is not None):
        raise ConfigError("--mix takes workloads with clusters of their own; leave out --machines and --cluster")
    return DasTrainJob(settings, shape, plan, args.seed, to_plain(asked), args.start or "")


def _tell(train: DasTrainRun, progress: Progress) -> None:
    plan, figures = train.job.plan, progress.figures
    if progress.prepared:
        note(progress.prepared)
        return
    left_s = train.elapsed_s / (train.iteration + plan.rules) * (plan.iterations - train.iteration)
    text = f"iteration {train.iteration} of {plan.iterations}: JCT {figures['jct_s']:,.0f} s, fee {figures['fee']:.2f}"
    if "validation" in figures:
        jct, fee = (100 * (figures[f"validation_{name}"] - 1) for name in ("jct", "fee"))
        text += f"; validation JCT {jct:+.2f} %, fee {fee:+.2f} % against the untrained network"
    note(f"{text}; {left_s / 60:.0f} min left")


def _as_json(train: DasTrainRun) -> dict[str, Any]:
    return {
        "schema": 1,
        "family": "gpu",
        "checkpoint": str(train.directory.checkpoint),
        "iterations": train.iteration,
        "minutes": round(train.elapsed_s / 60, 2),
        "validation_of_untrained": train.best,
    }


def _as_text(train: DasTrainRun, asked: GpuArguments) -> str:
    path = train.directory.checkpoint
    return (
        f"{path}.safetensors\n"
        f"  {100 * (train.best - 1):+.2f} % cost on the validation sequences against the untrained network\n"
        f"  compare it on fresh sequences:  {asked.command('compare gpu', **PLAIN)} --schedulers "
        f"{RIVALS},gpu/das:checkpoint={path}"
    )
