"""Which of four policies wins where: the experiment of emergent scheduling (Dean and Porter, SEAMS 2021), simulated.

    .venv/bin/python experiments/emergent_policies.py --write

15 synthetic workloads (`granularity`: coarse, fine and mixed, of five shapes each), batched (20 jobs at once) and
individual (80 jobs one by one, at a load of 0.7), on 5 machines of 8 cores and 16 GB, cut into 20, 10 and 10
executors with 1, 2 and 4 GB.  FIFO, dominant resource fairness, naive fair by threads and by memory.  Theirs is a real
cluster of which no number is published, so there is nothing to compare with but the finding: no policy wins everywhere.
Comparisons are kept in OUT and gone on with.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from commands import dovetail, publish, table

POLICIES = ("dag/fifo", "dag/drf", "dag/fair-threads", "dag/fair-memory")
KINDS = ("coarse", "fine", "mixed")
SHAPES = ("even", "skewed", "memory", "wide", "deep")
SUBMITTED = {
    "batched": ("--jobs", "20"),
    "individual": ("--jobs", "80", "--arrivals", "poisson", "--load", "0.7"),
}
CLUSTER = ("--classes", "20:1:0.25,10:1:0.5,10:1:1", "--moving-delay", "0.5")
METRICS = {"avg_jct_s": "mean completion time", "makespan_s": "makespan"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--out", type=Path, default=Path("runs/emergent_policies"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    lines: dict[str, list[list[str]]] = {metric: [] for metric in METRICS}
    wins = {metric: dict.fromkeys(POLICIES, 0) for metric in METRICS}
    for submitted, options in SUBMITTED.items():
        for kind in args.only:
            for shape in SHAPES:
                rows = compared(args, f"granularity:kind={kind},shape={shape}", options, f"{kind}-{shape}-{submitted}")
                for metric in METRICS:
                    line, winners = line_of(rows, metric)
                    lines[metric].append([submitted, kind, shape, *line])
                    for winner in winners:
                        wins[metric][winner] += 1
    texts = []
    for metric, title in METRICS.items():
        head = ["submitted", "jobs", "shape", *(f"`{policy}`, s" for policy in POLICIES), "lowest", "worst to best"]
        score = ", ".join(f"`{policy}` {count}" for policy, count in wins[metric].items())
        texts.append(f"## {title}\n\nLowest in, ties counted for each: {score}.\n\n{table(head, lines[metric])}")
    text = f"{args.seeds} sequences each; equal to a thousandth counts as equal.\n\n" + "\n\n".join(texts)
    publish("emergent_policies", "Four policies, 15 workloads, batched and individual", text, write=args.write)


def compared(args: argparse.Namespace, workload: str, options: tuple[str, ...], name: str) -> dict[str, Any]:
    words = ("compare", "dag", "--workload", workload, *options, *CLUSTER, "--seeds", str(args.seeds))
    document = dovetail(*words, "--schedulers", ",".join(POLICIES), "--workers", "1", "--out", str(args.out / name))
    return {row["scheduler"]: row for row in document["rows"]}


def line_of(rows: dict[str, Any], metric: str) -> tuple[list[str], list[str]]:
    mean_s = {policy: float(rows[policy]["metrics"][metric]["mean"]) for policy in POLICIES}
    lowest = min(mean_s.values())
    winners = [policy for policy in POLICIES if mean_s[policy] <= 1.001 * lowest]
    cells = [f"{mean_s[policy]:.1f}" for policy in POLICIES]
    worst = f"{100 * (max(mean_s.values()) / lowest - 1):+.0f} %"
    return [*cells, ", ".join(f"`{policy}`" for policy in winners), worst], winners


if __name__ == "__main__":
    main()
