"""How far from the optimum schedulers are, where it is known: jobs so small that every run can be tried.

    .venv/bin/python experiments/tiny_optimum.py                    # 50 instances
    .venv/bin/python experiments/tiny_optimum.py --write            # and record the table in experiments/results/
    .venv/bin/python experiments/tiny_optimum.py --instances 5 --schedulers dag/fair dag/srtf --json

An instance is 2 or 3 jobs at once on 2 to 4 executors, drawn from `layered` or `tpch-like` with a seed of its own.
Jobs have 2 to 4 stages; a stage of more than 3 tasks is cut into 3 that do the same work.  Every task takes the mean of
its wave, so that there is no luck, and nothing about the future that only the optimum knows.  Moving takes 2 s.

The optimum is over all that the simulator allows, leaving executors idle included (`dovetail.testing.dag_optimum`).
Optima are kept in OUT/optima.jsonl, a line for each instance, and not searched again; schedulers always run afresh.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cache
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from dovetail import SCHEDULERS, Arrivals, DagOptions, DagWorld, SeedTree, open_source, run
from dovetail.core.errors import DovetailError
from dovetail.evaluation.statistics import bootstrap_mean
from dovetail.testing.dag_optimum import find_optimum
from dovetail.workloads.dag import REST, WAVES, DagCatalogue, DagWorkload
from dovetail.workloads.durations import fill_samples
from dovetail.workloads.source import DagSource

WORKLOADS = (
    "layered:layers=[1,3],width=[1,2],tasks.tasks=[1,3],tasks.task_s=[1,8]",
    "tpch-like:queries=80,sizes_gb=[2],seed=1",
)
FEWEST_STAGES, MOST_STAGES, MOST_TASKS = 2, 4, 3
TICK_S = 0.25  # durations are multiples of it, so that times are exact and equal ones are equal
RESULTS = Path(__file__).parent / "results" / "tiny_optimum.md"
EQUAL = 1 + 1e-9


@dataclass(frozen=True)
class Instance:
    seed: int
    workload: str
    jobs: int
    executors: int

    @classmethod
    def numbered(cls, number: int) -> Instance:
        return cls(number, WORKLOADS[number % 2], 2 + number // 2 % 2, 2 + number // 4 % 3)

    def draw(self) -> DagWorkload:
        source = DagSource(self.workload, tiny_jobs(self.workload))
        return source.sequence(self.jobs, Arrivals("batch"), SeedTree(self.seed)).compact()

    @property
    def options(self) -> DagOptions:
        return DagOptions(executors=self.executors, moving_delay_s=2.0)

    def score(self, spec: str) -> float:
        """Average completion time that a scheduler reaches, in seconds."""
        seeds = SeedTree(self.seed)
        world = DagWorld(self.draw(), self.options, seeds)
        return run(world, SCHEDULERS.create(spec), seeds.child(spec).generator()).avg_jct_s


@cache
def tiny_jobs(workload: str) -> DagCatalogue:
    """The smallest kinds of job of a workload, with few tasks, all of which take as long as expected."""
    whole = open_source(workload).catalogue
    few = (whole.dag_stages >= FEWEST_STAGES) & (whole.dag_stages <= MOST_STAGES)
    jobs = whole.select(np.flatnonzero(few))
    tasks = np.minimum(jobs.num_tasks, MOST_TASKS)
    mean_s = fill_samples(jobs).mean_s[:, :, 0]  # (S, 3) by wave, in a job with few executors
    rest_s = mean_s[:, REST, None]
    longer_s = rest_s * (jobs.num_tasks / tasks)[:, None] + (mean_s - rest_s)
    groups = len(WAVES) * jobs.num_stages
    return replace(
        jobs,
        num_tasks=tasks,
        duration_stage=np.repeat(np.arange(jobs.num_stages), len(WAVES)),
        duration_wave=np.tile(np.arange(len(WAVES)), jobs.num_stages),
        duration_executors=np.ones(groups, dtype=np.int64),
        duration_ptr=np.arange(groups + 1),
        duration_s=(np.maximum(np.round(longer_s / TICK_S), 1) * TICK_S).ravel(),
    )


class Optima:
    """The optima found so far, in a file with a line for each search."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "optima.jsonl"
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        self._known = {line["fingerprint"]: line for line in map(json.loads, lines) if line["proven"]}

    def of(self, instance: Instance, known_s: float, limit_s: float) -> dict[str, Any]:
        """The line of that instance; it is searched for if no line has a proven optimum of the very same jobs."""
        workload = instance.draw()
        key = fingerprint(instance, workload)
        if key not in self._known:
            start = process_time()
            best = find_optimum(workload, instance.options, SeedTree(instance.seed), known_s=known_s, limit_s=limit_s)
            self._known[key] = {
                **asdict(instance),
                "fingerprint": key,
                "optimum_s": best.avg_jct_s,
                "proven": best.proven,
                "states": best.states,
                "cpu_s": round(process_time() - start, 2),
            }
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self._known[key]) + "\n")
        return self._known[key]


def fingerprint(instance: Instance, workload: DagWorkload) -> str:
    """Changes when the jobs do, whatever the reason."""
    tables = [getattr(workload.catalogue, name) for name in ("num_tasks", "edge_parent", "edge_child", "duration_s")]
    content = [repr(instance).encode(), *(table.tobytes() for table in (*tables, workload.job_dag))]
    return sha256(b"|".join(content)).hexdigest()[:16]


def compare(instances: int, schedulers: Sequence[str], optima: Optima, limit_s: float) -> Iterator[dict[str, Any]]:
    """For each instance its optimum and what each scheduler reached."""
    for instance in map(Instance.numbered, range(instances)):
        scores_s = {spec: instance.score(spec) for spec in schedulers}
        line = optima.of(instance, min(scores_s.values()), limit_s)
        for spec, score_s in scores_s.items():
            if line["proven"] and score_s * EQUAL < line["optimum_s"]:
                raise DovetailError(f"{spec} beats the optimum of {line}: the simulator has changed, remove its line")
        yield {**line, "scores_s": scores_s}


def summarise(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each scheduler, best first, over the instances whose optimum is proven."""
    solved = [one for one in found if one["proven"]]
    rows = []
    for spec in solved[0]["scores_s"] if solved else []:
        ratio = np.array([one["scores_s"][spec] / one["optimum_s"] for one in solved])
        mean = bootstrap_mean(ratio)
        row = {"scheduler": spec, "mean": mean.mean, "low": mean.low, "high": mean.high}
        rows.append({**row, "worst": float(ratio.max()), "optimal": float((ratio < EQUAL).mean())})
    return sorted(rows, key=lambda row: float(row["mean"]))


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| scheduler            | mean ratio | 95 % interval  |  worst | optimal |",
        "|:---------------------|-----------:|---------------:|-------:|--------:|",
    ]
    for row in rows:
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        name, share = f"`{row['scheduler']}`", f"{100 * row['optimal']:.0f} %"
        lines.append(f"| {name:20} | {row['mean']:10.3f} | {interval:14} | {row['worst']:6.3f} | {share:>7} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=50, help="seeds 0, 1, ... (50)")
    parser.add_argument("--schedulers", nargs="+", default=SCHEDULERS.names("dag"), metavar="SPEC", help="(all)")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of CPU time for an instance (20)")
    parser.add_argument("--out", type=Path, default=Path("runs/tiny-optimum"), help="where optima are kept")
    parser.add_argument("--write", action="store_true", help=f"record the table in {RESULTS.name}")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args()
    found = []
    try:
        for one in compare(args.instances, args.schedulers, Optima(args.out), args.limit):
            found.append(one)
            state = f"optimum {one['optimum_s']:.3f} s" if one["proven"] else "not solved"
            print(f"tiny_optimum: {len(found)} of {args.instances}: {state}", file=sys.stderr)
    except DovetailError as error:
        print(f"tiny_optimum: error: {error}", file=sys.stderr)
        return 2
    rows, unsolved = summarise(found), sum(not one["proven"] for one in found)
    searched_s = sum(one["cpu_s"] for one in found)
    count = f"{len(found)} instances, {unsolved} of them not solved in {args.limit:g} s and left out"
    if args.json:
        print(json.dumps({"instances": found, "unsolved": unsolved, "schedulers": rows}, indent=2))
    else:
        print(f"{table(rows)}\n\naverage completion time, ratio to the optimum; {count}")
    if args.write:
        command = shlex.join([".venv/bin/python", "experiments/tiny_optimum.py", *sys.argv[1:]])
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(
            f"# Distance to the exhaustive optimum on tiny instances\n\n"
            f"Average completion time as a ratio to the optimum; {count}. Networks are the bundled ones, trained for "
            f"clusters more than ten times as large.\n\n{table(rows)}\n\n"
            f"`{command}` on {date.today().isoformat()}; the search took {searched_s:.0f} s of CPU time.\n",
            encoding="utf-8",
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
