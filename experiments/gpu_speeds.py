"""How fast training jobs are beside others, apart, and on other GPUs: fits the speed model to published measurements.

    .venv/bin/python experiments/gpu_speeds.py --write --data DATA

Reads `gpu-throughputs/simulation_throughputs.json` of the folder DATA (the throughputs that Gavel was published with),
fits `cluster/gpu_speed_fit.py` to them and prints how far the fit is from what was measured: also from pairs that it
did not see, by rank.  With --write, the numbers that are shipped (`cluster/gpu_speeds.json`) are made anew.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.cluster.gpu import GPU_TYPES
from dovetail.cluster.gpu_speed import DEFAULT_FILE
from dovetail.cluster.gpu_speed_file import read_measured, write_speeds
from dovetail.cluster.gpu_speed_fit import BUSY_SPEED, SHARED_SPEED, SpeedFit, fit_speeds

FILE = Path("gpu-throughputs") / "simulation_throughputs.json"
SHOWN = ("P100", "K80", "A100", "T4", "A10", "H100")


def errors(fit: SpeedFit) -> str:
    chosen = fit.model.device_pressure.shape[1]
    rows = [
        [
            f"{error.rank}{' (taken)' if error.rank == chosen else ''}",
            f"{error.median:.1%}",
            f"{error.p90:.0%}",
            f"{error.held_out_median:.1%}",
            f"{error.held_out_p90:.0%}",
        ]
        for error in fit.pair_errors
    ]
    head = ("rank", "median error", "nine in ten within", "pairs held out: median", "nine in ten within")
    return table(head, rows)


def kinds(fit: SpeedFit) -> str:
    model = fit.model
    slow = 1 + model.device_sensitivity @ model.device_pressure.T
    columns = [[gpu.name for gpu in GPU_TYPES].index(name) for name in SHOWN]
    rows = [
        [
            name,
            *(f"{model.speed[row, column]:.2f}" for column in columns),
            f"{model.network[row]:.2f}",
            " / ".join(f"{value:.2f}" for value in model.host_pressure[row, :2]),
            f"{np.median(slow[row, :-1]):.2f}",
            f"{np.median(slow[:-1, row]):.2f}",
        ]
        for row, name in enumerate(model.kind_name)
    ]
    return table(("kind", *SHOWN, "network", "host: processors / PCIe", "slowed by others", "slows others"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DOVETAIL_DATA", "../shared/data")))
    parser.add_argument("--rank", type=int, help="of the pairs' factors (the one of the least error on pairs held out)")
    parser.add_argument("--write", action="store_true", help="make the shipped numbers, and record the table")
    args = parser.parse_args()
    fit = fit_speeds(read_measured(args.data / FILE), args.rank)
    text = "\n".join(
        [
            f"{fit.pairs} pairs of one worker each on one V100: |predicted / measured speed - 1|",
            "",
            errors(fit),
            "",
            f"Workers apart: {fit.apart} measurements on three types, median error {fit.apart_median_error:.0%}, nine "
            f"in ten within {fit.apart_p90_error:.0%} (one number for each kind serves all types; V100s with NVLink "
            "lose most, others little).",
            f"Four whole-GPU jobs on a machine: median speed {fit.shared_speed:.3f} over all kinds (wanted "
            f"{SHARED_SPEED}), {fit.busy_speed:.3f} over the most demanding quarter (wanted {BUSY_SPEED}).",
            "",
            "Speed by type relative to a V100 (P100 and K80 measured, the others from the speed of their memory), and "
            "medians over all partners on one device:",
            "",
            kinds(fit),
        ]
    )
    if args.write:
        made = {
            "command": "experiments/gpu_speeds.py --write",
            "from": "throughputs published with Gavel (OSDI 2020), MIT licence",
            "rank": fit.model.device_pressure.shape[1],
        }
        write_speeds(fit.model, DEFAULT_FILE, made)
    publish("gpu_speeds", "Speeds of training jobs, fitted", text, write=args.write)


if __name__ == "__main__":
    main()
