"""A workload that changes its kind every ten minutes: does choosing beat every fixed composition, and how soon?

    .venv/bin/pip install -e '.[bench]' # learners by others, as peers; without them their rows are left out
    .venv/bin/python experiments/adaptation.py --write

`changing` (mixed jobs of long chains one by one, then batches of fine ones, then of coarse ones, over and over) on 5
machines of 8 cores and 16 GB, cut into 20, 10 and 10 executors with 1, 2 and 4 GB.  Every learner of `dag/adaptive` and
every composition it chooses from, fixed, meets the same sequences.  Hindsight: in phases of each kind, the fixed
composition that did best there, over all sequences.  Regret: job-seconds above that, as they add up over the phases.
Peers explore as they please (no quota), and are otherwise treated like ours.  Runs are kept in OUT and gone on with,
sequence by sequence; the table covers the sequences for which all runs are there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from commands import RESULTS, publish, table

from dovetail import SCHEDULERS, Arrivals, DagOptions, DagWorld, SeedTree, open_source, run
from dovetail.adaptation.adaptive import COMPOSITIONS, Adaptive, AdaptiveParams
from dovetail.adaptation.learners.uniform import Uniform
from dovetail.core.dag import ExecutorClass, Floats
from dovetail.evaluation.statistics import paired_difference_pct
from dovetail.workloads.generate.changing import phase_of

CLASSES = (ExecutorClass(20, 1.0, 0.25), ExecutorClass(10, 1.0, 0.5), ExecutorClass(10, 1.0, 1.0))
OPTIONS = DagOptions(classes=CLASSES, moving_delay_s=0.5)
LEARNERS = ("thompson", "ucb1", "discounted-ucb", "sliding-ucb", "exp3", "linear", "random")
PEERS = {
    "masced UCB-tuned": {"name": "UCB"},
    "masced EXP3": {"name": "EXP3", "learning_rate": 0.2},
}


class Peer(Uniform):
    """A learner of `masced-bandits`, which gives a reward and gets the next arm in one call."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def reset(self, arms: int, rng: np.random.Generator) -> None:
        from masced_bandits.bandit_options import initialize_arguments
        from masced_bandits.bandits import init_bandit

        super().reset(arms, rng)
        np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002 - it draws from numpy's global state
        initialize_arguments(list(range(arms)), 0)
        self.bandit = init_bandit(**self.options)
        self.next = 0

    def select(self, context: Floats) -> int:
        return self.next

    def update(self, arm: int, reward: float, context: Floats) -> None:
        super().update(arm, reward, context)
        self.bandit.last_action = arm  # it may have been another than the one asked for, in the first window
        self.next = int(self.bandit.get_next_arm(reward))


def contenders(asked: list[str]) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    for text in COMPOSITIONS:
        order, size, place, dispatch = text.split("+")
        spec = f"dag/composed:order={order},size={size},place={place},dispatch={dispatch}"
        found[text] = lambda spec=spec: SCHEDULERS.create(spec)
    for name in LEARNERS:
        found[name] = lambda name=name: Adaptive(AdaptiveParams(learner=name))
    if find_spec("masced_bandits") is None:
        print("masced-bandits is not installed: its rows are left out", file=sys.stderr)
    else:
        for name, options in PEERS.items():
            found[name] = lambda options=options: Adaptive(
                AdaptiveParams(explore_share=1.0), make_learner=lambda: Peer(options)
            )
    return {name: make for name, make in found.items() if not asked or name in asked or name in COMPOSITIONS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--seed", type=int, default=100, metavar="K", help="of the first sequence; those below were tuned on"
    )
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--only", nargs="+", default=[], metavar="LEARNER", help="these, and the fixed compositions")
    parser.add_argument("--out", type=Path, default=Path("runs/adaptation"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    makers = contenders(args.only)
    args.out.mkdir(parents=True, exist_ok=True)
    source = open_source("changing")
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in makers}
    for seed in range(args.seed, args.seed + args.seeds):
        for name, make in makers.items():
            runs[name].append(kept_run(args.out, name, seed, args.jobs, source, make))
        print(f"seed {seed} is complete", file=sys.stderr, flush=True)
    report(runs, len(source.params.phases), args)


def kept_run(out: Path, name: str, seed: int, jobs: int, source: Any, make: Callable[[], Any]) -> dict[str, Any]:
    file = out / f"{name.replace('+', '_').replace(' ', '_')}-{jobs}-{seed}.json"
    if file.exists():
        return dict(json.loads(file.read_text()))
    seeds = SeedTree(seed)
    workload = source.sequence(jobs, Arrivals("trace"), seeds)
    scheduler = make()
    result = run(DagWorld(workload, OPTIONS, seeds), scheduler, seeds.child("scheduler").generator())
    phase = np.array([phase_of(job) for job in workload.job_name])
    events = getattr(scheduler, "events", [])
    found = {
        "job_s": np.bincount(phase, result.completion_s).tolist(),
        "jobs": np.bincount(phase).tolist(),
        "windows": len(events),
        "explored": sum(event.explores for event in events),
    }
    file.write_text(json.dumps(found))
    return found


def report(runs: dict[str, list[dict[str, Any]]], kinds: int, args: argparse.Namespace) -> None:
    fixed = [name for name in runs if name in COMPOSITIONS]
    mean_s = {name: np.array([sum(one["job_s"]) / sum(one["jobs"]) for one in runs[name]]) for name in runs}
    by_kind = {name: np.array([kind_sums(one["job_s"], kinds) for one in runs[name]]) for name in runs}
    jobs = np.array([kind_sums(one["jobs"], kinds) for one in runs[fixed[0]]])  # (seeds, kinds)
    best = [min(fixed, key=lambda name, kind=kind: by_kind[name][:, kind].sum()) for kind in range(kinds)]
    hindsight = np.array([sum(by_kind[best[k]][i, k] for k in range(kinds)) for i in range(len(jobs))]) / jobs.sum(1)
    best_fixed = min(fixed, key=lambda name: mean_s[name].mean())
    lines = []
    for name in sorted(runs, key=lambda name: mean_s[name].mean()):
        cells = [difference(mean_s[name], hindsight)]
        cells.append("" if name == best_fixed else difference(mean_s[name], mean_s[best_fixed]))
        share = sum(one["explored"] for one in runs[name]) / max(1, sum(one["windows"] for one in runs[name]))
        lines.append(
            [
                f"`{name}`" if name in fixed else f"**{name}**",
                f"{mean_s[name].mean():.1f}",
                *(f"{(by_kind[name][:, k].sum() / jobs[:, k].sum()):.1f}" for k in range(kinds)),
                *cells,
                "" if name in fixed else f"{100 * share:.0f} %",
            ]
        )
    phases = open_source("changing").params.phases
    head = [
        "composition, or learner",
        "mean JCT, s",
        *phases,
        "to hindsight",
        f"to `{best_fixed}`",
        "windows that explore",
    ]
    text = f"{args.seeds} sequences of {args.jobs} jobs, {len(runs[fixed[0]][0]['jobs'])} phases of 600 s.  Hindsight: "
    text += ", ".join(f"`{best[k]}` in {phases[k]}" for k in range(kinds)) + f": {hindsight.mean():.1f} s.  "
    text += "Differences are paired, with 95 % intervals.\n\n" + table(head, lines)
    text += "\n\nRegret to hindsight in job-seconds per job so far, as the run goes on:\n\n" + regret(
        runs, best, fixed, args
    )
    publish("adaptation", "Choosing while the work changes", text, write=args.write)


def kind_sums(values: list[float], kinds: int) -> list[float]:
    return [float(sum(values[kind::kinds])) for kind in range(kinds)]


def difference(ours: Floats, theirs: Floats) -> str:
    found = paired_difference_pct(ours, theirs)
    return f"{found.mean:+.1f} % [{found.low:+.1f}, {found.high:+.1f}]"


def regret(runs: dict[str, list[dict[str, Any]]], best: list[str], fixed: list[str], args: argparse.Namespace) -> str:
    """A table, and a drawing if it is written: how far above hindsight, by phase."""
    last = min(len(one["jobs"]) for one in runs[fixed[0]])
    curves = {}
    for name in runs:
        above = np.zeros(last)
        for i, one in enumerate(runs[name]):
            base = [runs[best[p % len(best)]][i]["job_s"][p] for p in range(last)]
            above += np.cumsum(np.array(one["job_s"][:last]) - base) / np.cumsum(one["jobs"][:last])
        curves[name] = above / len(runs[name])
    marks = [max(1, round(last * part)) for part in (0.125, 0.25, 0.5, 0.75, 1.0)]
    shown = [name for name in runs if name not in fixed]
    if args.write:
        draw({name: curves[name] for name in shown})
    rows = [[name, *(f"{curves[name][mark - 1]:+.1f}" for mark in marks)] for name in shown]
    return table(["learner", *(f"after {mark} phases" for mark in marks)], rows)


def draw(curves: dict[str, Floats]) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for name, curve in curves.items():
        axes.plot(np.arange(1, curve.size + 1), curve, label=name, ls="--" if name.startswith("masced") else "-")
    axes.axhline(0.0, color="black", lw=0.8)
    axes.set(xlabel="phases", ylabel="regret to hindsight, s per job so far", ylim=(None, 30))
    axes.legend(ncols=2, fontsize="small")
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "adaptation_regret.png", dpi=110)


if __name__ == "__main__":
    main()
