"""Elastic training jobs: all schedulers against the number of jobs, of servers and of slots, as in the paper of OASiS.

    .venv/bin/python experiments/elastic_settings.py --write
    .venv/bin/python experiments/elastic_settings.py --only small --seeds 5
    .venv/bin/python experiments/elastic_settings.py --only google --data DATA --write

Two presets, `oasis-small` and `oasis-paper`, and the second with Poisson arrivals; in each of the first two, jobs,
servers and slots are varied one at a time.  All schedulers meet the same sequences (seeds 0, 1, ...), and differences
are paired.  Published baselines are FIFO, DRF, RRH and Dorm; `elastic/edf` and `elastic/srtf` are ours.  OASiS' price
floor was tuned, so the published ones take part tuned, too, on the training seeds of each preset (`TUNED`); what was
tuned for a preset stays as it is where the preset is varied.  `elastic/offline` takes no part: it knows the future
(`elastic_optimum.py`).

`google` has the arrivals of the Google trace, from `elastic/google_arrival_patterns.json` of the folder DATA: jobs are
those of the presets, and the series is stretched over their slots.  It is recorded in a file of its own.

Comparisons are kept in OUT, a directory for each point, which `dovetail report` reads, and gone on with.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from commands import RESULTS, dovetail, publish, table

from dovetail import SCHEDULERS
from dovetail.core.elastic import Floats
from dovetail.evaluation.report.palette import series
from dovetail.evaluation.statistics import bootstrap_mean, paired_difference_pct
from dovetail.records.directory import read_records
from dovetail.records.summary import Entry

TUNED = {
    "small": ("elastic/rrh:alpha=1.0,preempt=true,threshold=5.0", "elastic/fifo:strict=false"),
    "paper": ("elastic/rrh:alpha=1.0,preempt=true,threshold=2.0,workers=128", "elastic/fifo:strict=false"),
}
"""By `dovetail tune NAME --workload oasis-small` (or oasis-paper), seeds 1000 to 1019."""
PUBLISHED = ("elastic/fifo", "elastic/drf", "elastic/rrh", "elastic/dorm")
LATE_LAST = "elastic/edf:late_last=true"
OTHERS = ("elastic/edf", LATE_LAST, "elastic/srtf")  # heuristics of ours
OASIS, REPLAN = "elastic/oasis", "elastic/oasis-replan"
PRESETS = {"small": "oasis-small", "paper": "oasis-paper"}
AXES: dict[str, dict[str, tuple[int, ...]]] = {
    "small": {"jobs": (30, 60, 120, 240), "servers": (10, 20, 40, 80), "slots": (50, 100, 200, 300)},
    "paper": {"jobs": (100, 300, 500), "servers": (50, 100, 200), "slots": (100, 200, 300)},
}
USUAL = {"small": {"jobs": 120, "servers": 20, "slots": 100}, "paper": {"jobs": 300, "servers": 100, "slots": 300}}
POISSON, GOOGLE = "paper-poisson", "google"
COUNTS = Path("elastic/google_arrival_patterns.json")
PATTERN = "10"  # of the lists in that file
SHOWN = {"total_utility": "total utility", "completed_share": "share of jobs completed", "avg_jct_s": "average JCT, h"}


def names(preset: str) -> list[str]:
    return [*(name for name in SCHEDULERS.names("elastic") if name != "elastic/offline"), LATE_LAST, *TUNED[preset]]


@dataclass(frozen=True, eq=False)
class Point:
    """A setting, and what came out: scheduler -> metric -> value by seed, for seeds from 0 on."""

    name: str
    values: dict[str, dict[str, Floats]]
    tuned: tuple[str, ...] = ()  # published ones as they were tuned for the preset

    def mean(self, name: str, metric: str = "total_utility") -> float:
        return float(self.values[name][metric].mean())

    def best(self, among: Sequence[str]) -> str:
        """The highest mean total utility."""
        return max((name for name in among if name in self.values), key=self.mean)

    @property
    def heuristics(self) -> tuple[str, ...]:
        return (*PUBLISHED, *self.tuned, *OTHERS)

    def difference(self, name: str, other: str) -> str:
        """Of total utility, paired, in percent."""
        found = paired_difference_pct(*(self.values[one]["total_utility"] for one in (name, other)))
        return f"{found.mean:+.1f} % [{found.low:+.1f}, {found.high:+.1f}]"


def measured(
    name: str, options: Sequence[str], specs: Sequence[str], args: argparse.Namespace, tuned: tuple[str, ...] = ()
) -> Point:
    """Run what is missing."""
    words = ("compare", "elastic", *options, "--out", str(args.out / name), "--workers", str(args.workers))
    dovetail(*words, "--seeds", str(args.seeds), "--schedulers", ",".join(specs))
    return read_point(name, args.out / name, args.seeds, tuned)


def spec_of(entry: Entry) -> str:
    """As it was asked for: the name, and the parameters that are not as usual."""
    params = json.loads(entry.params)
    said = ",".join(f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in params.items())
    return f"{entry.scheduler}:{said}" if said else entry.scheduler


def read_point(name: str, directory: Path, seeds: int, tuned: tuple[str, ...] = ()) -> Point:
    summary = read_records(directory).summary
    values: dict[str, dict[str, Floats]] = {}
    for entry in summary.entries:
        rows = summary.rows(entry)
        rows = rows[summary.seed[rows] < seeds]
        values[spec_of(entry)] = {metric: column[rows] for metric, column in summary.metrics.items()}
    return Point(name, values, tuned)


# --- tables and pictures ---------------------------------------------------------------------------------------------


def scheduler_table(point: Point) -> str:
    """All schedulers in one setting, the best first."""
    yardsticks = {
        "best published": point.best(PUBLISHED),
        "best published, tuned": point.best((*PUBLISHED, *point.tuned)),
        "best heuristic": point.best(point.heuristics),
    }
    head = ["scheduler", "total utility", *(f"to `{name}`, {title}" for title, name in yardsticks.items())]
    head += ["completed", "average JCT, h", "p95 JCT, h", "sequences"]
    lines = []
    for name in sorted(point.values, key=lambda name: -point.mean(name)):
        utility = bootstrap_mean(point.values[name]["total_utility"])
        lines.append(
            [
                f"`{name}`",
                f"{utility.mean:.0f} [{utility.low:.0f}, {utility.high:.0f}]",
                *("" if name == other else point.difference(name, other) for other in yardsticks.values()),
                f"{100 * point.mean(name, 'completed_share'):.0f} %",
                f"{point.mean(name, 'avg_jct_s') / 3600:.1f}",
                f"{point.mean(name, 'p95_jct_s') / 3600:.1f}",
                str(len(point.values[name]["total_utility"])),
            ]
        )
    return table(head, lines)


def axis_table(axis: str, points: dict[int, Point]) -> str:
    """Total utility by scheduler along one axis, and the differences that matter."""
    order = sorted(
        {name for point in points.values() for name in point.values}, key=lambda name: -mean_rank(points, name)
    )
    lines = [[f"`{name}`", *(cell(point, name) for point in points.values())] for name in order]
    best = [point.best(PUBLISHED) for point in points.values()]
    tuned = [point.best((*PUBLISHED, *point.tuned)) for point in points.values()]
    lines.append(["**best published**", *(f"`{name}`" for name in best)])
    lines.append(["**best published, tuned**", *(f"`{name}`" for name in tuned)])
    for title, ours, others in (
        (f"`{OASIS}` to the best published", OASIS, best),
        (f"`{OASIS}` to the best of them, tuned", OASIS, tuned),
        (f"`{REPLAN}` to `{OASIS}`", REPLAN, [OASIS] * len(points)),
        (f"`{REPLAN}` to the best heuristic", REPLAN, [point.best(point.heuristics) for point in points.values()]),
    ):
        lines.append([title, *(p.difference(ours, other) for p, other in zip(points.values(), others, strict=True))])
    return table([axis, *map(str, points)], lines)


def mean_rank(points: dict[int, Point], name: str) -> float:
    """Mean over the points of its share of the best."""
    shares = [p.mean(name) / max(map(p.mean, p.values)) for p in points.values() if name in p.values]
    return float(np.mean(shares))


def cell(point: Point, name: str) -> str:
    return f"{point.mean(name):.0f}" if name in point.values else ""


def draw(title: str, every: Sequence[str], curves: dict[str, dict[int, Point]], file: Path) -> None:
    """A column for each axis, a row for each metric, a line for each scheduler."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(len(SHOWN), len(curves), figsize=(11, 9), layout="constrained", sharey="row")
    for column, (axis, points) in enumerate(curves.items()):
        for row, (metric, label) in enumerate(SHOWN.items()):
            axes = grid[row][column]
            for name in every:
                xs = [x for x, point in points.items() if name in point.values]
                if len(xs) < 2:
                    continue
                ys = [points[x].mean(name, metric) / (3600 if metric.endswith("_s") else 1) for x in xs]
                thick = name not in next(iter(points.values())).heuristics
                style = "o--" if name == "elastic/learned" else "o-"  # it lies upon another line
                plain, _, params = name.partition(":")
                colour, _, _ = series(every.index(plain))
                if params:  # another form of one that is there
                    style = "o:"
                axes.plot(xs, ys, style, color=colour, lw=2.2 if thick else 1.1, ms=4, label=name)
            axes.set_xlabel(axis)
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
            if column == 0:
                axes.set_ylabel(label)
    for row in grid:
        row[0].set_ylim(0, None)  # all of the row, now that everything is drawn
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title)
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


# --- the experiment --------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/elastic_settings"))
    every = [*PRESETS, POISSON, GOOGLE]
    parser.add_argument("--only", nargs="+", choices=every, default=every[:-1], metavar="NAME")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DOVETAIL_DATA", "../shared/data")))
    args = parser.parse_args()
    if GOOGLE in args.only:
        text = f"{head(args)} {google(args)}"
        publish("elastic_google", "Elastic training jobs that arrive as Google's did", text, write=args.write)
    texts = [head(args)]
    for preset in args.only:
        if preset != GOOGLE:
            texts += [poisson(args)] if preset == POISSON else preset_texts(preset, args)
    if len(texts) > 1:
        publish("elastic_settings", "Elastic training jobs in every setting", "\n\n".join(texts), write=args.write)


def head(args: argparse.Namespace) -> str:
    tuned = [f"`{PRESETS[preset]}`: {', '.join(f'`{name}`' for name in TUNED[preset])}" for preset in PRESETS]
    return (
        f"Sequences of seeds 0 to {args.seeds - 1}, which every scheduler meets in every setting. Means with 95 % "
        "intervals (bootstrap over sequences); differences are paired. JCT: from arrival to completion, of the jobs "
        f"that completed. Tuned on training seeds: {'; '.join(tuned)}."
    )


def add_options(parser: argparse.ArgumentParser, out: Path) -> None:
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--write", action="store_true", help="record the tables in experiments/results/")


def preset_texts(preset: str, args: argparse.Namespace) -> list[str]:
    workload = PRESETS[preset]
    at_home = measured(preset, ("--workload", workload), names(preset), args, TUNED[preset])
    curves: dict[str, dict[int, Point]] = {}
    for axis, values in AXES[preset].items():
        curves[axis] = {}
        for value in values:
            options = ("--workload", workload, f"--{axis}", str(value))
            curves[axis][value] = at_home
            if value != USUAL[preset][axis]:
                where = f"{preset}-{axis}-{value}"
                curves[axis][value] = measured(where, options, names(preset), args, TUNED[preset])
    picture = RESULTS / f"elastic_{preset}.png"
    if args.write:
        draw(f"{workload}, one thing varied at a time", names(preset), curves, picture)
    usual = ", ".join(f"{value} {axis}" for axis, value in USUAL[preset].items())
    return [
        f"## `{workload}`: {usual}\n\n{scheduler_table(at_home)}",
        f"![total utility, share completed and completion time against jobs, servers and slots]({picture.name})",
        *(f"Total utility against the number of {axis}:\n\n{axis_table(axis, curves[axis])}" for axis in curves),
    ]


def poisson(args: argparse.Namespace) -> str:
    options = ("--workload", PRESETS["paper"], "--arrivals", "poisson")
    point = measured(POISSON, options, names("paper"), args, TUNED["paper"])
    return f"## `{PRESETS['paper']}` with Poisson arrivals\n\n{scheduler_table(point)}"


def google(args: argparse.Namespace) -> str:
    """Jobs of the presets that arrive like those of the trace."""
    file = args.data / COUNTS
    if not file.exists():
        raise SystemExit(f"{file}: no such file; --data names the folder with the public data")
    texts = [f"Arrivals: the list `{PATTERN}` of {COUNTS.name}, stretched over the slots and scaled to the jobs."]
    for preset, workload in PRESETS.items():
        name = f"{GOOGLE}-{preset}"
        where = args.out / "workloads" / name
        if not where.is_dir():
            words = ("--pattern", PATTERN, "--jobs-from", workload, "--name", name, "--out", str(where))
            dovetail("workload", "import", "arrival-counts", str(file), *words)
        point = measured(name, ("--workload", str(where)), names(preset), args, TUNED[preset])
        usual = ", ".join(f"{value} {axis}" for axis, value in USUAL[preset].items())
        texts.append(f"## Jobs of `{workload}`: {usual}\n\n{scheduler_table(point)}")
    return "\n\n".join(texts)


if __name__ == "__main__":
    main()
