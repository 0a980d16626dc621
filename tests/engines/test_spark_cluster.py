"""Executors asked for and given back on a cluster of Spark's own, FAIR, and a script that knows nothing of Dovetail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engines.spark_application import Log, concurrently, session, sleeping, wait_until, why_not

from dovetail import steer_spark
from dovetail.execution.engines.spark.client import SparkClient
from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.messages import Resize
from dovetail.execution.engines.spark.notes import DECISIONS

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one driver in a process
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
APPLICATION = """
import sys
from pyspark.sql import SparkSession
spark = (
    SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
)
print("rows", spark.range(100).repartition(3).count(), *sys.argv[1:])
spark.stop()
"""


def test_executors_are_asked_for_and_given_back_and_restored() -> None:
    with session("local-cluster[2,1,700]", spark_executor_memory="500m") as spark:
        client = SparkClient(spark)
        client.attach(act=True, lease_s=60.0, sizes=True)
        try:

            def there() -> int:
                executors = client.look(0.0).executors
                return -1 if executors is None else len(executors.running)

            wait_until(lambda: there() == 2, "two executors")
            (name, _), _ = client.look(0.0).executors.running  # type: ignore[union-attr]
            client.resize(Resize(1, (name,)))
            wait_until(lambda: there() == 1, "one to go")
        finally:
            client.detach()
        context = spark.sparkContext._jsc.sc()
        wait_until(lambda: context.getExecutorIds().size() == 2, "the other to be back")


def test_fair_is_watched_but_not_steered(tmp_path: Path) -> None:
    with session("local[2]", spark_scheduler_mode="FAIR") as spark:
        with pytest.raises(SparkError, match=r"spark\.scheduler\.mode=FAIR"):
            steer_spark(spark, act=True).attach()
        log = Log(tmp_path)
        with steer_spark(spark, out=tmp_path), concurrently(sleeping(spark, log, "a", 8, 0.05)):
            wait_until(lambda: len(log.starts("a")) == 8, "the job")
        events = [json.loads(line)["event"] for line in (tmp_path / DECISIONS).read_text().splitlines()]
        assert "warning" in events and "decided" in events and "failed" not in events


def test_a_script_that_knows_nothing_of_dovetail(tmp_path: Path) -> None:
    file = tmp_path / "application.py"
    file.write_text(APPLICATION)
    words = ["run", "spark", "--act", "--out", str(tmp_path), str(file), "--verbose", "x"]
    done = subprocess.run(
        [sys.executable, "-m", "dovetail", *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "rows 100 --verbose x" in done.stdout
    assert "dovetail: dag/fair-spill: acting" in done.stderr and "decisions in" in done.stderr
    events = [json.loads(line)["event"] for line in (tmp_path / DECISIONS).read_text().splitlines()]
    assert events[0] == "attached" and events[-1] == "summary" and "failed" not in events
