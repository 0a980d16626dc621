"""Streaming jobs: all autoscalers on six jobs, trained on one part of a trace and tested on another, as in the paper.

    .venv/bin/python experiments/stream_settings.py --data shared/data/rates --write
    .venv/bin/python experiments/stream_settings.py --data shared/data/rates --only small-1 medium-1 --training-seeds 1

`--data` is the folder with `clarknet_per_min.csv` (requests a minute of a web server, two weeks) and, for rates that
are of another kind altogether, `nasa_workload.tbz2`.  Networks learn from the first half of ClarkNet, one network for
all jobs together, the best is chosen by the next fifth, and the rest is for the test: with these jobs, and with jobs
that no network has seen.  All kinds of networks are trained alike: same plan, same seeds, same choice.  Rows are means
over the networks of all training seeds.  Rules stand there as published, and as tuned on the first half of ClarkNet
with all six jobs, as networks are.

A test has windows of a day that lie side by side, so none has anything in common with another; intervals are over
windows and training seeds, both drawn anew (`evaluation.statistics.crossed_difference`).

Training runs and comparisons are kept in OUT, and gone on with.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from commands import dovetail, publish, table, trained
from gpu_settings import Point, read_point, with_mean_of

from dovetail.core.gpu import Floats
from dovetail.evaluation.statistics import Interval, crossed_difference, crossed_mean
from dovetail.workloads.stream_rates import read_rates

JOBS = ("small-1", "small-2", "medium-1", "medium-2", "large-1", "large-2")
UNSEEN = ("nexmark-q3", "nexmark-q5", "nexmark-q8", "stream-layered:operators=20,layers=6,seed=11")
TUNED = ("stream/hpa", "stream/ds2", "stream/flink", "stream/dhalion", "stream/quantile")
TUNED_ON = 8  # windows of two days, of each job
TOLD = ("stream/static", "stream/oracle")
OURS = "stream/sure"
NETWORKS = ("sure", "dream", "tvw-rl", "deepwave", "astgcn", "ccrnn")
PARTS = {"train": ("--to", "50%"), "validate": ("--from", "50%", "--to", "70%"), "test": ("--from", "70%")}
DAY_S = 86_400
STEP_S = "5"  # of the simulation: four times as fast as the default, and no different in the third digit
FIGURES = ("latency_s", "p99_latency_s", "slo_violations", "utilisation", "instance_hours", "rescales")


def parts_of(trace: Path, out: Path, parts: Mapping[str, Sequence[str]]) -> dict[str, Path]:
    """The series in parts, each a directory that workloads take as rates."""
    found = {}
    for name, words in parts.items():
        found[name] = out / f"{trace.name.partition('.')[0]}-{name}"
        if not found[name].exists():
            dovetail("workload", "import", "rates", str(trace), *words, "--out", str(found[name]))
    return found


def spec_of_network(kind: str, checkpoint: Path) -> str:
    return f"stream/{kind}:checkpoint={checkpoint}"


def train(kind: str, seed: int, rates: Mapping[str, Path], args: argparse.Namespace) -> str:
    """The spec of a network of this kind, for all jobs."""
    first, *others = args.only
    words = ["--workload", first, "--rates", str(rates["train"]), "--validate-rates", str(rates["validate"])]
    words += ["--mix", ",".join(others)] if others else []
    words += ["--network", kind, "--seed", str(seed), "--workers", str(args.workers), "--profile", args.profile]
    words += ["--duration", str(DAY_S)]  # of a validation sequence
    return spec_of_network(kind, trained(args.out / f"{kind}-{seed}", "stream", *words))


def rules(rates: Path) -> list[str]:
    """As published, those tuned (where that is something else), and those that are told the future."""
    first, *others = JOBS
    words = ("--workload", first, "--mix", ",".join(others), "--rates", str(rates), "--duration", str(2 * DAY_S))
    words += ("--step", STEP_S, "--seeds", str(TUNED_ON))
    tuned = [as_recorded(dovetail("tune", name, *words)["best"]["spec"]) for name in TUNED]
    return list(dict.fromkeys([*TUNED, *tuned, *TOLD]))


def as_recorded(spec: str) -> str:
    """With its parameters in order of their names, as records have them."""
    name, given, rest = spec.partition(":")
    return name + given + ",".join(sorted(rest.split(",")))


def measured(
    job: str,
    rates: Path,
    seeds: int,
    without_learning: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    args: argparse.Namespace,
) -> Point:
    """All autoscalers on one job; networks of one kind as the mean over their training seeds.  Each kind has records of
    its own, so that one can be run anew."""
    words = ("--workload", job, *side_by_side(rates, seeds), "--step", STEP_S)
    found = Point(job, {})
    for name, specs in {"rules": without_learning, **groups}.items():
        where = args.out / f"{job.replace(':', '-')}-{rates.name}" / name.removeprefix("stream/")
        chosen = ("--schedulers", ",".join(specs), "--workers", str(args.workers), "--out", str(where))
        dovetail("compare", "stream", *words, *chosen)
        found.values.update(read_point(job, where, seeds).values)
    return with_mean_of(found, groups)


def windows(rates: Path, most: int) -> int:
    """So many days lie side by side in this series, up to so many."""
    recorded_s = read_rates(str(rates)).duration_s
    assert recorded_s is not None
    return min(most, int(recorded_s // DAY_S))


def side_by_side(rates: Path, seeds: int) -> tuple[str, ...]:
    words = ("--rates", str(rates), "--windows", "in-turn", "--duration", str(DAY_S))
    return *words, "--seeds", str(seeds)


def rewards(points: Sequence[Point], name: str, groups: Mapping[str, Sequence[str]]) -> Floats:
    """A row for each network of this name, or one; a column for each window; means over the jobs, which share both."""
    members = groups.get(name, [name])
    found: Floats = np.mean([[point.values[each]["reward"] for each in members] for point in points], axis=0)
    return found


def written(found: Interval, form: str = ".3f") -> str:
    return f"{found.mean:{form}}" + (f" [{found.low:{form}}, {found.high:{form}}]" if found.known else "")


def reward_table(points: Sequence[Point], names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """As in the paper: a row for each autoscaler, a column for each job, and the average, the best first."""
    mean = {name: float(np.mean([point.mean(name, "reward") for point in points])) for name in names}
    best = {
        point.name: max((name for name in names if name not in TOLD), key=lambda n: point.mean(n, "reward"))
        for point in points
    }
    lines = []
    for name in sorted(names, key=lambda name: -mean[name]):
        cells = []
        for point in points:
            text = written(crossed_mean(rewards([point], name, groups)))
            cells.append(f"**{text}**" if best[point.name] == name else text)
        lines.append(
            [
                f"`{name}`" + (" (knows the future)" if name in TOLD else ""),
                *cells,
                f"{mean[name]:.3f}",
                lead(points, name, groups),
            ]
        )
    return table(["autoscaler", *(point.name for point in points), "average", f"`{OURS}` less this"], lines)


def lead(points: Sequence[Point], name: str, groups: Mapping[str, Sequence[str]]) -> str:
    """What ours gets more on average over the jobs, window by window."""
    if name == OURS or OURS not in points[0].values:
        return ""
    return written(crossed_difference(rewards(points, OURS, groups), rewards(points, name, groups)), "+.3f")


def figure_table(points: Sequence[Point], names: Sequence[str]) -> str:
    """What is behind the reward: means over the jobs."""
    lines = [
        [f"`{name}`", *(f"{np.mean([point.mean(name, figure) for point in points]):.4g}" for figure in FIGURES)]
        for name in sorted(names, key=lambda name: -np.mean([point.mean(name, "reward") for point in points]))
    ]
    return table(["autoscaler", *FIGURES], lines)


def add_options(parser: argparse.ArgumentParser, out: Path, training_seeds: int) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with clarknet_per_min.csv, nasa_workload.tbz2")
    parser.add_argument("--training-seeds", type=int, default=training_seeds, help=f"networks ({training_seeds})")
    parser.add_argument("--seeds", type=int, default=20, help="windows of a day in a test, if there are as many (20)")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--write", action="store_true", help="record what comes out in experiments/results/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/stream_settings"), training_seeds=5)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=JOBS, metavar="JOB")
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=NETWORKS, metavar="KIND")
    parser.add_argument("--profile", default="quick", help="of training (quick)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rates = parts_of(args.data / "clarknet_per_min.csv", args.out, PARTS)
    seeds = range(args.training_seeds)
    groups = {f"stream/{kind}": [train(kind, seed, rates, args) for seed in seeds] for kind in args.networks}
    without_learning = rules(rates["train"])
    names = [*without_learning, *groups]
    texts = [
        "Networks are trained on the first half of ClarkNet and chosen by the next fifth, "
        f"{args.training_seeds} of each kind, with seeds of their own and the plan `{args.profile}`. Windows of a day, "
        "side by side; 95 % intervals over windows and networks, both drawn anew. The best of each job that does not "
        "know the future is bold; the last column is paired."
    ]
    tests = [("The rest of ClarkNet", rates["test"], args.only)]
    nasa = args.data / "nasa_workload.tbz2"
    if nasa.exists():
        whole = parts_of(nasa, args.out, {"whole": ()})["whole"]
        tests.append(("NASA, never trained on", whole, args.only))
    tests.append(("The rest of ClarkNet, jobs never trained on", rates["test"], UNSEEN))
    for title, where, jobs in tests:
        count = windows(where, args.seeds)
        points = [measured(job, where, count, without_learning, groups, args) for job in jobs]
        tables = f"{reward_table(points, names, groups)}\n\n{figure_table(points, names)}"
        texts.append(f"## {title}, {count} windows\n\n{tables}")
    publish("stream_settings", "Streaming jobs in every setting", "\n\n".join(texts), write=args.write)


if __name__ == "__main__":
    main()
