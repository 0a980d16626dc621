"""How far the copies that search tries decisions in should go before they are compared.

    .venv/bin/python experiments/how_far_ahead.py --write        # a minute for each setting

At random states of episodes that the bundled networks play, several decisions are tried in copies of the world, each
completed by the heuristic that the network learned from.  What a decision is really worth is taken to be its mean cost
over many lucks, 400 s ahead.  The table has the correlation of a single try with that, by how far it goes, with and
without an estimate of what is left at its end, and how much decisions differ (root mean square, job-seconds).
"""

from __future__ import annotations

import argparse

import numpy as np
from commands import publish, table

from dovetail import SCHEDULERS, Arrivals, DagOptions, SeedTree, open_source
from dovetail.features import feature_set
from dovetail.schedulers.learned.decima.checkpoint import load_checkpoint
from dovetail.schedulers.learned.decima.forward import choose, pack
from dovetail.schedulers.learned.decima.inputs import decima_input
from dovetail.schedulers.learned.decima.scheduler import find_checkpoint
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.sim.dag.fork import Fork
from dovetail.sim.dag.left_over import still_to_pay
from dovetail.sim.dag.objective import COSTS
from dovetail.training.dag_search import SearchPlan, as_decision, candidates_at

JOBS = COSTS.index("jobs")
FIRST_SEED, EPISODES = 200_000, 12
SHARE = 0.01  # of the decisions that are looked at
SPANS_S = (30.0, 60.0, 100.0, 150.0)
SETTINGS = {
    "20 jobs at once": ("batch", "dag/hesrpt", 20, Arrivals("batch")),
    "load 0.85": ("continuous", "dag/fair-spill", 60, Arrivals("poisson", load=0.85, executors=50)),
    "one job every 25 s": ("continuous", "dag/fair-spill", 60, Arrivals("poisson", interval_s=25.0)),
}


def measure(name: str, states: int, lucks: int) -> list[list[str]]:
    network, base, jobs, arrivals = SETTINGS[name]
    checkpoint = load_checkpoint(find_checkpoint(network))
    packed, features = pack(checkpoint.shape, checkpoint.parameters), feature_set(checkpoint.shape.features)
    source, rng = open_source("tpch-like"), np.random.default_rng(0)
    trees = [SeedTree(FIRST_SEED + k) for k in range(EPISODES)]
    waiting = {k: Episode(source.sequence(jobs, arrivals, tree), tree) for k, tree in enumerate(trees)}
    batch = DagBatch(source.catalogue, DagOptions(executors=50), lambda w: waiting.pop(w, None), EPISODES)
    scheduler = SCHEDULERS.create(base)
    scheduler.reset(batch.info, rng)
    kernel, fork, plan = scheduler.kernel(), Fork(), SearchPlan()
    worth: list[np.ndarray] = []
    found: dict[tuple[float, bool], list[np.ndarray]] = {
        (span_s, est): [] for span_s in SPANS_S for est in (False, True)
    }
    views, _ = batch.start()
    while views.active.any() and len(worth) < states:
        given = decima_input(views, batch.info, features)
        chosen = choose(packed, given, rng.random((EPISODES, 3)))
        for w in np.flatnonzero((chosen.node >= 0) & (rng.random(EPISODES) < SHARE)).tolist():
            one, state = given.world(w), batch.state_of(w)
            candidates = candidates_at(packed, one, scheduler, views, w, plan, rng)
            if len(candidates) < 2:
                continue
            tries = [as_decision(views, w, one, candidate) for candidate in candidates]
            for span_s in SPANS_S:
                luck, costs = int(rng.integers(2**62)), []
                for decision in tries:
                    whole = fork.costs(state, [decision], kernel, luck=luck, span_s=span_s)[0, JOBS]
                    costs.append((whole - still_to_pay(fork.copy)[JOBS], whole))
                cut, whole = np.array(costs).T
                found[span_s, False].append(cut - cut.mean())
                found[span_s, True].append(whole - whole.mean())
            many = [
                fork.costs(state, tries, kernel, luck=int(rng.integers(2**62)), span_s=400.0)[:, JOBS]
                for _ in range(lucks)
            ]
            mean = np.mean(many, axis=0)
            worth.append(mean - mean.mean())
        stage = np.where(chosen.node >= 0, given.stage[chosen.node], -1)
        views, _ = batch.step(stage, chosen.limit, chosen.executor_class)
    batch.close()
    truth = np.concatenate(worth)
    rows = []
    for span_s in SPANS_S:
        cells = [name, f"{span_s:.0f} s"]
        for estimated in (False, True):
            single = np.concatenate(found[span_s, estimated])
            cells += [f"{np.corrcoef(single, truth)[0, 1]:.2f}", f"{single.std():.1f}"]
        rows.append(cells)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--lucks", type=int, default=32)
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    rows = [row for name in SETTINGS for row in measure(name, args.states, args.lucks)]
    head = ["setting", "a try goes on for", "correlation, cut off", "differ by", "correlation, estimated", "differ by"]
    text = f"{args.states} states, {args.lucks} lucks.\n\n{table(head, rows)}"
    publish("how_far_ahead", "How far ahead search should look", text, write=args.write)


if __name__ == "__main__":
    main()
