"""Runs of the elastic family: there and back, and what is wrong is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.elastic_toys import Promising, toy_run

from dovetail.core.elastic import SERVER, WORKER
from dovetail.core.errors import RecordError
from dovetail.records import ElasticRun, RecordWriter, read_records, read_run, write_run
from dovetail.records.elastic import reason_text, role_words
from dovetail.records.perfetto import write_perfetto
from dovetail.records.perfetto_elastic import Stretch, stretches


@pytest.fixture(scope="module")
def run() -> ElasticRun:
    return toy_run(Promising(), "elastic/promising")


def test_there_and_back(run: ElasticRun, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, run)
    again = read_run(tmp_path / "a")
    assert isinstance(again, ElasticRun) and (again.slots, again.slot_s) == (6, 10.0)
    for table in ElasticRun.TABLES:
        for column, kind in ElasticRun.TABLES[table].SCHEMA.items():
            ours, theirs = getattr(getattr(run, table), column), getattr(getattr(again, table), column)
            assert list(ours) == list(theirs) if kind == "string" else np.array_equal(ours, theirs, equal_nan=True)
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_what_it_says(run: ElasticRun) -> None:
    assert run.jobs.finish.tolist() == [3, 2, -1] and run.jobs.rejected.tolist() == [-1, -1, 1]
    assert run.completion_s.tolist() == [40.0, 20.0, np.inf]
    assert run.standing(WORKER).tolist() == [[1, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0], [0] * 6]
    assert run.capacity(WORKER)[0] == 2.0 and run.capacity(SERVER)[1] == 16.0
    assert run.in_use[:, 0].tolist() == [0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
    assert run.end_s == 40.0


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("jobs", "arrival", 6, "column 'arrival'.*expected 0 to 5"),
        ("jobs", "finish", 0, "not before that of the arrival"),
        ("jobs", "promise", 6, "expected -1 to 5"),
        ("jobs", "work", 0, "expected 1 or more"),
        ("jobs", "utility", np.inf, "a finite number"),
        ("demands", "role", 0, "two rows for each job"),
        ("hosts", "host", 1, "hosts 0, 1, ... of role 0"),
        ("allocations", "slot", 6, "expected 0 to 5"),
        ("allocations", "job", 3, "expected 0 to 2"),
        ("allocations", "role", 2, "expected 0 to 1"),
        ("allocations", "host", 1, "one of 1 hosts of role 0 or 1 of role 1"),
        ("allocations", "amount", 0, "expected 1 or more"),
        ("decisions", "job", -1, "expected 0 to 2"),
        ("decisions", "last_slot", 6, "expected -1 to 5"),
    ],
)
def test_tables_that_do_not_agree(
    run: ElasticRun, table: str, column: str, value: Any, message: str, tmp_path: Path
) -> None:
    part = getattr(run, table)
    values = np.array(getattr(part, column))
    values[1] = value
    write_run(tmp_path / "a", replace(run, **{table: replace(part, **{column: values})}))
    with pytest.raises(RecordError, match=message):
        read_run(tmp_path / "a")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("slots", 0, "at least 1"),
        ("slot_s", 0, "more than 0"),
        ("slot_s", "x", "not float"),
        ("solution", {"gap": "none"}, "numbers by name"),
        ("solution", 3, "numbers by name"),
    ],
)
def test_facts_that_are_wrong(run: ElasticRun, key: str, value: Any, message: str, tmp_path: Path) -> None:
    write_run(tmp_path / "a", run)
    file = tmp_path / "a" / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {key: value}))
    with pytest.raises(RecordError, match=f"'{key}'.*{message}"):
        read_run(tmp_path / "a")


def test_what_a_solver_proved_is_kept(run: ElasticRun, tmp_path: Path) -> None:
    write_run(tmp_path / "a", run)
    assert "solution" not in json.loads((tmp_path / "a" / "run.json").read_text())
    proved = {"objective": 9.0, "bound": 10.0, "gap": 0.1}
    write_run(tmp_path / "b", replace(run, solution=proved))
    assert read_run(tmp_path / "b").solution == proved


def test_families_do_not_mix(run: ElasticRun, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"workload": {}, "options": {}, "seeds": [0]}
    with pytest.raises(RecordError, match="of the family 'elastic'; expected 'dag'"):
        RecordWriter.open(tmp_path / "dag", family="dag", **facts).add_run(run)
    writer = RecordWriter.open(tmp_path / "e", family="elastic", **facts)
    writer.add_run(run)
    writer.add("elastic/promising", 0, {"total_utility": 1.0, "avg_jct_s": float("nan")})
    with pytest.raises(RecordError, match="holds records of the family 'elastic'"):
        RecordWriter.open(tmp_path / "e", family="dag", **facts)
    records = read_records(tmp_path / "e")
    assert records.family == "elastic" and isinstance(records.run(run.run), ElasticRun)
    assert np.isnan(records.summary.metrics["avg_jct_s"]).all()


def test_stretches() -> None:
    workers, servers = np.array([0, 2, 2, 2, 0, 1]), np.array([0, 1, 1, 2, 0, 1])
    assert stretches(workers, servers) == [Stretch(1, 2, 2, 1), Stretch(3, 3, 2, 2), Stretch(5, 5, 1, 1)]
    assert stretches(0 * workers, 0 * servers) == []


def test_trace(run: ElasticRun, tmp_path: Path) -> None:
    count = write_perfetto([("one", run), ("other", run)], tmp_path / "t.json")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert len(events) == count and {event["pid"] for event in events} == {1, 2}
    slices = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert [(one["ts"], one["dur"], one["args"]["workers"]) for one in slices] == [(0, 4e7, 1), (1e7, 2e7, 1)]
    said = [event["args"] for event in events if event.get("cat") == "decision" and event["pid"] == 1]
    assert [one["reason"] for one in said] == [reason_text(8), reason_text(8), reason_text(9)]
    assert said[0]["price"] == 0.125 and said[0]["promise"] == 3
    workers = [one["args"]["count"] for one in events if one["name"] == "workers" and one["pid"] == 1]
    assert workers == [1, 2, 1, 0, 0]
    threads = {event["tid"] for event in events if event["ph"] in "Xi" and event["pid"] == 2}
    assert threads.isdisjoint({event["tid"] for event in events if event["ph"] in "Xi" and event["pid"] == 1})


def test_words() -> None:
    assert reason_text(8).startswith("it is worth more") and reason_text(99) == "reason 99"
    assert role_words(1, SERVER) == "1 parameter server" and role_words(2000, WORKER) == "2,000 workers"
