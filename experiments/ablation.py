"""What each part of the learned scheduler is worth: the same short training without it.

    .venv/bin/python experiments/ablation.py --write --iterations 30    # some 70 minutes on one core
    .venv/bin/python experiments/ablation.py --only no-graph full --iterations 20

Batches of 20 jobs, 50 executors, judged on 100 held-out sequences.  All runs have the same number of iterations, fewer
than a published network has, so it is differences that count.  Runs are kept in OUT and gone on with.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from commands import dovetail, publish, rows_by_name, table, trained

SETTING = ("--workload", "tpch-like", "--jobs", "20", "--executors", "50")
RIVAL = "dag/hesrpt"
GRADIENTS = ("--algorithm", "ppo", "--set", "sequences=4")  # eight episodes of each: as many as search plays, and more
CURRICULUM = ("--set", "horizon_s=[40,400]")
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "full": ("everything", ()),
    "no-graph": ("no graph network: no messages, no embedding of jobs and system", ("--shape", "no-graph")),
    "no-limits": ("no control of parallelism: a stage gets all it can use", ("--shape", "no-limits")),
    "no-imitation": ("no imitation: from random weights", ("--teacher", "none", "--set", f"search.base={RIVAL}")),
    "paper": ("the published features and widths", ("--shape", "paper")),
    "to-the-end": ("search: copies run to the end, not for two completion times", ("--set", "search.span_s=inf")),
    "ppo": ("PPO in place of search, input-dependent baseline", GRADIENTS),
    "ppo-time": ("PPO, baseline by time alone", (*GRADIENTS, "--set", "baseline=time")),
    "ppo-curriculum": ("PPO, episodes of growing length", (*GRADIENTS, *CURRICULUM)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS), metavar="NAME")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    shared = (*SETTING, "--iterations", str(args.iterations), "--workers", str(args.workers))
    checkpoints = {name: trained(args.out / name, "dag", *shared, *VARIANTS[name][1]) for name in args.only}
    specs = [f"dag/decima:checkpoint={path}" for path in checkpoints.values()]
    document = dovetail("compare", "dag", *SETTING, "--seeds", "100", "--schedulers", ",".join([RIVAL, *specs]))
    rows = rows_by_name(document)
    lines = [[RIVAL, "the best heuristic, imitated first", *figures(rows[RIVAL])]]
    lines += [[name, VARIANTS[name][0], *figures(rows[f"dag/decima ({name})"])] for name in checkpoints]
    text = f"{args.iterations} iterations each.\n\n" + table(
        ["variant", "", "average JCT, s", f"against {RIVAL}"], lines
    )
    publish("ablation", "What each part is worth", text, write=args.write)


def figures(row: dict) -> list[str]:
    jct, (low, high) = row["metrics"]["avg_jct_s"], row["vs_best_heuristic_pct_ci95"]
    return [f"{jct['mean']:.1f}", f"{row['vs_best_heuristic_pct']:+.1f} % [{low:+.1f}, {high:+.1f}]"]


if __name__ == "__main__":
    main()
