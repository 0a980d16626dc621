"""Where the learned scheduler decides otherwise than a heuristic, and what that is worth.

    .venv/bin/python experiments/disagreements.py --write
    .venv/bin/python experiments/disagreements.py --against dag/fair-spill

The network plays batches of 20 jobs on 50 executors.  At each of its decisions the heuristic is asked too.  At some of
those where they differ both decisions are tried in copies of the world, each completed by the heuristic itself to the
end, with the same luck, and over several lucks; the gain is how much less all jobs together take after the network's.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np
from commands import publish, table

from dovetail import Arrivals, DagOptions, SeedTree, open_source
from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.checkpoint import load_checkpoint
from dovetail.schedulers.learned.decima.forward import choose, pack
from dovetail.schedulers.learned.decima.inputs import decima_input
from dovetail.schedulers.learned.decima.scheduler import find_checkpoint
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.sim.dag.fork import Fork
from dovetail.sim.dag.objective import objective
from dovetail.training.dag_search import Candidate, as_decision, search_base
from dovetail.training.teacher import teacher_choice

KINDS = ("the same", "fewer executors", "more executors", "another stage of the job", "another job")


def kind_of(ours: Candidate, theirs: Candidate, node_job: np.ndarray) -> str:
    if ours == theirs:
        return "the same"
    if ours[0] == theirs[0]:
        return "fewer executors" if ours[2] < theirs[2] else "more executors"
    return "another stage of the job" if node_job[ours[0]] == node_job[theirs[0]] else "another job"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="batch", metavar="NAME|FILE")
    parser.add_argument("--against", default="dag/hesrpt", metavar="NAME")
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--share", type=float, default=0.2, help="of the disagreements that are tried")
    parser.add_argument("--lucks", type=int, default=8)
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    checkpoint = load_checkpoint(find_checkpoint(args.network))
    network, features = pack(checkpoint.shape, checkpoint.parameters), feature_set(checkpoint.shape.features)
    source, prices, rng = open_source("tpch-like"), objective("average-jct").prices(), np.random.default_rng(0)
    seen: dict[str, int] = defaultdict(int)
    gains: dict[str, list[float]] = defaultdict(list)
    for seed in range(args.sequences):
        seeds = SeedTree(seed)
        episodes = iter([Episode(source.sequence(20, Arrivals(), seeds), seeds)])
        batch = DagBatch(source.catalogue, DagOptions(executors=50), episodes, 1)
        rival, fork = search_base(args.against), Fork()
        rival.reset(batch.info, rng)
        views, _ = batch.start()
        while views.active.any():
            given = decima_input(views, batch.info, features)
            chosen = choose(network, given)
            ours = int(chosen.node[0]), int(chosen.executor_class[0]), int(chosen.limit[0])
            theirs = teacher_choice(rival, views.world(0), given, 0)
            kind = kind_of(ours, theirs, given.node_job)
            seen[kind] += 1
            if kind != "the same" and rng.random() < args.share:
                tries = [as_decision(views, 0, given, one) for one in (ours, theirs)]
                costs = [
                    fork.costs(batch.state_of(0), tries, rival.kernel(), luck=int(rng.integers(2**63))) @ prices
                    for _ in range(args.lucks)
                ]
                mine, other = np.mean(costs, axis=0)
                gains[kind].append(other - mine)
            views, _ = batch.step(np.array([given.stage[ours[0]]]), chosen.limit, chosen.executor_class)
        batch.close()
    total = sum(seen.values())
    lines = []
    for kind in KINDS:
        gain = np.array(gains[kind])
        text = f"{gain.mean():+.2f} ± {1.96 * gain.std(ddof=1) / np.sqrt(len(gain)):.2f} s" if len(gain) > 1 else ""
        lines.append([kind, f"{100 * seen[kind] / total:.1f} %", str(len(gain)), text])
    head = [
        f"than `{args.against}`, `dag/decima` chooses",
        "of its decisions",
        "tried",
        "gain of one, all jobs together",
    ]
    text = f"{args.sequences} batches, {total:,} decisions, {args.lucks} lucks for each try.\n\n{table(head, lines)}"
    publish("disagreements", "Where it decides otherwise", text, write=args.write)


if __name__ == "__main__":
    main()
