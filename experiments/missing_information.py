"""What a network does when it knows less about durations than it was trained with.

    .venv/bin/python experiments/missing_information.py --write

Batches of 20 jobs on 50 executors, 100 held-out sequences.  "No profiles": only the mean duration of each stage is
known, not how it depends on wave and parallelism.  "No durations": every task of every stage is taken to last as long
as the mean of all tasks, so work is known as a number of tasks only.  The heuristic is told no more.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from commands import publish, table

from dovetail import (
    SCHEDULERS,
    Arrivals,
    DagDecision,
    DagInfo,
    DagOptions,
    DagView,
    DagWorld,
    SeedTree,
    open_source,
    run,
)
from dovetail.evaluation.statistics import bootstrap_mean, paired_difference_pct

SCHEDULER_SPECS = ("dag/decima", "dag/hesrpt")
KNOWLEDGE = ("everything", "no profiles", "no durations")


class KnowsLess:
    """A scheduler whose view of durations is taken away."""

    def __init__(self, spec: str, knowledge: str, mean_s: float) -> None:
        self.inner = SCHEDULERS.create(spec)
        self.knowledge = knowledge
        self.mean_s = mean_s

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self.inner.reset(info if self.knowledge == "everything" else replace(info, profiles=None), rng)

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        return self.inner.decide(without_durations(view, self.mean_s) if self.knowledge == "no durations" else view)


def without_durations(view: DagView, mean_s: float) -> DagView:
    """The view with the same duration everywhere, and everything that follows from it."""
    jobs = len(view.job_id)
    longest = np.ones(len(view.stage_id))
    for _ in range(len(view.stage_id)):
        before = longest.copy()
        np.maximum.at(longest, view.edge_parent, longest[view.edge_child] + 1)
        if np.array_equal(before, longest):
            break
    return view._replace(
        stage_mean_s=np.full(len(view.stage_id), mean_s),
        stage_critical_path_s=longest * mean_s,
        job_work_s=np.bincount(view.stage_job, view.stage_tasks, minlength=jobs) * mean_s,
        job_work_left_s=np.bincount(view.stage_job, view.stage_left, minlength=jobs) * mean_s,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    source = open_source("tpch-like")
    catalogue = source.catalogue
    mean_s = float(np.average(catalogue.stage_mean_s, weights=catalogue.num_tasks))
    found = {}
    for spec in SCHEDULER_SPECS:
        for knowledge in KNOWLEDGE:
            jct_s = []
            for seed in range(args.seeds):
                workload = source.sequence(20, Arrivals("batch"), SeedTree(seed))
                world = DagWorld(workload, DagOptions(executors=50), SeedTree(seed))
                jct_s.append(run(world, KnowsLess(spec, knowledge, mean_s), SeedTree(seed).generator()).avg_jct_s)
            found[spec, knowledge] = np.array(jct_s)
            print(f"{spec}, {knowledge}: {np.mean(jct_s):.1f} s", file=sys.stderr)
    lines = []
    for knowledge in KNOWLEDGE:
        ours, theirs = (found[spec, knowledge] for spec in SCHEDULER_SPECS)
        difference = paired_difference_pct(ours, theirs)
        lines.append(
            [
                knowledge,
                *(f"{bootstrap_mean(one).mean:.1f}" for one in (ours, theirs)),
                f"{difference.mean:+.1f} % [{difference.low:+.1f}, {difference.high:+.1f}]",
            ]
        )
    text = f"{args.seeds} sequences.\n\n" + table(
        ["known of durations", *(f"{spec}, s" for spec in SCHEDULER_SPECS), "difference"], lines
    )
    publish("missing_information", "Knowing less about durations", text, write=args.write)


if __name__ == "__main__":
    main()
