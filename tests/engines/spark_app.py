"""A Spark application, for `test_spark_eventlog.py`: leaves event logs in a folder, and what is known of them.

python spark_app.py FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyspark import StorageLevel, TaskContext
from pyspark.sql import SparkSession

CODECS = ("zstd", "lz4", "snappy")
NAP_S = 0.3


def session(folder: Path, name: str, **more: str) -> SparkSession:
    folder.mkdir(parents=True)
    own = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / ".warehouse"),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.sql.shuffle.partitions": "4",
    }
    builder = SparkSession.builder.master("local[2,3]").appName(name)
    for key, value in (own | more).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def nap(pairs: Iterable[int]) -> Iterator[tuple[int, int]]:
    time.sleep(NAP_S)
    return ((each % 3, each) for each in pairs)


def fail_once(position: int, rows: Iterable[int]) -> Iterable[int]:
    if position == 1 and TaskContext.get().attemptNumber() == 0:
        raise RuntimeError("meant to fail once")
    return rows


def main(folder: Path) -> None:
    spark = session(folder / "plain", "all")
    context = spark.sparkContext
    context.setJobDescription("naps")
    naps = context.parallelize(range(60), 6).mapPartitions(nap).reduceByKey(lambda a, b: a + b, 3)
    naps.collect()
    context.setJobDescription("naps again")  # the shuffle is there: its stage is skipped
    naps.count()
    context.setJobDescription("fails once")
    context.parallelize(range(30), 3).mapPartitionsWithIndex(fail_once).count()
    context.setJobDescription("cached")
    cached = context.parallelize(range(40), 4).map(lambda i: (i % 4, i)).groupByKey(2).persist(StorageLevel.MEMORY_ONLY)
    cached.count()
    context.setJobDescription("reads the cache")
    cached.mapValues(len).count()
    context.setJobDescription("adaptive join")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    left = spark.range(0, 20_000, 1, 4).selectExpr("id", "id % 50 AS k")
    right = spark.range(0, 500, 1, 2).selectExpr("id AS k2", "id * 2 AS v")
    rows = len(left.join(right, left.k == right.k2).groupBy("k").sum("v").orderBy("k").collect())
    spark.stop()
    for codec in CODECS:
        packed = {"spark.eventLog.compress": "true", "spark.eventLog.compression.codec": codec}
        spark = session(folder / codec, codec, **packed, **{"spark.eventLog.rolling.enabled": "true"})
        spark.sparkContext.parallelize(range(8), 2).map(lambda i: (i % 2, i)).reduceByKey(lambda a, b: a + b, 2).count()
        spark.stop()
    (folder / "known.json").write_text(json.dumps({"nap_s": NAP_S, "rows": rows}))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
