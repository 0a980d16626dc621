"""GPU jobs: MAPPO as published, learning from forks, and evolution, with about the same CPU time.

    .venv/bin/python experiments/gpu_policy_gradients.py --write

From two networks: one that has only been taught speeds and waits (the rules of thumb as they are at first), and that
one after `--rules` steps of evolution.  Each way of learning goes on from there, and its last network (none is chosen
by validation) plays held-out sequences that it never saw, against the one it began with.  What is published as reward
is measured as well, for that is what MAPPO learns from unless it is told `reward=cost`.  One process; CPU seconds are
those of the learning alone.

Runs are kept in OUT; those that are complete are not made again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from commands import publish, table

from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.das.checkpoint import load_checkpoint
from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.training.das_plan import DasPlan, MappoPlan
from dovetail.training.das_recorder import Recorder
from dovetail.training.das_run import DasTrainJob, DasTrainRun, start_workers
from dovetail.training.mappo_rewards import published

PREPARED = DasPlan(rules=0, iterations=0, neighbours=20, warm_up=2, sequences=8, validation=1, every=10**6)
BEGUN = replace(PREPARED, neighbours=0, warm_up=0)  # goes on from a network
PUBLISHED, COSTS = "MAPPO", "MAPPO, reward=cost"


def ways(args: argparse.Namespace) -> dict[str, DasPlan]:
    mappo = replace(BEGUN, policy_gradient="mappo", iterations=args.mappo)
    found = {
        PUBLISHED: mappo,
        f"{PUBLISHED}, rate={args.rate:g}": replace(mappo, rate=args.rate),
        f"{COSTS}, rate={args.rate:g}": replace(mappo, rate=args.rate, mappo=MappoPlan(reward="cost")),
        "forks": replace(BEGUN, iterations=args.forks),
        "evolution": replace(BEGUN, rules=args.evolution, pairs=48),
    }
    return {name: plan for name, plan in found.items() if not args.only or name in args.only}


def learned(out: Path, job: DasTrainJob) -> tuple[Path, float]:
    """The run's last network, in `out`, and the CPU seconds that it took (those of this process)."""
    done = out / "cpu_s.json"
    if done.exists():
        return out / "checkpoint", float(json.loads(done.read_text()))
    run = DasTrainRun(out, job, "experiments/gpu_policy_gradients.py", resume=False)
    begin = time.process_time()
    with closing(start_workers(job, 1)) as workers:
        for _ in run.go_on(workers, lambda: False):
            pass
    seconds = time.process_time() - begin
    run.best_parameters = run.parameters  # the last, whatever validation says
    run.save()
    done.write_text(json.dumps(seconds))
    return out / "checkpoint", seconds


def held_out(checkpoint: Path, setting: GpuSetting, sequences: int) -> Floats:
    """(sequences, 3) completion time, fee, and the published rewards of all turns together."""
    opened, found = setting.open(), np.empty((sequences, 3))
    recorder = Recorder(load_checkpoint(checkpoint).network)
    for seed in range(sequences):
        world = opened.world(opened.sequence(seed), SeedTree(seed))
        result = opened.run(world, recorder, np.random.default_rng(0))
        reward = published(MappoPlan().alpha, recorder.ordered, recorder.placed, result, recorder.info)
        found[seed] = result.completion_s.mean(), result.fee.mean(), reward.sum()
    return found


def change(after: Sequence[Floats], before: Sequence[Floats], column: int) -> str:
    """Percent of the mean, over training seeds; the interval is over sequences, the means of the seeds being taken."""
    each = [100.0 * (new[:, column] - old[:, column]) / abs(old[:, column].mean()) for new, old in pairs(after, before)]
    ratio = np.mean(each, axis=0)
    error = 1.96 * ratio.std(ddof=1) / np.sqrt(len(ratio))
    return f"{ratio.mean():+.1f} % [{ratio.mean() - error:+.1f}, {ratio.mean() + error:+.1f}]"


def changes(after: Sequence[Floats], before: Sequence[Floats]) -> list[str]:
    return [change(after, before, 0), apart(after, before), change(after, before, 1), change(after, before, 2)]


def apart(after: Sequence[Floats], before: Sequence[Floats]) -> str:
    """The changes of completion time of the training seeds."""
    each = [100.0 * (new[:, 0].mean() / old[:, 0].mean() - 1.0) for new, old in pairs(after, before)]
    return ", ".join(f"{value:+.1f}" for value in each)


def pairs(after: Sequence[Floats], before: Sequence[Floats]) -> list[tuple[Floats, Floats]]:
    return list(zip(after, before, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", default="small")
    parser.add_argument("--jobs", type=int, help="of a sequence")
    parser.add_argument("--training-seeds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=40, help="held-out sequences (40)")
    parser.add_argument("--rules", type=int, default=40, help="steps of evolution of the second start (40)")
    parser.add_argument("--mappo", type=int, default=12, help="rounds of 8 sequences (12)")
    parser.add_argument("--rate", type=float, default=0.01, help="another learning rate of MAPPO (0.01)")
    parser.add_argument("--forks", type=int, default=5, help="rounds of 8 sequences x 24 forks (5)")
    parser.add_argument("--evolution", type=int, default=16, help="steps of 48 pairs (16)")
    parser.add_argument("--only", nargs="+", metavar="WAY", help="of the ways to learn, these")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu_policy_gradients"))
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    setting = GpuSetting(args.workload, jobs=args.jobs)
    shape = DasShape(kinds=setting.open().sequence(0).kind_name)
    lines = []
    starts: dict[str, list[Path]] = {"rules of thumb": [], f"{args.rules} steps of evolution": []}
    for seed in range(args.training_seeds):
        job = DasTrainJob((setting,), shape, PREPARED, seed)
        first, _ = learned(args.out / f"first-{seed}", job)
        evolving = replace(job, plan=replace(BEGUN, rules=args.rules, pairs=48), start=str(first))
        second, _ = learned(args.out / f"second-{seed}", evolving)
        for held, path in zip(starts.values(), (first, second), strict=True):
            held.append(path)
    job = DasTrainJob((setting,), shape, BEGUN)
    thumb = [held_out(path, setting, args.seeds) for path in starts["rules of thumb"]]
    for number, (name, paths) in enumerate(starts.items()):
        before = thumb if number == 0 else [held_out(path, setting, args.seeds) for path in paths]
        if number:
            lines.append(["rules of thumb", name, *changes(before, thumb), ""])
        for way, plan in ways(args).items():
            after, took = [], []
            for seed, path in enumerate(paths):
                out = args.out / f"{number}-{way.replace(' ', '')}-{seed}"
                one, seconds = learned(out, replace(job, plan=plan, seed=100 + seed, start=str(path)))
                after.append(held_out(one, setting, args.seeds))
                took.append(seconds)
            lines.append([name, way, *changes(after, before), f"{np.mean(took):.0f}"])
            print(" | ".join(lines[-1]), flush=True)
    head = ["from", "learned by", "completion time", "each training seed", "fee", "published reward", "CPU s"]
    words = f"{args.workload}{f', {args.jobs} jobs' if args.jobs else ''}"
    text = (
        f"`{words}`: the last network of each run against the one it began with, on held-out sequences of seeds 0 to "
        f"{args.seeds - 1}; 95 % intervals over sequences, of means over {args.training_seeds} training seeds.\n\n"
        f"{table(head, lines)}"
    )
    name = "_".join(["gpu_policy_gradients", *([str(args.jobs)] if args.jobs else [])])
    publish(name, "GPU jobs: three ways to learn", text, write=args.write)


if __name__ == "__main__":
    main()
