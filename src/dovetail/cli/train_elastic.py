"""`dovetail train elastic`: prices learned for a workload, by evolution strategies."""

from __future__ import annotations

import argparse
import json
import shlex
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import read_arguments
from dovetail.cli.exit_codes import EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options_elastic import ElasticArguments
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import parse_assignments, read_overrides

if TYPE_CHECKING:
    from dovetail.training.elastic_run import ElasticTrainJob, ElasticTrainRun

RIVALS = ("elastic/oasis", "elastic/oasis-replan")
PLAIN: dict[str, Any] = {"seed": 0, "seeds": 20, "schedulers": ("all",)}


def configure(parser: argparse.ArgumentParser) -> None:
    ElasticArguments.add_setting(parser)
    learn = parser.add_argument_group("learning")
    learn.add_argument("--out", type=Path, metavar="DIR", required=True, help="where the run and its network are kept")
    learn.add_argument("--resume", action="store_true", help="go on with the run in --out")
    learn.add_argument(
        "--profile", default="full", metavar="NAME", help="quick: a few minutes; full: about an hour (full)"
    )
    learn.add_argument(
        "--mix", metavar="N,...", help="learn from sequences with so many jobs too, not only with those of the setting"
    )
    learn.add_argument("--iterations", type=int, metavar="N", help="steps of learning")
    learn.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other part of the plan")
    learn.add_argument("--minutes", type=float, metavar="M", help="stop after this time; --resume goes on")
    learn.add_argument("--seed", type=int, default=0, metavar="K", help="of everything that is drawn (0)")
    learn.add_argument("--workers", type=int, metavar="N", help="processes that play (all processors)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    from dovetail.evaluation.matrix import default_workers
    from dovetail.training.elastic_run import ElasticTrainRun, rivals, start_workers
    from dovetail.training.stop_after import stop_after

    asked = read_arguments(ElasticArguments, args, not_from_file=("seeds", "seed", "schedulers"))
    job = _job(args, asked)
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"workers is {args.workers}; expected at least 1")
    if args.minutes is not None and not args.minutes > 0:
        raise ConfigError(f"minutes is {args.minutes:g}; expected more than 0")
    train = ElasticTrainRun(args.out, job, _command(args, asked), resume=args.resume)
    finished = False
    with closing(start_workers(job, args.workers or default_workers())) as workers:
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


def _command(args: argparse.Namespace, asked: ElasticArguments) -> str:
    """What to type to make this run again."""
    words = [asked.command("train elastic", **PLAIN)]
    for name, default in (("profile", "full"), ("mix", None), ("iterations", None), ("seed", 0)):
        value = getattr(args, name)
        if value != default:
            words.append(f"--{name} {shlex.quote(str(value))}")
    words += [f"--set {shlex.quote(text)}" for text in args.set]
    return " ".join([*words, f"--out {shlex.quote(str(args.out))}"])


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
        "checkpoint": str(train.directory / "checkpoint"),
        "iterations": train.state.iteration,
        "minutes": round(train.elapsed_s / 60, 2),
        "validation_of_untrained": train.best,
        "rivals": others,
    }


def _as_text(train: ElasticTrainRun, asked: ElasticArguments) -> str:
    path = train.directory / "checkpoint"
    names = "elastic/oasis,elastic/oasis-replan"
    return (
        f"{path}.safetensors\n"
        f"  {100 * (train.best - 1):+.2f} % utility on the validation sequences against the untrained network\n"
        f"  compare it on fresh sequences:  {asked.command('compare elastic', **PLAIN)} --schedulers "
        f"{names},elastic/learned:checkpoint={path}"
    )
