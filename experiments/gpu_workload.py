"""How close generated GPU jobs are to the public trace of 2023: distributions side by side.

    .venv/bin/python experiments/gpu_workload.py --write --data DATA

Reads `alibaba-gpu2023/` of the folder DATA and puts `cloud-2023`, which is fitted to it, and `small`, which is not
(more gangs, no services), beside it.  Also fits the mixture of lognormal durations anew, by expectation and
maximisation.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.core.dag import Floats
from dovetail.core.seeds import SeedTree
from dovetail.workloads.describe import short
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_describe import GROUPS, SHARES, gpu_shares, job_columns, quantiles
from dovetail.workloads.gpu_source import open_gpu
from dovetail.workloads.readers.alibaba_gpu2023 import read_gpu2023

JOBS = 20_000
PARTS = 3
TITLES = {"work_s": "work, s", "cpus_per_gpu": "processors for each GPU", "memory_gb_per_gpu": "GB for each GPU"}


def drawn(name: str) -> GpuWorkload:
    source = open_gpu(name)
    return source.sequence(JOBS, source.arrivals, source.cluster, SeedTree(0))


def fit_lognormals(seconds: Floats, parts: int, rounds: int = 500) -> list[tuple[float, float, float]]:
    """Weight, median and sigma of each part, by expectation and maximisation."""
    log = np.log(seconds)
    middle = np.quantile(log, np.linspace(0.2, 0.9, parts))
    sigma, weight = np.full(parts, log.std()), np.full(parts, 1 / parts)
    for _ in range(rounds):
        score = np.log(weight) - np.log(sigma) - 0.5 * ((log[:, None] - middle) / sigma) ** 2
        share = np.exp(score - score.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        count = share.sum(axis=0)
        weight, middle = count / count.sum(), (share * log[:, None]).sum(axis=0) / count
        sigma = np.sqrt((share * (log[:, None] - middle) ** 2).sum(axis=0) / count)
    return [(float(w), float(np.exp(m)), float(s)) for w, m, s in zip(weight, middle, sigma, strict=True)]


def side_by_side(shown: dict[str, GpuWorkload]) -> str:
    rows = [
        [f"GPUs of a job: {group}", *(f"{gpu_shares(jobs)[group]:.1%}" for jobs in shown.values())] for group in GROUPS
    ]
    for name, title in TITLES.items():
        for place, share in enumerate(SHARES):
            rows.append([f"{title}: {share:.0%}", *(short(quantiles(jobs)[name][place]) for jobs in shown.values())])
    for title, column in (("cv of work", "work_s"), ("cv of gaps between arrivals", "gap_s")):
        cells = [job_columns(jobs)[column] for jobs in shown.values()]
        rows.append([title, *(short(float(each.std() / each.mean())) for each in cells)])
    return table(("", *shown), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DOVETAIL_DATA", "../shared/data")))
    parser.add_argument("--write", action="store_true", help="record the table")
    args = parser.parse_args()
    trace = read_gpu2023(args.data / "alibaba-gpu2023").source.recorded
    assert trace is not None
    shown = {"trace of 2023": trace, "cloud-2023": drawn("cloud-2023"), "small": drawn("small")}
    parts = ", ".join(
        f"{w:.3f} x (median {m:,.0f} s, sigma {s:.2f})" for w, m, s in fit_lognormals(trace.work_s, PARTS)
    )
    busy = trace.arrival_s > trace.arrival_s[-1] - 40 * 86_400  # nearly all of them; before, a pod came every week
    angle = 2 * np.pi * trace.arrival_s[busy] / 86_400
    swing = 2 * abs(np.exp(1j * angle).mean())
    text = "\n".join(
        [
            side_by_side(shown),
            "",
            f"Durations of the trace as {PARTS} lognormal parts: {parts}.",
            f"Arrivals of its last 40 days follow the day with a swing of {swing:.2f}; their gaps vary more than those "
            "of a Poisson process because pods come in bursts, which the generator does not imitate.",
        ]
    )
    publish("gpu_workload", "Generated GPU jobs beside the public trace of 2023", text, write=args.write)


if __name__ == "__main__":
    main()
