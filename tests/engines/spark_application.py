"""A Spark application for tests: tasks that sleep for a known time, and what became of them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"


def why_not() -> str:
    """Why there can be no Spark here; empty if there can be one."""
    if os.environ.get("SKIP_SPARK") == "1":
        return "SKIP_SPARK=1"
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'dovetail[spark]'"
    if shutil.which("java") is None:
        return "no java is on the PATH: apt install openjdk-17-jre-headless"
    return ""


@contextmanager
def session(master: str, **settings: str) -> Iterator[Any]:
    """Ended whatever happens; on loopback only."""
    from pyspark.sql import SparkSession

    asked = {
        "spark.driver.bindAddress": HOST,
        "spark.driver.host": HOST,
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts in half the time
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "4",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    builder = SparkSession.builder.master(master).appName("dovetail-test")
    for name, value in asked.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


class Log:
    """Starts of tasks, by the tasks themselves: a line for each, `group stage-name seconds`."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "starts"

    def starts(self, group: str) -> list[float]:
        lines = self.file.read_text().split("\n") if self.file.exists() else []
        return sorted(float(line.split()[1]) for line in lines if line.split()[:1] == [group])

    def share(self, group: str, others: Sequence[str]) -> float:
        """Where the last start of a group is among all starts, 0 to 1."""
        last_s = self.starts(group)[-1]
        every = [start for name in (group, *others) for start in self.starts(name)]
        return sum(start <= last_s for start in every) / len(every)


def sleeping(spark: Any, log: Log, group: str, tasks: int, task_s: float) -> Callable[[], None]:
    """A Spark job of one stage, in a job group."""
    context, file = spark.sparkContext, str(log.file)

    def task(_: int) -> int:
        import os
        import time

        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{group} {time.time()}\n".encode())  # one write, so that lines stay whole
        os.close(descriptor)
        time.sleep(task_s)
        return 1

    def run() -> None:
        context.setJobGroup(group, group)
        assert context.parallelize(range(tasks), tasks).map(task).sum() == tasks

    return run


@contextmanager
def concurrently(*jobs: Callable[[], None], apart_s: float = 0.5) -> Iterator[None]:
    """One after the other is submitted, each by a thread of its own; waits for all at the end."""
    from pyspark import InheritableThread

    failures: list[BaseException] = []

    def guarded(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)

    threads = []
    for job in jobs:
        threads.append(InheritableThread(target=guarded, args=(job,)))
        threads[-1].start()
        time.sleep(apart_s)
    try:
        yield
    finally:
        for thread in threads:
            thread.join(600.0)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads), "a Spark job hangs"


def priorities(spark: Any) -> dict[int, int]:
    """Of task sets by stage, read without Dovetail."""
    queue = spark.sparkContext._jsc.sc().taskScheduler().rootPool().schedulableQueue().iterator()
    found = {}
    while queue.hasNext():
        one = queue.next()
        found[one.stageId()] = one.priority()
    return found


def wait_until(condition: Callable[[], bool], what: str, patience_s: float = 300.0) -> None:
    give_up_s = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < give_up_s, f"waited in vain for {what}"
        time.sleep(0.02)


def steering_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "dovetail-steering"]


if __name__ == "__main__":  # `make test-engines` ends with this, so that nothing is untested without a word
    missing = why_not()
    if missing and missing != "SKIP_SPARK=1":
        sys.exit(f"Spark was NOT TESTED: {missing}")
