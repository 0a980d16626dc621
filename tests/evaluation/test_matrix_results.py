from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.matrices import small

from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.matrix import Matrix, run_matrix
from dovetail.evaluation.matrix_cell import Failure, Row
from dovetail.evaluation.matrix_results import MatrixResults
from dovetail.records import RecordWriter, read_records

FAIR, FIFO = Contender.of("dag/fair"), Contender.of("dag/fifo")


def row(contender: Contender, seed: int, jct_s: float) -> Row:
    return Row(contender, seed, {"avg_jct_s": jct_s, "late_s": 0.0})


def writer(directory: Path) -> RecordWriter:
    opened = small()
    return RecordWriter.open(directory, family="dag", workload=opened.facts(), options=opened.options, seeds=(0, 1))


def test_the_table_covers_what_is_complete() -> None:
    results = MatrixResults(Matrix((FAIR, FIFO), (0, 1, 2)))
    for outcome in (row(FAIR, 0, 2.0), row(FIFO, 0, 4.0), row(FAIR, 2, 2.0), row(FIFO, 1, 9.0)):
        results.add(outcome)
    assert results.complete() == ((FAIR, FIFO), (0,))
    comparison = results.comparison()
    assert comparison.best_heuristic == "dag/fair"
    assert [one.metrics["avg_jct_s"].mean for one in comparison.rows] == [2.0, 4.0]


def test_one_that_failed_once_is_left_out() -> None:
    results = MatrixResults(Matrix((FAIR, FIFO), (0, 1)))
    for outcome in (row(FAIR, 0, 2.0), row(FIFO, 0, 1.0), row(FAIR, 1, 2.0), Failure(FIFO, 1, "broke")):
        results.add(outcome)
    assert [one.label for one in results.comparison().rows] == ["dag/fair"]
    assert results.failures_json() == [{"scheduler": "dag/fifo", "params": {}, "seed": 1, "error": "broke"}]


def test_nothing_complete() -> None:
    results = MatrixResults(Matrix((FAIR,), (0,)))
    assert results.comparison().rows == () and results.complete() == ((), ())


def test_resume(tmp_path: Path) -> None:
    matrix = Matrix((FAIR, FIFO), (0, 1), keep=True)
    first = MatrixResults(matrix, writer(tmp_path))
    for outcome in list(run_matrix(small(), matrix.chunks(), workers=1))[:3]:
        first.add(outcome)
    first.flush()
    second = MatrixResults(matrix, writer(tmp_path))
    assert second.resumed == second.rows == 3
    chunks = matrix.chunks(second.is_done)
    assert [(chunk.seed, [one.spec for one in chunk.contenders]) for chunk in chunks] == [(1, ["dag/fifo"])]
    assert second.row(FAIR, 0).metrics == first.row(FAIR, 0).metrics
    assert second.row(FAIR, 0).timings["decision_s"] > 0
    assert MatrixResults(matrix, writer(tmp_path), resume=False).rows == 0


def test_a_row_without_its_run_is_run_again(tmp_path: Path) -> None:
    results = MatrixResults(Matrix((FAIR,), (0,)), writer(tmp_path))
    results.add(next(run_matrix(small(), Matrix((FAIR,), (0,)).chunks(), workers=1)))
    results.flush()
    assert MatrixResults(Matrix((FAIR,), (0,)), writer(tmp_path)).resumed == 1
    assert MatrixResults(Matrix((FAIR,), (0,), keep=True), writer(tmp_path)).resumed == 0


def test_rows_reach_the_disk_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.evaluation.matrix_results.FLUSH_S", 0.0)
    results = MatrixResults(Matrix((FAIR,), (0, 1)), writer(tmp_path))
    results.add(row(FAIR, 0, 1.0))
    assert len(read_records(tmp_path).summary) == 1
