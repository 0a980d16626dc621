"""The four policies on real processes: one machine of the five, the 15 workloads, beside their simulation.

    .venv/bin/python experiments/emergent_live.py --write

One machine of 8 cores and 16 GB, cut into 4, 2 and 2 executors with 1, 2 and 4 GB; 8 jobs at once (batched) or one by
one at a load of 0.7 (individual), one sequence.  Tasks sleep, so two cores are enough.  A second of the workload takes
`--time-scale` real ones; what the engine itself takes is not scaled, so it weighs more the smaller that is.  Runs are
kept in OUT and not repeated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from pathlib import Path
from typing import Any

from commands import dovetail, publish, table
from emergent_policies import KINDS, POLICIES, SHAPES, SUBMITTED

CLUSTER = ("--classes", "4:1:0.25,2:1:0.5,2:1:1", "--moving-delay", "0.5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--time-scale", type=float, default=0.05)
    parser.add_argument("--submitted", nargs="+", choices=SUBMITTED, default=list(SUBMITTED))
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--out", type=Path, default=Path("runs/emergent_live"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    lines, ratios, agree = [], [], 0
    for submitted, kind, shape in itertools.product(args.submitted, args.only, SHAPES):
        found = {policy: played(args, submitted, kind, shape, policy) for policy in POLICIES}
        real = {policy: one["avg_jct_s"] for policy, one in found.items()}
        simulated = {policy: one["simulated_avg_jct_s"] for policy, one in found.items()}
        ratios += [one["ratio"] for one in found.values()]
        winner = min(real, key=real.__getitem__)
        # A tie in the simulation is decided by chance in reality.
        agree += simulated[winner] <= 1.02 * min(simulated.values())
        cells = [f"{real[policy]:.1f} ({simulated[policy]:.1f})" for policy in POLICIES]
        lines.append([submitted, kind, shape, *cells, f"`{winner}`"])
    head = ["submitted", "jobs", "shape", *(f"`{policy}`, s" for policy in POLICIES), "lowest in reality"]
    text = (
        f"Mean completion time in reality (simulated), {args.jobs} jobs, time scale {args.time_scale:g}.  Reality over "
        f"simulation: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f} over "
        f"{len(ratios)} runs.  In {agree} of {len(lines)} workloads the policy that won in reality is within 2 % of "
        f"the best in simulation.\n\n{table(head, lines)}"
    )
    publish("emergent_live", "Four policies on real processes", text, write=args.write)


def played(args: argparse.Namespace, submitted: str, kind: str, shape: str, policy: str) -> Any:
    kept = args.out / f"{submitted}-{kind}-{shape}-{policy.replace('/', '-')}-{args.jobs}-{args.time_scale:g}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    words = ("run", f"granularity:kind={kind},shape={shape}", *SUBMITTED[submitted], "--jobs", str(args.jobs), *CLUSTER)
    found = dovetail(*words, "--scheduler", policy, "--time-scale", f"{args.time_scale:g}")
    kept.write_text(json.dumps(found))
    return found


if __name__ == "__main__":
    main()
