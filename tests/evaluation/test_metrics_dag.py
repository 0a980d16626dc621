from __future__ import annotations

import numpy as np
import pytest
from tests.records.synthetic import make_run

from dovetail.core.errors import RecordError
from dovetail.evaluation.metrics_dag import METRICS, dag_metrics, jain_index, run_metrics


def test_by_hand() -> None:
    """Two jobs on two executors: arrive at 1 and 2 s, finish at 5 and 11 s."""
    found = dag_metrics(
        arrival_s=np.array([1.0, 2.0]),
        finish_s=np.array([5.0, 11.0]),
        ideal_s=np.array([2.0, 3.0]),
        weight=np.array([3.0, 1.0]),
        deadline_s=np.array([np.inf, 7.0]),
        busy_s=10.0,
        executors=2,
    )
    assert list(found) == list(METRICS)
    assert found == pytest.approx(
        {
            "avg_jct_s": 6.5,
            "p50_jct_s": 6.5,
            "p95_jct_s": 4.0 + 0.95 * 5.0,
            "makespan_s": 10.0,
            "utilisation": 0.5,
            "slowdown": 2.5,
            "fairness": 25.0 / (2 * 13.0),
            "weighted_jct_s": (3 * 4.0 + 9.0) / 4,
            "late_s": 2.0,
        }
    )


def test_recorded_run() -> None:
    run = make_run("dag/fair", num_jobs=5, executors=6)
    found = run_metrics(run)
    assert list(found) == list(METRICS)
    assert found["avg_jct_s"] == pytest.approx(float(np.mean(run.jobs.finish_s - run.jobs.arrival_s)))
    assert 0.0 < found["utilisation"] <= 1.0
    assert 0.0 < found["fairness"] <= 1.0


def test_jain_index() -> None:
    assert jain_index(np.array([3.0, 3.0, 3.0])) == pytest.approx(1.0)
    assert jain_index(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain_index(np.zeros(3)) == 1.0


def test_unfinished_runs_have_no_metrics() -> None:
    run = make_run(num_jobs=3, executors=4)
    run.jobs.finish_s[1] = np.inf
    with pytest.raises(RecordError, match=r"1 of 3 jobs did not finish \(the first is job 1\)"):
        run_metrics(run)
