import json

import numpy as np
import pytest
from tests.workloads.samples import diamond, recorded

from dovetail.core.errors import DovetailError
from dovetail.workloads.describe import as_text, describe, gini, group_means, spread
from dovetail.workloads.source import DagSource, open_source


def test_a_catalogue_counts_each_dag_once():
    summary = describe(DagSource("toy", diamond()), executors=3, interval_s=11)
    assert summary["counts"]["jobs"] is None
    assert summary["counts"]["stages"] == 5
    assert summary["per_job"]["work_s"]["mean"] == 16.5
    # with up to 5 executors the diamond's tasks add up to 18 s, the lone stage's to 10 * 0.5 s
    assert summary["load"]["load"] == pytest.approx(11.5 / 33)
    assert summary["load"]["interval_s_for_85_percent"] == pytest.approx(11.5 / (0.85 * 3))
    assert "recorded_load" not in summary["load"]


def test_a_record_counts_each_job():
    summary = describe(recorded(), executors=3, interval_s=11)
    assert summary["per_job"]["work_s"]["mean"] == 17
    assert summary["load"]["recorded_span_s"] == 10
    assert summary["load"]["recorded_load"] == pytest.approx((18 + 5 + 18) / 3 / (5 * 3))


def test_waves_by_executors():
    assert describe(recorded(), executors=1, interval_s=1)["waves"] == {
        "fresh": {"10": 2.0},
        "first": {"5": 1.5},
        "rest": {"5": 0.5},
    }


def test_spread():
    row = spread(np.array([1, 2, 3, 4]))
    assert (row["mean"], row["min"], row["max"], row["p50"]) == (2.5, 1, 4, 2.5)
    assert spread(np.zeros(3))["cv"] == 0


@pytest.mark.parametrize(
    ("values", "expected"), [([5, 5, 5], 0), ([0, 0, 0, 8], 0.75), ([0, 0], 0), ([1, 3], 0.25), ([7], 0)]
)
def test_gini(values, expected):
    assert gini(np.array(values, dtype=float)) == pytest.approx(expected)


def test_group_means():
    mean, deviation = group_means(diamond())
    assert mean.tolist() == [1, 2, 5, 1, 2, 0.5]
    assert deviation.tolist() == [0, 0, 0, 0, 0.5, 0]


@pytest.mark.parametrize("source", [recorded(), open_source("tpch-like")])
def test_text_and_json(source):
    summary = describe(source, executors=50, interval_s=25)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    text = as_text(summary)
    assert source.name in text
    assert "load:" in text
    assert all(len(line) < 130 for line in text.splitlines())


@pytest.mark.parametrize("options", [{"executors": 0, "interval_s": 1}, {"executors": 1, "interval_s": 0}])
def test_impossible_clusters(options):
    with pytest.raises(DovetailError):
        describe(recorded(), **options)
