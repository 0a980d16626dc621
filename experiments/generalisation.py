"""How a network does where it was not trained: other loads, larger clusters, other workloads.

    .venv/bin/python experiments/generalisation.py --write [--tpch DIR] [--alibaba DIR]

Every row is a setting; the network is the bundled one for the nearest setting, and its difference is to the best
heuristic there, paired.  DIR are workloads imported with `dovetail workload import`; without them those rows are left
out.  Comparisons are kept in OUT and gone on with.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from commands import dovetail, publish, table

RIVALS = "dag/fair,dag/fair-spill,dag/weighted-fair,dag/graphene,dag/hesrpt,dag/srtf,dag/tetris"  # any may be the best
LARGE = ("--executors", "500")
BATCH = ("--jobs", "20", "--executors", "50")
POISSON = ("--jobs", "200", "--arrivals", "poisson", "--executors", "50")


def settings(args: argparse.Namespace) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name -> network and options."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {
        "batch of 20, as trained": ("batch", BATCH),
        "batch of 5": ("batch", ("--jobs", "5", "--executors", "50")),
        "batch of 60": ("batch", ("--jobs", "60", "--executors", "50")),
        "batch of 200, 500 executors": ("batch", ("--jobs", "200", *LARGE)),
        "batch of 20, executors move at no cost": ("batch", (*BATCH, "--moving-delay", "0")),
        "layered DAGs": ("batch", ("--workload", "layered", *BATCH)),
        "load 0.5": ("continuous", (*POISSON, "--load", "0.5")),
        "load 0.7": ("continuous", (*POISSON, "--load", "0.7")),
        "load 0.85, as trained": ("continuous", (*POISSON, "--load", "0.85")),
        "load 1.0": ("continuous", (*POISSON, "--load", "1.0")),
        "load 0.85, 500 executors": (
            "continuous",
            ("--jobs", "300", "--arrivals", "poisson", "--load", "0.85", *LARGE),
        ),
    }
    if args.tpch is not None:
        found["TPC-H traces, batch of 20"] = ("batch", ("--workload", str(args.tpch), *BATCH))
        found["TPC-H traces, load 0.85"] = ("continuous", ("--workload", str(args.tpch), *POISSON, "--load", "0.85"))
    if args.alibaba is not None:
        wide = ("--jobs", "500", "--arrivals", "trace", "--executors", "200")
        found["Alibaba, 500 jobs as recorded"] = ("continuous", ("--workload", str(args.alibaba), *wide))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tpch", type=Path, metavar="DIR")
    parser.add_argument("--alibaba", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("runs/generalisation"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    lines = []
    for number, (name, (network, options)) in enumerate(settings(args).items()):
        spec = f"dag/decima:checkpoint={network}"
        words = ("compare", "dag", *options, "--seeds", str(args.seeds), "--schedulers", f"{RIVALS},{spec}")
        document = dovetail(*words, "--out", str(args.out / f"{number:02d}"))
        best = next(row for row in document["rows"] if row["kind"] == "heuristic")
        ours = next(row for row in document["rows"] if row["scheduler"] == "dag/decima")
        low, high = ours["vs_best_heuristic_pct_ci95"]
        lines.append(
            [
                name,
                network,
                f"{ours['metrics']['avg_jct_s']['mean']:.1f}",
                document["best_heuristic"],
                f"{best['metrics']['avg_jct_s']['mean']:.1f}",
                f"{ours['vs_best_heuristic_pct']:+.1f} % [{low:+.1f}, {high:+.1f}]",
            ]
        )
    head = ["setting", "network", "its average JCT, s", "best heuristic", "its average JCT, s", "difference"]
    text = f"{args.seeds} sequences each, seeds from 0.\n\n{table(head, lines)}"
    publish("generalisation", "Where a network was not trained", text, write=args.write)


if __name__ == "__main__":
    main()
