"""GPU jobs of the public trace of 2023: all schedulers on its last part, which nobody was trained on.

    .venv/bin/python experiments/gpu_trace.py --write --data DATA
    .venv/bin/python experiments/gpu_trace.py --data DATA --part validation --das mine=runs/das/checkpoint

Reads `alibaba-gpu2023/` of the folder DATA and splits its jobs by time: the first 50 % to learn from, 10 % to choose
among networks by, the last 40 % to judge by.  Sequences are windows of the last part that follow one another and share
no job; gaps within a window are as recorded, stretched to the load.  The cluster is a sub-sample of the trace's kinds
of machines, small enough that so few jobs fill it.  Jobs of more than six hours are left out: they are a twentieth of
the jobs, most of them services, and a window would be about one or two of them.

Two networks of `gpu/das`: the bundled one, which never saw the trace, and one that is trained on the first part, in
OUT/network, two minutes:

    dovetail train gpu --workload OUT/parts/train --arrivals trace --jobs 139 --load 1 --profile quick --workers 1

`--das NAME=CHECKPOINT` takes others instead, `--das` alone none.  `gpu/dl2` and `gpu/rifling` are the bundled ones, of
the presets, and were not trained anew on the trace.

Comparisons are kept in OUT, a directory for each part and load, which `dovetail report` reads, and gone on with.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from commands import dovetail, publish
from gpu_settings import BUNDLED, add_options, cost_table, learned, measured, scheduler_table, shown

from dovetail.workloads.gpu_source import open_gpu

TRACE = "alibaba-gpu2023"
PARTS = {"train": (None, "50%"), "validation": ("50%", "60%"), "test": ("60%", None)}
CLUSTER = "cloud-2023:machines=4"  # of 26 GPUs: two machines of 8 G2, one of 2 T4, one of 8 G3
LONGEST_S = 21_600
JOBS = 139  # of a window: 20 of them in the last part
LOADS = (1.0, 1.5)


def part_of(name: str, data: Path, out: Path) -> Path:
    """A part of the trace as a workload, imported if it is not there."""
    where = out / "parts" / name
    if not where.is_dir():
        start, end = PARTS[name]
        cut = [*(("--from", start) if start else ()), *(("--to", end) if end else ())]
        words = ["--longest", str(LONGEST_S), "--cluster", CLUSTER, "--name", f"{TRACE}-{name}", *cut]
        dovetail("workload", "import", TRACE, str(data / TRACE), *words, "--out", str(where))
    return where


def networks_for(part: Path, args: argparse.Namespace) -> list[tuple[str, str]]:
    """(name, checkpoint) of each."""
    if args.das is not None:
        found: list[tuple[str, str]] = args.das
        return found
    words = ("--workload", str(part), "--arrivals", "trace", "--jobs", str(args.jobs), "--load", "1")
    return [("trained", learned(args.out / "network", words, 0, "quick", args)), ("bundled", BUNDLED)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, Path("runs/gpu_trace"))
    parser.set_defaults(seeds=None)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DOVETAIL_DATA", "../shared/data")))
    parser.add_argument("--part", choices=list(PARTS), default="test", help="which part to compare on (test)")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"of a window ({JOBS})")
    parser.add_argument("--load", type=float, nargs="+", default=list(LOADS))
    args = parser.parse_args()
    if not (args.data / TRACE).is_dir():
        raise SystemExit(f"{args.data / TRACE}: no such folder; --data names the one with the public data")
    args.out.mkdir(parents=True, exist_ok=True)
    parts = {name: part_of(name, args.data, args.out) for name in PARTS}
    there = open_gpu(parts[args.part]).jobs // args.jobs
    if there < 1:
        raise SystemExit(f"--jobs {args.jobs}: more than the part has")
    args.seeds = there if args.seeds is None else min(args.seeds, there)
    titles = shown(networks_for(parts["train"], args))
    points = []
    for load in args.load:
        options = ("--workload", str(parts[args.part]), "--arrivals", "trace:apart=true", "--jobs", str(args.jobs))
        points.append(measured(f"{args.part}-{load:g}", (*options, "--load", f"{load:g}"), list(titles), args))
    texts = [
        f"The {args.part} part of the trace, {args.seeds} windows of {args.jobs} jobs that share none, on "
        f"`{CLUSTER}`; jobs of up to {LONGEST_S / 3600:g} hours. Means with 95 % intervals (bootstrap over windows); "
        "differences are paired, window by window. Published: the baselines of the paper of DAS; of those that learn, "
        "`gpu/dl2` and `gpu/rifling` are the bundled ones, trained on presets and not anew on the trace."
    ]
    for load, point in zip(args.load, points, strict=True):
        texts.append(f"## Load {load:g}\n\n{scheduler_table(point, titles)}")
    texts.append(f"## CPU seconds of a window\n\n{cost_table(points, titles)}")
    name = "gpu_trace" if args.part == "test" else f"gpu_trace_{args.part}"
    publish(name, "GPU jobs of the public trace of 2023", "\n\n".join(texts), write=args.write)
    print(f"parts: {', '.join(map(str, parts.values()))}", file=sys.stderr)


if __name__ == "__main__":
    main()
