"""Answers of a Flink 2.3.0, parsed.

They were recorded of the job in `tests/engines/flink_job`, just after `enrich` went from 3 instances to 1 and
`score` from 5 to 3.  `metrics-score` is of another run, with latency markers, and `refused` is cut.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dovetail.execution.engines.flink.client import _gist
from dovetail.execution.engines.flink.errors import FlinkError
from dovetail.execution.engines.flink.job import parse_job, parse_jobs
from dovetail.execution.engines.flink.metrics import parse_names, parse_reading, wanted_names
from dovetail.execution.engines.flink.rescales import parse_newest, parse_rescale, running_since_ms

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}-2.3.0.json").read_text())


def test_a_job() -> None:
    job = parse_job(recorded("job"))
    names = [vertex.name for vertex in job.vertices]
    assert names == ["Source: source", "enrich", "score", "sink: Writer -> sink: Committer"]
    assert job.adaptive and job.state == "RUNNING" and job.created_ms == 1795131002385 and job.stopped_ms == 0
    assert [edge[:2] for edge in job.edges] == [(0, 1), (1, 2), (2, 3)]
    assert not any(edge.forward for edge in job.edges)
    assert job.sources == {0} and [vertex.parallelism for vertex in job.vertices] == [1, 1, 3, 1]
    assert {vertex.max_parallelism for vertex in job.vertices} == {64}


def test_who_hands_on_one_to_one() -> None:
    answer = recorded("job")
    answer["plan"]["nodes"][-1]["inputs"][0]["ship_strategy"] = "FORWARD"
    assert [edge.forward for edge in parse_job(answer).edges] == [False, False, True]


def test_vertices_come_after_those_that_feed_them() -> None:
    answer = recorded("job")
    answer["vertices"].reverse()
    assert next(vertex.name for vertex in parse_job(answer).vertices) == "Source: source"


@pytest.mark.parametrize("gone", ["vertices", "plan", "timestamps", "state"])
def test_a_job_without_what_is_needed(gone: str) -> None:
    answer = recorded("job")
    del answer[gone]
    with pytest.raises(FlinkError, match=f"/jobs/:id: .*{gone}"):
        parse_job(answer)


def test_a_plan_in_a_circle() -> None:
    answer = recorded("job")
    nodes = answer["plan"]["nodes"]
    nodes[0]["inputs"] = [{"id": nodes[-1]["id"], "ship_strategy": "HASH"}]
    with pytest.raises(FlinkError, match="cycle"):
        parse_job(answer)


def test_no_list_of_jobs() -> None:
    with pytest.raises(FlinkError, match="/jobs/overview"):
        parse_jobs({"jobs": [{"id": 1}]})


def test_metrics_of_an_operator() -> None:
    reading = parse_reading(recorded("metrics-score"), source=False)
    assert reading.records_in == 571.0 and reading.busy_s == 5.516
    assert reading.lived_s == pytest.approx(44.171)
    assert reading.busiest_share == pytest.approx(101 / 571)
    assert reading.marker_s == pytest.approx(0.0919, abs=0.001)
    assert math.isnan(reading.pending) and reading.missing == ()


def test_metrics_of_a_source() -> None:
    reading = parse_reading(recorded("metrics-source"), source=True)
    assert reading.pending == 0.0 and reading.records_in == 152.0


def test_a_queue_of_less_than_nothing_is_empty() -> None:
    """As Flink 2.3 was seen to tell, which counts what comes and what leaves one after the other."""
    name = "Shuffle.Netty.Output.Buffers.outputQueueSize"
    assert parse_reading([{"id": name, "sum": -12.0}], source=False).output_queue_bytes == 0.0


def test_what_is_missing_is_named() -> None:
    assert parse_reading([], source=False).missing == ("busy time", "records")


def test_sources_that_do_not_count_what_they_read() -> None:
    answer = [{"id": "numRecordsIn", "sum": 0.0}, {"id": "numRecordsOut", "sum": 7.0}]
    assert parse_reading(answer, source=True).records_in == 7.0


def test_only_what_there_is_is_asked_for() -> None:
    """Flink answers with nothing at all if one of the names is not there."""
    names = ["numRecordsIn", "x.pendingRecords", "y.pendingRecords", "other", "latency.a.latency_mean", "latency.a.b"]
    assert wanted_names(names, source=False) == ["numRecordsIn", "latency.a.latency_mean"]
    assert wanted_names(names, source=True)[1:3] == ["x.pendingRecords", "y.pendingRecords"]


@pytest.mark.parametrize("answer", [{"a": 1}, [1], None, [{"id": "numRecordsIn", "sum": "many"}]])
def test_no_metrics(answer: Any) -> None:
    with pytest.raises(FlinkError):
        parse_reading(answer, source=False)
    with pytest.raises(FlinkError):
        parse_names({"a": 1})


def test_how_long_a_rescale_took() -> None:
    assert parse_newest(recorded("rescales")) == "ee1f108102589a56d7327e48e2b1cbb4"
    rescale = parse_rescale(recorded("rescale"))
    assert rescale.stopped_ms == 1795131002224 and rescale.state == "COMPLETED"
    assert rescale.stopped_ms - rescale.began_ms == 282, "it waited for a checkpoint first"
    assert running_since_ms([recorded("vertex")]) == 1795131002446 + 266 + 80


def test_a_rescale_that_has_not_stopped_the_job_yet() -> None:
    answer = recorded("rescale")
    answer["schedulerStates"] = answer["schedulerStates"][:1]
    assert math.isnan(parse_rescale(answer).stopped_ms)
    assert parse_newest([]) is None


def test_a_subtask_that_does_not_run() -> None:
    vertex = recorded("vertex")
    vertex["subtasks"][0]["status"] = "INITIALIZING"
    assert math.isnan(running_since_ms([vertex]))


def test_errors_lose_their_java() -> None:
    said = _gist((RECORDED / "refused-2.3.0.json").read_bytes())
    assert said.startswith("The newly requested parallelism 100 for the job vertex") and "\tat" not in said
    assert _gist(b"") == "no reason given"
