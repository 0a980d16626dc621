"""A real Spark whose launches follow a scheduler, and who is left alone otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engines.spark_application import (
    Log,
    concurrently,
    priorities,
    session,
    sleeping,
    steering_threads,
    wait_until,
    why_not,
)

from dovetail import steer_spark
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.execution.engines.spark.client import SparkClient
from dovetail.execution.engines.spark.controller import SparkController
from dovetail.execution.engines.spark.errors import SparkError
from dovetail.execution.engines.spark.messages import Claim, Steer
from dovetail.execution.engines.spark.notes import DECISIONS

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one driver in a process
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]
LARGE, SMALL = 120, 30  # so many that a slow machine, too, sees both at once


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if reason := why_not():
        pytest.skip(reason)
    with session("local[2]") as started:
        started.sparkContext.parallelize(range(2), 2).map(lambda one: one).count()  # Python workers are there
        yield started


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def lines(directory: Path, event: str) -> list[dict[str, Any]]:
    found = map(json.loads, (directory / DECISIONS).read_text().splitlines())
    return [line for line in found if line["event"] == event]


def test_the_second_job_overtakes_and_everything_is_restored(spark: Any, log: Log, tmp_path: Path) -> None:
    jobs = [sleeping(spark, log, "large", LARGE, 0.1), sleeping(spark, log, "small", SMALL, 0.1)]
    with steer_spark(spark, "dag/srtf", act=True, every="task", out=tmp_path) as steering, concurrently(*jobs):
        wait_until(lambda: any(value < 0 for value in priorities(spark).values()), "priorities")
        wait_until(lambda: len(log.starts("small")) == SMALL, "the small job")
        steering.detach()
        kept = priorities(spark)
        assert kept and all(0 <= value < 1000 for value in kept.values()), "Spark's own: numbers of jobs"
    assert len(log.starts("large")) == LARGE and log.share("small", ["large"]) < 0.7
    assert not steering_threads() and steering.error is None
    (decided, *_) = [line for line in lines(tmp_path, "decided") if "(small)" in line["text"]]
    assert decided["slots"] == 2 and decided["reason"] == "least_work_left"
    (summary,) = lines(tmp_path, "summary")
    assert summary["decisions"] >= 2 and summary["step_p50_us"] > 0


def test_shadow_mode_touches_nothing(spark: Any, log: Log, tmp_path: Path) -> None:
    jobs = [sleeping(spark, log, "large", LARGE, 0.05), sleeping(spark, log, "small", SMALL, 0.05)]
    seen = []
    with steer_spark(spark, "dag/srtf", every="task", out=tmp_path), concurrently(*jobs):
        wait_until(lambda: len(priorities(spark)) == 2, "both")
        for _ in range(10):
            seen += list(priorities(spark).values())
    assert all(0 <= value < 1000 for value in seen)
    assert log.share("small", ["large"]) > 0.9, "first come, first served"
    assert all("would get" in line["text"] for line in lines(tmp_path, "decided"))


def test_claims_are_kept_between_looks(spark: Any, log: Log) -> None:
    """Spark's side lets a stage step back as soon as it has its slots: both jobs run side by side."""
    client = SparkClient(spark)
    client.attach(act=True, lease_s=60.0)
    try:
        with concurrently(sleeping(spark, log, "a", 40, 0.1), sleeping(spark, log, "b", 40, 0.1), apart_s=0.2):
            wait_until(lambda: len(priorities(spark)) == 2, "both")
            first, second = sorted(priorities(spark))
            assert client.steer(Steer((Claim(first, 1, 0), Claim(second, 1, 1)))) == 2
        a, b = log.starts("a"), log.starts("b")
        meanwhile = sum(start < a[-1] for start in b)
        assert meanwhile >= 8, "they run side by side although nobody looks; first come, first served: none"
    finally:
        assert client.detach() == 0, "nothing runs any more"
    assert client.detach() == 0


def test_when_nobody_looks_everything_is_given_back(spark: Any, log: Log) -> None:
    client = SparkClient(spark)
    client.attach(act=True, lease_s=1.0)
    try:
        with concurrently(sleeping(spark, log, "a", 60, 0.1)):
            (stage,) = priorities(spark)
            client.look(0.0)
            client.steer(Steer((Claim(stage, 1, 0),)))
            assert abs(priorities(spark)[stage]) >= 10**9
            wait_until(lambda: abs(priorities(spark).get(stage, 0)) < 1000, "the lease to run out")
            assert client.look(0.0).expired
    finally:
        client.detach()


def test_a_failing_thread_harms_nobody(
    spark: Any, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steering = steer_spark(spark, "dag/srtf", act=True, every="task", out=tmp_path)
    with steering, concurrently(sleeping(spark, log, "a", 30, 0.1)):
        wait_until(lambda: any(value < 0 or value > 1000 for value in priorities(spark).values()), "priorities")

        def broken(self: SparkController, look: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr(SparkController, "step", broken)
        wait_until(lambda: not steering.is_attached, "the thread to end")
        assert all(0 <= value < 1000 for value in priorities(spark).values())
    assert isinstance(steering.error, ValueError)
    assert "the application goes on alone: ValueError: a bug" in capsys.readouterr().err
    assert lines(tmp_path, "failed") and lines(tmp_path, "detached")


def test_a_query_is_one_job(spark: Any, tmp_path: Path) -> None:
    """With adaptive execution Spark runs it as several, one for each stage."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    left = spark.range(0, 1000, 1, 3).selectExpr("id % 10 as k")
    with steer_spark(spark, act=True, out=tmp_path):
        assert left.groupBy("k").count().join(left.groupBy("k").count(), "k").count() == 10
    assert len(lines(tmp_path, "job")) == 1
    assert len(lines(tmp_path, "decided")) >= 2


def test_other_versions_are_refused_before_anything_is_touched(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.execution.engines.spark.versions.TESTED", ("9.9.9",))
    with pytest.raises(SparkError, match=r"this is Spark 4\.3\.0.*expected pyspark==9\.9\.9"):
        steer_spark(spark, act=True).attach()
    said: list[str] = []
    with steer_spark(spark, tell=lambda line, text: said.append(text)):
        pass
    assert any("was not tested" in text for text in said)


def test_a_missing_hook_is_named(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dovetail.execution.engines.spark import hook

    source = (Path(hook.__file__).parent / hook.SOURCE).read_text().replace("priority_$eq", "renamed_$eq")
    (tmp_path / hook.SOURCE).write_text(source)
    monkeypatch.setattr(hook, "files", lambda package: tmp_path)
    with pytest.raises(SparkError, match=r"lacks a hook.*renamed_"):
        steer_spark(spark, act=True).attach()


def test_bad_input_is_refused(spark: Any) -> None:
    with pytest.raises(UnknownName):
        steer_spark(spark, "dag/nosuch")
    with pytest.raises(UnknownName):
        steer_spark(spark, "gpu/fifo+first-fit")
    with pytest.raises(ConfigError, match="expected one of stage, task"):
        steer_spark(spark, every="minute")
    with pytest.raises(SparkError, match="executors cannot be asked for with master local"):
        steer_spark(spark, act=True, executors=(1, 2)).attach()
    with pytest.raises(SparkError, match="Spark Connect"):
        steer_spark(object()).attach()
