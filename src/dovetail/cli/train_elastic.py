"""`dovetail train elastic`: prices learned for a workload, by evolution strategies."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import read_arguments
from dovetail.cli.exit_codes import EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options_elastic import ElasticArguments
from dovetail.cli.train_options import PLAIN, add_learning, check_learning, training_command
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_assignments, read_overrides

if TYPE_CHECKING:
    from dovetail.training.elastic_run import ElasticTrainJob, ElasticTrainRun

RIVALS = ("elastic/oasis", "elastic/oasis-replan")


def configure(parser: argparse.ArgumentParser) -> None:
    ElasticArguments.add_setting(parser)
    learn = add_learning(parser, "about an hour")
    learn.add_argument(
        "--mix", metavar="N,...", help="learn from sequences with so many jobs too, not only with those of the setting"
    )


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.matrix import default_workers
    from dovetail.training.elastic_run import ElasticTrainRun, rivals, start_workers
    from dovetail.training.stop_after import stop_after

    asked = read_arguments(ElasticArguments, args, not_from_file=("seeds", "seed", "schedulers"))
    job = _job(args, asked)
    check_learning(args)
    count = args.workers or default_workers()
    train = ElasticTrainRun(args.out, job, training_command(args, asked, "mix", workers=count), resume=args.resume)
    finished = False
    with closing(start_workers(job, count)) as workers:
        others = rivals(job, RIVALS)
        note("; ".join(f"{name}: {value:.1f} on the validation sequences" for name, value in others.items()))
        if train.resumed:
            note(f"going on after iteration {train.state.iteration}")
        try:
            for progress in train.go_on(workers, stop_after(args.minutes)):
                _tell(train, progress.figures)
            finished = True
        except KeyboardInterrupt:
            note(f"interrupted; the same command with --resume goes on from {args.out}")
    if train.state.iteration:
        print(json.dumps(_as_json(train, others), indent=2) if args.json else _as_text(train, asked))
    return 0 if finished else EXIT_INTERRUPTED


def _job(args: argparse.Namespace, asked: ElasticArguments) -> ElasticTrainJob:
    from dovetail.core.config import build, to_plain
    from dovetail.training.elastic_run import PROFILES, ElasticTrainJob
    from dovetail.training.evolution import EvolutionPlan

    if args.profile not in PROFILES:
        raise UnknownName("profile", args.profile, PROFILES)
    given = read_overrides(EvolutionPlan, parse_assignments("--set", args.set), "--set")
    if args.iterations is not None:
        given["iterations"] = args.iterations
    plan = build(EvolutionPlan, {**PROFILES[args.profile], **given}, "--set")
    setting = asked.setting()
    setting.open().check(0)  # whatever is wrong with it, now
    settings = (setting, *(replace(setting, jobs=jobs) for jobs in _mix(args.mix)))
    return ElasticTrainJob(settings, plan, args.seed, to_plain(asked))


def _mix(text: str | None) -> list[int]:
    if text is None:
        return []
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = [0]
    if any(jobs < 1 for jobs in found):
        raise ConfigError(f"--mix: cannot read {text!r}; expected numbers of jobs, such as 60,120")
    return found


def _tell(train: ElasticTrainRun, figures: dict[str, float]) -> None:
    done, plan = train.state.iteration, train.job.plan
    left_s = train.elapsed_s / done * (plan.iterations - done)
    text = f"iteration {done} of {plan.iterations}: utility {figures['reward']:.1f}"
    if "validation" in figures:
        text += f"; validation {100 * (figures['validation'] - 1):+.2f} % against the untrained network"
    note(f"{text}; {left_s / 60:.0f} min left")


def _as_json(train: ElasticTrainRun, others: dict[str, float]) -> dict[str, Any]:
    return {
        "schema": 1,
        "family": "elastic",
        "checkpoint": str(train.directory.checkpoint),
        "iterations": train.state.iteration,
        "minutes": round(train.elapsed_s / 60, 2),
        "validation_of_untrained": train.best,
        "rivals": others,
    }


def _as_text(train: ElasticTrainRun, asked: ElasticArguments) -> str:
    path = train.directory.checkpoint
    names = "elastic/oasis,elastic/oasis-replan"
    return (
        f"{path}.safetensors\n"
        f"  {100 * (train.best - 1):+.2f} % utility on the validation sequences against the untrained network\n"
        f"  compare it on fresh sequences:  {asked.command('compare elastic', **PLAIN)} --schedulers "
        f"{names},elastic/learned:checkpoint={path}"
    )
