from __future__ import annotations

import numpy as np
import pytest
from tests.gpu_toys import TROUBLES, toy_result, toy_run

from dovetail.core.errors import RecordError
from dovetail.evaluation.metrics_gpu import METRICS, gpu_metrics, run_metrics
from dovetail.evaluation.setting_gpu import result_metrics


def test_a_toy_by_hand() -> None:
    found = run_metrics(toy_run())
    assert list(found) == list(METRICS)
    jct = np.array([100, 200, 152.5, 142.5, 40])
    assert found["avg_jct_s"] == pytest.approx(jct.mean()) and found["p95_jct_s"] == pytest.approx(190.5)
    assert found["avg_wait_s"] == pytest.approx((90 + 80) / 5) and found["makespan_s"] == 200
    fee = (200 * 3.06 + 400 * 0.526 + 62.5 * 3.06) / 3600
    assert found["avg_fee_usd"] == pytest.approx(fee / 5)
    assert found["gpu_utilisation"] == pytest.approx((200 + 400 + 62.5) / 800)
    assert found["relative_speed"] == pytest.approx((1 + 1 + 0.8 + 0.8 + 1) / 5)
    assert found["slowdown"] == pytest.approx((jct / [100, 100, 50, 50, 40]).mean())
    assert found["stops"] == 0


@pytest.mark.parametrize("options", [{}, TROUBLES, {"mood_sigma": 0.3, "mood_every_s": 10.0, "mood_period_s": 50.0}])
def test_a_record_says_what_the_result_says(options: dict[str, float]) -> None:
    assert run_metrics(toy_run(**options)) == pytest.approx(result_metrics(toy_result(**options)), rel=1e-12)


def test_stops_are_counted() -> None:
    run = toy_run(**TROUBLES)
    assert run_metrics(run)["stops"] == run.jobs.stops.sum() > 0
    assert run_metrics(run)["avg_fee_usd"] > run_metrics(toy_run())["avg_fee_usd"]  # what was lost is paid for


def test_what_cannot_be_measured() -> None:
    none, names = np.zeros(0), ("arrival_s", "finish_s", "running_s", "work_s", "fee", "job_gpus")
    columns = dict.fromkeys((*names, "work_run_s", "alone_run_s"), none)
    with pytest.raises(RecordError, match="no jobs"):
        gpu_metrics(**columns, stops=np.zeros(0, np.int64), num_gpus=4)
    run = toy_run()
    run.jobs.finish_s[1] = np.inf
    with pytest.raises(RecordError, match=r"1 of 5 jobs did not finish \(the first is job 1\)"):
        run_metrics(run)
