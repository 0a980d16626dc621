"""`dovetail train dag`: a graph network learned for a workload."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.arguments import read_arguments
from dovetail.cli.exit_codes import EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options_dag import DagArguments, add_setting
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.training.dag_run import Rival, TrainJob, TrainRun
    from dovetail.training.dag_trainer import Progress
    from dovetail.training.workers import Workers


def configure(parser: argparse.ArgumentParser) -> None:
    add_setting(parser)
    learn = parser.add_argument_group("learning")
    learn.add_argument("--out", type=Path, metavar="DIR", required=True, help="where the run and its network are kept")
    learn.add_argument("--resume", action="store_true", help="go on with the run in --out")
    learn.add_argument(
        "--profile", default="full", metavar="NAME", help="quick: a few minutes; full: half an hour and more (full)"
    )
    learn.add_argument("--objective", default="average-jct", metavar="NAME", help="what to keep small (average-jct)")
    learn.add_argument(
        "--shape",
        metavar="NAME",
        help="the network: informed, classes, paper, no-graph, no-limits (classes if executors differ, or informed)",
    )
    learn.add_argument("--algorithm", metavar="NAME", help="search, ppo or reinforce (search)")
    learn.add_argument("--iterations", type=int, metavar="N", help="after the lessons of imitation")
    learn.add_argument(
        "--teacher", metavar="NAME", help="scheduler to imitate first; none: start from nothing (the best heuristic)"
    )
    learn.add_argument("--from", dest="start", metavar="NAME|FILE", help="start from this network, and its shape")
    learn.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other part of the plan")
    learn.add_argument("--minutes", type=float, metavar="M", help="stop after this time; --resume goes on")
    learn.add_argument("--seed", type=int, default=0, metavar="K", help="of everything that is drawn (0)")
    learn.add_argument(
        "--workers", type=int, metavar="N", help="that play; with the seed they decide a run (all processors)"
    )
    learn.add_argument(
        "--rollouts", default="processes", metavar="KIND", help="where the workers are: processes or ray (processes)"
    )
    learn.add_argument(
        "--address", metavar="HOST:PORT", help="Ray cluster to join, or auto; without: Ray is started on this machine"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    from dovetail.core.extras import require

    require("torch", "`dovetail train`")
    from dovetail.schedulers.learned.decima.scheduler import find_checkpoint
    from dovetail.training.dag_run import ROLLOUTS, TrainRun, best_heuristic, start_workers
    from dovetail.training.stop_after import stop_after

    asked = read_arguments(DagArguments, args, not_from_file=("seeds", "seed", "schedulers"))
    job = _job(args, asked)
    if args.workers is not None and args.workers < 1:
        raise ConfigError(f"workers is {args.workers}; expected at least 1")
    if args.rollouts not in ROLLOUTS:
        raise UnknownName("kind of --rollouts", args.rollouts, ROLLOUTS)
    if args.address is not None and args.rollouts != "ray":
        raise ConfigError("--address is of a Ray cluster; it needs --rollouts ray")
    if args.minutes is not None and not args.minutes > 0:
        raise ConfigError(f"minutes is {args.minutes:g}; expected more than 0")
    start = None if args.start is None else find_checkpoint(args.start)
    train = TrainRun(args.out, job, _command(args, asked), resume=args.resume, start=start)
    finished = False
    # Ray prints its complaints on standard output, which carries only results.
    with redirect_stdout(sys.stderr), closing(start_workers(job, args.workers, args.rollouts, args.address)) as workers:
        if args.workers is not None and workers.count < args.workers:
            note(f"{workers.count} of {args.workers} workers so far; the others join when there is room for them")
        note("the heuristics on the validation sequences ...")
        rival = best_heuristic(job.setting, job.plan)
        note(f"the best is {rival.name}: average JCT {rival.jct_s:.1f} s")
        if train.resumed:
            note(f"going on after lesson {train.state.lesson} and iteration {train.state.iteration}")
        try:
            _follow(train, workers, rival, stop_after(args.minutes))
            finished = True
        except KeyboardInterrupt:
            note(f"interrupted; the same command with --resume goes on from {args.out}")
    if train.state.best_weights is not None:
        if args.json:
            print(json.dumps(_as_json(train, rival, workers.lost), indent=2))
        else:
            print(_as_text(train, rival, asked, workers.lost))
    return 0 if finished else EXIT_INTERRUPTED


def _job(args: argparse.Namespace, asked: DagArguments) -> TrainJob:
    from dovetail.core.config import build, to_plain
    from dovetail.core.spec import parse_assignments, read_overrides
    from dovetail.schedulers import SCHEDULERS
    from dovetail.schedulers.learned.decima.checkpoint import load_checkpoint
    from dovetail.schedulers.learned.decima.scheduler import find_checkpoint
    from dovetail.schedulers.learned.decima.shape import named_shape
    from dovetail.sim.dag.objective import objective
    from dovetail.training.dag_checks import check_objective
    from dovetail.training.dag_run import TrainJob
    from dovetail.training.dag_search import POLICY, TEACHER, search_base
    from dovetail.training.dag_trainer import BEST, PROFILES, TrainPlan
    from dovetail.training.dag_worker import Setting

    setting = asked.setting()
    if args.profile not in PROFILES:
        raise UnknownName("profile", args.profile, PROFILES)
    overrides = parse_assignments("--set", args.set)
    for key in ("jobs", "seed"):
        if key in overrides:
            raise ConfigError(f"--set {key}={overrides[key]}: use --{key} {overrides[key]}")
    plan = build(TrainPlan, {**PROFILES[args.profile], **read_overrides(TrainPlan, overrides, "--set")}, "--set")
    given: dict[str, Any] = {"algorithm": args.algorithm, "iterations": args.iterations, "seed": args.seed}
    if args.teacher is not None:
        given["teacher"] = None if args.teacher == "none" else args.teacher
        if given["teacher"] is None:
            given["lessons"] = 0
    if args.start is not None:
        given["lessons"] = 0
    plan = replace(plan, jobs=asked.jobs, **{key: value for key, value in given.items() if value is not None})
    if plan.teacher not in (None, BEST):
        SCHEDULERS.create(plan.teacher)
    base = plan.teacher if plan.search.base == TEACHER else plan.search.base
    if plan.algorithm == "search" and base not in (None, BEST, POLICY):
        search_base(base)
    trained_for = Setting(setting.workload, setting.arrivals, setting.options, objective(args.objective))
    check_objective(trained_for)
    if args.shape is not None:
        shape = named_shape(args.shape)
    elif args.start is not None:
        shape = load_checkpoint(find_checkpoint(args.start)).shape
    else:
        shape = named_shape("classes" if len(setting.options.classes) > 1 else "informed")
    return TrainJob(trained_for, shape, plan, to_plain(asked))


def _command(args: argparse.Namespace, asked: DagArguments) -> str:
    """What to type to make this run again."""
    words = [asked.command("train dag", seed=0, seeds=20, schedulers=("all",))]
    for name, default in (
        ("profile", "full"),
        ("objective", "average-jct"),
        ("shape", None),
        ("algorithm", None),
        ("iterations", None),
        ("teacher", None),
        ("start", None),
        ("seed", 0),
        ("workers", None),
    ):
        value = getattr(args, name)
        if value != default:
            words.append(f"--{'from' if name == 'start' else name} {shlex.quote(str(value))}")
    words += [f"--set {shlex.quote(text)}" for text in args.set]
    return " ".join([*words, f"--out {shlex.quote(str(args.out))}"])


def _follow(train: TrainRun, workers: Workers, rival: Rival, until: Callable[[], bool]) -> None:
    lost = 0
    for progress in train.go_on(workers, rival, until):
        _tell(progress, train, rival)
        if workers.lost > lost:
            lost = workers.lost
            note(f"{_lost(lost)} so far; {workers.count} at work, others join when there is room for them")


def _tell(progress: Progress, train: TrainRun, rival: Rival) -> None:
    figures, state, plan = progress.figures, train.state, train.job.plan
    done = state.lesson + state.iteration
    left_s = state.elapsed_s / max(done, 1) * (plan.lessons * (plan.teacher is not None) + plan.iterations - done)
    speed = figures["decisions"] / max(figures.get("collect_s", 0.0) + figures.get("learn_s", 0.0), 1e-9)
    text = f"{progress.phase} {progress.number} of {progress.of}"
    if "nobody_answered" in figures:
        text += ": every worker was lost, so it counts for nothing"
    if "collect_s" in figures and "learn_s" in figures:
        spent = f"{figures['collect_s']:.1f} s playing, {figures['learn_s']:.1f} s learning"
        text += f": {speed:,.0f} decisions/s ({spent})"
    if "validation_jct_s" in figures:
        gain = 100 * (figures["validation_cost"] / rival.cost - 1)
        text += f"; validation {figures['validation_jct_s']:.1f} s, {gain:+.1f} % against {rival.name}"
    note(f"{text}; {_minutes(left_s)} left")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _lost(workers: int) -> str:
    return f"{workers} worker{' was' if workers == 1 else 's were'} lost"


def _as_json(train: TrainRun, rival: Rival, lost: int) -> dict[str, Any]:
    state = train.state
    return {
        "schema": 1,
        "family": "dag",
        "checkpoint": str(train.directory / "checkpoint"),
        "lessons": state.lesson,
        "iterations": state.iteration,
        "decisions": state.decisions,
        "minutes": round(state.elapsed_s / 60, 2),
        "workers_lost": lost,
        "validation": min(state.curve, key=lambda point: point["validation_cost"]),
        "best_heuristic": {"scheduler": rival.name, "avg_jct_s": rival.jct_s, "cost": rival.cost},
        "vs_best_heuristic_pct": 100 * (state.best / rival.cost - 1),
    }


def _as_text(train: TrainRun, rival: Rival, asked: DagArguments, lost: int) -> str:
    best = min(train.state.curve, key=lambda point: point["validation_cost"])
    gain = 100 * (train.state.best / rival.cost - 1)
    spec = f"dag/decima:checkpoint={train.directory / 'checkpoint'}"
    plain: dict[str, Any] = {"seed": 0, "seeds": 20, "schedulers": ("all",)}
    return (
        f"{train.directory / 'checkpoint'}.safetensors\n"
        f"  average JCT {best['validation_jct_s']:.1f} s on the validation sequences; {rival.name}: "
        f"{rival.jct_s:.1f} s ({gain:+.1f} % of the objective)\n"
        + (f"  {_lost(lost)}; what they had played was left out\n" if lost else "")
        + f"  compare it on fresh sequences:  {asked.command('compare dag', **plain)} --schedulers all,{spec}"
    )
