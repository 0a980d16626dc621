"""Trains the networks and tables of the published learned baselines of family gpu, which are shipped.

    .venv/bin/python experiments/train_gpu_baselines.py rifling
    .venv/bin/python experiments/train_gpu_baselines.py dl2

Writes NAME.safetensors and NAME.json, its card, to OUT (the folder they are shipped from, unless told otherwise).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from dovetail import __version__
from dovetail.records.manifest import plain
from dovetail.schedulers.learned.gpu_baselines.dl2 import BUNDLED, save_network
from dovetail.schedulers.learned.gpu_baselines.rifling import save_table
from dovetail.training.commit import current_commit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("name", choices=("rifling", "dl2"))
    parser.add_argument("--out", type=Path, default=BUNDLED)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few sequences, to see that it works")
    args = parser.parse_args()
    began = time.perf_counter()
    command = " ".join(["python", "experiments/train_gpu_baselines.py", *sys.argv[1:]])
    card = {"command": command, "seed": args.seed, "version": __version__, "commit": current_commit()}
    if args.name == "rifling":
        from dovetail.training.rifling import RiflingPlan, train_rifling

        rifling = RiflingPlan(sequences=3) if args.quick else RiflingPlan()
        table = train_rifling(rifling, args.seed, lambda n, s, usd: print(f"{n}  {s / 60:.1f} min  {usd:.2f} USD"))
        card |= {"plan": plain(asdict(rifling)), "seconds": round(time.perf_counter() - began)}
        print(save_table(args.out / "rifling", table, card))
    else:
        from dovetail.training.dl2 import Dl2Plan, train_dl2

        dl2 = Dl2Plan()
        if args.quick:
            dl2 = replace(dl2, workloads=("small",), taught=1, passes=1, iterations=1, episodes=1, validation=1)
        network = train_dl2(dl2, args.seed, lambda phase, n, figures: print(phase, n, figures, flush=True))
        card |= {"plan": plain(asdict(dl2)), "seconds": round(time.perf_counter() - began)}
        print(save_network(args.out / "dl2", network, card))


if __name__ == "__main__":
    main()
