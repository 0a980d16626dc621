"""How fast the dag simulator is, against the plain-Python reference in the same run.

    .venv/bin/python benchmarks/dag_speed.py            # about two minutes, half of it compiling
    .venv/bin/python benchmarks/dag_speed.py --json

The rates and their ratios are those of `dovetail bench sim`.  Two times come on top, each with its target: loading
5,000 jobs from disk, and compiling everything from an empty cache, which a process of its own does in a folder of
its own.
"""

from __future__ import annotations

import argparse
import json
import sys

from dovetail.cli.bench import add_options, read_options, say
from dovetail.core.errors import DovetailError
from dovetail.evaluation.bench_dag import bench_sim, compile_seconds, speed_table

TARGETS_S = {"load_and_reset_5000_jobs_s": 1.0, "compile_from_empty_cache_s": 60.0}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    add_options(parser)
    args = parser.parse_args()
    try:
        figures = bench_sim(read_options(args), say=say)
        say("compiling everything from an empty cache")
        figures["compile_from_empty_cache_s"], figures["compile_from_empty_cache_cpu_s"] = compile_seconds()
    except DovetailError as error:
        print(f"dag_speed: error: {error}", file=sys.stderr)
        return 2
    figures["targets_s"] = TARGETS_S
    if args.json:
        print(json.dumps(figures, indent=2))
        return 0
    print(speed_table(figures))
    for name, target in TARGETS_S.items():
        verdict = "reached" if figures[name] <= target else "MISSED"
        print(
            f"{name:28s} {figures[name]:8.3f} s, {figures[name] / target:.2f} of the target of {target:g} s: {verdict}"
        )
    print(f"{'':28s} {figures['compile_from_empty_cache_cpu_s']:8.3f} s of it CPU time: the rest was waiting")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
