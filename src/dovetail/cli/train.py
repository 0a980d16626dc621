"""`dovetail train`: a scheduler learned for a workload."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.dag_options import DagArguments, add_family, add_setting, read_arguments
from dovetail.cli.matrix_progress import note
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.training.dag_run import Rival, TrainJob, TrainRun
    from dovetail.training.dag_trainer import Progress

EXIT_INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    add_family(parser)
    add_setting(parser)
    learn = parser.add_argument_group("learning")
    learn.add_argument("--out", type=Path, metavar="DIR", required=True, help="where the run and its network are kept")
    learn.add_argument("--resume", action="store_true", help="go on with the run in --out")
    learn.add_argument("--profile", default="full", metavar="NAME", help="quick: minutes; full: what we publish (full)")
    learn.add_argument("--objective", default="average-jct", metavar="NAME", help="what to keep small (average-jct)")
    learn.add_argument("--shape", default="informed", metavar="NAME", help="the network: informed or paper (informed)")
    learn.add_argument("--algorithm", metavar="NAME", help="search, ppo or reinforce (search)")
    learn.add_argument("--iterations", type=int, metavar="N", help="after the lessons of imitation")
    learn.add_argument("--teacher", metavar="NAME", help="scheduler to imitate first; none: start from nothing")
    learn.add_argument("--from", dest="start", type=Path, metavar="FILE", help="start from this checkpoint")
    learn.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any other part of the plan")
    learn.add_argument("--minutes", type=float, metavar="M", help="stop after this time; --resume goes on")
    learn.add_argument("--seed", type=int, default=0, metavar="K", help="of everything that is drawn (0)")
    learn.add_argument(
        "--workers", type=int, metavar="N", help="processes; 1: in this one, repeatable (all processors)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    from dovetail.core.extras import require

    require("torch", "`dovetail train`")
    from dovetail.training.dag_run import TrainRun, best_heuristic, default_workers, start_workers, stop_after

    asked = read_arguments(args, not_from_file=("seeds", "seed", "schedulers"))
    job = _job(args, asked)
    workers_wanted = default_workers() if args.workers is None else args.workers
    if workers_wanted < 1:
        raise ConfigError(f"workers is {workers_wanted}; expected at least 1")
    if args.minutes is not None and not args.minutes > 0:
        raise ConfigError(f"minutes is {args.minutes:g}; expected more than 0")
    train = TrainRun(args.out, job, _command(args, asked), resume=args.resume, start=args.start)
    note("the heuristics on the validation sequences ...")
    rival = best_heuristic(job.setting, job.plan)
    note(f"the best is {rival.name}: average JCT {rival.jct_s:.1f} s")
    if train.resumed:
        note(f"going on after lesson {train.state.lesson} and iteration {train.state.iteration}")
    workers = start_workers(job, workers_wanted)
    finished = False
    try:
        for progress in train.go_on(workers, rival, stop_after(args.minutes)):
            _tell(progress, train, rival)
        finished = True
    except KeyboardInterrupt:
        note(f"interrupted; the same command with --resume goes on from {args.out}")
    finally:
        workers.close()
    if train.state.best_weights is not None:
        print(json.dumps(_as_json(train, rival), indent=2) if args.json else _as_text(train, rival, asked))
    return 0 if finished else EXIT_INTERRUPTED


def _job(args: argparse.Namespace, asked: DagArguments) -> TrainJob:
    from dovetail.core.config import build, to_plain
    from dovetail.core.spec import read_overrides
    from dovetail.schedulers import SCHEDULERS
    from dovetail.schedulers.learned.decima.shape import named_shape
    from dovetail.sim.dag.objective import objective
    from dovetail.training.dag_run import TrainJob
    from dovetail.training.dag_trainer import PROFILES, TrainPlan
    from dovetail.training.dag_worker import Setting

    setting = asked.setting()
    if args.profile not in PROFILES:
        raise UnknownName("profile", args.profile, PROFILES)
    overrides = {}
    for text in args.set:
        key, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"--set {text}: expected KEY=VALUE")
        overrides[key] = value
    plan = build(TrainPlan, {**PROFILES[args.profile], **read_overrides(TrainPlan, overrides, "--set")}, "--set")
    given: dict[str, Any] = {"algorithm": args.algorithm, "iterations": args.iterations, "seed": args.seed}
    if args.teacher is not None:
        given["teacher"] = None if args.teacher == "none" else args.teacher
        if given["teacher"] is None:
            given["lessons"] = 0
    if args.start is not None:
        given["lessons"] = 0
    plan = replace(plan, jobs=asked.jobs, **{key: value for key, value in given.items() if value is not None})
    if plan.teacher is not None:
        SCHEDULERS.create(plan.teacher)
    aim = objective(args.objective)
    trained_for = Setting(setting.workload, setting.arrivals, setting.options, aim)
    return TrainJob(trained_for, named_shape(args.shape), plan, to_plain(asked))


def _command(args: argparse.Namespace, asked: DagArguments) -> str:
    """What to type to make this run again."""
    words = [asked.command("train dag", seed=0, seeds=20, schedulers=("all",))]
    for name, default in (
        ("profile", "full"),
        ("objective", "average-jct"),
        ("shape", "informed"),
        ("algorithm", None),
        ("iterations", None),
        ("teacher", None),
        ("start", None),
        ("seed", 0),
    ):
        value = getattr(args, name)
        if value != default:
            words.append(f"--{'from' if name == 'start' else name} {shlex.quote(str(value))}")
    words += [f"--set {shlex.quote(text)}" for text in args.set]
    return " ".join([*words, f"--out {shlex.quote(str(args.out))}"])


def _tell(progress: Progress, train: TrainRun, rival: Rival) -> None:
    figures, state, plan = progress.figures, train.state, train.job.plan
    done = state.lesson + state.iteration
    left_s = state.elapsed_s / max(done, 1) * (plan.lessons * (plan.teacher is not None) + plan.iterations - done)
    speed = figures["decisions"] / max(figures.get("collect_s", 0.0) + figures.get("learn_s", 0.0), 1e-9)
    text = f"{progress.phase} {progress.number} of {progress.of}"
    if "collect_s" in figures and "learn_s" in figures:
        spent = f"{figures['collect_s']:.1f} s playing, {figures['learn_s']:.1f} s learning"
        text += f": {speed:,.0f} decisions/s ({spent})"
    if "validation_jct_s" in figures:
        gain = 100 * (figures["validation_cost"] / rival.cost - 1)
        text += f"; validation {figures['validation_jct_s']:.1f} s, {gain:+.1f} % against {rival.name}"
    note(f"{text}; {_minutes(left_s)} left")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def _as_json(train: TrainRun, rival: Rival) -> dict[str, Any]:
    state = train.state
    return {
        "schema": 1,
        "family": "dag",
        "checkpoint": str(train.directory / "checkpoint"),
        "lessons": state.lesson,
        "iterations": state.iteration,
        "decisions": state.decisions,
        "minutes": round(state.elapsed_s / 60, 2),
        "validation": min(state.curve, key=lambda point: point["validation_cost"]),
        "best_heuristic": {"scheduler": rival.name, "avg_jct_s": rival.jct_s, "cost": rival.cost},
        "vs_best_heuristic_pct": 100 * (state.best / rival.cost - 1),
    }


def _as_text(train: TrainRun, rival: Rival, asked: DagArguments) -> str:
    best = min(train.state.curve, key=lambda point: point["validation_cost"])
    gain = 100 * (train.state.best / rival.cost - 1)
    spec = f"dag/decima:checkpoint={train.directory / 'checkpoint'}"
    plain: dict[str, Any] = {"seed": 0, "seeds": 20, "schedulers": ("all",)}
    return (
        f"{train.directory / 'checkpoint'}.safetensors\n"
        f"  average JCT {best['validation_jct_s']:.1f} s on the validation sequences; {rival.name}: "
        f"{rival.jct_s:.1f} s ({gain:+.1f} % of the objective)\n"
        f"  compare it on fresh sequences:  {asked.command('compare dag', **plain)} --schedulers all,{spec}"
    )
