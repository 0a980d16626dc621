"""`dovetail demo`, which is what `make run` runs: a comparison, a short run for real, reports, and what to try next."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.cli.compare import compare
from dovetail.cli.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from dovetail.cli.matrix_progress import note
from dovetail.cli.options_dag import DagArguments

if TYPE_CHECKING:
    from dovetail.records.directory import Records

JOBS, SEEDS, QUICK_SEEDS = 20, 20, 4
LIVE_JOBS, LIVE_EXECUTORS, LIVE_TIME_SCALE, LIVE_WINDOW = 6, 8, 0.08, 2


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("dovetail-demo"),
        metavar="DIR",
        help="where to write (dovetail-demo)",
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} job sequences, not {SEEDS}")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one per processor)")


def run(args: argparse.Namespace) -> int:
    from dovetail.cli.comparison_table import print_comparison
    from dovetail.evaluation.report import write_page
    from dovetail.records import read_records

    asked = DagArguments(jobs=JOBS, seeds=QUICK_SEEDS if args.quick else SEEDS, schedulers=tuple(shown()))
    started = time.monotonic()
    note(
        f"{len(asked.schedulers)} schedulers on the same {asked.seeds} sequences of {asked.jobs} jobs of the "
        f"bundled workload {asked.workload}, on 50 executors"
    )
    args.force = _is_ours(args.out)  # a demo always shows the code as it is now
    command = f"dovetail demo{' --quick' if args.quick else ''}"
    _, results, finished = compare(asked, args, command)
    if not finished:
        note(f"interrupted; `{command}` starts again")
        return EXIT_INTERRUPTED
    print_comparison(results.comparison())
    records = read_records(args.out)
    page = args.out / "report.html"
    write_page(records, page)
    note(f"{results.rows} runs in {time.monotonic() - started:.0f} s; the report, to open in a browser:")
    print(f"\n{page.resolve()}\n")
    failed = bool(results.failures) | _run_for_real(args.out / "live")
    print(_next_steps(records, args.out))
    return EXIT_FAILED if failed else 0


def _run_for_real(directory: Path) -> bool:
    """A few jobs on processes of this machine, under a scheduler that adapts; whether any of them failed."""
    from dovetail.cli.matrix_progress import open_records
    from dovetail.cli.run import as_text, command, keep, replayed
    from dovetail.core.seeds import SeedTree
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.report import write_page
    from dovetail.execution.replay import Replay
    from dovetail.records import read_records
    from dovetail.sim.dag.world import duration_key

    asked = DagArguments(jobs=LIVE_JOBS, executors=LIVE_EXECUTORS, seeds=1)
    opened = asked.setting().open()
    options = opened.options
    key = duration_key(options, SeedTree(asked.seed))
    replay = Replay(opened.sequence(asked.seed), key, options, time_scale=LIVE_TIME_SCALE)
    contender = Contender.of(f"dag/adaptive:window_jobs={LIVE_WINDOW}")
    note(f"now for real: {asked.jobs} of these jobs on {LIVE_EXECUTORS} processes of this machine, under dag/adaptive")
    found, record = replayed(replay, contender, asked.seed)
    facts = {"workload": opened.facts(), "options": options, "seeds": asked.seed_range}
    made_by = command(asked, contender.spec, LIVE_TIME_SCALE)
    keep(
        open_records(directory, force=True, family=asked.FAMILY, command=made_by, **facts),
        contender,
        asked.seed,
        record,
    )
    page = directory / "report.html"
    write_page(read_records(directory), page)
    print(f"{as_text(found)}\n\n{page.resolve()}\n")
    return bool(found["jobs_failed"])


def shown() -> list[str]:
    """The project's own; those that search take longer than a newcomer wants to wait."""
    from dovetail.evaluation.contenders import choose

    return [
        one.name for one in choose("all", jobs=JOBS, family="dag").contenders if one.kind in ("heuristic", "learned")
    ]


def _is_ours(directory: Path) -> bool:
    """Was this directory made by a demo?  Then it may be replaced without asking."""
    from dovetail.core.errors import RecordError
    from dovetail.records.manifest import MANIFEST, read_json

    try:
        return str(read_json(directory / MANIFEST).get("command")).startswith("dovetail demo")
    except RecordError:
        return False


def _next_steps(records: Records, directory: Path) -> str:
    """Three commands, each with the reason to try it; they work as they stand."""
    from dovetail.evaluation.comparison import compare as table_of
    from dovetail.records.dag import DagRun

    best = table_of(records).rows[0].entry.scheduler
    run = records.run(records.find(scheduler=best).run)
    assert isinstance(run, DagRun)
    jobs = run.jobs
    slowest = int(((jobs.finish_s - jobs.arrival_s) / jobs.ideal_s).argmax())
    program = _program()
    steps = (
        (
            f"why the job that was slowed down most had to wait, even under {best}",
            f"explain {directory} --job {slowest} --scheduler {best}",
        ),
        (
            "the same schedulers when jobs keep arriving and executors are busy 85 % of the time",
            "compare dag --jobs 200 --load 0.85 --seeds 10",
        ),
        ("the best exponent of the weighted shares for this workload", "tune dag/weighted-fair --seeds 10"),
    )
    return "Next, try\n" + "\n".join(f"\n  {program} {words}\n      {why}" for why, words in steps)


def _program() -> str:
    """How this program can be called from here, for the shell of the person who reads it."""
    script = Path(sys.argv[0])
    if script.name != "dovetail":
        return "dovetail" if shutil.which("dovetail") else f"{Path(sys.executable).name} -m dovetail"
    found = shutil.which("dovetail")
    if found is not None and Path(found).resolve() == script.resolve():
        return "dovetail"
    return os.path.relpath(script)
