"""What Spark's side said of a real application (local[2], two jobs in groups), line by line."""

from __future__ import annotations

import pytest

from dovetail.core.errors import ConfigError
from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.messages import (
    JobEnded,
    JobStarted,
    Names,
    SparkOptions,
    StageCompleted,
    StageKnown,
    StageSubmitted,
    TasksEnded,
    TaskSet,
)
from dovetail.execution.engines.spark.parsing import parse_look
from dovetail.execution.engines.spark.versions import TESTED, check_mode, check_version

RECORDED = (
    "job\t1795128060866\t1\tb\t\tb\n"
    "stage\t1\t2\t40\t0\t\tmap at work.py:98\n"
    "stage\t1\t3\t2\t0\t2\tcollect at work.py:98\n"
    "submitted\t2\t40\n"
    "completed\t0\t0\n"
    "job_end\t1795128060868\t0\n"
    "ended\t0\t3\t310\n"
    "now\t1795128061099\t2\t0\n"
    "set\t2\t1\t2\t0\t40\tb\t\tb\n"
)


def test_a_recorded_look() -> None:
    look = parse_look(RECORDED)
    stages = (StageKnown(2, 40, False, (), "map at work.py:98"), StageKnown(3, 2, False, (2,), "collect at work.py:98"))
    assert look.events == (
        JobStarted(1795128060.866, 1, Names("b", "", "b"), stages),
        StageSubmitted(2, 40),
        StageCompleted(0, False),
        JobEnded(1795128060.868, 0),
        TasksEnded(0, 3, 0.31),
    )
    assert look.task_sets == (TaskSet(2, 1, 2, 0, 40, Names("b", "", "b")),)
    assert (look.time_s, look.slots, look.expired) == (1795128061.099, 2, False)


@pytest.mark.parametrize("line", ["surprise\t1", "submitted\tone\t2", "job\t1", "stage\t7\t1\t1\t0\t\tmap"])
def test_what_is_not_understood_is_an_error(line: str) -> None:
    with pytest.raises(SparkError, match="not understood"):
        parse_look(line)


def test_versions() -> None:
    assert check_version(TESTED[0], act=True) is None
    assert "was not tested" in str(check_version("3.5.1", act=False))
    with pytest.raises(SparkError, match=r"this is Spark 3\.5\.1.*expected pyspark=="):
        check_version("3.5.1", act=True)
    assert check_mode("FIFO", act=True) is None
    assert "not steered" in str(check_mode("FAIR", act=False))
    with pytest.raises(SparkError, match=r"spark\.scheduler\.mode=FAIR.*expected FIFO"):
        check_mode("FAIR", act=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"jobs": "pool"},
        {"every": "now"},
        {"interval_s": 0.0},
        {"interval_s": float("nan")},
        {"lease_s": 0.1},
        {"interval_s": 2.0, "lease_s": 5.0},
        {"executors": (0, 2)},
        {"executors": (3, 2)},
    ],
)
def test_options_that_cannot_be(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        SparkOptions(**wrong)  # type: ignore[arg-type]
