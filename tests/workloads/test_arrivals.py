import numpy as np
import pytest

from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.arrivals import Arrivals, Deadlines


def rng():
    return SeedTree(1).generator()


def test_batch_jobs_all_come_at_time_0():
    assert Arrivals("batch").times_s(3, 1.0, rng()).tolist() == [0, 0, 0]


def test_poisson_gaps_have_the_mean_asked_for():
    times = Arrivals("poisson", interval_s=25).times_s(20_000, 1.0, rng())
    assert times[0] > 0
    assert (np.diff(times) >= 0).all()
    assert times[-1] / 20_000 == pytest.approx(25, rel=0.03)


def test_load_sets_the_mean_gap():
    arrivals = Arrivals("poisson", load=0.8, executors=50)
    assert arrivals.mean_interval_s(1000) == pytest.approx(25)


def test_a_longer_sequence_starts_like_a_shorter_one():
    arrivals = Arrivals("poisson", interval_s=3)
    np.testing.assert_array_equal(arrivals.times_s(10, 1.0, rng()), arrivals.times_s(99, 1.0, rng())[:10])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "weekly"}, "batch, poisson, trace"),
        ({"kind": "poisson"}, "interval in seconds or a load"),
        ({"kind": "poisson", "interval_s": 1, "load": 1, "executors": 1}, "not both"),
        ({"kind": "poisson", "interval_s": 0}, "above 0"),
        ({"kind": "poisson", "interval_s": float("nan")}, "above 0"),
        ({"kind": "poisson", "load": -1, "executors": 5}, "above 0"),
        ({"kind": "poisson", "load": 0.5}, "number of executors"),
        ({"kind": "batch", "interval_s": 3}, "neither"),
        ({"kind": "trace", "load": 0.5, "executors": 2}, "neither"),
    ],
)
def test_impossible_arrivals_are_refused(options, says):
    with pytest.raises(DovetailError, match=says):
        Arrivals(**options)


@pytest.mark.parametrize("options", [(0, 1, 5), (2, 1, 5), (1, float("inf"), 5), (1, 2, 0)])
def test_impossible_deadlines_are_refused(options):
    with pytest.raises(DovetailError, match="deadlines"):
        Deadlines(*options)
