"""A run written and read back is the same run, its bytes never change, and damage is named."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.records.synthetic import make_run

from dovetail.core.errors import RecordError
from dovetail.records import DagEdges, DagRun, read_run, run_name, write_run

TABLES = ("jobs", "stages", "edges", "tasks", "decisions")


@pytest.fixture(scope="module")
def run() -> DagRun:
    return make_run("dag/fair", seed=1, num_jobs=6, executors=8)


def test_round_trip(run: DagRun, tmp_path: Path) -> None:
    write_run(tmp_path / "a", run)
    again = read_run(tmp_path / "a")
    assert (again.run, again.scheduler, again.seed, again.executors) == ("dag-fair-s1", "dag/fair", 1, 8)
    for table in TABLES:
        for column in fields(getattr(run, table)):
            ours = getattr(getattr(run, table), column.name)
            theirs = getattr(getattr(again, table), column.name)
            assert len(ours) == len(theirs) > 0
            assert np.array_equal(ours, theirs), (table, column.name)
            assert isinstance(theirs, tuple) or not theirs.flags.writeable
    assert again.tasks.wave.dtype == np.int64
    assert again.tasks.lost.dtype == np.bool_


def test_empty_tables_round_trip(run: DagRun, tmp_path: Path) -> None:
    none = np.zeros(0, dtype=np.int64)
    write_run(tmp_path / "a", replace(run, edges=DagEdges(none, none, none)))
    assert len(read_run(tmp_path / "a").edges) == 0


def test_same_run_same_bytes(run: DagRun, tmp_path: Path) -> None:
    digests = []
    for name in ("a", "b"):
        write_run(tmp_path / name, make_run("dag/fair", seed=1, num_jobs=6, executors=8))
        files = sorted((tmp_path / name).iterdir())
        assert [file.name for file in files] == sorted([*(f"{t}.parquet" for t in TABLES), "run.json"])
        digests.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert digests[0] == digests[1]


def test_bytes_name_no_machine_and_no_pandas(run: DagRun, tmp_path: Path) -> None:
    write_run(tmp_path / "a", run)
    for file in (tmp_path / "a").iterdir():
        content = file.read_bytes()
        assert b"pandas" not in content
        assert str(tmp_path).encode() not in content


def test_writing_again_replaces(run: DagRun, tmp_path: Path) -> None:
    write_run(tmp_path / "a", run)
    write_run(tmp_path / "a", replace(run, seed=9))
    assert read_run(tmp_path / "a").seed == 9
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("table", TABLES)
def test_truncated_file_is_named(run: DagRun, tmp_path: Path, table: str) -> None:
    write_run(tmp_path / "a", run)
    file = tmp_path / "a" / f"{table}.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(RecordError, match=rf"{table}\.parquet: not a complete Parquet file"):
        read_run(tmp_path / "a")
    file.write_bytes(b"")
    with pytest.raises(RecordError, match=rf"{table}\.parquet"):
        read_run(tmp_path / "a")
    file.unlink()
    with pytest.raises(RecordError, match=rf"{table}\.parquet: no such file"):
        read_run(tmp_path / "a")


def test_wrong_columns_are_named(run: DagRun, tmp_path: Path) -> None:
    write_run(tmp_path / "a", run)
    folder = tmp_path / "a"
    shutil.copy(folder / "jobs.parquet", folder / "tasks.parquet")
    with pytest.raises(RecordError, match=r"tasks\.parquet: column 'executor' is missing"):
        read_run(folder)


@pytest.mark.parametrize(
    ("table", "column", "value", "message"),
    [
        ("tasks", "executor", 8, r"tasks\.parquet, row 3, column 'executor': 8; expected 0 to 7"),
        ("tasks", "job", -1, r"column 'job': -1; expected 0 to 5"),
        ("tasks", "stage", 99, r"column 'stage': 99; expected 0 to "),
        ("tasks", "end_s", np.nan, r"tasks\.parquet, row 3: start_s .* end_s nan; expected finite times"),
        ("tasks", "end_s", -1.0, r"the end not before the start"),
        ("jobs", "finish_s", -5.0, r"jobs\.parquet, row 3: .* expected a finish not before the arrival"),
        ("jobs", "ideal_s", 0.0, r"jobs\.parquet, row 3: ideal_s 0.0; expected a time above 0"),
        ("decisions", "job", 6, r"decisions\.parquet, row 3, column 'job': 6; expected -1 to 5"),
        ("decisions", "given", 9, r"column 'given': 9; expected 0 to 8"),
        ("decisions", "time_s", np.inf, r"decisions\.parquet, row 3: time_s inf; expected a finite time"),
        ("edges", "child", 50, r"edges\.parquet, row 3, column 'child'"),
        ("stages", "job", 6, r"stages\.parquet, row 3, column 'job': 6; expected 0 to 5"),
        ("stages", "stage", 77, r"stages\.parquet: expected stages 0, 1"),
    ],
)
def test_inconsistent_values(run: DagRun, tmp_path: Path, table: str, column: str, value: float, message: str) -> None:
    part = getattr(run, table)
    values = getattr(part, column).copy()
    values[3] = value
    write_run(tmp_path / "a", replace(run, **{table: replace(part, **{column: values})}))
    with pytest.raises(RecordError, match=message):
        read_run(tmp_path / "a")


def test_values_that_do_not_fit_are_refused(run: DagRun, tmp_path: Path) -> None:
    jobs = run.tasks.job.copy()
    jobs[0] = 1 << 40
    with pytest.raises(RecordError, match=r"tasks\.parquet, column 'job': a value does not fit int32"):
        write_run(tmp_path / "a", replace(run, tasks=replace(run.tasks, job=jobs)))
    assert not (tmp_path / "a").exists()
    with pytest.raises(RecordError, match="columns of different length"):
        write_run(tmp_path / "a", replace(run, tasks=replace(run.tasks, job=jobs[1:] % 2)))


def test_run_names() -> None:
    assert run_name("dag/fair-spill", 0) == "dag-fair-spill-s0"
    tuned = run_name("dag/weighted-fair", 3, {"alpha": -0.5})
    assert tuned.startswith("dag-weighted-fair-") and tuned.endswith("-s3")
    assert tuned != run_name("dag/weighted-fair", 3, {"alpha": 0.5})
    with pytest.raises(RecordError, match="cannot name a run"):
        run_name("../x", 0)
