"""Record directories: resumable, independent of the order of writing, verified when read."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.records.synthetic import make_run

from dovetail.core.errors import RecordError, UnknownName
from dovetail.records import RecordWriter, read_records
from dovetail.records.directory import find_job
from dovetail.records.manifest import read_manifest

METRICS = {"avg_jct_s": 1.5, "makespan_s": 3.0}


def open_writer(directory: Path, **changes: Any) -> RecordWriter:
    facts: dict[str, Any] = {"family": "dag", "workload": {"name": "toy"}, "options": {"executors": 8}, "seeds": [0, 1]}
    return RecordWriter.open(directory, **(facts | changes))


@pytest.fixture
def records(shared_records: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(shared_records, tmp_path / "copy"))


def tree(directory: Path, *, volatile: bool = False) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in files if volatile or path.name != "timings.json"
    }


def test_order_of_adding_does_not_change_the_bytes(tmp_path: Path) -> None:
    rows = [("dag/fifo", 0), ("dag/fifo", 1), ("dag/fair", 0), ("dag/fair", 1)]
    for name, order in (("a", rows), ("b", rows[::-1])):
        writer = open_writer(tmp_path / name)
        for number, (scheduler, seed) in enumerate(order):
            if seed == 0:
                writer.add_run(make_run(scheduler, num_jobs=3, executors=4))
            metrics = {key: value + seed for key, value in METRICS.items()}
            writer.add(scheduler, seed, metrics, timings={"decision_s": float(number)})
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert "manifest.json" in tree(tmp_path / "a")


def test_resume_knows_what_is_done(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "a")
    writer.add("dag/fifo", 0, METRICS, timings={"decision_s": 1e-6})
    writer.add("dag/weighted-fair", 0, METRICS, params={"alpha": -1.0})
    writer.add_run(make_run(num_jobs=3, executors=4))
    before = tree(tmp_path / "a", volatile=True)

    writer = open_writer(tmp_path / "a")
    assert writer.done("dag/fifo", 0)
    assert not writer.done("dag/fifo", 1)
    assert writer.done("dag/weighted-fair", 0, {"alpha": -1.0})
    assert not writer.done("dag/weighted-fair", 0)
    assert writer.has_run("dag-fifo-s0") and not writer.has_run("dag-fair-s0")
    assert writer.metrics("dag/fifo", 0) == METRICS
    assert tree(tmp_path / "a", volatile=True) == before


def test_resume_after_an_interruption_between_files(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "a")
    writer.add("dag/fifo", 0, METRICS)
    old = (tmp_path / "a" / "manifest.json").read_bytes()
    writer.add("dag/fifo", 1, METRICS)
    (tmp_path / "a" / "manifest.json").write_bytes(old)  # as if killed just before it was replaced
    (tmp_path / "a" / "summary.parquet.part").write_bytes(b"half")
    (tmp_path / "a" / "runs" / ".dag-fair-s0.part").mkdir(parents=True)
    with pytest.raises(RecordError, match=r"summary\.parquet: not the file the manifest describes"):
        read_records(tmp_path / "a")
    assert open_writer(tmp_path / "a").done("dag/fifo", 1)
    assert len(read_records(tmp_path / "a").summary) == 2
    assert not list((tmp_path / "a").rglob("*.part"))


def test_resume_with_more_seeds(tmp_path: Path) -> None:
    open_writer(tmp_path / "a", seeds=[0, 1])
    open_writer(tmp_path / "a", seeds=[1, 2])
    assert read_manifest(tmp_path / "a")["seeds"] == [0, 1, 2]


def test_resume_refuses_another_experiment(tmp_path: Path) -> None:
    open_writer(tmp_path / "a")
    with pytest.raises(RecordError, match=r"options 'executors' is 8 there, 9 here"):
        open_writer(tmp_path / "a", options={"executors": 9})
    with pytest.raises(RecordError, match=r"workload 'name' is 'toy' there, 'tpch' here"):
        open_writer(tmp_path / "a", workload={"name": "tpch"})


def test_resume_takes_options_as_they_are_stored(tmp_path: Path) -> None:
    for _ in range(2):
        open_writer(tmp_path / "a", options={"executors": 8, "classes": ({"cpu": math.inf},)})


def test_other_peoples_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RecordError, match=r"not empty and holds no manifest\.json"):
        open_writer(tmp_path)
    with pytest.raises(RecordError, match="a file; expected a directory"):
        open_writer(tmp_path / "notes.txt")


def test_rows_must_have_the_same_metrics(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "a")
    writer.add("dag/fifo", 0, METRICS)
    with pytest.raises(RecordError, match="all rows must have the same"):
        writer.add("dag/fifo", 1, {"avg_jct_s": 2.0})
    with pytest.raises(RecordError, match="at least one metric"):
        writer.add("dag/fifo", 1, {})


def test_reading(shared_records: Path) -> None:
    records = read_records(shared_records)
    assert len(records.summary.entries) == 5
    entry = records.summary.entries[0]
    assert records.summary.label(entry) == "dag/fair"
    assert records.summary.kind_of(entry) == "heuristic"
    assert records.summary.values(entry, "avg_jct_s").shape == (2,)
    assert records.summary.seed[records.summary.rows(entry)].tolist() == [0, 1]
    assert records.timing(entry, "decision_s") == pytest.approx(2e-6 * 9)
    assert math.isnan(records.timing(entry, "unheard_of"))
    assert records.workload["name"] == "toy"
    assert records.options["executors"] == 12
    assert len(records.runs) == 5


def test_find(shared_records: Path) -> None:
    records = read_records(shared_records)
    assert records.find(run="dag-srtf-s0").scheduler == "dag/srtf"
    assert records.find(scheduler="dag/srtf").run == "dag-srtf-s0"
    assert records.find(scheduler="srtf").run == "dag-srtf-s0"
    with pytest.raises(UnknownName, match=r"unknown run 'dag-srt-s0'; did you mean 'dag-srtf-s0'\?"):
        records.find(run="dag-srt-s0")
    with pytest.raises(RecordError, match=r"no run of 'dag/fairr' .* did you mean 'dag/fair'\?"):
        records.find(scheduler="dag/fairr")
    with pytest.raises(RecordError, match="no run of 'zzz' was kept in full") as caught:
        records.find(scheduler="zzz")
    assert str(caught.value).count("dag/fifo") == 1
    with pytest.raises(RecordError, match="5 runs; name one of them with --run: dag-fair-s0, dag-fifo-s0"):
        records.find()
    with pytest.raises(UnknownName):
        records.run("nothing")


def test_find_job(shared_records: Path) -> None:
    run = read_records(shared_records).run("dag-fifo-s0")
    assert find_job(run, "7") == 7
    assert find_job(run, "j3") == 3
    with pytest.raises(RecordError, match=r"no job '8'; jobs are numbered 0 to 7"):
        find_job(run, "8")
    with pytest.raises(RecordError, match=r"jobs are numbered 0 to 7; did you mean 'j3'\?"):
        find_job(run, "j33")


def test_labels_tell_parameters_apart(tmp_path: Path) -> None:
    writer = open_writer(tmp_path / "a")
    writer.add("dag/fifo", 0, METRICS, params={"x": 1})
    writer.add("dag/weighted-fair", 0, METRICS)
    writer.add("dag/weighted-fair", 0, METRICS, params={"alpha": -1.0})
    summary = read_records(tmp_path / "a").summary
    assert sorted(map(summary.label, summary.entries)) == [
        "dag/fifo",
        "dag/weighted-fair (alpha=-1.0)",
        "dag/weighted-fair (defaults)",
    ]


def test_missing_and_foreign_directories(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no such directory"):
        read_records(tmp_path / "none")
    with pytest.raises(RecordError, match=r"holds no manifest\.json, so it is not a record directory"):
        read_records(tmp_path)
    open_writer(tmp_path / "a")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text("{}")
    with pytest.raises(RecordError, match="holds something else, not records"):
        read_records(tmp_path / "other")
    with pytest.raises(RecordError, match="no run was completed yet"):
        read_records(tmp_path / "a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema 2; this version of dovetail reads schema 1"),
        ({"family": "barges"}, "family 'barges'"),
        ({"runs": {}}, "field 'runs': {}; expected an array"),
        ({"files": None}, "field 'files': None; expected an object"),
        ({"runs": [3]}, "expected an object for each run"),
        ({"runs": [{"run": "../../etc"}]}, "cannot name a run"),
        (
            {"runs": [{"run": "a", "scheduler": "b", "params": {}}]},
            "field 'seed': None; expected a whole",
        ),
    ],
)
def test_wrong_manifest(records: Path, change: dict[str, Any], message: str) -> None:
    manifest = json.loads((records / "manifest.json").read_text())
    (records / "manifest.json").write_text(json.dumps(manifest | change))
    with pytest.raises(RecordError, match=message):
        read_records(records)


def test_broken_manifest(records: Path) -> None:
    text = (records / "manifest.json").read_text()
    (records / "manifest.json").write_text(text[: len(text) // 2])
    with pytest.raises(RecordError, match=r"manifest\.json, line \d+: not complete JSON"):
        read_records(records)
    (records / "manifest.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="cannot be read as UTF-8"):
        read_records(records)
    (records / "manifest.json").write_text("[]")
    with pytest.raises(RecordError, match="expected an object"):
        read_records(records)


def test_changed_files_are_noticed(records: Path) -> None:
    file = records / "runs" / "dag-fifo-s0" / "tasks.parquet"
    shutil.copy(records / "runs" / "dag-fair-s0" / "tasks.parquet", file)
    with pytest.raises(RecordError, match=r"tasks\.parquet: not the file the manifest describes"):
        read_records(records).run("dag-fifo-s0")
    file.unlink()
    with pytest.raises(RecordError, match=r"tasks\.parquet: no such file"):
        read_records(records).run("dag-fifo-s0")
    (records / "summary.parquet").write_bytes(b"PAR1")
    with pytest.raises(RecordError, match=r"summary\.parquet"):
        read_records(records)


def test_missing_timings_do_not_matter(records: Path) -> None:
    (records / "timings.json").unlink()
    assert read_records(records).timings == {}
