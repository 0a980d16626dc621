import numpy as np
import pytest

from dovetail.workloads.thinning import round_levels, thin


def test_few_levels_stay_as_they_are():
    assert round_levels([7, 13, 7, 1]) == {1: 1, 7: 7, 13: 13}


def test_many_levels_are_rounded():
    levels = round_levels(range(1, 200))
    assert all(levels[n] == n for n in (1, 2, 3, 4, 5, 6, 8, 10, 100))
    assert (levels[7], levels[9], levels[17], levels[190]) == (8, 10, 15, 200)
    assert len(set(levels.values())) < 25


def test_thin_samples_stand_for_all():
    seconds = np.random.default_rng(0).exponential(2.0, 1200)
    few = thin(seconds, 24)
    assert few.size == 24
    assert few.mean() == pytest.approx(seconds.mean())
    assert np.quantile(few, 0.5) == pytest.approx(np.quantile(seconds, 0.5), rel=0.1)
    assert thin(seconds[:10], 24) is not None and thin(seconds[:10], 24).tolist() == seconds[:10].tolist()
    assert thin(seconds, None) is seconds
