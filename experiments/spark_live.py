"""A mix of jobs in one Spark application under Spark FIFO, Spark FAIR and Dovetail, beside its simulation.

    .venv/bin/python experiments/spark_live.py --write --size 1          # TPC-H, on a quiet machine
    .venv/bin/python experiments/spark_live.py --kind sleep --quick      # tasks that only sleep: does it work?

Every run is an application of its own on the same standalone cluster of this machine, warmed up, with the same jobs at
the same times.  Policies take turns in every repetition, each time in another order, so that whatever else changes
meanwhile changes for all.  `tpch` takes data and what is known of its queries from `spark_tpch.py` (--tpch); `sleep`
makes jobs of the shapes of `tpch-like`.  Runs are kept in OUT and not repeated.  Needs the extra spark.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from commands import publish, table

from dovetail import SCHEDULERS, DagOptions, DagWorld, SeedTree, open_source, run
from dovetail.core.extras import require
from dovetail.evaluation.statistics import Interval, bootstrap_mean, paired_difference_pct
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.source import DagSource
from dovetail.workloads.store import write_source

SPARKS = {"fifo": "dag/fifo", "fair": "dag/fair"}  # what comes nearest to them in the simulator
POLICIES = ("fifo", "fair", "dag/fair-spill", "dag/decima")
QUIET_LOAD = 0.3
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executor.cores": "1",
    "spark.executor.memory": "1536m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    "spark.locality.wait": "0s",  # all data are on this machine
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("tpch", "sleep"), default="tpch")
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), metavar="P", help="fifo, fair, dag/...")
    parser.add_argument("--jobs", type=int, default=20, help="in the mix")
    parser.add_argument("--load", type=float, default=0.9, help="of the cluster by the mix, while it arrives")
    parser.add_argument(
        "--slots", type=int, default=os.cpu_count() or 1, help="executors of one core (as many as there are)"
    )
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--every", choices=("stage", "task"), default="stage", help="when slots are offered")
    parser.add_argument("--size", type=float, default=1, help="tpch: scale factor")
    parser.add_argument("--tpch", type=Path, default=Path("runs/spark_tpch"), help="tpch: OUT of spark_tpch.py")
    parser.add_argument("--time-scale", type=float, default=0.2, help="sleep: of the durations of tpch-like")
    parser.add_argument("--seed", type=int, default=0, help="of jobs and arrivals")
    parser.add_argument("--out", type=Path, default=Path("runs/spark_live"))
    parser.add_argument("--quick", action="store_true", help="four of the smallest jobs, once")
    parser.add_argument("--anyway", action="store_true", help="measure, though the machine is busy")
    parser.add_argument("--write", action="store_true", help="record the table in experiments/results/")
    args = parser.parse_args()
    if args.quick:
        args.jobs, args.repeats, args.slots = 4, 1, 2
    require("pyspark", "the measurement")
    if os.getloadavg()[0] > QUIET_LOAD and not args.anyway:
        raise SystemExit(f"this machine is busy (load {os.getloadavg()[0]:.1f}); --anyway measures nevertheless")
    args.out.mkdir(parents=True, exist_ok=True)
    workload, known = mix(args)
    plan = write_plan(args, workload, known)
    found = measured(args, plan)
    predicted = {policy: simulated(args, workload, policy) for policy in args.policies}
    publish(
        "spark_live", "A mix of jobs in one Spark application", told(args, workload, found, predicted), write=args.write
    )


# --- the mix ---


def mix(args: argparse.Namespace) -> tuple[DagWorkload, Path]:
    """Jobs drawn from the workload, their arrivals, and the directory of what is known of them."""
    if args.kind == "tpch":
        known = args.tpch / "workload"
        catalogue = open_source(str(known)).catalogue
        own = [dag for dag, name in enumerate(catalogue.dag_name) if name.startswith(f"tpch-{args.size:g}g-q")]
        catalogue = catalogue.select(own)
    else:
        known = args.out / f"workload-{args.time_scale:g}{'-quick' if args.quick else ''}"
        whole = open_source("tpch-like").catalogue
        small = [int(dag) for dag in np.argsort(whole.dag_work_s)[: 3 if args.quick else 40]]
        catalogue = whole.select(small)
        catalogue = replace(catalogue, duration_s=catalogue.duration_s * args.time_scale)
        write_source(DagSource("sleepers", catalogue), known, provenance={"time_scale": args.time_scale}, force=True)
    rng = SeedTree(args.seed).child("mix").generator()
    dags = rng.integers(catalogue.num_dags, size=args.jobs)
    mean_gap_s = float(catalogue.dag_work_s[dags].mean()) / (args.load * args.slots)
    arrival_s = np.cumsum(rng.exponential(mean_gap_s, args.jobs)) - mean_gap_s
    arrival_s -= arrival_s[0]
    many = args.jobs
    names = tuple(f"{catalogue.dag_name[dag]} #{number}" for number, dag in enumerate(dags))
    return DagWorkload(catalogue, names, dags, arrival_s, np.ones(many), np.full(many, np.inf)), known


def write_plan(args: argparse.Namespace, workload: DagWorkload, known: Path) -> dict[str, Any]:
    catalogue = workload.catalogue
    jobs = []
    for dag, arrival_s in zip(workload.job_dag, workload.arrival_s, strict=True):
        name = catalogue.dag_name[dag]
        job: dict[str, Any] = {"name": name, "arrival_s": float(arrival_s)}
        if args.kind == "tpch":
            job["query"] = int(name.rpartition("-q")[2].partition("-")[0])
        else:
            job["stages"] = stages_of(catalogue, int(dag))
        jobs.append(job)
    settings = dict(SETTINGS)
    if args.kind == "tpch":
        from tpch.driver import CONFIGURATION

        settings |= CONFIGURATION
    data = str((args.tpch / "data" / f"{args.size:g}").resolve())
    common = {"kind": args.kind, "slots": args.slots, "every": args.every, "workload": str(known.resolve())}
    more = {"size": args.size, "data": data, "warm_up_jobs": 22 if args.kind == "tpch" else 1}
    return {**common, **more, "settings": settings, "jobs": jobs}


def stages_of(catalogue: DagCatalogue, dag: int) -> list[dict[str, Any]]:
    """Parents first, and one last stage that all others lead to, as a Spark job has it."""
    first, last = int(catalogue.stage_ptr[dag]), int(catalogue.stage_ptr[dag + 1])
    edges = slice(int(catalogue.edge_ptr[dag]), int(catalogue.edge_ptr[dag + 1]))
    order = [int(row) for row in np.argsort(catalogue.stage_level[first:last], kind="stable")]
    place = {row: at for at, row in enumerate(order)}
    parents: dict[int, list[int]] = {row: [] for row in order}
    for parent, child in zip(catalogue.edge_parent[edges], catalogue.edge_child[edges], strict=True):
        parents[int(child)].append(place[int(parent)])
    stages = [
        {
            "tasks": int(catalogue.num_tasks[first + row]),
            "task_s": float(catalogue.stage_mean_s[first + row]),
            "parents": parents[row],
        }
        for row in order
    ]
    followed = {parent for one in stages for parent in one["parents"]}
    ends = [at for at in range(len(stages)) if at not in followed]
    if len(ends) > 1:
        stages.append({"tasks": 1, "task_s": 0.0, "parents": ends})
    return stages


# --- reality and simulation ---


def measured(args: argparse.Namespace, plan: dict[str, Any]) -> dict[str, list[Any]]:
    """What each policy came to, repetition by repetition; runs what is not kept yet."""
    from tpch.standalone import Standalone

    found: dict[str, list[Any]] = {policy: [] for policy in args.policies}
    kept = args.out / f"{args.kind}-{args.size:g}-{args.jobs}-{args.slots}-{args.load:g}-{args.every}-{args.seed}"
    kept.mkdir(parents=True, exist_ok=True)
    order = [(repeat, policy) for repeat in range(args.repeats) for policy in turned(args.policies, repeat)]
    missing = [(repeat, policy) for repeat, policy in order if not file_of(kept, repeat, policy).exists()]
    if missing:
        with Standalone(args.slots, memory="2g") as spark:
            (kept / "plan.json").write_text(json.dumps({**plan, "master": spark.url}))
            for at, (repeat, policy) in enumerate(missing, 1):
                out = kept / f"{repeat}-{policy.replace('/', '-')}"
                words = [sys.executable, str(Path(__file__).parent / "live" / "driver.py"), str(kept / "plan.json")]
                driver = spark.run([*words, policy, "--out", str(out)], PYTHONPATH=os.pathsep.join(sys.path))
                text, _ = driver.communicate()
                if driver.returncode != 0:
                    raise SystemExit(f"the driver of {policy} ended with {driver.returncode}; what is done is kept")
                one = json.loads(text.splitlines()[-1])
                print(f"{at} of {len(missing)}: {policy}: {statistics.mean(one['took_s']):.2f} s", file=sys.stderr)
                file_of(kept, repeat, policy).write_text(json.dumps(one))
    for repeat, policy in order:
        found[policy].append(json.loads(file_of(kept, repeat, policy).read_text()))
    return found


def turned(policies: Sequence[str], repeat: int) -> list[str]:
    """Each is first, second, ... equally often."""
    at = repeat % len(policies)
    return [*policies[at:], *policies[:at]]


def file_of(kept: Path, repeat: int, policy: str) -> Path:
    return kept / f"{repeat}-{policy.replace('/', '-')}.json"


def simulated(args: argparse.Namespace, workload: DagWorkload, policy: str) -> float:
    """Mean completion time of the same jobs in the simulator."""
    name = SPARKS.get(policy, policy)
    seeds = SeedTree(args.seed)
    options = DagOptions(executors=args.slots, moving_delay_s=0.0, warm_up_s=0.0)
    found = run(DagWorld(workload, options, seeds), SCHEDULERS.create(name), seeds.child("scheduler").generator())
    return float(np.mean(found.completion_s))


def told(
    args: argparse.Namespace, workload: DagWorkload, found: dict[str, list[Any]], predicted: dict[str, float]
) -> str:
    means = {policy: [statistics.mean(one["took_s"]) for one in runs] for policy, runs in found.items()}
    base = args.policies[0]
    rows = []
    for policy in args.policies:
        real = bootstrap_mean(means[policy])
        less = "" if policy == base else shown(paired_difference_pct(means[policy], means[base]), "+.1f")
        steps = [1e3 * step for one in found[policy] for step in one["step_s"]]
        cost = f"{np.median(steps):.1f} / {np.percentile(steps, 95):.1f}" if steps else ""
        error = 100.0 * (real.mean / predicted[policy] - 1.0)
        rows.append([f"`{policy}`", shown(real, ".2f"), less, f"{predicted[policy]:.2f}", f"{error:+.1f}", cost])
        if failed := [one["failed"] for one in found[policy] if one["failed"]]:
            rows[-1][1] += f" ({len(failed)} times, steering failed: {failed[0]})"
    head = [
        "policy",
        "mean completion, s",
        f"over `{base}`, %",
        "simulated, s",
        "reality over it, %",
        "a step, ms (p50 / p95)",
    ]
    what = f"TPC-H of {args.size:g} GB" if args.kind == "tpch" else "sleeping tasks"
    return (
        f"{args.jobs} jobs ({what}) arriving over {workload.arrival_s[-1]:.0f} s, {args.slots} executors of one core, "
        f"{args.repeats} repetitions in turns, slots offered every {args.every}; means with 95 % intervals over "
        "repetitions. A step (median / 95 % of them) is from what was seen to Spark told, where something was decided. "
        "Simulated: the same jobs, with `dag/fifo` and `dag/fair` for Spark's own.\n\n" + table(head, rows)
    )


def shown(interval: Interval, form: str) -> str:
    bounds = f" [{interval.low:{form}}, {interval.high:{form}}]" if interval.known else ""
    return f"{interval.mean:{form}}{bounds}"


if __name__ == "__main__":
    main()
