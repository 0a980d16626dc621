from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.elastic_toys import Eager, EagerParams, Promising, Refuses, toy_run

from dovetail.core.errors import RecordError
from dovetail.evaluation.metrics_elastic import METRICS, elastic_metrics, run_metrics


def test_a_toy_by_hand() -> None:
    found = run_metrics(toy_run())
    assert list(found) == list(METRICS)
    # Job a has two workers in slots 0 and 1, b one in 2 and 3, c what is left of the two GPUs and does not finish.
    assert found["total_utility"] == pytest.approx(5.0 + 10.0)
    assert found["completed_share"] == pytest.approx(2 / 3) and found["admitted_share"] == 1.0
    assert found["avg_jct_s"] == pytest.approx((20.0 + 30.0) / 2) and found["p95_jct_s"] == pytest.approx(29.5)
    assert found["avg_utility"] == pytest.approx(7.5)
    assert found["gpu_utilisation"] == pytest.approx(1.0) and found["worker_slots"] == 12.0
    assert found["promises_kept"] == 1.0


def test_promises() -> None:
    run = toy_run(Promising())
    assert run_metrics(run)["promises_kept"] == 1.0
    late = run.jobs.promise.copy()
    late[0] = 2  # it completed in slot 3
    run.jobs.promise[:] = late
    assert run_metrics(run)["promises_kept"] == 0.5


def test_nothing_completed() -> None:
    found = run_metrics(toy_run(Refuses()))
    assert found["total_utility"] == found["completed_share"] == found["utilisation"] == 0.0
    assert all(math.isnan(found[name]) for name in ("avg_jct_s", "p95_jct_s", "avg_utility"))
    assert found["promises_kept"] == 1.0


def test_no_jobs() -> None:
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(RecordError, match="no jobs"):
        elastic_metrics(
            slots=1, slot_s=1.0, arrival=none, finish=none, promise=none, admitted=none > 0, utility=none * 1.0,
            worker_slots=none, worker_demand=np.zeros((0, 5)), worker_capacity=np.ones(5),
        )  # fmt: skip


@given(st.integers(1, 4))
def test_shares_are_shares(workers: int) -> None:
    found = run_metrics(toy_run(Eager(EagerParams(workers))))
    for name, metric in METRICS.items():
        if metric.form == "percent":
            assert 0.0 <= found[name] <= 1.0 + 1e-9
    assert found["gpu_utilisation"] <= found["utilisation"] and found["completed_share"] <= found["admitted_share"]
