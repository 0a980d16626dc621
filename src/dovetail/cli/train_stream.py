"""`dovetail train stream`: SURE, or one of the networks it is compared with, learned for streaming jobs."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import read_arguments
from dovetail.cli.exit_codes import EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options_stream import StreamArguments
from dovetail.cli.train_options import PLAIN, add_learning, check_learning, check_set, training_command
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_assignments, read_overrides, split_specs

if TYPE_CHECKING:
    from dovetail.training.stream_run import Progress, StreamTrainJob, StreamTrainRun

RIVALS = "stream/ds2,stream/flink"


def configure(parser: argparse.ArgumentParser) -> None:
    from dovetail.schedulers.learned.stream.kinds import KINDS

    StreamArguments.add_setting(parser)
    learn = add_learning(parser, "half an hour to an hour")
    learn.add_argument("--network", default="sure", metavar="KIND", help=f"{', '.join(KINDS)} (sure)")
    learn.add_argument("--mix", metavar="NAME,...", help="learn from these workloads too, not only from its own")
    learn.add_argument(
        "--validate-rates", metavar="NAME|DIR", help="choose the best network by these rates (those it learns from)"
    )


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.matrix import default_workers
    from dovetail.training.stop_after import stop_after
    from dovetail.training.stream_run import StreamTrainRun, start_workers

    asked = read_arguments(StreamArguments, args, not_from_file=("seeds", "seed", "schedulers"))
    check_learning(args)
    job = _job(args, asked)
    count = args.workers or default_workers()
    command = training_command(args, asked, "network", "mix", "validate_rates", workers=count)
    train = StreamTrainRun(args.out, job, command, resume=args.resume)
    finished = False
    with closing(start_workers(job, count)) as workers:
        if train.resumed:
            note(f"going on after {_place(train)}")
        try:
            for progress in train.go_on(workers, stop_after(args.minutes)):
                _tell(train, progress)
            finished = True
        except KeyboardInterrupt:
            note(f"interrupted; the same command with --resume goes on from {args.out}")
    if train.curve:  # a first validation has chosen a network
        print(json.dumps(_as_json(train), indent=2) if args.json else _as_text(train, asked))
    return 0 if finished else EXIT_INTERRUPTED


def _job(args: argparse.Namespace, asked: StreamArguments) -> StreamTrainJob:
    from dovetail.core.config import build, to_plain
    from dovetail.evaluation.setting_stream import DRAWN
    from dovetail.schedulers.learned.stream.kinds import KINDS
    from dovetail.schedulers.learned.stream.shape import StreamShape
    from dovetail.training.stream_plan import PROFILES, StreamPlan
    from dovetail.training.stream_run import StreamTrainJob
    from dovetail.training.stream_worker import episode_of

    if args.profile not in PROFILES:
        raise UnknownName("profile", args.profile, PROFILES)
    if args.network not in KINDS:
        raise UnknownName("kind of network", args.network, KINDS)
    given = parse_assignments("--set", args.set)
    names = {one.name for one in fields(StreamShape)}
    check_set(given, {*names, *(one.name for one in fields(StreamPlan))})
    for_shape = {key: value for key, value in given.items() if key in names}
    shape = build(StreamShape, read_overrides(StreamShape, for_shape, "--set"), "--set")
    rest = {key: value for key, value in given.items() if key not in names}
    overrides = read_overrides(StreamPlan, rest, "--set")
    if args.iterations is not None:
        overrides["iterations"] = args.iterations
    plan = build(StreamPlan, {**PROFILES[args.profile], **overrides}, "--set")
    setting = asked.setting()
    if setting.windows != DRAWN:
        raise ConfigError("--windows is for judging; to learn from, windows are drawn")
    settings = (setting, *(replace(setting, workload=name) for name in split_specs(args.mix or "")))
    if args.validate_rates is None:
        validation = settings
    else:
        validation = tuple(replace(one, rates=args.validate_rates) for one in settings)
    for one in {*settings, *validation}:
        one.open().check(0)  # whatever is wrong with it, now
    for one in settings:
        episode_of(one, plan).check(0)
    return StreamTrainJob(settings, validation, args.network, shape, plan, args.seed, to_plain(asked))


def _place(train: StreamTrainRun) -> str:
    lessons, iteration = train.job.plan.lessons, train.iteration
    return f"lesson {iteration + lessons} of {lessons}" if iteration <= 0 else f"iteration {iteration}"


def _tell(train: StreamTrainRun, progress: Progress) -> None:
    figures = progress.figures
    left_s = train.elapsed_s / (progress.iteration + train.job.plan.lessons) * (progress.of - progress.iteration)
    if "regret" in figures:
        text = f"{_place(train)}: lost {figures['regret']:.4f} to hindsight"
    else:
        text = f"{_place(train)} of {progress.of}: reward {figures['reward']:.4f} while exploring"
    if "validation" in figures:
        text += f"; validation {figures['validation']:.4f}, untrained {train.untrained.mean():.4f}"
    note(f"{text}; {left_s / 60:.0f} min left")


def _as_json(train: StreamTrainRun) -> dict[str, Any]:
    return {
        "schema": 1,
        "family": "stream",
        "network": train.job.kind,
        "checkpoint": str(train.directory.checkpoint),
        "iterations": train.iteration,
        "minutes": round(train.elapsed_s / 60, 2),
        "validation": train.best,
        "validation_untrained": float(train.untrained.mean()),
    }


def _as_text(train: StreamTrainRun, asked: StreamArguments) -> str:
    path = train.directory.checkpoint
    recorded = asked.setting().open().source.rates.duration_s is not None
    where = "on rates from after those it knows, in place of LATER" if recorded else "on fresh sequences"
    rates = {"rates": "LATER"} if recorded else {}
    return (
        f"{path}.safetensors\n"
        f"  reward {train.best:.4f} on the validation sequences, {float(train.untrained.mean()):.4f} untrained\n"
        f"  compare it {where}:  {asked.command('compare stream', **PLAIN, **rates)} --schedulers "
        f"{RIVALS},stream/{train.job.kind}:checkpoint={path}"
    )
