"""More work than can be done, now and then: does it help to judge windows in which jobs pile up?

    .venv/bin/python experiments/overload.py --write

Four kinds of work of `changing`, each alone, on the cluster of `experiments/adaptation.py`.  Every 20 minutes begin
with ten in which jobs arrive for 1.4 times what the executors can do, and end with ten at 0.35, to catch up.
`dag/adaptive` meets the same sequences as the compositions it chooses from, and as itself without the judgement of
crowded windows: those are then not judged at all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from commands import publish, table

from adaptation import OPTIONS, difference
from dovetail import SCHEDULERS, Arrivals, DagWorld, SeedTree, open_source, run
from dovetail.adaptation.adaptive import COMPOSITIONS, Adaptive
from dovetail.adaptation.perception import Window
from dovetail.core.dag import Floats

KINDS = ("fine-wide-batched", "coarse-wide-batched", "mixed-skewed-individual", "mixed-deep-individual")
BASE, HIGH, LOW, HALF_S = 0.7, 1.4, 0.35, 600.0
ADAPTIVE, BLIND = "dag/adaptive", "the same, crowded windows not judged"


class Blind(Adaptive):
    def _judge(self, window: Window, crowded: bool, many_left: bool) -> float:
        return float("nan") if crowded else super()._judge(window, crowded, many_left)


def in_bursts(arrival_s: Floats) -> Floats:
    """Arrivals at load `BASE`, squeezed into the first half of each period and stretched over the second."""
    squeezed_s, stretched_s = HALF_S * HIGH / BASE, HALF_S * LOW / BASE
    periods, at_s = np.divmod(arrival_s, squeezed_s + stretched_s)
    late_s = HALF_S + (at_s - squeezed_s) * BASE / LOW
    bursts: Floats = periods * 2.0 * HALF_S + np.where(at_s < squeezed_s, at_s * BASE / HIGH, late_s)
    return bursts


def contenders() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {ADAPTIVE: Adaptive, BLIND: Blind}
    for text in COMPOSITIONS:
        order, size, place, dispatch = text.split("+")
        spec = f"dag/composed:order={order},size={size},place={place},dispatch={dispatch}"
        found[text] = lambda spec=spec: SCHEDULERS.create(spec)
    return found


def mean_jct_s(kind: str, jobs: int, seed: int, make: Callable[[], Any]) -> float:
    seeds = SeedTree(seed)
    workload = open_source(f"changing:phases=[{kind}],load={BASE}").sequence(jobs, Arrivals("trace"), seeds)
    workload = replace(workload, arrival_s=in_bursts(workload.arrival_s))
    return run(DagWorld(workload, OPTIONS, seeds), make(), seeds.child("scheduler").generator()).avg_jct_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--seed", type=int, default=100, metavar="K", help="of the first sequence; those below were tuned on"
    )
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    rows = []
    for kind in KINDS:
        found = {}
        for name, make in contenders().items():
            found[name] = np.array(
                [mean_jct_s(kind, args.jobs, seed, make) for seed in range(args.seed, args.seed + args.seeds)]
            )
            print(f"{kind}: {name} {found[name].mean():.1f} s", file=sys.stderr, flush=True)
        best = min(COMPOSITIONS, key=lambda name: found[name].mean())
        rows.append(
            [
                kind,
                f"{found[ADAPTIVE].mean():.1f}",
                f"{found[BLIND].mean():.1f}",
                difference(found[ADAPTIVE], found[BLIND]),
                f"`{best}` {found[best].mean():.1f}",
                difference(found[ADAPTIVE], found[best]),
                f"{max(found[name].mean() for name in COMPOSITIONS):.1f}",
            ]
        )
    head = [
        "work",
        f"`{ADAPTIVE}`, s",
        f"{BLIND}, s",
        "difference",
        "best fixed, s",
        "to that",
        "worst fixed, s",
    ]
    text = f"{args.seeds} sequences of {args.jobs} jobs of each kind; mean completion times.  Differences are paired, "
    publish("overload", "When jobs pile up", text + "with 95 % intervals.\n\n" + table(head, rows), write=args.write)


if __name__ == "__main__":
    main()
