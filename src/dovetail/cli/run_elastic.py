"""`dovetail run elastic`: training jobs for real, by any `elastic/...` scheduler, beside their simulation."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.matrix_progress import note
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.elastic.calibration import Calibration
    from dovetail.execution.elastic.fleet import Fleet
    from dovetail.execution.elastic.live_summary import LiveSummary
    from dovetail.execution.elastic.live_workload import LiveOptions
    from dovetail.execution.elastic.virtual_cluster import VirtualCluster
    from dovetail.records.writer import RecordWriter

ENGINES = ("local", "ray")
CHECKPOINTS, CALIBRATION = "checkpoints", "calibration.json"
QUICK_S = 0.7  # of each measurement before a run
FALLBACK = "elastic/fifo"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = "Train several models for real, on slots of real time, and compare with the simulation."
    parser.add_argument("workload", metavar="elastic", help="(the word `elastic`)")
    parser.add_argument("--scheduler", metavar="NAME", help="such as elastic/oasis; needed unless --calibrate")
    work = parser.add_argument_group("jobs")
    work.add_argument("--jobs", type=int, default=6, metavar="N", help="training jobs (6)")
    work.add_argument("--slots", type=int, default=16, metavar="T", help="slots in all (16)")
    work.add_argument("--slot", type=float, default=2.0, metavar="S", help="length of a slot in real seconds (2)")
    work.add_argument("--models", default="mlp,cnn", metavar="LIST", help="in turn: mlp, cnn (mlp,cnn)")
    work.add_argument(
        "--pad", type=float, default=0.04, metavar="S", help="pretended GPU time of a mini-batch in seconds (0.04)"
    )
    work.add_argument("--seed", type=int, default=0, metavar="K", help="of the jobs and everything drawn (0)")
    where = parser.add_argument_group("hosts and engine")
    where.add_argument("--hosts", default="4,4", metavar="LIST", help="places for workers on each host (4,4)")
    where.add_argument("--server-hosts", default="2,2", metavar="LIST", help="places for parameter servers (2,2)")
    where.add_argument("--engine", default="local", metavar="NAME", help="local or ray (local)")
    where.add_argument("--address", metavar="A", help="HOST:PORT of a Ray cluster's head, or auto (Ray starts here)")
    where.add_argument(
        "--kill-every",
        type=float,
        default=0.0,
        metavar="S",
        help="kill a worker or server that often (never)",
    )
    speed = parser.add_argument_group("speed")
    speed.add_argument("--calibrate", action="store_true", help="only measure, fit the speed model and print both")
    speed.add_argument("--seconds", type=float, metavar="S", help="of each measurement of --calibrate (2)")
    speed.add_argument("--calibration", type=Path, metavar="FILE", help="what `--calibrate --json` wrote, to plan with")
    speed.add_argument(
        "--margin", type=float, default=0.05, metavar="X", help="plan with workers so much slower (0.05)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep records, a picture and checkpoints there")
    parser.add_argument("--force", action="store_true", help="replace what is kept there")


def run(args: argparse.Namespace) -> int:
    from dovetail.cli.run import check_address
    from dovetail.evaluation.contenders import Contender
    from dovetail.execution.elastic.live_workload import LiveOptions
    from dovetail.execution.elastic.network import load_torch
    from dovetail.execution.elastic.training_job import MODELS
    from dovetail.execution.elastic.virtual_cluster import VirtualCluster

    if args.engine not in ENGINES:
        raise UnknownName("engine", args.engine, ENGINES)
    check_address(args.engine, args.address)
    models = tuple(word.strip() for word in args.models.split(","))
    for model in models:
        if model not in MODELS:
            raise UnknownName("model", model, MODELS)
    options = LiveOptions(args.jobs, args.slots, args.slot, args.pad, args.margin, models)
    cluster = VirtualCluster(
        worker_places=_places("--hosts", args.hosts), server_places=_places("--server-hosts", args.server_hosts)
    )
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}; expected 0 or more")
    _check_speed(args)
    if not args.kill_every >= 0.0:
        raise ConfigError(f"--kill-every {args.kill_every:g}; expected seconds, 0 for never")
    if args.out is not None:
        _check_out(args.out)
    if args.calibrate:
        if args.out is not None and not args.force and (args.out / CALIBRATION).exists():
            raise ConfigError(f"{args.out / CALIBRATION}: is there already; give another --out, or --force")
        load_torch()
        return _calibrate(args, options, cluster)
    if args.scheduler is None:
        raise ConfigError("--scheduler: expected one, such as elastic/fifo (or --calibrate)")
    contender = Contender.of(args.scheduler, "elastic")
    if args.out is not None and not args.force:
        _check_kept(args.out, contender, args.seed)
    known = None if args.calibration is None else _read_calibration(args.calibration, options, cluster)
    load_torch()
    summary, writer = _train(args, contender, options, cluster, known)
    facts = {"schema": 1, "command": _command(args), "scheduler": contender.spec, "seed": args.seed}
    facts |= {"engine": args.engine, "slot_s": args.slot, "pad_s": args.pad, **summary.to_json()}
    if writer is not None:
        _keep(writer, summary, facts, contender, cluster, args.seed)
    print(json.dumps(facts, indent=2) if args.json else summary.to_text())
    return 0


def _check_speed(args: argparse.Namespace) -> None:
    """Measuring and training are two commands; what belongs to one is not passed over in the other."""
    if args.calibrate:
        given = {
            "--scheduler": args.scheduler,
            "--calibration": args.calibration,
            "--kill-every": args.kill_every or None,
        }
        for option, value in given.items():
            if value is not None:
                raise ConfigError(f"{option} and --calibrate are given; expected one or the other")
    elif args.seconds is not None:
        raise ConfigError("--seconds is given without --calibrate; it is the length of a measurement")
    if args.seconds is not None and not 0.1 <= args.seconds <= 3600.0:
        raise ConfigError(f"--seconds {args.seconds:g}; expected 0.1 to 3600")


def _train(
    args: argparse.Namespace,
    contender: Contender,
    options: LiveOptions,
    cluster: VirtualCluster,
    known: dict[str, float] | None,
) -> tuple[LiveSummary, RecordWriter | None]:
    from dovetail.core.seeds import SeedTree
    from dovetail.execution.elastic.controller import SlotController
    from dovetail.execution.elastic.live_run import LiveRun
    from dovetail.execution.elastic.live_summary import LiveSummary
    from dovetail.execution.elastic.live_workload import draw
    from dovetail.schedulers import SCHEDULERS
    from dovetail.sim.elastic import ElasticOptions, ElasticWorld
    from dovetail.sim.elastic import run as simulate

    seeds = SeedTree(args.seed)
    chance = seeds.child("scheduler", contender.name)
    setting = ElasticOptions(cluster)
    with contextlib.ExitStack() as stack:
        fleet = stack.enter_context(_fleet(args))
        batch_s = known if known is not None else _measure(fleet, options, cluster)
        writer = stack.enter_context(_records(args, options.facts(batch_s), cluster, contender))
        workload = draw(options, batch_s, seeds.child("workload"))
        note("simulating the same jobs ...")
        simulated = simulate(ElasticWorld(workload.table, setting, seeds), contender.create(), chance.generator())
        note(f"training {options.jobs} jobs, at most {options.slots} slots of {options.slot_s:g} s ...")
        world = ElasticWorld(workload.table, setting, seeds, record=True)
        controller = SlotController(
            world,
            contender.create(),
            chance.generator(),
            total_batches=workload.total_batches.tolist(),
            slot_batches=workload.slot_batches.tolist(),
            slot_s=options.slot_s,
            fallback=lambda: SCHEDULERS.create(FALLBACK),
        )
        live = LiveRun(
            workload,
            controller,
            fleet,
            checkpoints=None if args.out is None else args.out / CHECKPOINTS / _run_name(contender, args.seed),
            kill_every_s=args.kill_every,
            rng=seeds.child("kills").generator(),
            tell=note,
        ).run()
    return LiveSummary(workload, live, simulated), writer


@contextlib.contextmanager
def _fleet(args: argparse.Namespace) -> Iterator[Fleet]:
    """Open, and closed whatever happens, so that no process is left behind."""
    from dovetail.execution.engines.local_fleet import LocalFleet
    from dovetail.execution.engines.ray_fleet import RayFleet

    fleet: Fleet = RayFleet(args.address or "") if args.engine == "ray" else LocalFleet()
    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what it has to say; standard output is for the result
        try:
            fleet.open()
            yield fleet
        finally:
            fleet.close()


def _measure(fleet: Fleet, options: LiveOptions, cluster: VirtualCluster) -> dict[str, float]:
    """Seconds of a mini-batch when all places are taken."""
    from dovetail.execution.elastic.calibration import measure

    workers, servers = sum(cluster.worker_places), sum(cluster.server_places)
    found: dict[str, float] = {}
    for model in dict.fromkeys(options.models):
        point = measure(fleet, model, options.pad_s, workers, min(workers, servers), QUICK_S)
        if point.batches_per_s <= 0:
            raise ConfigError(f"no mini-batch of {model} was trained within {QUICK_S:g} s; expected a smaller --pad")
        found[model] = workers / point.batches_per_s
        note(f"{model}: a worker's mini-batch takes {1000 * found[model]:.1f} ms with {workers} workers at work")
    return found


def _calibrate(args: argparse.Namespace, options: LiveOptions, cluster: VirtualCluster) -> int:
    from dovetail.execution.elastic.calibration import as_table, calibrate, sizes

    where = sizes(sum(cluster.worker_places), sum(cluster.server_places))
    if len(where) < 2:
        raise ConfigError("--calibrate: one worker place allows one measurement; expected two places or more")
    models = tuple(dict.fromkeys(options.models))
    seconds = _seconds(args)
    note(f"{len(models) * len(where)} measurements of {seconds:g} s ...")
    found: list[Calibration] = []
    with _fleet(args) as fleet:
        found += [calibrate(fleet, model, options.pad_s, where, seconds) for model in models]
    facts = {"schema": 1, "command": _command(args), "calibrations": [one.to_json() for one in found]}
    if args.out is not None:
        _make(args.out)
        _write(args.out / CALIBRATION, facts)
    print(json.dumps(facts, indent=2) if args.json else as_table(found))
    return 0


def _seconds(args: argparse.Namespace) -> float:
    """Of each measurement."""
    return 2.0 if args.seconds is None else float(args.seconds)


def _read_calibration(path: Path, options: LiveOptions, cluster: VirtualCluster) -> dict[str, float]:
    """Seconds of a mini-batch when all places are taken, by the fitted model."""
    from dovetail.cluster.elastic_speed import SpeedModel

    expected = "expected what `dovetail run elastic --calibrate --json` prints"
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        models = {
            one["model"]: (float(one["pad_s"]), SpeedModel("async", tuple(map(float, one["coefficients"].values()))))
            for one in facts["calibrations"]
        }
    except KeyError as error:
        raise ConfigError(f"{path}: cannot be read as a calibration (there is no {error}); {expected}") from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: cannot be read as a calibration ({error}); {expected}") from error
    workers, servers = sum(cluster.worker_places), sum(cluster.server_places)
    found: dict[str, float] = {}
    for model in options.models:
        if model not in models:
            raise ConfigError(f"{path}: has no {model}; calibrate with --models {','.join(options.models)}")
        pad_s, speed = models[model]
        if pad_s != options.pad_s:
            raise ConfigError(f"{path}: measured with --pad {pad_s:g}, this run has --pad {options.pad_s:g}")
        known = speed.coefficients
        if len(known) != 5 or not all(0.0 <= one < math.inf for one in known) or not any(known):
            raise ConfigError(f"{path}: the coefficients of {model} make no speed; {expected}")
        found[model] = speed.worker_s(workers, min(workers, servers))
    return found


@contextlib.contextmanager
def _records(
    args: argparse.Namespace, facts: dict[str, Any], cluster: VirtualCluster, contender: Contender
) -> Iterator[RecordWriter | None]:
    """Where the run will be kept, before it takes its time; runs of other schedulers on the same jobs may be there.

    A run that does not come to its end leaves its checkpoints, or nothing if there are none.
    """
    if args.out is None:
        yield None
        return
    writer = _open_records(args, facts, cluster)
    checkpoints = args.out / CHECKPOINTS / _run_name(contender, args.seed)
    if args.force:
        shutil.rmtree(checkpoints, ignore_errors=True)  # of an earlier run, whose jobs may have had the same names
    _make(checkpoints)
    try:
        yield writer
    except BaseException:
        if any(checkpoints.iterdir()):
            note(f"checkpoints of the last whole slot are in {checkpoints}; to run there again, give --force")
        else:
            checkpoints.rmdir()
            with contextlib.suppress(OSError):  # those of other runs
                checkpoints.parent.rmdir()
            writer.abandon()
        raise


def _open_records(args: argparse.Namespace, facts: dict[str, Any], cluster: VirtualCluster) -> RecordWriter:
    from dovetail.cli.matrix_progress import open_records

    return open_records(
        args.out,
        force=args.force,
        family="elastic",
        workload=facts,
        options=cluster,
        seeds=(args.seed,),
        command=_command(args),
    )


def _run_name(contender: Contender, seed: int) -> str:
    from dovetail.records.run import run_name

    return run_name(contender.name, seed, contender.params)


def _check_out(directory: Path) -> None:
    """Before anything takes its time: can there be such a directory?"""
    there = next(one for one in (directory, *directory.absolute().parents) if one.exists())
    if not there.is_dir():
        raise ConfigError(f"--out {directory}: {there} is not a directory; expected one, or a name that is free")


def _check_kept(out: Path, contender: Contender, seed: int) -> None:
    """The same: what an earlier run has left is not written over unasked, be it complete or not."""
    from dovetail.records.manifest import RUNS

    name = _run_name(contender, seed)
    if (out / RUNS / name).is_dir():
        raise ConfigError(f"{out}: has a run of {contender.spec} already; give another --out, or --force")
    kept = out / CHECKPOINTS / name
    if kept.is_dir() and any(kept.iterdir()):
        raise ConfigError(f"{kept}: has checkpoints of a run that did not end; give another --out, or --force")


def _write(path: Path, facts: dict[str, Any]) -> None:
    from dovetail.records.files import replacing

    with replacing(path) as part:
        part.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{directory}: cannot be made ({error.strerror or error})") from error


def _keep(
    writer: RecordWriter,
    summary: LiveSummary,
    facts: dict[str, Any],
    contender: Contender,
    cluster: VirtualCluster,
    seed: int,
) -> None:
    """The record, as `dovetail simulate` keeps it; and beside it what only a live run has."""
    from dovetail.evaluation.recording_elastic import record_elastic_run
    from dovetail.evaluation.report.elastic_live import write_picture
    from dovetail.evaluation.setting_elastic import result_metrics

    result, out, name = summary.live.result, writer.directory, _run_name(contender, seed)
    writer.add_run(record_elastic_run(result, cluster, contender.name, seed, contender.params), flush=False)
    metrics = result_metrics(result)
    writer.add(contender.name, seed, metrics, params=contender.params, kind=contender.kind, flush=False)
    writer.flush()
    _write(out / f"{name}.json", facts)
    title = f"{contender.spec}: utility {facts['utility']:.1f}, simulated {facts['simulated_utility']:.1f}"
    write_picture(summary, out / f"{name}.png", title)
    note(f"picture: {out / name}.png; `dovetail report {out}` draws the records")


def _places(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise ConfigError(f"{option} {text!r}; expected the places of each host between commas, such as 4,4") from None


def _command(args: argparse.Namespace) -> str:
    """What to type to make this again."""
    words = ["dovetail", "run", "elastic"]
    words += ["--calibrate", "--seconds", f"{_seconds(args):g}"] if args.calibrate else ["--scheduler", args.scheduler]
    if not args.calibrate:
        words += ["--jobs", str(args.jobs), "--slots", str(args.slots), "--slot", f"{args.slot:g}"]
        words += ["--margin", f"{args.margin:g}", "--seed", str(args.seed)]
    words += ["--models", args.models, "--pad", f"{args.pad:g}", "--hosts", args.hosts]
    words += ["--server-hosts", args.server_hosts, "--engine", args.engine]
    if args.address is not None:
        words += ["--address", args.address]
    if args.calibration is not None and not args.calibrate:
        words += ["--calibration", str(args.calibration)]
    if args.kill_every:
        words += ["--kill-every", f"{args.kill_every:g}"]
    return shlex.join(words)
