"""The published figures of Decima's simulator, made again: its faults switched on, on its own data.

    .venv/bin/python benchmarks/dag_published.py PATH-TO-TPCH-FOLDERS

The figures (50 executors, 25 s between arrivals) were measured with seven input sizes; the data at hand may lack
80 GB.  Its jobs are then stood in for by 100 GB (three times in five) and 50 GB, which gives the same mean work.  Three
of the four faults are switched on; the fourth, durations that no seed reproduces, changes no mean.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.dag import Compat, DagOptions, DagWorld, run
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.readers.tpch import read_tpch

SIZES = ("2g", "5g", "10g", "20g", "50g", "80g", "100g")
FAULTS = Compat(idle_until_arrival=True, inverted_levels=True, pool_forgets=True)
PUBLISHED = {200: 58.6, 5000: 62.8}  # average JCT of fair in seconds, by jobs in a sequence


def sequence(catalogue: DagCatalogue, jobs: int, seed: int) -> DagWorkload:
    rng = np.random.default_rng(seed)
    by_size: dict[str, list[int]] = {}
    for dag, name in enumerate(catalogue.dag_name):
        by_size.setdefault(name.split("-")[1], []).append(dag)
    chosen = []
    for _ in range(jobs):
        size = SIZES[rng.integers(len(SIZES))]
        if size not in by_size:
            size = "100g" if rng.random() < 0.6 else "50g"
        chosen.append(int(rng.choice(by_size[size])))
    return DagWorkload(
        catalogue=catalogue,
        job_name=tuple(f"job{j}" for j in range(jobs)),
        job_dag=np.array(chosen),
        arrival_s=np.cumsum(rng.exponential(25.0, jobs)),
        weight=np.ones(jobs),
        deadline_s=np.full(jobs, np.inf),
    )


def average_jct(catalogue: DagCatalogue, jobs: int, sequences: int, scheduler: str, compat: Compat) -> Floats:
    """(sequences,) average completion time on each of so many job sequences."""
    options = DagOptions(executors=50, compat=compat)
    return np.array(
        [
            run(
                DagWorld(sequence(catalogue, jobs, k), options, SeedTree(k)),
                SCHEDULERS.create(scheduler),
                np.random.default_rng(k),
            ).avg_jct_s
            for k in range(sequences)
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, help="the folder with 2g/, 5g/, ... of Decima's public data")
    parser.add_argument("--json", action="store_true", help="print one JSON document; the table goes to standard error")
    args = parser.parse_args()
    out = sys.stderr if args.json else sys.stdout
    try:
        catalogue = read_tpch(args.folder).source.catalogue
    except DovetailError as error:
        print(f"dag_published: error: {error}", file=sys.stderr)
        return 2
    rows = []
    print(
        f"{'jobs':>6s} {'scheduler':12s} {'faults on, s':>16s} {'published, s':>13s} {'faults off, s':>16s}", file=out
    )
    for jobs, sequences in ((200, 40), (5000, 4)):
        for scheduler in ("dag/fair", "dag/fifo"):
            published = PUBLISHED[jobs] if scheduler == "dag/fair" else None
            row = {"jobs": jobs, "sequences": sequences, "scheduler": scheduler, "published_s": published}
            cells = []
            for name, compat in (("faults_on", FAULTS), ("faults_off", Compat())):
                values = average_jct(catalogue, jobs, sequences, scheduler, compat)
                mean, error_s = float(values.mean()), float(values.std(ddof=1) / np.sqrt(sequences))
                row |= {f"{name}_s": mean, f"{name}_error_s": error_s}
                cells.append(f"{mean:8.1f} +- {error_s:5.1f}")
            known = "not known" if published is None else f"{published:.1f}"
            print(f"{jobs:6d} {scheduler:12s} {cells[0]:>16s} {known:>13s} {cells[1]:>16s}", file=out, flush=True)
            rows.append(row)
    if args.json:
        print(json.dumps({"rows": rows}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
