"""GPU jobs: all schedulers on three sizes of cluster, of one type of GPU and of four, as in the paper of DAS.

    .venv/bin/python experiments/gpu_settings.py --write
    .venv/bin/python experiments/gpu_settings.py --only small-mixed medium-mixed large-mixed --searches 7 --write
    .venv/bin/python experiments/gpu_settings.py --only small medium --das mine=runs/das/checkpoint
    .venv/bin/python experiments/gpu_settings.py --only small --networks 0 --profile quick --seeds 5      # some minutes

All schedulers meet the same sequences (seeds 0, 1, ...; training takes others), and differences are paired.  Published
baselines are those that DAS was published with; the others are what users run today, and orders and places of ours.
The yardstick is the best published one of each size: by completion time for completion times, by fee for fees.

`gpu/das` is what its training makes on average: three networks for clusters of one type of GPU and three for those of
four are trained in OUT/networks, with the seeds of `--networks`, by the command on the cards of the bundled ones (of
which each is one of the three, the one in the middle by validation), with one worker: the number of workers is part of
what decides a run.  A row is the mean of the three, sequence by sequence.  That takes 30 and 50 minutes of CPU time.
`--das NAME=CHECKPOINT` takes networks that are there instead (`--das bundled=auto`: the bundled one; `--das` alone:
none), with `--mean` for a row of their mean; `--profile` and `--set` train otherwise.

A search takes half a minute for a sequence on 128 machines; `--searches N` gives it N of them there, and all are then
compared with it on these.

Clusters of one type of GPU and of four have a file each in experiments/results/, which is written whole or not at all.

Comparisons are kept in OUT, a directory for each setting, which `dovetail report` reads, and gone on with.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from commands import dovetail, publish, table, trained
from elastic_settings import spec_of

from dovetail.core.gpu import Floats
from dovetail.evaluation.statistics import Interval, bootstrap_mean, mean_difference_pct, paired_difference_pct
from dovetail.records.directory import read_records
from dovetail.records.summary import Entry

PUBLISHED = (
    "gpu/fifo+first-fit",
    "gpu/fifo+load-balance",
    "gpu/drf+first-fit",
    "gpu/drf+load-balance",
    "gpu/tetris",
    "gpu/malo",
    "gpu/mosa",
    "gpu/dl2",
    "gpu/rifling",
)
MODERN = (
    "gpu/sjf+topology",
    "gpu/srtf+topology",
    "gpu/srtf+fastest",
    "gpu/srtf+pack",
    "gpu/srtf+fgd",
    "gpu/tetris+topology",
    "gpu/tetris+fastest",
    "gpu/las+topology",
    "gpu/max-min+topology",
    "gpu/easy-backfill+topology",
    "gpu/fifo+least-allocated",
    "gpu/fifo+most-allocated",
    "gpu/fifo+fgd",
)
SEARCHES = ("gpu/malo", "gpu/mosa")
SIZES = ("small", "medium", "large")
MIXED = tuple(f"{size}-mixed" for size in SIZES)
MOSTLY_GANGS = (
    "jobs=120,gang_share=0.8,shared_share=0.05,cpu_share=0.05",
    "jobs=100,gang_share=0.35,gang_sizes=[16],gang_weights=[1.0],whole_share=1.0,gang_stretch=8.0,shared_share=0.3,"
    "cpu_share=0.05",
)
"""What networks learn from, too: the smallest cluster with other work."""


@dataclass(frozen=True)
class Clusters:
    """A file of results: which clusters, the settings, and how networks for these are called."""

    about: str
    settings: tuple[str, ...]
    networks: str

    def learned_from(self) -> tuple[str, ...]:
        """Options of `dovetail train gpu`, as on the card of the bundled network."""
        smallest, larger, _ = self.settings
        mix = ",".join([larger, *(f"{smallest}:{work}" for work in MOSTLY_GANGS)])
        return "--workload", smallest, "--mix", mix


CLUSTERS = {
    "gpu_settings": Clusters("of one type of GPU", SIZES, "one"),
    "gpu_settings_mixed": Clusters("of four types of GPUs", MIXED, "four"),
}
DAS, BUNDLED = "gpu/das", "auto"
MEAN = "mean"  # of several networks
JCT, FEE = "avg_jct_s", "avg_fee_usd"
MINUTE_S = 60.0


@dataclass(frozen=True, eq=False)
class Point:
    """A setting, and what came out: scheduler -> metric -> value by seed, for seeds from 0 on."""

    name: str
    values: dict[str, dict[str, Floats]]
    run_s: dict[str, float] = field(default_factory=dict)  # mean time of a sequence, by scheduler

    def mean(self, name: str, metric: str = JCT) -> float:
        return float(self.values[name][metric].mean())

    def best(self, metric: str, among: Sequence[str] = PUBLISHED) -> str:
        """The lowest mean, on the sequences that all of them have met."""
        there = [name for name in among if name in self.values]
        shared = min(len(self.values[name][metric]) for name in there)
        return min(there, key=lambda name: float(self.values[name][metric][:shared].mean()))

    def difference(self, name: str, other: str, metric: str) -> Interval:
        """Paired, in percent, on the sequences that both have met."""
        ours, theirs = self.values[name][metric], self.values[other][metric]
        shared = min(len(ours), len(theirs))
        return paired_difference_pct(ours[:shared], theirs[:shared])


def measured(name: str, options: Sequence[str], specs: Sequence[str], args: argparse.Namespace) -> Point:
    """Run what is missing."""
    where = args.out / name
    words = ("compare", "gpu", *options, "--out", str(where), "--workers", str(args.workers))
    few = searches_on(name, args)
    dear = [spec for spec in specs if few < args.seeds and spec in SEARCHES]
    for seeds, chosen in ((args.seeds, [spec for spec in specs if spec not in dear]), (few, dear)):
        if chosen:
            dovetail(*words, "--seeds", str(seeds), "--schedulers", ",".join(chosen))
    return read_point(name, where, args.seeds)


def searches_on(name: str, args: argparse.Namespace) -> int:
    """Sequences that the searches are given: fewer only where they take long."""
    return min(args.searches or args.seeds, args.seeds) if name.startswith("large") else args.seeds


def read_point(name: str, directory: Path, seeds: int) -> Point:
    summary = read_records(directory).summary
    values: dict[str, dict[str, Floats]] = {}
    for entry in summary.entries:
        rows = summary.rows(entry)
        rows = rows[summary.seed[rows] < seeds]
        values[spec_of(entry)] = {metric: column[rows] for metric, column in summary.metrics.items()}
    spent: dict[str, list[float]] = {}
    for row in json.loads((directory / "timings.json").read_text(encoding="utf-8"))["rows"]:
        spent.setdefault(spec_of(Entry(row["scheduler"], row["params"])), []).append(row["run_s"])
    return Point(name, values, {spec: float(np.mean(each)) for spec, each in spent.items()})


def with_mean_of(point: Point, groups: Mapping[str, Sequence[str]]) -> Point:
    """And rows that are the means of others, sequence by sequence."""
    made = {
        name: {
            metric: np.mean([point.values[each][metric] for each in members], axis=0)
            for metric in point.values[members[0]]
        }
        for name, members in groups.items()
    }
    return Point(point.name, point.values | made, point.run_s)


def das_spec(checkpoint: str) -> str:
    """As records name it: without the parameter where it is the bundled one."""
    return DAS if checkpoint == BUNDLED else f"{DAS}:checkpoint={checkpoint}"


def named(text: str) -> tuple[str, str]:
    """NAME=CHECKPOINT; a checkpoint alone is its own name."""
    name, given, checkpoint = text.partition("=")
    if given and not (name and checkpoint):
        raise argparse.ArgumentTypeError(f"{text!r}; expected NAME=CHECKPOINT")
    return (name, checkpoint) if given else (text, text)


# --- tables ----------------------------------------------------------------------------------------------------------


def percent(found: Interval) -> str:
    return f"{found.mean:+.1f} %" + (f" [{found.low:+.1f}, {found.high:+.1f}]" if found.known else "")


def scheduler_table(point: Point, titles: Mapping[str, str]) -> str:
    """Those that have a title, the fastest first."""
    fast, cheap = point.best(JCT), point.best(FEE)
    head = ["scheduler", "average JCT, min", f"to `{fast}`, best published", "average fee, USD"]
    head += [f"to `{cheap}`, best published by fee", "average wait, min", "relative speed", "sequences"]
    lines = []
    for name in sorted((name for name in titles if name in point.values), key=point.mean):
        jct = bootstrap_mean(point.values[name][JCT] / MINUTE_S)
        lines.append(
            [
                titles[name],
                f"{jct.mean:.1f}" + (f" [{jct.low:.1f}, {jct.high:.1f}]" if jct.known else ""),
                "" if name == fast else percent(point.difference(name, fast, JCT)),
                f"{point.mean(name, FEE):.2f}",
                "" if name == cheap else percent(point.difference(name, cheap, FEE)),
                f"{point.mean(name, 'avg_wait_s') / MINUTE_S:.1f}",
                f"{100 * point.mean(name, 'relative_speed'):.1f} %",
                str(len(point.values[name][JCT])),
            ]
        )
    return table(head, lines)


def average_table(points: Sequence[Point], titles: Mapping[str, str]) -> str:
    """JCT in minutes / fee in dollars as in the published table, and the mean of the differences of the sizes."""
    everywhere = [name for name in titles if all(name in point.values for point in points)]
    head = ["scheduler", *(point.name for point in points), "average", "JCT to the best published of each size"]
    head += ["fee to the cheapest published of each size"]
    lines = []
    for name in sorted(everywhere, key=lambda name: mean_over(points, name, JCT)):
        cells = [f"{point.mean(name) / MINUTE_S:.1f} / {point.mean(name, FEE):.2f}" for point in points]
        average = f"{mean_over(points, name, JCT) / MINUTE_S:.1f} / {mean_over(points, name, FEE):.2f}"
        found = [percent(over_sizes(points, name, lambda p, m=metric: p.best(m), metric)) for metric in (JCT, FEE)]
        lines.append([titles[name], *cells, average, *found])
    return table(head, lines)


def mean_over(points: Sequence[Point], name: str, metric: str) -> float:
    return float(np.mean([point.mean(name, metric) for point in points]))


def over_sizes(points: Sequence[Point], name: str, other: Callable[[Point], str], metric: str) -> Interval:
    """The mean over sizes of the difference to another of each size, in percent."""
    pairs = [(point.values[name][metric], point.values[other(point)][metric]) for point in points]
    shared = min(len(column) for pair in pairs for column in pair)
    return mean_difference_pct([(ours[:shared], theirs[:shared]) for ours, theirs in pairs])


def cost_table(points: Sequence[Point], titles: Mapping[str, str]) -> str:
    """CPU seconds of a sequence, the most expensive first."""
    known = [name for name in titles if any(name in point.run_s for point in points)]
    known.sort(key=lambda name: -max(point.run_s.get(name, 0.0) for point in points))
    rows = [
        [titles[name], *(f"{point.run_s[name]:.3g}" if name in point.run_s else "" for point in points)]
        for name in known
    ]
    return table(["scheduler", *(point.name for point in points)], rows)


# --- the experiment --------------------------------------------------------------------------------------------------


def add_options(parser: argparse.ArgumentParser, out: Path) -> None:
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--searches", type=int, metavar="N", help="sequences of a search on `large` ones (as of others)"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument(
        "--das", nargs="*", type=named, metavar="NAME=CHECKPOINT", help="these networks, instead of training some"
    )
    parser.add_argument("--profile", default="", metavar="NAME", help="of training (that of the recorded results)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the plan of training")
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--write", action="store_true", help="record the tables in experiments/results/")


def shown(networks: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What the tables of schedulers show: spec -> title."""
    titles = {name: f"`{name}`" + (" (published)" if name in PUBLISHED else "") for name in (*PUBLISHED, *MODERN)}
    return titles | {das_spec(checkpoint): f"**`{DAS}` ({name})**" for name, checkpoint in networks}


def learned(where: Path, words: Sequence[str], seed: int, profile: str, args: argparse.Namespace) -> str:
    """The checkpoint of a network in `where`, which is trained if it is not there, or gone on with."""
    plan = [word for each in args.set for word in ("--set", each)]
    how = ("--profile", args.profile or profile, *plan, "--seed", str(seed), "--workers", "1")
    return str(trained(where, "gpu", *words, *how))


def networks_for(clusters: Clusters, args: argparse.Namespace) -> list[tuple[str, str]]:
    """(name, checkpoint) of each."""
    if args.das is not None:
        found: list[tuple[str, str]] = args.das
        return found
    where, words = args.out / "networks", clusters.learned_from()
    return [
        (str(seed), learned(where / f"{clusters.networks}-{seed}", words, seed, "full", args)) for seed in args.networks
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/gpu_settings"))
    parser.add_argument("--only", nargs="+", choices=(*SIZES, *MIXED), default=(*SIZES, *MIXED), metavar="NAME")
    parser.add_argument("--mean", action="store_true", help="and the mean of all networks of --das")
    parser.add_argument(
        "--networks", nargs="+", type=int, default=[0, 1, 2], metavar="SEED", help="seeds to train with (0 1 2)"
    )
    args = parser.parse_args()
    every = [clusters.settings for clusters in CLUSTERS.values()]
    half = [part for part in every if 0 < len(set(part) & set(args.only)) < len(part)]
    if args.write and half:
        parser.error(f"--write records all sizes of a kind of cluster: --only {' '.join(half[0])}")
    for file, clusters in CLUSTERS.items():
        names = [name for name in clusters.settings if name in args.only]
        if not names:
            continue
        networks = networks_for(clusters, args)
        titles = shown(networks)
        points = [measured(name, ("--workload", name), list(titles), args) for name in names]
        if (args.mean or args.das is None) and len(networks) > 1:
            groups = {MEAN: [das_spec(checkpoint) for _, checkpoint in networks]}
            points = [with_mean_of(point, groups) for point in points]
            titles[MEAN] = f"**`{DAS}`, mean of {len(networks)} networks**"
        title = f"GPU jobs in every setting: clusters {clusters.about}"
        publish(file, title, text_of(points, titles, args), write=args.write)


def text_of(points: Sequence[Point], titles: Mapping[str, str], args: argparse.Namespace) -> str:
    texts = [
        f"Sequences of seeds 0 to {args.seeds - 1}. Means with 95 % intervals (bootstrap over sequences); differences "
        "are paired, sequence by sequence. Published: the baselines of the paper of DAS."
    ]
    for point in points:
        few = searches_on(point.name, args)
        if few < args.seeds:
            searches = " and ".join(f"`{name}`" for name in SEARCHES)
            texts[0] += (
                f" On `{point.name}` the searches {searches} met the first {few} only: differences to them, and which "
                "is the best published, are of these; means are of all that each met."
            )
        texts.append(f"## `{point.name}`\n\n{scheduler_table(point, titles)}")
    if len(points) > 1:
        about = "JCT in minutes / fee in dollars; differences are the mean of those of the sizes, on shared sequences."
        texts.append(f"## All sizes\n\n{about}\n\n{average_table(points, titles)}")
    texts.append(f"## CPU seconds of a sequence\n\n{cost_table(points, titles)}")
    return "\n\n".join(texts)


if __name__ == "__main__":
    main()
