"""Runs queries of TPC-H on a Spark, each in an application of its own, so that its executors are new.

Started by `spark_tpch.py`, once for a size of data and a number of executors; says `NAME SECONDS ROWS` of every query
on its standard output, and leaves the event log of each under its name.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

from pyspark.sql import SparkSession
from tpch_on_spark import CONFIGURATION, SCHEMAS, queries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", required=True)
    parser.add_argument("--data", type=Path, required=True, help="folder of one Parquet file for each table")
    parser.add_argument("--events", type=Path, required=True, help="folder that event logs go to")
    parser.add_argument("--memory", default="1536m", help="of an executor")
    parser.add_argument("--executors", type=int, required=True)
    parser.add_argument("--size", type=float, required=True, help="scale factor")
    parser.add_argument(
        "--runs", nargs="+", required=True, metavar="QUERY:NAME", help="queries, and names of their logs"
    )
    args = parser.parse_args()
    texts = queries(args.size)
    for words in args.runs:
        query, _, name = words.partition(":")
        run(args, int(query), name, texts[int(query)])


def run(args: argparse.Namespace, query: int, name: str, text: str) -> None:
    partial = args.events / f".{name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    builder = SparkSession.builder.master(args.master).appName(name)
    own = {
        "spark.cores.max": str(args.executors),
        "spark.executor.memory": args.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "true",
        "spark.eventLog.dir": partial.resolve().as_uri(),
    }
    for key, value in (CONFIGURATION | own).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        spark.sparkContext.setLogLevel("ERROR")
        wait_for_executors(spark, args.executors)
        for table, schema in SCHEMAS.items():
            path = str((args.data / f"{table}.parquet").resolve())
            spark.read.schema(schema).parquet(path).createOrReplaceTempView(table)
        spark.sparkContext.setJobDescription(f"tpch-{args.size:g}g-q{query}")
        start = time.monotonic()
        rows = len(spark.sql(text).collect())
        took_s = time.monotonic() - start
    finally:
        spark.stop()
    (log,) = (entry for entry in partial.iterdir() if not entry.name.startswith("."))
    log.rename(args.events / name)
    shutil.rmtree(partial)
    print(f"{name} {took_s:.2f} {rows}", flush=True)


def wait_for_executors(spark: SparkSession, count: int) -> None:
    """All of them, so that a run has as many executors from its first task on as its name says."""
    deadline = time.monotonic() + 300
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1 < count:  # the driver is one, too
        if time.monotonic() > deadline:
            raise SystemExit(f"{count} executors did not come within 300 s")
        time.sleep(0.05)


if __name__ == "__main__":
    main()
