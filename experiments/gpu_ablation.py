"""GPU jobs: what each part of DAS is worth: the four variants of the published ablation, over several training seeds.

    .venv/bin/python experiments/gpu_ablation.py --write      # about an hour on one core

Every variant is trained alike (`--training-seeds`, the same plan), on the smallest cluster, and judged on held-out
sequences of three sizes of cluster; a row is the mean over its networks, sequence by sequence.  Machines of one kind
differ (`docs/gpu-model.md`), as the paper takes for granted; `--even` has clusters where they do not.

In the first group, rules made by hand read the state of machines, so that the ordering agent knows of it with or
without communication.  In the second it knows of it by communication alone, as published: each variant begins with the
network of its own parts and seed in the first group, from whose rules the columns of machines are taken away, and what
these said of starting is taught to the ordering agent, as far as it can tell; all variants alike, whether they hear or
not.

`--without neighbours` and the like leave out what is ours and not published (a part of the plan, set to 0), so that the
parts show alone.

Runs are kept in OUT and gone on with.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from commands import publish, table, trained
from gpu_settings import (
    FEE,
    JCT,
    MINUTE_S,
    SIZES,
    Point,
    das_spec,
    mean_over,
    measured,
    over_sizes,
    percent,
    with_mean_of,
)

PARTS = {
    "DA": ("communicate=false", "random_walk=false"),
    "DA+MC": ("communicate=true", "random_walk=false"),
    "DA+RWGP": ("communicate=false", "random_walk=true"),
    "DAS": ("communicate=true", "random_walk=true"),
}
BLIND = ", network alone"
ALONE = {f"{name}{BLIND}": (*parts, "aware=false") for name, parts in PARTS.items()}
VARIANTS = PARTS | ALONE
GROUPS = {
    "Rules that read the state of machines, as in the product": tuple(PARTS),
    "The network alone hears of machines, as in the paper": tuple(ALONE),
}
TRAINED_ON = ("--jobs", "200")  # and the smallest cluster
UNEVEN = tuple(f"{size}-uneven" for size in SIZES)
PLAN = ("neighbours=20", "warm_up=2", "sequences=8", "pairs=32", "every=10")
TAUGHT = ("neighbours=0", "warm_up=4", "sequences=8", "speed=0", "rules=0")  # what the rules said, and waits
RIVALS = ("gpu/mosa", "gpu/malo")  # the best published of every size
OURS = ("neighbours", "rules")


def ablation_table(points: Sequence[Point], variants: Mapping[str, Sequence[str]]) -> str:
    """A row for each variant: means over its networks and over sequences, against the first variant."""
    points = [with_mean_of(point, variants) for point in points]
    first = next(iter(variants))
    head = ["variant", "networks", *(f"{point.name}, JCT min / fee USD" for point in points), "its networks, JCT min"]
    rivals = all(rival in point.values for point in points for rival in RIVALS)
    head += ["JCT to the best published"] * rivals
    head += [f"{what} to {first}" for what in ("JCT", *(f"JCT on {point.name}" for point in points), "fee")]
    lines = []
    for variant, members in variants.items():
        apart = sorted(mean_over(points, member, JCT) / MINUTE_S for member in members)
        lines.append(
            [
                variant,
                str(len(members)),
                *(f"{point.mean(variant) / MINUTE_S:.1f} / {point.mean(variant, FEE):.2f}" for point in points),
                f"{apart[0]:.1f} to {apart[-1]:.1f}",
                *[percent(over_sizes(points, variant, lambda point: point.best(JCT), JCT)) for _ in range(rivals)],
                *("" if variant == first else each for each in against(points, variant, first)),
            ]
        )
    return table(head, lines)


def on_top(points: Sequence[Point], variants: Mapping[str, Sequence[str]], both: str, one: str) -> str:
    """What the other part adds to one of them, in a sentence."""
    points = [with_mean_of(point, variants) for point in points]
    every, *each, fee = against(points, both, one)
    sizes = ", ".join(f"{found} on {point.name}" for found, point in zip(each, points, strict=True))
    return f"{both} to {one}: JCT {every} ({sizes}), fee {fee}."


def against(points: Sequence[Point], variant: str, first: str) -> list[str]:
    """Differences to the first variant: completion times on all sizes and on each, and fees."""
    every = percent(over_sizes(points, variant, lambda _: first, JCT))
    each = [percent(point.difference(variant, first, JCT)) for point in points]
    return [every, *each, percent(over_sizes(points, variant, lambda _: first, FEE))]


def train(variant: str, seed: int, args: argparse.Namespace) -> str:
    """The spec of a network of this variant."""
    words = ["--workload", args.sizes[0], *TRAINED_ON, "--seed", str(seed), "--workers", str(args.workers)]
    without = [f"{part}=0" for part in args.without]
    if variant in ALONE:
        sighted = variant.removesuffix(BLIND)
        train(sighted, seed, args)  # if it is not there
        words += ["--start", str(directory(sighted, seed, args) / "checkpoint")]
        plan = ["iterations=0", *TAUGHT]
    else:
        plan = [f"iterations={args.iterations}", f"rules={args.rules}", *PLAN, *without]
    words += [word for each in (*VARIANTS[variant], *plan) for word in ("--set", each)]
    return das_spec(str(trained(directory(variant, seed, args), "gpu", *words)))


def directory(variant: str, seed: int, args: argparse.Namespace) -> Path:
    name = variant.replace(", ", "-").replace(" ", "-")
    found: Path = args.out / "-".join([name, str(seed), args.sizes[0], *(f"no-{part}" for part in args.without)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS), metavar="NAME")
    parser.add_argument("--sizes", nargs="+", choices=(*SIZES, *UNEVEN), metavar="NAME", help="the first is learned on")
    parser.add_argument("--even", action="store_true", help="machines of one kind are alike")
    parser.add_argument("--training-seeds", type=int, default=3)
    parser.add_argument("--rules", type=int, default=40, help="steps of evolution (40)")
    parser.add_argument("--iterations", type=int, default=1, help="rounds of forks (1)")
    parser.add_argument("--without", nargs="+", choices=OURS, default=[], metavar="PART", help="set these to 0")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rivals", action="store_true", help="and the best published, which take long")
    parser.add_argument(
        "--searches", type=int, metavar="N", help="sequences of a search on `large` ones (as of others)"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu_ablation"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    args.sizes = args.sizes or (SIZES if args.even else UNEVEN)
    found = {(seed, name): train(name, seed, args) for seed in range(args.training_seeds) for name in args.only}
    variants = {name: [found[seed, name] for seed in range(args.training_seeds)] for name in args.only}
    specs = [*(RIVALS if args.rivals else ()), *(spec for members in variants.values() for spec in members)]
    points = [measured(size, ("--workload", size), specs, args) for size in args.sizes]
    left_out = f", without {' and '.join(args.without)}" if args.without else ""
    texts = [
        f"Trained on `{args.sizes[0]}`, {args.rules} steps of evolution, rounds of forks: {args.iterations}{left_out}; "
        "those whose network alone hears of machines begin with these, and are taught what the rules said that are "
        f"taken away. Sequences of seeds 0 to {args.seeds - 1}. Differences are paired, and the mean of those of the "
        "sizes, with 95 % intervals over sequences, not over training seeds."
    ]
    for title, names in GROUPS.items():
        group = {name: variants[name] for name in names if name in variants}
        if not group:
            continue
        texts += [f"## {title}", ablation_table(points, group)]
        _, *parts, both = names
        texts += [on_top(points, group, both, one) for one in parts if {both, one} <= set(group)]
    name = "_".join(["gpu_ablation", *(["even"] if args.even else []), *(f"no_{part}" for part in args.without)])
    publish(name, "What each part of DAS is worth", "\n\n".join(texts), write=args.write)


if __name__ == "__main__":
    main()
