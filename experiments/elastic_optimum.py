"""How far from the offline optimum elastic schedulers are, where it can be proven, and how far from a bound elsewhere.

    .venv/bin/python experiments/elastic_optimum.py --write
    .venv/bin/python experiments/elastic_optimum.py --instances 5 --bound-seeds 2

Small instances: 8 jobs of `oasis-small`'s kind, cut down so that about half of their worth can be had within 12 slots
on 2 hosts for workers and 2 for parameter servers.  The optimum is that of `schedulers/optimise/elastic/offline.py`;
where it is not proven within LIMIT seconds, the bound that was reached stands for it, so that no instance is left out
and ratios are too high rather than too low.  The ratio is optimum / what a scheduler got.

OASiS is proven to stay below 2 alpha, alpha = max(1, ln(U / L)), if it knows U and L and if a worker takes little of a
host: the proof follows prices as if they changed smoothly, and a host that has no room for another worker as if it were
full.  So it also runs as published (`fill=inf,trust=inf`, nothing tolerated) with the jobs themselves as its history;
and once more with every worker and parameter server divided into 20, of which 20 times as many are needed.  There the
linear relaxation stands for the optimum.

On `oasis-small` itself the optimum is not known, but the linear relaxation of the offline problem is no less.

Optima and bounds are kept in OUT/*.jsonl and not computed again; schedulers always run afresh.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from commands import publish, table

from dovetail import SCHEDULERS, SeedTree
from dovetail.cluster.elastic import halves
from dovetail.core.elastic import ElasticInfo, ElasticJobs
from dovetail.core.errors import DovetailError
from dovetail.evaluation.setting_elastic import ElasticSetting, OpenElasticSetting
from dovetail.evaluation.statistics import bootstrap_mean
from dovetail.schedulers.optimise.elastic.market import estimate
from dovetail.schedulers.optimise.elastic.offline import PROVEN, solve, upper_bound
from dovetail.workloads.elastic import ElasticWorkload

SMALL = "oasis-small:epochs=[5,15],chunks=[2,10],batches=[3,12],due=[1,8]"
JOBS, SLOTS, HOSTS = 8, 12, 4
BOUND_JOBS = (30, 60, 120)
AS_PROVEN = "elastic/oasis:fill=inf,trust=inf,tolerance=0"
KNOWN = "elastic/oasis as published, U and L known"
HOPELESS = 1e4  # a ratio that says: next to nothing was got, in one instance at least
PARTS = 20  # that workers and parameter servers are divided into, where they are to be small


class Kept:
    """Answers that took a while, a line of JSON each, by name."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._known = {one["name"]: one for one in map(json.loads, lines)}

    def get(self, name: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if name not in self._known:
            self._known[name] = {"name": name, **find()}
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                file.write(json.dumps(self._known[name]) + "\n")
        return dict(self._known[name])


def small_setting() -> OpenElasticSetting:
    return ElasticSetting(SMALL, JOBS, None, SLOTS, halves(HOSTS)).open()


def score(opened: OpenElasticSetting, spec: str, seed: int, sequence: ElasticWorkload | None = None) -> float:
    """Total utility, of the seed's sequence or of another one."""
    seeds = SeedTree(seed)
    world = opened.world(opened.sequence(seed) if sequence is None else sequence, seeds)
    return opened.run(world, SCHEDULERS.create(spec), seeds.child("scheduler", spec).generator()).total_utility


def its_own_history(sequence: ElasticWorkload) -> ElasticWorkload:
    """So that estimates are right."""
    return sequence.with_history(sequence.jobs())


def divided(sequence: ElasticWorkload) -> ElasticWorkload:
    """Workers and servers a `PARTS`-th as large, of which so many more are needed: the same work for the same hosts."""
    return replace(
        sequence,
        chunks=sequence.chunks * PARTS,
        gradient_mb=sequence.gradient_mb / PARTS,  # it goes over a `PARTS`-th of the bandwidth
        worker_demand=sequence.worker_demand / PARTS,
        server_demand=sequence.server_demand / PARTS,
    )


def proven_ratio(info: ElasticInfo, jobs: ElasticJobs) -> float:
    """2 alpha, with the U and L of these jobs."""
    return 2 * max(one.alpha for one in estimate(replace(info, history=jobs), fill=math.inf, error=1.0))


def optimum(opened: OpenElasticSetting, seed: int, limit_s: float) -> dict[str, Any]:
    """The offline optimum, whether it is proven, and the ratio that OASiS is proven not to exceed."""
    sequence = opened.sequence(seed)
    info = opened.world(sequence, SeedTree(seed)).info
    found = solve(info, sequence.jobs(), time_s=limit_s)
    most = proven_ratio(info, sequence.jobs())
    return {"optimum": found.objective, "bound": found.bound, "proven": found.proven, "most": most}


def compare(instances: int, specs: Sequence[str], kept: Kept, limit_s: float) -> Iterator[dict[str, Any]]:
    """Instance by instance: the optimum, and what everybody got."""
    opened = small_setting()
    for seed in range(instances):
        name = f"{SMALL} {JOBS} jobs {SLOTS} slots {HOSTS} hosts seed {seed}"
        one = kept.get(name, lambda seed=seed: optimum(opened, seed, limit_s))
        scores = {spec: score(opened, spec, seed) for spec in specs}
        scores[KNOWN] = score(opened, AS_PROVEN, seed, its_own_history(opened.sequence(seed)))
        for spec, got in scores.items():
            if got > one["bound"] * (1 + 10 * PROVEN):
                raise DovetailError(f"{spec} beats the optimum of seed {seed}: {got} > {one['bound']}")
        yield {**one, "seed": seed, "scores": scores}


def compare_divided(instances: int) -> Iterator[dict[str, Any]]:
    """The same instances with small containers: OASiS against the linear relaxation."""
    opened = small_setting()
    for seed in range(instances):
        sequence = its_own_history(divided(opened.sequence(seed)))
        info = opened.world(sequence, SeedTree(seed)).info
        bound = upper_bound(info, sequence.jobs(), pooled=False)
        scores = {spec: score(opened, spec, seed, sequence) for spec in ("elastic/oasis", AS_PROVEN)}
        most = proven_ratio(info, sequence.jobs())
        scores[KNOWN] = scores.pop(AS_PROVEN)
        yield {"optimum": bound, "bound": bound, "proven": True, "most": most, "seed": seed, "scores": scores}


def summarise(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each scheduler, best first; what is not proven counts with its bound."""
    rows = []
    for spec in found[0]["scores"] if found else []:
        best = np.array([one["optimum"] if one["proven"] else one["bound"] for one in found])
        got = np.array([one["scores"][spec] for one in found])
        with np.errstate(divide="ignore"):
            ratio = best / got
        finite = bool(np.isfinite(ratio).all())
        mean = bootstrap_mean(ratio) if finite else None
        rows.append(
            {
                "scheduler": spec,
                "mean": mean.mean if mean else math.inf,
                "interval": (mean.low, mean.high) if mean else (math.inf, math.inf),
                "worst": float(ratio.max()),
                "share": float((got / best).mean()),
                "optimal": float((ratio < 1 + 1e-6).mean()),
                "hopeless": int((ratio >= HOPELESS).sum()),
                "above": int((ratio > np.array([one["most"] for one in found])).sum()),
            }
        )
    return sorted(rows, key=lambda row: (row["mean"], -row["share"]))


def ratio_table(rows: Sequence[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        low, high = row["interval"]
        name = f"`{row['scheduler']}`" if " " not in row["scheduler"] else row["scheduler"]
        mean = f"{row['mean']:.3f} [{low:.3f}, {high:.3f}]"
        if row["hopeless"]:
            mean = f"next to nothing was got in {row['hopeless']}"
        worst = "" if row["hopeless"] else f"{row['worst']:.2f}"
        is_oasis = row["scheduler"] == "elastic/oasis" or row["scheduler"] == KNOWN
        above = str(row["above"]) if is_oasis else ""
        shares = (f"{100 * row['share']:.1f} %", f"{100 * row['optimal']:.0f} %")
        lines.append([name, mean, worst, *shares, above])
    head = ["scheduler", "optimum / got, mean", "worst", "got / optimum, mean", "optimal in", "above the proven ratio"]
    return table(head, lines)


def bound_table(specs: Sequence[str], kept: Kept, seeds: int) -> str:
    """Total utility as a share of the linear relaxation."""
    lines: dict[str, list[str]] = {spec: [f"`{spec}`"] for spec in specs}
    for jobs in BOUND_JOBS:
        opened = ElasticSetting("oasis-small", jobs).open()
        shares: dict[str, list[float]] = {spec: [] for spec in specs}
        for seed in range(seeds):
            sequence = opened.sequence(seed)
            info = opened.world(sequence, SeedTree(seed)).info
            bound = kept.get(
                f"oasis-small {jobs} jobs seed {seed} pooled",
                lambda info=info, sequence=sequence: {"bound": upper_bound(info, sequence.jobs())},
            )["bound"]
            for spec in specs:
                shares[spec].append(score(opened, spec, seed) / bound)
        for spec in specs:
            mean = bootstrap_mean(shares[spec])
            lines[spec].append(f"{100 * mean.mean:.1f} % [{100 * mean.low:.1f}, {100 * mean.high:.1f}]")
        print(f"elastic_optimum: {jobs} jobs are bounded", file=sys.stderr)
    return table(["share of the bound", *(f"{jobs} jobs" for jobs in BOUND_JOBS)], list(lines.values()))


def spread(found: Sequence[dict[str, Any]]) -> str:
    most = [one["most"] for one in found]
    return f"{min(most):.0f} to {max(most):.0f}"


def main() -> int:
    every = [name for name in SCHEDULERS.names("elastic") if name != "elastic/offline"]
    quick = [name for name in every if name != "elastic/dorm"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=60, help="seeds 0, 1, ... (60)")
    parser.add_argument("--bound-seeds", type=int, default=20, help="sequences of oasis-small (20); 0: none")
    parser.add_argument("--schedulers", nargs="+", default=every, metavar="SPEC", help="(all)")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for an instance (60)")
    parser.add_argument("--out", type=Path, default=Path("runs/elastic_optimum"), help="where optima are kept")
    parser.add_argument("--write", action="store_true", help="record the tables in experiments/results/")
    args = parser.parse_args()
    found = []
    for one in compare(args.instances, args.schedulers, Kept(args.out / "optima.jsonl"), args.limit):
        found.append(one)
        print(f"elastic_optimum: {len(found)} of {args.instances}: {one['optimum']:.1f}", file=sys.stderr)
    unsolved = sum(not one["proven"] for one in found)
    small = list(compare_divided(args.instances))
    texts = [
        f"{len(found)} instances (seeds 0 to {len(found) - 1}) of {JOBS} jobs, {SLOTS} slots and {HOSTS} hosts, "
        f"{unsolved} of them not proven within {args.limit:g} s: there the bound stands for the optimum. 95 % "
        f"intervals. The proven ratio, with the U and L of each instance, is {spread(found)}: sigmoids that fall to "
        "nothing make it so large.",
        ratio_table(summarise(found)),
        f"## As the proof assumes: small containers\n\nThe same, with every worker and parameter server divided into "
        f"{PARTS}, U and L known, and the linear relaxation in the place of the optimum. The proven ratio is "
        f"{spread(small)}.",
        ratio_table(summarise(small)),
    ]
    if args.bound_seeds:
        texts += [
            f"## `oasis-small` against a bound\n\nSeeds 0 to {args.bound_seeds - 1}. The bound is the linear "
            "relaxation of the offline problem, in which all hosts are one, jobs may complete in part and everything "
            "to come is known; nobody can get more, and perhaps nobody that much.",
            bound_table(
                [spec for spec in args.schedulers if spec in quick], Kept(args.out / "bounds.jsonl"), args.bound_seeds
            ),
        ]
    publish("elastic_optimum", "Distance to the offline optimum", "\n\n".join(texts), write=args.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
