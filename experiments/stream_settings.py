"""Streaming jobs: all autoscalers on six jobs, trained on one part of a trace and tested on another, as in the paper.

    .venv/bin/python experiments/stream_settings.py --data shared/data/rates --write
    .venv/bin/python experiments/stream_settings.py --data shared/data/rates --only small-1 medium-1 --training-seeds 1

`--data` is the folder with `clarknet_per_min.csv` (requests a minute of a web server, two weeks) and, for rates that
are of another kind altogether, `nasa_workload.tbz2`.  Networks learn from the first half of ClarkNet, one network for
all jobs together, the best is chosen by the next fifth, and the rest is for the test.  All kinds of networks are
trained alike: same plan, same seeds, same choice.  Their rows are means over the networks of all training seeds.

Training runs and comparisons are kept in OUT, and gone on with.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from commands import dovetail, publish, table, trained
from gpu_ablation import with_mean_of
from gpu_settings import Point, read_point

from dovetail.evaluation.statistics import bootstrap_mean

JOBS = ("small-1", "small-2", "medium-1", "medium-2", "large-1", "large-2")
RULES = (
    "stream/hpa",
    "stream/ds2",
    "stream/ds2:utilisation=0.4",
    "stream/flink",
    "stream/dhalion",
    "stream/quantile",
    "stream/static",
    "stream/oracle",
)
TOLD = ("stream/static", "stream/oracle")
NETWORKS = ("sure", "ccrnn", "tvw-rl", "dream", "astgcn", "deepwave")
PARTS = {"train": ("--to", "50%"), "validate": ("--from", "50%", "--to", "70%"), "test": ("--from", "70%")}
DAY_S = 86_400
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


def measured(
    job: str, rates: Path, duration_s: int, groups: Mapping[str, Sequence[str]], args: argparse.Namespace
) -> Point:
    """All autoscalers on one job; networks of one kind as the mean over their training seeds."""
    where = args.out / f"{job}-{rates.name}"
    specs = ",".join([*RULES, *(spec for members in groups.values() for spec in members)])
    words = ("--workload", job, "--rates", str(rates), "--duration", str(duration_s), "--seeds", str(args.seeds))
    dovetail("compare", "stream", *words, "--schedulers", specs, "--workers", str(args.workers), "--out", str(where))
    return with_mean_of(read_point(job, where, args.seeds), groups)


def reward_table(points: Sequence[Point], names: Sequence[str]) -> str:
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
            found = bootstrap_mean(point.values[name]["reward"])
            text = f"{found.mean:.3f}" + (f" [{found.low:.3f}, {found.high:.3f}]" if found.known else "")
            cells.append(f"**{text}**" if best[point.name] == name else text)
        lines.append([f"`{name}`" + (" (knows the future)" if name in TOLD else ""), *cells, f"{mean[name]:.3f}"])
    return table(["autoscaler", *(point.name for point in points), "average"], lines)


def figure_table(points: Sequence[Point], names: Sequence[str]) -> str:
    """What is behind the reward: means over the jobs."""
    lines = [
        [f"`{name}`", *(f"{np.mean([point.mean(name, figure) for point in points]):.4g}" for figure in FIGURES)]
        for name in sorted(names, key=lambda name: -np.mean([point.mean(name, "reward") for point in points]))
    ]
    return table(["autoscaler", *FIGURES], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with clarknet_per_min.csv, nasa_workload.tbz2")
    parser.add_argument("--only", nargs="+", choices=JOBS, default=JOBS, metavar="JOB")
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=NETWORKS, metavar="KIND")
    parser.add_argument("--training-seeds", type=int, default=5)
    parser.add_argument("--profile", default="full", help="of training (full)")
    parser.add_argument("--seeds", type=int, default=10, help="windows of the test (10)")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("runs/stream_settings"))
    parser.add_argument("--write", action="store_true", help="record the tables in experiments/results/")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rates = parts_of(args.data / "clarknet_per_min.csv", args.out, PARTS)
    groups = {
        f"stream/{kind}": [train(kind, seed, rates, args) for seed in range(args.training_seeds)]
        for kind in args.networks
    }
    names = [*RULES, *groups]
    texts = [
        f"Networks are trained on the first half of ClarkNet, chosen by the next fifth, {args.training_seeds} training "
        f"seeds each. Sequences of seeds 0 to {args.seeds - 1}; 95 % intervals over them. The best of each job that "
        "does not know the future is bold."
    ]
    tests = [("The rest of ClarkNet, windows of two days", rates["test"], 2 * DAY_S)]
    nasa = args.data / "nasa_workload.tbz2"
    if nasa.exists():
        whole = parts_of(nasa, args.out, {"whole": ()})["whole"]
        tests.append(("NASA, never trained on, windows of two days", whole, 2 * DAY_S))
    for title, where, duration_s in tests:
        points = [measured(job, where, duration_s, groups, args) for job in args.only]
        texts.append(f"## {title}\n\n{reward_table(points, names)}\n\n{figure_table(points, names)}")
    publish("stream_settings", "Streaming jobs in every setting", "\n\n".join(texts), write=args.write)


if __name__ == "__main__":
    main()
