from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.arrivals import Arrivals
from dovetail.workloads.generate.changing import phase_of
from dovetail.workloads.source import open_source

TRACE = Arrivals("trace")


def test_phases_follow_one_another() -> None:
    workload = open_source("changing:dags=5").sequence(500, TRACE, SeedTree(3))
    phase = np.array([phase_of(name) for name in workload.job_name])
    assert workload.num_jobs == 500 and (np.diff(workload.arrival_s) >= 0).all()
    assert np.array_equal(phase, workload.arrival_s // 600)
    assert np.array_equal(phase % 3, workload.job_dag // 5), "each phase has the jobs of its kind"
    batched = workload.arrival_s[phase == 1]
    _, together = np.unique(batched, return_counts=True)
    assert (together == 40).all() and batched[0] == 600.0
    assert np.unique(workload.arrival_s[phase == 0]).size == (phase == 0).sum()


def test_seeds_give_sequences_of_their_own_and_always_the_same() -> None:
    source = open_source("changing:dags=5")
    first, again, other = (source.sequence(100, TRACE, SeedTree(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.arrival_s, again.arrival_s) and np.array_equal(first.job_dag, again.job_dag)
    assert not np.array_equal(first.arrival_s, other.arrival_s)


def test_the_load_is_about_what_was_asked_for() -> None:
    """By the rule that poisson arrivals go by, for jobs that share the cluster."""
    source = open_source("changing:load=0.5,phases=[coarse-wide-individual],dags=20")
    gaps_s = np.diff(source.sequence(2000, TRACE, SeedTree(0)).arrival_s)
    expected_s = Arrivals("poisson", load=0.5, executors=40).mean_interval_s(source.mean_work_s)
    assert gaps_s.mean() == pytest.approx(expected_s, rel=0.05)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("changing:phases=[]", "none given"),
        ("changing:phases=[fine-wide]", "expected kind-shape-arrivals"),
        ("changing:phases=[fine-broad-batched]", "no 'broad'; expected one of even"),
        ("changing:phase_s=0", "phase_s must be above 0"),
        ("changing:load=1", "load must be above 0 and below 1"),
    ],
)
def test_what_is_wrong_is_said(spec: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        open_source(spec)
