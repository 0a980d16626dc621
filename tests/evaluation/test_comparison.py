from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dovetail.evaluation.comparison import compare
from dovetail.records import Records, RecordWriter, read_records


def make_records(directory: Path, rows: dict[str, tuple[str, dict[int, float]]]) -> Records:
    writer = RecordWriter.open(directory, family="dag", workload={"name": "toy"}, options={}, seeds=[0, 1, 2])
    for scheduler, (kind, by_seed) in rows.items():
        for seed, value in by_seed.items():
            writer.add(scheduler, seed, {"avg_jct_s": value}, kind=kind)
    return read_records(directory)


def test_best_heuristic_is_the_yardstick(tmp_path: Path) -> None:
    found = compare(
        make_records(
            tmp_path / "a",
            {
                "dag/fifo": ("heuristic", {0: 20.0, 1: 40.0, 2: 60.0}),
                "dag/fair": ("heuristic", {0: 10.0, 1: 20.0, 2: 30.0}),
                "dag/decima": ("learned", {0: 9.0, 1: 18.0, 2: 27.0}),
            },
        )
    )
    assert found.best_heuristic == "dag/fair"
    assert [row.label for row in found.rows] == ["dag/decima", "dag/fair", "dag/fifo"]
    learned, fair, fifo = found.rows
    assert learned.difference_pct.mean == pytest.approx(-10.0)
    assert (learned.difference_pct.low, learned.difference_pct.high) == pytest.approx((-10.0, -10.0))
    assert learned.difference.mean == pytest.approx(-2.0)
    assert fair.difference_pct.mean == 0.0
    assert fifo.difference_pct.mean == pytest.approx(100.0)
    assert fifo.metrics["avg_jct_s"].mean == pytest.approx(40.0)
    assert np.isnan(fifo.decision_s)


def test_differences_use_common_seeds_only(tmp_path: Path) -> None:
    found = compare(
        make_records(
            tmp_path / "a",
            {
                "dag/fair": ("heuristic", {0: 10.0, 1: 20.0}),
                "dag/fifo": ("heuristic", {1: 30.0, 2: 900.0}),
                "dag/late": ("heuristic", {2: 900.0}),
            },
        )
    )
    by_label = {row.label: row for row in found.rows}
    assert by_label["dag/fifo"].difference.mean == pytest.approx(10.0)
    assert by_label["dag/fifo"].seeds == 2
    assert np.isnan(by_label["dag/late"].difference.mean)


def test_without_heuristics(tmp_path: Path) -> None:
    found = compare(make_records(tmp_path / "a", {"dag/decima": ("learned", {0: 9.0})}))
    assert found.best_heuristic is None
    document = found.as_json({"name": "toy"})
    json.dumps(document, allow_nan=False)
    assert document["rows"][0]["vs_best_heuristic_pct"] is None
    assert document["rows"][0]["metrics"]["avg_jct_s"] == {"mean": 9.0, "ci95": [None, None]}


def test_json(shared_records: Path) -> None:
    records = read_records(shared_records)
    document = compare(records).as_json(records.workload)
    json.dumps(document, allow_nan=False)
    assert document["schema"] == 1 and document["family"] == "dag"
    assert document["best_heuristic"] == document["rows"][0]["scheduler"]
    row = document["rows"][1]
    assert row["metrics"]["avg_jct_s"]["ci95"][0] <= row["metrics"]["avg_jct_s"]["mean"]
    assert row["vs_best_heuristic_pct"] > 0


def elastic(directory: Path, rows: dict[str, tuple[str, list[float]]]) -> Records:
    writer = RecordWriter.open(directory, family="elastic", workload={}, options={}, seeds=[0, 1, 2])
    for scheduler, (kind, by_seed) in rows.items():
        for seed, value in enumerate(by_seed):
            writer.add(scheduler, seed, {"total_utility": value, "avg_jct_s": 600.0 - value}, kind=kind)
    return read_records(directory)


def test_where_higher_is_better(tmp_path: Path) -> None:
    rows = {
        "elastic/fifo": ("heuristic", [10.0, 20.0, 30.0]),
        "elastic/drf": ("heuristic", [20.0, 40.0, 60.0]),
        "elastic/oasis": ("optimise", [25.0, 50.0, 75.0]),
    }
    records = elastic(tmp_path / "a", rows)
    found = compare(records)
    assert found.yardstick == "total_utility" and found.metric.higher_is_better
    assert [row.label for row in found.rows] == ["elastic/oasis", "elastic/drf", "elastic/fifo"]
    assert found.best_heuristic == "elastic/drf"
    oasis, drf, fifo = found.rows
    assert oasis.difference_pct.mean == pytest.approx(25.0) and found.sure(oasis.difference_pct) == "better"
    assert fifo.difference_pct.mean == pytest.approx(-50.0) and found.sure(fifo.difference_pct) == "worse"
    assert found.sure(drf.difference_pct) == "unclear"
    document = found.as_json({})
    json.dumps(document, allow_nan=False)
    assert document["family"] == "elastic" and document["higher_is_better"]
    row = document["rows"][0]
    assert row["vs_best_heuristic_pct"] == pytest.approx(25.0)
    assert row["vs_best_heuristic"]["mean"] == pytest.approx(10.0) and "vs_best_heuristic_s" not in row
    by_jct = compare(records, "avg_jct_s")
    assert by_jct.best_heuristic == "elastic/drf" and by_jct.rows[0].label == "elastic/oasis"
    assert by_jct.sure(by_jct.rows[0].difference_pct) == "better"
    assert "vs_best_heuristic_s" in by_jct.as_json({})["rows"][0]


def test_what_is_not_a_number_comes_last(tmp_path: Path) -> None:
    rows = {"elastic/a": ("heuristic", [np.nan, 2.0, 3.0]), "elastic/b": ("heuristic", [1.0, 1.0, 1.0])}
    records = elastic(tmp_path / "a", rows)
    for metric in ("total_utility", "avg_jct_s"):
        found = compare(records, metric)
        assert [row.label for row in found.rows] == ["elastic/b", "elastic/a"]
        assert found.best_heuristic == "elastic/b" and np.isnan(found.rows[1].difference_pct.mean)
        json.dumps(found.as_json({}), allow_nan=False)
