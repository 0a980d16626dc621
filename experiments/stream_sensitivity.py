"""Streaming jobs: what the size of SURE's subgraph, the weight of its objective and each of its parts are worth.

    .venv/bin/python experiments/stream_sensitivity.py --data shared/data/rates --write

`--data` is the folder with `clarknet_per_min.csv`.  SURE is trained anew for every value, on the first half of ClarkNet
with `small-1` and `medium-1`, chosen by the next fifth, and judged on the rest, each network of `--training-seeds` on
all windows: of a day, side by side.  One thing is changed at a time.  Intervals are over windows and networks, both
drawn anew.  Where networks are not taught, they take as many steps of learning as lessons have, at the published rate,
from as many sequences as these steps need: many times those of lessons.

What is called lambda in the paper, the weight of latency in the reward, is changed for the world, too, so rewards of
its rows cannot be compared: they say what it buys and costs.

Training runs and comparisons are kept in OUT, and gone on with.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from commands import RESULTS, dovetail, publish, table, trained
from gpu_settings import Point, read_point, with_mean_of
from stream_settings import (
    DAY_S,
    PARTS,
    add_options,
    parts_of,
    rewards,
    side_by_side,
    spec_of_network,
    windows,
    written,
)

from dovetail.evaluation.statistics import Interval, crossed_difference, crossed_mean

JOBS = ("small-1", "medium-1")
AS_IT_IS = "as it is"
LEFT_TO_CHANCE = ("sampler=random afterwards",)
Groups = Mapping[str, Sequence[str]]
SNAPSHOTS = {"2": ("snapshots=2",), "5": ("snapshots=5",), "10": (), "20": ("snapshots=20",), "40": ("snapshots=40",)}
SHARES = {"0.25": ("share=0.25",), "0.5": (), "1": ("share=1.0",)}
INFORMATION = {"0": ("information=0",), "0.001": ("information=0.001",), "0.01": (), "0.1": ("information=0.1",)}
NOT_TAUGHT = ("lessons=0", "later=0.25")
"""`later`: 1e-3, as published."""
AS_PUBLISHED = (
    *NOT_TAUGHT,
    "iterations=2400",
    "sequences=1",
    "episodes=2",
    "every=600",
    "algorithm=reinforce",
    "own=0",
    "fade=0.95",
    "action=published",
    "present=own",
    "past=sampled",
)
PARTS_OF_IT = {
    AS_IT_IS: (),
    "no sampler: the whole graph": ("sampler=none",),
    "the same networks with a random sampler, not trained anew": LEFT_TO_CHANCE,
    "trained with a random sampler": ("sampler=random",),
    "no mutual information": ("information=0",),
    "of the present, only its own operator": ("present=own",),
    "of the past, only what is sampled": ("past=sampled",),
    "of the past, one mean by weights": ("past=weighed",),
    "the present alone: no history at all (`stream/dream`)": ("network=dream",),
    "not taught: PPO from the start, 2,400 steps": (*NOT_TAUGHT, "iterations=480", "sequences=2", "every=120"),
    "as published: REINFORCE, relative action, its faults, 2,400 steps": (*AS_PUBLISHED, "faults=true"),
    "as published without its faults": AS_PUBLISHED,
}
STUDIES = {
    "Snapshots that are sampled (of 60)": SNAPSHOTS,
    "Share of the neighbours that is sampled in each": SHARES,
    "Weight of the mutual information": INFORMATION,
    "Parts": PARTS_OF_IT,
}
WEIGHTS = (0.3, 0.5, 0.7, 0.9)
RULE = "stream/quantile:utilisation=0.7"
OF_WEIGHTS = ("latency_s", "p99_latency_s", "slo_violations", "utilisation", "instance_hours", "rescales")
DRAWN = ("Snapshots that are sampled (of 60)", "Weight of the mutual information")


def train(
    changed: Sequence[str], seed: int, rates: Mapping[str, Path], args: argparse.Namespace, weight: float | None = None
) -> str:
    """The spec of a network with this changed."""
    kind = next((each.partition("=")[2] for each in changed if each.startswith("network=")), "sure")
    words = ["--workload", JOBS[0], "--mix", ",".join(JOBS[1:]), "--network", kind, "--profile", "quick"]
    words += ["--rates", str(rates["train"]), "--validate-rates", str(rates["validate"]), "--duration", str(DAY_S)]
    words += [word for each in changed if not each.startswith("network=") for word in ("--set", each)]
    words += [] if weight is None else ["--weight", str(weight)]
    parts = [each.replace("=", "_") for each in changed] + ([] if weight is None else [f"weight_{weight:g}"])
    name = "-".join([*parts, str(seed)])
    return spec_of_network(
        kind, trained(args.out / name, "stream", *words, "--seed", str(seed), "--workers", str(args.workers))
    )


def measured(job: str, rates: Path, groups: Groups, args: argparse.Namespace) -> Point:
    seeds = windows(rates, args.seeds)
    specs = ",".join(dict.fromkeys(spec for members in groups.values() for spec in members))
    where = args.out / f"{job}-test"
    words = ("--workload", job, *side_by_side(rates, seeds), "--schedulers", specs)
    dovetail("compare", "stream", *words, "--workers", str(args.workers), "--out", str(where))
    return with_mean_of(read_point(job, where, seeds), groups)


def weights_table(rates: Mapping[str, Path], args: argparse.Namespace) -> str:
    """A row for each weight of latency: SURE, trained and judged with it, and the rule, which does not know it."""
    lines = []
    for weight in WEIGHTS:
        groups = {"stream/sure": [train((), seed, rates, args, weight) for seed in range(args.training_seeds)]}
        points, seeds = [], windows(rates["test"], args.seeds)
        for job in JOBS:
            where = args.out / f"{job}-weight_{weight:g}"
            words = ["--workload", job, *side_by_side(rates["test"], seeds), "--weight", str(weight)]
            words += ["--workers", str(args.workers), "--out", str(where)]
            dovetail("compare", "stream", *words, "--schedulers", ",".join([*groups["stream/sure"], RULE]))
            points.append(with_mean_of(read_point(job, where, seeds), groups))
        for name in ("stream/sure", RULE):
            figures = [f"{np.mean([point.mean(name, figure) for point in points]):.4g}" for figure in OF_WEIGHTS]
            apart = crossed_difference(rewards(points, name, groups), rewards(points, RULE, groups))
            lead = "" if name == RULE else written(apart, "+.4f")
            lines.append([f"{weight:g}", f"`{name}`", *figures, lead])
    return table(["weight of latency", "autoscaler", *OF_WEIGHTS, "reward, to the rule"], lines)


def study_table(points: Sequence[Point], study: Mapping[str, Sequence[str]], groups: Groups) -> str:
    lines = []
    for name, changed in study.items():
        key = key_of(changed)
        lines.append(
            [
                name,
                *(written(crossed_mean(rewards([point], key, groups)), ".4f") for point in points),
                "" if not changed else written(to_it(points, key, groups), "+.4f"),
                f"{np.mean([point.mean(key, 'rescales') for point in points]):.1f}",
            ]
        )
    return table(["", *(point.name for point in points), "to SURE as it is", "rescales"], lines)


def to_it(points: Sequence[Point], key: str, groups: Groups) -> Interval:
    """Networks that differ in nothing but what was changed afterwards are paired; others are as they are drawn."""
    ours, theirs = rewards(points, key, groups), rewards(points, key_of(()), groups)
    return crossed_mean(ours - theirs) if key == key_of(LEFT_TO_CHANCE) else crossed_difference(ours, theirs)


def members(changed: Sequence[str], rates: Mapping[str, Path], args: argparse.Namespace) -> list[str]:
    """The networks of a value; those left to chance are the ones as they are, with their sampler taken away."""
    if changed == LEFT_TO_CHANCE:
        return [f"{spec},sampler=random" for spec in members((), rates, args)]
    return [train(changed, seed, rates, args) for seed in range(args.training_seeds)]


def key_of(changed: Sequence[str]) -> str:
    return ",".join(changed) or AS_IT_IS


def draw(points: Sequence[Point], groups: Groups, file: Path) -> None:
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(DRAWN), figsize=(10, 4), layout="constrained", sharey=True)
    for title, axes in zip(DRAWN, grid, strict=True):
        for point in points:
            found = [crossed_mean(rewards([point], key_of(each), groups)) for each in STUDIES[title].values()]
            mean = np.array([each.mean for each in found])
            ends = np.array([[each.mean - each.low for each in found], [each.high - each.mean for each in found]])
            axes.errorbar(list(STUDIES[title]), mean, ends, marker="o", capsize=3, label=point.name)
        axes.set_xlabel(title.lower())
        axes.grid(alpha=0.3)
    grid[0].set_ylabel("reward")
    grid[0].legend()
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/stream_sensitivity"), training_seeds=3)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rates = parts_of(args.data / "clarknet_per_min.csv", args.out, PARTS)
    values = dict.fromkeys(tuple(changed) for study in STUDIES.values() for changed in study.values())
    groups = {key_of(each): members(each, rates, args) for each in values}
    points = [measured(job, rates["test"], groups, args) for job in JOBS]
    texts = [
        f"Reward on the last part of ClarkNet, {windows(rates['test'], args.seeds)} windows of a day side by side, "
        f"mean over {args.training_seeds} networks, with 95 % intervals over windows and networks; differences are "
        "paired by window."
    ]
    texts += [f"## {title}\n\n{study_table(points, study, groups)}" for title, study in STUDIES.items()]
    texts.append(f"## Weight of latency against utilisation\n\n{weights_table(rates, args)}")
    if args.write:
        texts.insert(1, "![reward against the size of the subgraph and the weight](stream_sensitivity.png)")
        draw(points, groups, RESULTS / "stream_sensitivity.png")
    publish("stream_sensitivity", "What the parts of SURE are worth", "\n\n".join(texts), write=args.write)


if __name__ == "__main__":
    main()
