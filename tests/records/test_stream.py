"""Runs of the stream family: there and back, and what is wrong is named."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.stream_toys import MAP, toy_run

from dovetail.core.errors import RecordError
from dovetail.core.stream import REASON_TEXT, Reason
from dovetail.records import RecordWriter, StreamRun, read_records, read_run, write_run
from dovetail.records.perfetto import write_perfetto
from dovetail.records.perfetto_stream import Stretch, stretches
from dovetail.records.stream import instance_words, reason_text


@pytest.fixture(scope="module")
def run() -> StreamRun:
    return toy_run()


def test_there_and_back(run: StreamRun, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, run)
    again = read_run(tmp_path / "a")
    assert isinstance(again, StreamRun)
    assert (again.interval_s, again.snapshot_s, again.slots) == (60.0, 10.0, 8)
    for table, kind in StreamRun.TABLES.items():
        assert len(getattr(again, table)) > 0, table
        for column, form in kind.SCHEMA.items():
            ours, theirs = getattr(getattr(run, table), column), getattr(getattr(again, table), column)
            assert list(ours) == list(theirs) if form == "string" else np.array_equal(ours, theirs, equal_nan=True)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_what_it_says(run: StreamRun) -> None:
    assert run.job_names == ("a", "b") and run.num_intervals == 6 and run.end_s == 420.0
    assert run.interval_start_s.tolist() == [60, 120, 180, 240, 300, 360]
    assert run.parallelism[:, MAP].tolist() == [1, 1, 1, 3, 3, 2] and (run.parallelism[:, [0, 2, 3]] == 1).all()
    assert run.intervals.rescaled.reshape(-1, 2).tolist() == [[False] * 2] * 3 + [[True, False], [False] * 2] + [
        [True, False]
    ]
    assert run.of_jobs("arrived")[:, 0].tolist() == [240, 240, 480, 480, 240, 240]
    assert run.of_jobs("down_s")[:, 0].tolist() == pytest.approx([0, 0, 0, 2, 0, 2])
    assert run.of_operators("busy")[:3, MAP].tolist() == pytest.approx([0.8, 0.8, 1.0])
    assert run.decisions.interval.tolist() == [3, 5] and run.decisions.operator.tolist() == [MAP, MAP]
    assert run.decisions.before.tolist() == [1, 3] and run.decisions.after.tolist() == [3, 2]
    assert run.decisions.reason.tolist() == [Reason.TRUE_RATE, Reason.IDLE]
    assert run.of_snapshots("rate")[:, 0].tolist() == pytest.approx([4.0] * 18 + [8.0] * 12 + [4.0] * 12)
    assert run.of_snapshots("end_s")[[0, -1], 0].tolist() == [10.0, 420.0]
    counted = np.bincount(run.delays.job, run.delays.records)
    assert counted.tolist() == pytest.approx(run.of_jobs("delivered").sum(axis=0).tolist())
    assert run.operators_of(0).tolist() == [0, 1, 2] and run.jobs.restart_s.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("jobs", "slo_s", 0.0, "a time above 0 s"),
        ("jobs", "checkpoint_s", -1.0, "a time above 0 s"),
        ("operators", "job", 2, "expected 0 to 1"),
        ("operators", "job", 1, "operators in order of their jobs"),
        ("operators", "most", 0, "1 or more"),
        ("operators", "gain", np.nan, "a number from 0"),
        ("edges", "target", 4, "expected 0 to 3"),
        ("edges", "target", 3, "a lower operator of the same job"),
        ("intervals", "job", 0, "expected 0 to 1 in turn"),
        ("intervals", "interval", 1, r"0, 1, ... in this order"),
        ("intervals", "start_s", 61.0, "intervals of 60 s, one after the other"),
        ("intervals", "latency_s", -1.0, "a number from 0"),
        ("intervals", "utilisation", 1.1, "a share, 0 to 1"),
        ("intervals", "reward", np.inf, "a finite number"),
        ("operator_intervals", "operator", 0, "expected 0 to 3 in turn"),
        ("operator_intervals", "parallelism", 5, "1 to what the operator may have at most"),
        ("operator_intervals", "blocked", -0.1, "a share, 0 to 1"),
        ("decisions", "interval", 6, "expected 0 to 5"),
        ("decisions", "interval", 2, "decisions in order"),
        ("decisions", "operator", -1, "expected 0 to 3"),
        ("decisions", "after", 0, "1 to what the operator may have at most"),
        ("snapshots", "job", 0, "expected 0 to 1 in turn"),
        ("snapshots", "end_s", -1.0, "times in order"),
        ("delays", "job", 2, "expected 0 to 1"),
        ("delays", "to_s", 0.0, "more than where the class begins"),
    ],
)
def test_tables_that_do_not_agree(
    run: StreamRun, table: str, column: str, value: Any, message: str, tmp_path: Path
) -> None:
    part = getattr(run, table)
    values = np.array(getattr(part, column))
    values[1] = value
    write_run(tmp_path / "a", replace(run, **{table: replace(part, **{column: values})}))
    with pytest.raises(RecordError, match=message):
        read_run(tmp_path / "a")


def test_rows_that_are_missing(run: StreamRun, tmp_path: Path) -> None:
    def without(table: str, kept: slice) -> StreamRun:
        part = getattr(run, table)
        return replace(run, **{table: type(part)(**{name: column[kept] for name, column in vars(part).items()})})

    for table, kept, message in (
        ("intervals", slice(0), "no rows"),
        ("intervals", slice(-1), "11 rows; expected a multiple of 2"),
        ("operator_intervals", slice(-4), "other intervals than those of jobs; expected 6"),
    ):
        write_run(tmp_path / "a", without(table, kept))
        with pytest.raises(RecordError, match=message):
            read_run(tmp_path / "a")


def test_families_do_not_mix(run: StreamRun, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"workload": {}, "options": {}, "seeds": [0]}
    with pytest.raises(RecordError, match="of the family 'stream'; expected 'gpu'"):
        RecordWriter.open(tmp_path / "r", family="gpu", **facts).add_run(run)


def test_a_directory_of_them(run: StreamRun, tmp_path: Path) -> None:
    writer = RecordWriter.open(tmp_path / "r", family="stream", workload={}, options={}, seeds=[0])
    writer.add(run.scheduler, 0, {"reward": 1.0})
    writer.add_run(run)
    again = read_records(tmp_path / "r").run("stream-ds2-s0")
    assert isinstance(again, StreamRun) and len(again.decisions) == 2


def test_reasons_have_a_text() -> None:
    assert set(REASON_TEXT) == set(Reason)
    assert reason_text(3) == REASON_TEXT[Reason.TRUE_RATE] and reason_text(99) == "reason 99"
    assert instance_words(1) == "1 instance" and instance_words(3) == "3 instances"


def test_stretches() -> None:
    assert stretches(np.array([2, 2, 3])) == [Stretch(0, 1, 2), Stretch(2, 2, 3)]
    assert stretches(np.array([True, False])) == [Stretch(0, 0, 1), Stretch(1, 1, 0)]
    assert stretches(np.zeros(0, np.int64)) == []


def test_perfetto(run: StreamRun, tmp_path: Path) -> None:
    many = write_perfetto([("one", run), ("two", run)], tmp_path / "t.json.gz")
    document = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))
    events = [one for one in document["traceEvents"] if one["pid"] == 1]
    assert 2 * len(events) == many
    threads = {one["args"]["name"]: one["tid"] for one in events if one["name"] == "thread_name"}
    assert list(threads) == ["decisions", "job 0 (a)", "job 1 (b)", "a · source", "a · <map>", "a · sink", "b · only"]
    assert len(threads) == run.trace_threads
    second = {one["tid"] for one in document["traceEvents"] if one["pid"] == 2 and one["name"] == "thread_name"}
    assert second.isdisjoint(threads.values())
    own = [one for one in events if one["ph"] == "X" and one["tid"] == threads["a · <map>"]]
    assert [one["name"] for one in own] == ["1 instance", "3 instances", "2 instances"]
    assert [(one["ts"], one["dur"]) for one in own] == [(60e6, 180e6), (240e6, 120e6), (360e6, 60e6)]
    late = [one for one in events if one["name"] == "late"]
    assert [(one["tid"], one["ts"], one["dur"]) for one in late] == [(threads["job 0 (a)"], 180e6, 120e6)]
    decided = [one for one in events if one["ph"] == "i"]
    assert [(one["name"], one["ts"]) for one in decided] == [("a · <map> · 1 → 3", 240e6), ("a · <map> · 3 → 2", 360e6)]
    assert decided[0]["args"]["demand"] == 1.5 and decided[1]["args"]["reason"] == REASON_TEXT[Reason.IDLE]
    counters = {one["name"] for one in events if one["ph"] == "C"}
    for name in (
        "a · <map>: instances",
        "a · <map>: time of instances, %",
        "b · only: records waiting",
        "a: latency, s",
    ):
        assert name in counters
    count = [one["args"]["count"] for one in events if one["name"] == "a · <map>: instances"]
    assert count == [1, 3, 2, 0]
