"""One Spark application that gets a mix of jobs over time, under one policy.  Started by `spark_live.py`.

Reads the plan, a JSON file, and prints one JSON line: when each job began and how long it took, and what steering cost.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyspark import InheritableThread
from pyspark.sql import SparkSession

import dovetail


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan", type=Path)
    parser.add_argument("policy", help="fifo, fair, or a scheduler of Dovetail")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    plan = json.loads(args.plan.read_text())
    builder = SparkSession.builder.master(plan["master"]).appName(f"mix-{args.policy}")
    settings = {**plan["settings"], "spark.scheduler.mode": "FAIR" if args.policy == "fair" else "FIFO"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        wait_for_slots(spark, plan["slots"])
        prepare = tpch if plan["kind"] == "tpch" else sleepers
        jobs = prepare(spark, plan)
        warm_up(spark, plan, jobs)
        found = played(spark, plan, args, jobs)
    finally:
        spark.stop()
    print(json.dumps(found), flush=True)


def played(spark: Any, plan: dict[str, Any], args: argparse.Namespace, jobs: Sequence[Callable[[], None]]) -> Any:
    context = spark.sparkContext
    took_s: list[float] = [-1.0] * len(jobs)
    steering = nullcontext()
    if args.policy not in ("fifo", "fair"):
        steering = dovetail.steer_spark(
            spark, args.policy, act=True, out=args.out, workload=plan["workload"], every=plan["every"]
        )
    with steering:
        began_s = time.monotonic()

        def run(number: int) -> None:
            name = f"{plan['jobs'][number]['name']} #{number}"
            context.setLocalProperty("spark.scheduler.pool", name)  # FIFO passes over it
            context.setJobGroup(name, plan["jobs"][number]["name"])
            start_s = time.monotonic()
            jobs[number]()
            took_s[number] = time.monotonic() - start_s

        threads = []
        for number, job in enumerate(plan["jobs"]):
            time.sleep(max(0.0, began_s + job["arrival_s"] - time.monotonic()))
            threads.append(InheritableThread(target=run, args=(number,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        makespan_s = time.monotonic() - began_s
    if any(one < 0.0 for one in took_s):
        raise SystemExit("a job failed; its error is above")
    cost = getattr(steering, "cost", None)
    costs = None if cost is None else {"looks": cost.looks, "decide_s": cost.decide_s, "spark_s": cost.spark_s}
    steps = [] if cost is None else cost.by_step_s
    failed = None if cost is None or steering.error is None else str(steering.error)  # type: ignore[attr-defined]
    return {"took_s": took_s, "makespan_s": makespan_s, "cost": costs, "step_s": steps, "failed": failed}


def wait_for_slots(spark: Any, slots: int) -> None:
    give_up_s = time.monotonic() + 300.0
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1 < slots:  # the driver is one, too
        if time.monotonic() > give_up_s:
            raise SystemExit(f"{slots} slots did not come within 300 s")
        time.sleep(0.05)


def warm_up(spark: Any, plan: dict[str, Any], jobs: Sequence[Callable[[], None]]) -> None:
    """Executors, their Python workers and Spark's code are there before time counts: each kind of job runs once."""
    kinds: dict[str, Callable[[], None]] = {}
    for job, run in zip(plan["jobs"], jobs, strict=True):
        kinds.setdefault(job["name"], run)
    for run in list(kinds.values())[: plan["warm_up_jobs"]]:
        run()


def tpch(spark: Any, plan: dict[str, Any]) -> list[Callable[[], None]]:
    from tpch.driver import SCHEMAS, queries

    for table, schema in SCHEMAS.items():
        spark.read.schema(schema).parquet(f"{plan['data']}/{table}.parquet").createOrReplaceTempView(table)
    texts = queries(plan["size"])

    def of(query: int) -> Callable[[], None]:
        def run() -> None:
            spark.sql(texts[query]).collect()

        return run

    return [of(job["query"]) for job in plan["jobs"]]


def sleepers(spark: Any, plan: dict[str, Any]) -> list[Callable[[], None]]:
    """A stage of tasks that sleep for each of the plan, a shuffle for each edge."""
    context = spark.sparkContext

    def stage(rdd: Any, task_s: float) -> Any:
        def sleep(number: int, rows: Any) -> Any:
            list(rows)
            time.sleep(task_s)
            return [(number, 0)]

        return rdd.mapPartitionsWithIndex(sleep)

    def of(stages: list[dict[str, Any]]) -> Callable[[], None]:
        def run() -> None:
            made: list[Any] = []
            for one in stages:
                if one["parents"]:
                    together = context.union([made[parent] for parent in one["parents"]])
                    source = together.partitionBy(one["tasks"], lambda key, many=one["tasks"]: key % many)
                else:
                    source = context.parallelize(range(one["tasks"]), one["tasks"])
                made.append(stage(source, one["task_s"]))
            made[-1].count()

        return run

    return [of(job["stages"]) for job in plan["jobs"]]


if __name__ == "__main__":
    main()
