import math

import numpy as np
import pytest

from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.arrivals import Arrivals, Deadlines, interval_for, load_for, mean_share


def rng():
    return SeedTree(1).generator()


def flat(executors):
    return 1000.0


def inflating(executors):
    return 100.0 + executors


def test_batch_jobs_all_come_at_time_0():
    assert Arrivals("batch").times_s(3, flat, rng()).tolist() == [0, 0, 0]


def test_poisson_gaps_have_the_mean_asked_for():
    times = Arrivals("poisson", interval_s=25).times_s(20_000, flat, rng())
    assert times[0] > 0
    assert (np.diff(times) >= 0).all()
    assert times[-1] / 20_000 == pytest.approx(25, rel=0.03)


def test_load_sets_the_mean_gap():
    arrivals = Arrivals("poisson", load=0.8, executors=50)
    assert arrivals.mean_interval_s(flat) == pytest.approx(25)


def test_a_job_holds_less_of_a_busier_cluster_so_its_work_is_less():
    # share of an equal-sharing cluster at load 1/2: (1 - 1/2) / (1/2) * ln 2; at 1 and above a job gets next to none
    assert mean_share(0.5) == pytest.approx(math.log(2))
    assert mean_share(1.0) == mean_share(2.0) == 0
    assert mean_share(1e-6) == pytest.approx(1, rel=1e-5)
    assert interval_for(0.5, 10, inflating) == pytest.approx((100 + 10 * math.log(2)) / 5)
    assert interval_for(2.0, 10, inflating) == pytest.approx(100 / 20)


@pytest.mark.parametrize("load", [0.01, 0.5, 0.85, 0.99, 1.5])
def test_load_and_interval_are_inverse(load):
    assert load_for(interval_for(load, 50, inflating), 50, inflating) == pytest.approx(load, rel=1e-6)


def test_a_longer_sequence_starts_like_a_shorter_one():
    arrivals = Arrivals("poisson", interval_s=3)
    np.testing.assert_array_equal(arrivals.times_s(10, flat, rng()), arrivals.times_s(99, flat, rng())[:10])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "weekly"}, "batch, poisson, trace"),
        ({"kind": "poisson"}, "interval in seconds or a load"),
        ({"kind": "poisson", "interval_s": 1, "load": 1, "executors": 1}, "not both"),
        ({"kind": "poisson", "interval_s": 0}, "above 0"),
        ({"kind": "poisson", "interval_s": float("nan")}, "above 0"),
        ({"kind": "poisson", "interval_s": 2e9}, "1e\\+09 at most"),
        ({"kind": "poisson", "load": -1, "executors": 5}, "above 0"),
        ({"kind": "poisson", "load": 0.5}, "number of executors"),
        ({"kind": "batch", "interval_s": 3}, "neither"),
        ({"kind": "trace", "load": 0.5, "executors": 2}, "neither"),
    ],
)
def test_impossible_arrivals_are_refused(options, says):
    with pytest.raises(DovetailError, match=says):
        Arrivals(**options)


@pytest.mark.parametrize("load", [1e-300, 5e-324])
def test_a_load_with_years_between_jobs_is_refused(load):
    with pytest.raises(DovetailError, match="seconds between jobs"):
        Arrivals("poisson", load=load, executors=50).times_s(3, flat, rng())


@pytest.mark.parametrize("options", [(0, 1, 5), (2, 1, 5), (1, float("inf"), 5), (1, 2, 0)])
def test_impossible_deadlines_are_refused(options):
    with pytest.raises(DovetailError, match="deadlines"):
        Deadlines(*options)
