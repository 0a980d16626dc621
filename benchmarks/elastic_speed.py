"""How fast `elastic/oasis` schedules, how that grows with jobs, servers and slots, and against what.

    .venv/bin/python benchmarks/elastic_speed.py            # a few minutes
    .venv/bin/python benchmarks/elastic_speed.py --quick    # small sizes, no picture unless asked for

1. 1,000 jobs of `oasis-paper` on 100 servers in 300 slots, whole run, CPU time of one core; target: 60 s.
2. The same with jobs, servers and slots halved, doubled and so on, one at a time: the picture.
3. A reference in the same run: OASiS with the published dynamic program in plain numpy (`elastic_reference.py`), on the
   same sequences of fewer jobs.  Times are those spent in deciding.
4. All schedulers on `oasis-small` with 60 jobs: decisions per second, and time to decide about a slot.

Medians of REPEATS sequences each.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

from elastic_reference import PlainOasis

from dovetail import SCHEDULERS, SeedTree
from dovetail.cluster.elastic import halves
from dovetail.core.errors import DovetailError
from dovetail.evaluation.matrix_cell import Stopwatch
from dovetail.evaluation.setting_elastic import ElasticSetting
from dovetail.schedulers.optimise.elastic.oasis import OasisParams

SIZE = {"jobs": 1000, "servers": 100, "slots": 300}
GROWTH = {
    "jobs": (125, 250, 500, 1000, 2000, 4000),
    "servers": (25, 50, 100, 200, 400),
    "slots": (75, 150, 300, 600, 1200),
}
QUICK_SIZE = {"jobs": 60, "servers": 20, "slots": 60}
QUICK_GROWTH = {"jobs": (30, 60), "servers": (10, 20), "slots": (30, 60)}
TARGET_S = 60.0
REFERENCE = (("oasis-small", 120), ("oasis-paper", 20))
QUICK_REFERENCE = (("oasis-small", 10),)
COMPARED_JOBS, QUICK_COMPARED_JOBS = 60, 8


def played(workload: str, scheduler: Callable[[], Any], seed: int, **size: int) -> dict[str, float]:
    """One run: seconds of CPU time in all and in deciding, what was decided, and the total utility."""
    setting = ElasticSetting(
        workload,
        size.get("jobs"),
        None,
        size.get("slots"),
        halves(size["servers"]) if "servers" in size else None,
    )
    opened = setting.open()
    world = opened.world(opened.sequence(seed), SeedTree(seed))
    watched = Stopwatch(scheduler())
    start = process_time()
    result = opened.run(world, watched, SeedTree(seed).child("scheduler").generator())
    return {
        "run_s": process_time() - start,
        "decide_s": watched.spent_s,
        "slots": watched.calls,
        "decisions": result.decisions,
        "utility": result.total_utility,
    }


def grow(size: dict[str, int], values: dict[str, tuple[int, ...]], repeats: int, out: Any) -> list[dict[str, Any]]:
    """Run times along each axis, the other two as in `size`."""
    rows = []
    for axis, steps in values.items():
        for value in steps:
            here = {**size, axis: value}
            times = [played("oasis-paper", oasis, seed, **here)["run_s"] for seed in range(repeats)]
            rows.append({"axis": axis, "value": value, "run_s": median(times)})
            print(f"{value:>7,} {axis:8} {rows[-1]['run_s']:8.2f} s", file=out, flush=True)
    return rows


def oasis() -> Any:
    return SCHEDULERS.create("elastic/oasis")


def against(cases: tuple[tuple[str, int], ...], repeats: int, out: Any) -> list[dict[str, Any]]:
    """Seconds of deciding, with the published dynamic program and here, on the same sequences."""
    rows = []
    exact = OasisParams(tolerance=0.0)
    for workload, jobs in cases:
        theirs = [played(workload, lambda: PlainOasis(exact), seed, jobs=jobs) for seed in range(repeats)]
        ours = [played(workload, oasis, seed, jobs=jobs) for seed in range(repeats)]
        row = {
            "workload": workload,
            "jobs": jobs,
            "reference_s": median(one["decide_s"] for one in theirs),
            "decide_s": median(one["decide_s"] for one in ours),
            "utility_share": sum(one["utility"] for one in ours) / sum(one["utility"] for one in theirs),
        }
        row["ratio"] = row["reference_s"] / row["decide_s"]
        rows.append(row)
        print(
            f"published program in numpy, {jobs} jobs of {workload}: {row['reference_s']:.2f} s; here "
            f"{row['decide_s']:.4f} s; ratio {row['ratio']:,.0f}; utility here / there {row['utility_share']:.4f}",
            file=out,
            flush=True,
        )
    return rows


def schedulers(jobs: int, repeats: int, out: Any) -> list[dict[str, Any]]:
    rows = []
    for name in SCHEDULERS.names("elastic"):
        if name == "elastic/offline":  # it solves everything before the first slot
            continue
        found = [
            played("oasis-small", lambda name=name: SCHEDULERS.create(name), seed, jobs=jobs) for seed in range(repeats)
        ]
        row = {
            "scheduler": name,
            "decisions_per_s": median(one["decisions"] / one["decide_s"] for one in found),
            "slot_ms": median(1e3 * one["decide_s"] / one["slots"] for one in found),
        }
        rows.append(row)
        print(
            f"{name:22} {row['decisions_per_s']:>10,.0f} decisions/s {row['slot_ms']:>9.3f} ms a slot",
            file=out,
            flush=True,
        )
    return rows


def draw(rows: list[dict[str, Any]], size: dict[str, int], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    axes_of = list(dict.fromkeys(row["axis"] for row in rows))
    figure, grid = plt.subplots(1, len(axes_of), figsize=(11, 3.6), layout="constrained", sharey=True)
    for axes, axis in zip(grid, axes_of, strict=True):
        line = [(row["value"], row["run_s"]) for row in rows if row["axis"] == axis]
        x, y = zip(*line, strict=True)
        base = dict(line)[size[axis]]
        axes.loglog(x, y, "o-", label="measured")
        axes.loglog(x, [base * value / size[axis] for value in x], "--", color="grey", label="in proportion")
        others = ", ".join(f"{value:,} {name}" for name, value in size.items() if name != axis)
        axes.set(xlabel=axis, title=others)
        axes.set_xticks(x, [f"{value:,}" for value in x])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_ylabel("CPU seconds, whole run")
    grid[0].legend(frameon=False)
    figure.suptitle("elastic/oasis on oasis-paper")
    figure.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, within a minute")
    parser.add_argument("--repeats", type=int, default=3, help="sequences of each measurement (3)")
    parser.add_argument("--png", metavar="FILE", help="where to draw the growth (elastic_speed.png; --quick: nowhere)")
    parser.add_argument("--json", action="store_true", help="print one JSON document; the rows go to standard error")
    args = parser.parse_args()
    if args.repeats < 1:
        print(f"elastic_speed: error: repeats is {args.repeats}; expected at least 1", file=sys.stderr)
        return 2
    out = sys.stderr if args.json else sys.stdout
    size, values = (QUICK_SIZE, QUICK_GROWTH) if args.quick else (SIZE, GROWTH)
    try:
        played("oasis-small", oasis, 0, jobs=5)  # compiles
        whole_s = median(played("oasis-paper", oasis, seed, **size)["run_s"] for seed in range(args.repeats))
        text = ", ".join(f"{value:,} {name}" for name, value in size.items())
        print(f"{text}: {whole_s:.2f} s of CPU time, whole run (target: {TARGET_S:g} s)", file=out, flush=True)
        rows = grow(size, values, args.repeats, out)
        reference = against(QUICK_REFERENCE if args.quick else REFERENCE, args.repeats, out)
        compared = schedulers(QUICK_COMPARED_JOBS if args.quick else COMPARED_JOBS, args.repeats, out)
    except DovetailError as error:
        print(f"elastic_speed: error: {error}", file=sys.stderr)
        return 2
    picture = args.png or (None if args.quick else "elastic_speed.png")
    if picture is not None:
        draw(rows, size, picture)
        print(f"picture: {picture}", file=out)
    if args.json:
        document = {"size": size, "whole_s": whole_s, "growth": rows, "reference": reference, "schedulers": compared}
        print(json.dumps(document, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
