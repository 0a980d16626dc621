"""The exported trace has the structure that ui.perfetto.dev reads, and says the same as the record."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.records.synthetic import make_run

from dovetail.core.dag import REASON_TEXT, Reason
from dovetail.core.errors import RecordError
from dovetail.records import DagRun
from dovetail.records.dag import reason_text
from dovetail.records.perfetto import write_perfetto


@pytest.fixture(scope="module")
def runs() -> list[tuple[str, DagRun]]:
    return [(name, make_run(name, num_jobs=5, executors=7)) for name in ("dag/fifo", "dag/fair")]


@pytest.fixture(scope="module")
def events(runs: list[tuple[str, DagRun]], tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("trace") / "trace.json"
    count = write_perfetto(runs, path)
    document = json.loads(path.read_text())
    assert len(document["traceEvents"]) == count
    found: list[dict[str, Any]] = document["traceEvents"]
    return found


def test_every_event_is_well_formed(events: list[dict[str, Any]]) -> None:
    needed = {"X": {"ts", "dur", "tid"}, "i": {"ts", "s", "tid"}, "C": {"ts", "args"}, "M": {"args", "tid"}}
    needed |= {"b": {"ts", "id", "cat"}, "e": {"ts", "id", "cat"}}
    for event in events:
        assert {"ph", "pid", "name"} | needed[event["ph"]] <= set(event)
        assert isinstance(event["pid"], int) and isinstance(event.get("tid", 0), int)
        assert isinstance(event.get("ts", 0), int) and event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0


def test_processes_and_threads_are_named(events: list[dict[str, Any]]) -> None:
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert processes == {1: "dag/fifo, seed 0", 2: "dag/fair, seed 0"}
    for process in processes:
        own = sorted(name for (pid, _), name in names.items() if pid == process)
        assert own == sorted(["jobs", "decisions", *(f"executor {n}" for n in range(7))])
    assert len({tid for _, tid in names}) == len(names), "thread numbers are unique over all processes"
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] in "Xi"} <= set(names)


def test_tasks(events: list[dict[str, Any]], runs: list[tuple[str, DagRun]]) -> None:
    for process, (_, run) in enumerate(runs, start=1):
        slices = [e for e in events if e["ph"] == "X" and e["pid"] == process]
        assert len(slices) == len(run.tasks)
        assert sum(e["dur"] for e in slices) == pytest.approx(
            1e6 * (run.tasks.end_s - run.tasks.start_s).sum(), rel=1e-4
        )
        by_job = Counter(e["args"]["job"] for e in slices)
        assert by_job == Counter(run.tasks.job.tolist())
        assert {e["args"]["wave"] for e in slices} == {"fresh", "first", "rest"}


def test_slices_of_an_executor_do_not_overlap(events: list[dict[str, Any]]) -> None:
    last: dict[int, int] = {}
    for event in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["tid"], e["ts"])):
        assert event["ts"] >= last.get(event["tid"], 0)
        last[event["tid"]] = event["ts"] + event["dur"]


def test_decisions_carry_their_reason(events: list[dict[str, Any]], runs: list[tuple[str, DagRun]]) -> None:
    found = [e for e in events if e.get("cat") == "decision" and e["pid"] == 1]
    assert len(found) == len(runs[0][1].decisions)
    assert {e["args"]["reason"] for e in found} == {REASON_TEXT[Reason.FIRST_ARRIVED]}
    assert reason_text(9999) == "reason 9999"


def test_jobs_in_system(events: list[dict[str, Any]], runs: list[tuple[str, DagRun]]) -> None:
    counter = [e for e in events if e["ph"] == "C" and e["pid"] == 2]
    assert [e["ts"] for e in counter] == sorted({e["ts"] for e in counter})
    assert counter[0]["args"] == {"jobs": 1} and counter[-1]["args"] == {"jobs": 0}
    spans = {kind: {e["id"]: e["ts"] for e in events if e["ph"] == kind} for kind in "be"}
    assert len(spans["b"]) == len(spans["e"]) == 10
    jct = {key: spans["e"][key] - spans["b"][key] for key in spans["b"]}
    jobs = runs[1][1].jobs
    for job in range(5):
        assert jct[f"2.{job}"] == pytest.approx(1e6 * (jobs.finish_s[job] - jobs.arrival_s[job]), abs=2)


def test_declined_lost_and_unfinished(tmp_path: Path) -> None:
    run = make_run(num_jobs=3, executors=4)
    run.decisions.job[0] = run.decisions.stage[0] = -1
    run.tasks.lost[0] = True
    run.tasks.wave[1] = -1
    run.jobs.finish_s[2] = np.inf
    write_perfetto([("x", run)], tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert any(e["name"].endswith("declined") for e in events)
    assert any(e.get("cat") == "lost" and e["name"].endswith("(lost)") for e in events)
    assert any(e["ph"] == "X" and e["args"]["wave"] == "unknown" for e in events)
    assert sum(e["ph"] == "e" for e in events) == 2


def test_compressed_and_deterministic(runs: list[tuple[str, DagRun]], tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        write_perfetto(runs, tmp_path / name)
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert packed == (tmp_path / "b.json.gz").read_bytes()
    write_perfetto(runs, tmp_path / "c.json")
    assert gzip.decompress(packed) == (tmp_path / "c.json").read_bytes()


def test_names_are_only_text(tmp_path: Path) -> None:
    run = make_run(num_jobs=1, executors=2)
    odd = 'a"b\\c\n\u2028'
    write_perfetto([(odd, replace(run, jobs=replace(run.jobs, name=(odd,))))], tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert events[0]["args"]["name"] == f"{odd}, seed 0"


def test_unwritable(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"t\.json: no such directory"):
        write_perfetto([], tmp_path / "none" / "t.json")
    (tmp_path / "t.json").mkdir()
    with pytest.raises(RecordError, match=r"t\.json: cannot be written"):
        write_perfetto([], tmp_path / "t.json")
