"""How fast event logs of Spark are read.

    .venv/bin/python benchmarks/spark_eventlog.py                # a made log of 200 MB, plain and in zstd
    .venv/bin/python benchmarks/spark_eventlog.py --mb 20
    .venv/bin/python benchmarks/spark_eventlog.py --log FILE     # one of your own

Prints MB (of the log before it was compressed) and tasks per CPU-second of one process, and the memory it took at most.
The made log has events of the form and size that Spark 4 writes for tasks of SQL: a start, an end with its accumulables
and metrics, and now and then a plan that an adaptive query was changed to.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from pathlib import Path
from time import process_time

import pyarrow as pa

from dovetail.workloads.readers.spark_codecs import read_pieces
from dovetail.workloads.readers.spark_eventlog import read_spark_eventlog

MB = 1e6
STAGE_TASKS = 200
SLOTS = 40
NAMES = ("executorRunTime", "executorCpuTime", "resultSize", "shuffle.write.bytesWritten", "input.bytesRead")
METRICS = {
    "Executor Deserialize Time": 57,
    "Executor Run Time": 2802,
    "Executor CPU Time": 105515909,
    "Peak Execution Memory": 1048576,
    "Result Size": 1840,
    "JVM GC Time": 39,
    "Shuffle Read Metrics": {"Local Bytes Read": 10000, "Total Records Read": 10000},
    "Shuffle Write Metrics": {"Shuffle Bytes Written": 24300, "Shuffle Records Written": 300},
    "Input Metrics": {"Bytes Read": 100000, "Records Read": 10000},
    "Output Metrics": {"Bytes Written": 0, "Records Written": 0},
    "Updated Blocks": [],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=200.0, help="size of the made log")
    parser.add_argument("--log", type=Path, help="read this one instead")
    args = parser.parse_args()
    if args.log is not None:
        measure(args.log.name, args.log)
        return
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain"
        make(plain, args.mb)
        measure("plain", plain)
        packed = Path(folder) / "zstd"
        with plain.open("rb") as source, pa.CompressedOutputStream(str(packed), "zstd") as sink:
            while piece := source.read(1 << 20):
                sink.write(piece)
        measure("zstd", packed)


def measure(name: str, path: Path) -> None:
    size = sum(map(len, read_pieces(path))) if path.is_file() else 0
    start = process_time()
    imported = read_spark_eventlog(path)
    took_s = process_time() - start
    catalogue = imported.source.catalogue
    tasks = int(catalogue.num_tasks.sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    speed = f"{size / MB / took_s:.0f} MB/s, " if size else ""
    read = f"{name}: {size / MB:.0f} MB, {tasks:,} tasks"
    print(f"{read}: {took_s:.1f} s; {speed}{tasks / took_s:,.0f} tasks/s; {peak:.0f} MB")


def make(path: Path, mb: float) -> None:
    """One application: jobs of one stage of many tasks each, one after the other."""
    added = [
        {"ID": n, "Name": f"internal.metrics.{NAMES[n % 5]}", "Update": 1000 + n, "Value": 9999 * n} for n in range(35)
    ]
    with path.open("w") as log:
        write(log, "SparkListenerApplicationStart", **{"App Name": "made", "App ID": "made-1", "Timestamp": 0})
        info = {"Host": "h", "Total Cores": SLOTS}
        write(log, "SparkListenerExecutorAdded", **{"Timestamp": 0, "Executor ID": "1", "Executor Info": info})
        job, now = 0, 1000
        while log.tell() < mb * MB:
            rdd = {"RDD ID": job, "Name": "MapPartitionsRDD"}
            stage = {"Stage ID": job, "Number of Tasks": STAGE_TASKS, "RDD Info": [rdd], "Parent IDs": []}
            start = {"Job ID": job, "Submission Time": now, "Stage Infos": [stage], "Properties": {"a": "b" * 4000}}
            write(log, "SparkListenerJobStart", **start)
            plan = {"executionId": 0, "physicalPlanDescription": "x" * 20_000}
            write(log, "org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate", **plan)
            for task in range(STAGE_TASKS):
                launch = now + 100 * (task // SLOTS)
                info = {
                    "Task ID": job * STAGE_TASKS + task,
                    "Index": task,
                    "Launch Time": launch,
                    "Executor ID": "1",
                    "Host": "h",
                    "Locality": "ANY",
                    "Speculative": False,
                    "Getting Result Time": 0,
                    "Finish Time": launch + 95,
                    "Failed": False,
                    "Killed": False,
                }
                write(log, "SparkListenerTaskStart", **{"Stage ID": job, "Task Info": info})
                end = {"Stage ID": job, "Task Type": "ResultTask", "Task End Reason": {"Reason": "Success"}}
                info = {**info, "Accumulables": added}
                write(log, "SparkListenerTaskEnd", **end, **{"Task Info": info, "Task Metrics": METRICS})
            now += 100 * STAGE_TASKS // SLOTS + 100
            result = {"Job ID": job, "Completion Time": now, "Job Result": {"Result": "JobSucceeded"}}
            write(log, "SparkListenerJobEnd", **result)
            job += 1


def write(log, event: str, **fields) -> None:
    log.write(json.dumps({"Event": event, **fields}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
