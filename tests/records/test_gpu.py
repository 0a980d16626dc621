"""Runs of the gpu family: there and back, and what is wrong is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.gpu_toys import TROUBLES, toy_run

from dovetail.core.errors import RecordError
from dovetail.core.gpu import Place, Reason
from dovetail.records import GpuRun, RecordWriter, read_records, read_run, write_run
from dovetail.records.gpu import COMPLETED, MACHINE_LOST, place_text, reason_text
from dovetail.records.perfetto import write_perfetto


@pytest.fixture(scope="module")
def run() -> GpuRun:
    return toy_run()


@pytest.fixture(scope="module")
def troubled() -> GpuRun:
    return toy_run(**TROUBLES)


def test_there_and_back(troubled: GpuRun, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, troubled)
    again = read_run(tmp_path / "a")
    assert isinstance(again, GpuRun)
    for table, kind in GpuRun.TABLES.items():
        assert len(getattr(again, table)) > 0, table
        for column, form in kind.SCHEMA.items():
            ours, theirs = getattr(getattr(troubled, table), column), getattr(getattr(again, table), column)
            assert list(ours) == list(theirs) if form == "string" else np.array_equal(ours, theirs, equal_nan=True)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_what_it_says(run: GpuRun) -> None:
    assert run.jobs.start_s.tolist() == [0, 0, 100, 100, 30]
    assert run.jobs.finish_s.tolist() == [100, 200, 162.5, 162.5, 70] and run.end_s == 200
    assert run.jobs.user == ("ann", "bob", "ann", "bob", "ann") and run.jobs.kind[4] == "cpu"
    assert run.num_gpus == 4 and run.machines.type == ("V100", "T4")
    assert run.segments.job.tolist() == [0, 1, 4, 2, 3] and set(run.segments.why.tolist()) == {COMPLETED}
    assert run.segments.alone.tolist() == [1, 0.5, 1, 1, 1]
    assert run.mean_speed.tolist() == pytest.approx([1, 0.5, 1, 0.8, 0.8])
    assert run.usd_per_hour.tolist() == pytest.approx([2 * 3.06, 2 * 0.526, 0, 1.53, 1.53])
    held = (run.segments.end_s - run.segments.start_s) / 3600
    paid = np.bincount(run.segments.job, run.usd_per_hour * held)
    assert paid.tolist() == pytest.approx(run.jobs.fee.tolist())
    assert run.places.device.tolist() == [-1, -1, -1, 0, 0] and run.places.devices.tolist() == [3, 3, 0, 0, 0]
    assert set(run.decisions.reason.tolist()) == {Reason.FIRST_ARRIVED}
    assert set(run.decisions.place.tolist()) == {Place.FIRST_FIT}


def test_segments_of_a_job_that_was_interrupted(troubled: GpuRun) -> None:
    assert (troubled.segments.why == MACHINE_LOST).any() and not troubled.outages.up[0]
    assert np.bincount(troubled.segments.job).tolist() == (troubled.jobs.stops + 1).tolist()
    own = troubled.segments.job[troubled.speed_segment]
    assert own.tolist() == troubled.speeds.job.tolist()
    start, end = troubled.segments.start_s[troubled.speed_segment], troubled.segment_end_s[troubled.speed_segment]
    assert ((troubled.speeds.time_s >= start) & (troubled.speeds.time_s <= end)).all()
    lasted = troubled.segment_end_s - troubled.segments.start_s
    ran = np.bincount(troubled.segments.job, lasted)
    assert ran.tolist() == pytest.approx(troubled.jobs.running_s.tolist())
    known = lasted > 0
    done = np.bincount(troubled.segments.job[known], (troubled.mean_speed * lasted)[known], minlength=5)
    assert done.tolist() == pytest.approx(troubled.jobs.work_run_s.tolist())


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("jobs", "arrival_s", np.inf, "a time from 0 s"),
        ("jobs", "finish_s", -1.0, "not before the start"),
        ("jobs", "start_s", -1.0, "not before the arrival"),
        ("jobs", "workers", 0, "1 or more"),
        ("jobs", "gpus", -1.0, "0 or more"),
        ("jobs", "work_s", 0.0, "a time above 0 s"),
        ("jobs", "fee", np.nan, "a number from 0"),
        ("machines", "gpus", 63, "0 to 62"),
        ("segments", "job", 5, "expected 0 to 4"),
        ("segments", "why", 4, "expected 0 to 3"),
        ("segments", "end_s", -1.0, "an end not before the start"),
        ("segments", "start_s", 199.0, "segments in order of start"),
        ("segments", "alone", 0.0, "a speed above 0"),
        ("places", "segment", 5, "expected 0 to 4"),
        ("places", "segment", 4, "places in order of their segments"),
        ("places", "machine", 2, "expected 0 to 1"),
        ("places", "device", 2, "a device of its machine"),
        ("places", "devices", 4, "bits of devices of its machine"),
        ("places", "workers", 0, "1 or more"),
        ("places", "workers", 3, "places for all workers of its job"),
        ("decisions", "job", -1, "expected 0 to 4"),
        ("decisions", "segment", 5, "expected 0 to 4"),
        ("decisions", "time_s", 500.0, "finite times from 0 s in order"),
        ("speeds", "job", 5, "expected 0 to 4"),
        ("speeds", "speed", 0.0, "a speed above 0"),
    ],
)
def test_tables_that_do_not_agree(
    run: GpuRun, table: str, column: str, value: Any, message: str, tmp_path: Path
) -> None:
    part = getattr(run, table)
    values = np.array(getattr(part, column))
    values[1] = value
    write_run(tmp_path / "a", replace(run, **{table: replace(part, **{column: values})}))
    with pytest.raises(RecordError, match=message):
        read_run(tmp_path / "a")


def test_families_do_not_mix(run: GpuRun, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"workload": {}, "options": {}, "seeds": [0]}
    with pytest.raises(RecordError, match="of the family 'gpu'; expected 'elastic'"):
        RecordWriter.open(tmp_path / "e", family="elastic", **facts).add_run(run)
    writer = RecordWriter.open(tmp_path / "g", family="gpu", **facts)
    writer.add_run(run)
    writer.add("gpu/fifo+first-fit", 0, {"avg_jct_s": 1.0})
    records = read_records(tmp_path / "g")
    assert records.family == "gpu" and run.run == "gpu-fifo-first-fit-s0" and isinstance(records.run(run.run), GpuRun)


def test_trace(troubled: GpuRun, run: GpuRun, tmp_path: Path) -> None:
    count = write_perfetto([("one", run), ("other", troubled)], tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert len(events) == count and {event["pid"] for event in events} == {1, 2}
    names = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name" and one["pid"] == 1}
    assert [*names.values()] == [
        "decisions",
        "machines",
        "m0 · no GPU",
        "m0 · GPU 0",
        "m0 · GPU 0 (2)",
        "m0 · GPU 1",
        "m1 · GPU 0",
        "m1 · GPU 1",
    ]
    assert run.trace_threads == len(names)
    slices = [one for one in events if one["ph"] == "X" and one["pid"] == 1]
    where = sorted((names[one["tid"]], one["name"][0], one["ts"], one["dur"]) for one in slices)
    assert where == [
        ("m0 · GPU 0", "<", 1e8, 62.5e6),
        ("m0 · GPU 0", "a", 0, 1e8),
        ("m0 · GPU 0 (2)", "d", 1e8, 62.5e6),
        ("m0 · GPU 1", "a", 0, 1e8),
        ("m0 · no GPU", "e", 3e7, 4e7),
        ("m1 · GPU 0", "b", 0, 2e8),
        ("m1 · GPU 1", "b", 0, 2e8),
    ]
    shared = next(one["args"] for one in slices if one["name"].startswith("d"))
    assert shared["share"] == 0.5 and shared["mean_speed"] == pytest.approx(0.8) and shared["waited_s"] == 80
    said = [one["args"] for one in events if one.get("cat") == "decision" and one["pid"] == 1]
    assert said[0]["reason"] == reason_text(1) and said[0]["place"] == place_text(1) and len(said) == 5
    held = {one["ts"]: one["args"]["count"] for one in events if one["name"] == "GPUs held" and one["pid"] == 1}
    assert held == {0: 4, 3e7: 4, 7e7: 4, 1e8: 3, 162.5e6: 2, 2e8: 0}
    waiting = [one["args"]["count"] for one in events if one["name"] == "waiting jobs" and one["pid"] == 1]
    assert waiting == [0, 1, 2, 2, 2, 0, 0, 0]
    threads = {one["tid"] for one in events if one["ph"] in "Xi" and one["pid"] == 2}
    assert threads.isdisjoint(names) and any(one.get("cat") == "machine" for one in events)


def test_slices_of_a_thread_do_not_overlap(troubled: GpuRun, tmp_path: Path) -> None:
    write_perfetto([("one", troubled)], tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    until: dict[int, int] = {}
    for one in sorted((one for one in events if one["ph"] == "X"), key=lambda one: (one["ts"], one["dur"])):
        assert one["ts"] >= until.get(one["tid"], 0)
        until[one["tid"]] = one["ts"] + one["dur"]


def test_words() -> None:
    assert reason_text(1).startswith("it had waited longest") and reason_text(99) == "reason 99"
    assert place_text(1) == "the first machines with room" and place_text(99) == "place 99"
