"""The learned scheduler in every setting that it has a network for, against the best heuristic there.

    .venv/bin/python experiments/settings.py --write [--tpch DIR] [--alibaba DIR]
    .venv/bin/python experiments/settings.py --only batch makespan

All heuristics take part, and the tuned ones (alpha and speed-up were found by `dovetail tune` on training seeds).
`dag/oracle-search`, which knows the future, is run on the first 20 sequences of batches.  "No lower than" is a bound:
no job is faster than alone on the cluster, and the k-th to finish does so no earlier than all executors would be done
with the k smallest, each task as short as it is on average at its best, moving free and nothing idle.

DIR is the workload that `dovetail workload import tpch`, or `import alibaba2018 --one-core`, made; without it its rows
are left out.  Comparisons are kept in OUT and gone on with; with --write, rows that were not run stay as they were.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from commands import dovetail, publish, table

from dovetail import Arrivals, SeedTree, open_source
from dovetail.workloads.durations import fill_samples, ideal_s

BATCH = ("--jobs", "20", "--executors", "50")
POISSON = ("--arrivals", "poisson", "--executors", "50")
FOUR_SIZES = ("--classes", "12:1:0.25,13:1:0.5,12:1:0.75,13:1:1")
TUNED_BATCH = ("dag/weighted-fair:alpha=-1.3", "dag/hesrpt:speedup=0.6")
TUNED_POISSON = ("dag/weighted-fair:alpha=0", "dag/hesrpt:speedup=0.05")
ORACLE = "dag/oracle-search"
ORACLE_SEEDS = 20


@dataclass(frozen=True)
class Setting:
    title: str
    network: str
    options: tuple[str, ...]
    tuned: tuple[str, ...] = TUNED_BATCH
    seeds: int = 100
    metric: str = "avg_jct_s"
    oracle: bool = False
    trace: str = ""  # which one, if it is not generated


SETTINGS = {
    "batch": Setting("20 jobs at once", "batch", BATCH, oracle=True),
    "batch-tpch": Setting("20 jobs at once", "batch", BATCH, oracle=True, trace="tpch"),
    "continuous": Setting(
        "load 0.85, 60 jobs", "continuous", ("--jobs", "60", *POISSON, "--load", "0.85"), TUNED_POISSON
    ),
    "long": Setting(
        "load 0.85, 1,000 jobs", "continuous", ("--jobs", "1000", *POISSON, "--load", "0.85"), TUNED_POISSON
    ),
    "long-tpch": Setting(
        "load 0.85, 200 jobs",
        "tpch",
        ("--jobs", "200", *POISSON, "--load", "0.85"),
        TUNED_POISSON,
        trace="tpch",
    ),
    "interval": Setting(
        "a job every 25 s, 1,000 jobs",
        "continuous",
        ("--jobs", "1000", *POISSON, "--interval", "25"),
        TUNED_POISSON,
    ),
    "overload": Setting("load 1.7, 200 jobs", "batch", ("--jobs", "200", *POISSON, "--load", "1.7"), TUNED_BATCH),
    "makespan": Setting("20 jobs at once, makespan", "makespan", BATCH, metric="makespan_s"),
    "zero-cost": Setting("20 jobs at once, moving is free", "batch", (*BATCH, "--moving-delay", "0"), oracle=True),
    "classes": Setting(
        "20 jobs at once, four executor classes",
        "classes",
        ("--workload", "tpch-like:memory=true", "--jobs", "20", *FOUR_SIZES),
        oracle=True,
    ),
    "classes-alibaba": Setting(
        "20 jobs at once, four executor classes",
        "alibaba",
        ("--jobs", "20", *FOUR_SIZES),
        oracle=True,
        trace="alibaba",
    ),
}
RESULT = Path(__file__).parent / "results" / "settings.md"
WORKLOADS = {"": "`tpch-like`", "tpch": "TPC-H traces", "alibaba": "Alibaba 2018"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(SETTINGS), default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--tpch", type=Path, metavar="DIR")
    parser.add_argument("--alibaba", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("runs/settings"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    lines = []
    for name in args.only:
        setting = SETTINGS[name]
        folder = getattr(args, setting.trace) if setting.trace else None
        if setting.trace and folder is None:
            print(f"{name}: left out, for want of --{setting.trace} DIR", file=sys.stderr)
            continue
        lines.append(line_of(setting, folder, args.out / name))
    head = ["workload", "setting", "sequences", "`dag/decima`, s", "best heuristic, s", "difference", "to `dag/fair`"]
    if args.write and RESULT.exists():
        lines = merged(lines)
    text = table([*head, "`dag/oracle-search` (`dag/decima` there)", "no lower than, s"], lines)
    publish("settings", "Every setting", text, write=args.write)


def merged(lines: list[list[str]]) -> list[list[str]]:
    """The recorded table with these lines in the place of those of the same workload and setting."""
    rows = [line for line in RESULT.read_text().splitlines() if line.startswith("|")][2:]
    known = {tuple(cells[:2]): cells for cells in ([cell.strip() for cell in row.split("|")[1:-1]] for row in rows)}
    return list((known | {tuple(line[:2]): line for line in lines}).values())


def line_of(setting: Setting, folder: Path | None, out: Path) -> list[str]:
    workload = () if folder is None else ("--workload", str(folder))
    ours = f"dag/decima:checkpoint={setting.network}"
    schedulers = ",".join(["heuristics", *setting.tuned, ours])
    words = ("compare", "dag", *workload, *setting.options, "--by", setting.metric)
    document = dovetail(*words, "--seeds", str(setting.seeds), "--schedulers", schedulers, "--out", str(out))
    rows = document["rows"]
    learned = next(row for row in rows if row["scheduler"] == "dag/decima")
    best = min((row for row in rows if row["kind"] == "heuristic"), key=lambda row: mean_of(row, setting))
    fair = next(row for row in rows if row["scheduler"] == "dag/fair")
    low, high = learned["vs_best_heuristic_pct_ci95"]
    params = ",".join(f"{key}={value}" for key, value in (best["params"] or {}).items())
    oracle = ""
    if setting.oracle:
        document = dovetail(
            *words,
            "--seeds",
            str(ORACLE_SEEDS),
            "--schedulers",
            f"{schedulers},{ORACLE}",
            "--out",
            str(out) + "-oracle",
        )
        known = {row["scheduler"]: row for row in document["rows"]}
        oracle = (
            f"{known[ORACLE]['vs_best_heuristic_pct']:+.1f} % ({known['dag/decima']['vs_best_heuristic_pct']:+.1f})"
        )
    return [
        WORKLOADS[setting.trace],
        setting.title,
        str(setting.seeds),
        f"{mean_of(learned, setting):,.1f} (`{setting.network}`)",
        f"{mean_of(best, setting):,.1f} (`{best['scheduler']}{':' if params else ''}{params}`)",
        f"{learned['vs_best_heuristic_pct']:+.1f} % [{low:+.1f}, {high:+.1f}]",
        f"{100 * (mean_of(learned, setting) / mean_of(fair, setting) - 1):+.0f} %",
        oracle,
        f"{no_lower_than(folder, setting.seeds):.1f}" if setting.oracle and "--classes" not in setting.options else "",
    ]


def no_lower_than(folder: Path | None, seeds: int) -> float:
    """The bound for batches of 20 jobs on 50 executors."""
    source = open_source("tpch-like" if folder is None else str(folder))
    catalogue, samples = source.catalogue, fill_samples(source.catalogue)
    slots = zip(samples.start.ravel().tolist(), samples.count.ravel().tolist(), strict=True)
    mean_s = np.array([samples.samples_s[at : at + count].mean() for at, count in slots]).reshape(samples.start.shape)
    work_s = np.add.reduceat(catalogue.num_tasks * mean_s.min(axis=(1, 2)), catalogue.stage_ptr[:-1])
    alone_s = ideal_s(catalogue, 50)
    bounds = []
    for seed in range(seeds):
        dags = source.sequence(20, Arrivals(), SeedTree(seed)).job_dag
        bounds.append(np.maximum(np.cumsum(np.sort(work_s[dags])) / 50, np.sort(alone_s[dags])).mean())
    return float(np.mean(bounds))


def mean_of(row: dict[str, Any], setting: Setting) -> float:
    return float(row["metrics"][setting.metric]["mean"])


if __name__ == "__main__":
    main()
