"""What runs of the stream family are judged by."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stream_toys import toy_result, toy_run

from dovetail.core.errors import RecordError
from dovetail.evaluation.metrics_stream import METRICS, run_metrics, stream_metrics
from dovetail.evaluation.setting_stream import result_metrics

ONE = {
    "interval_s": 1800.0,
    "slo_s": np.array([2.0]),
    "latency_s": np.array([[1.0], [3.0], [4.0]]),
    "utilisation": np.array([[0.2], [0.4], [0.6]]),
    "reward": np.array([[0.5], [-0.5], [0.3]]),
    "arrived": np.array([[100.0], [100.0], [200.0]]),
    "delivered": np.array([[100.0], [0.0], [300.0]]),
    "lag": np.array([[0.0], [100.0], [0.0]]),
    "down_s": np.array([[0.0], [5.0], [1.5]]),
    "rescaled": np.array([[False], [True], [True]]),
    "parallelism": np.array([[1, 1], [2, 1], [2, 3]]),
    "delay_from_s": np.array([0.0, 2.0]),
    "delay_to_s": np.array([2.0, 6.0]),
    "delay_records": np.array([300.0, 100.0]),
}


def test_by_hand() -> None:
    found = stream_metrics(**ONE)
    assert list(found) == list(METRICS)
    assert found["reward"] == pytest.approx(0.1)
    assert found["latency_s"] == pytest.approx(
        (100 * 1 + 100 * 3 + 300 * 4) / 500
    )  # nothing left in the second, but 100 came
    assert found["p99_latency_s"] == pytest.approx(2.0 + 0.96 * 4.0)  # 396 of 400 records
    assert found["slo_violations"] == pytest.approx(2 / 3) and found["utilisation"] == pytest.approx(0.4)
    assert found["instance_hours"] == pytest.approx(5.0)
    assert found["rescales"] == 2 and found["down_s"] == pytest.approx(6.5)


def test_a_job_that_stands_still_is_late() -> None:
    """Nobody gets a better tail by delivering nothing."""
    stalled = {**ONE, "lag": np.array([[0.0], [100.0], [1e4]]), "latency_s": np.array([[1.0], [3.0], [900.0]])}
    assert stream_metrics(**stalled)["p99_latency_s"] == pytest.approx(900.0)
    never = {name: np.zeros((3, 1)) for name in ("arrived", "delivered", "lag")}
    found = stream_metrics(**{**ONE, **never, "delay_records": np.zeros(2)})
    assert found["latency_s"] == pytest.approx(8 / 3) and np.isnan(found["p99_latency_s"])


def test_nothing_to_measure() -> None:
    with pytest.raises(RecordError, match="no interval after the first decision"):
        stream_metrics(**{**ONE, "reward": np.zeros((0, 1))})


def test_a_record_has_the_metrics_of_its_result() -> None:
    measured, recorded = result_metrics(toy_result()), run_metrics(toy_run())
    assert measured == pytest.approx(recorded)
    assert recorded["rescales"] == 2 and recorded["down_s"] == pytest.approx(4.0)
    assert recorded["slo_violations"] == pytest.approx(2 / 12)
    assert recorded["instance_hours"] == pytest.approx(29 / 60)


def test_of_one_job() -> None:
    run = toy_run()
    first, second = run_metrics(run, 0), run_metrics(run, 1)
    assert first["slo_violations"] == pytest.approx(2 / 6) and second["slo_violations"] == 0
    assert second["rescales"] == 0 and second["latency_s"] == pytest.approx(0.1)
    assert run_metrics(run)["reward"] == pytest.approx((first["reward"] + second["reward"]) / 2)
    assert run_metrics(run)["instance_hours"] == pytest.approx(first["instance_hours"] + second["instance_hours"])


def test_more_reward_is_better_and_compared_in_its_unit() -> None:
    assert METRICS["reward"].higher_is_better and METRICS["reward"].signed
    assert not METRICS["latency_s"].higher_is_better and not METRICS["latency_s"].signed
