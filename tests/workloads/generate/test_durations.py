import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.workloads.dag import FIRST, FRESH, REST
from dovetail.workloads.generate.durations import LEVELS, StageTimes, draw_samples, normal


def times(stages=1, **changes):
    options = {
        "steady_s": np.ones(stages),
        "inflation": np.full(stages, 3.0),
        "first_s": np.full(stages, 0.5),
        "fresh_s": np.full(stages, 2.0),
        "fresh_growth": np.zeros(stages),
        "spread": np.full((stages, 3), 0.2),
        "stragglers": np.zeros((stages, 3)),
        "has_fresh": np.ones((stages, len(LEVELS)), dtype=bool),
        "has_first": np.ones((stages, len(LEVELS)), dtype=bool),
    }
    return StageTimes(**(options | changes))


def mean_of(samples, wave, executors):
    group = np.flatnonzero((samples.wave == wave) & (samples.executors == executors))
    return np.mean([samples.seconds[samples.ptr[g] : samples.ptr[g + 1]].mean() for g in group])


def test_waves_have_the_means_of_the_model():
    samples = draw_samples(times(300), np.full(300, 200), 200, SeedTree(0).generator())
    assert mean_of(samples, REST, 5) == pytest.approx(1, rel=0.03)
    assert mean_of(samples, REST, 100) == pytest.approx(3, rel=0.03)
    assert mean_of(samples, FIRST, 5) == pytest.approx(1.5, rel=0.03)
    assert mean_of(samples, FRESH, 5) == pytest.approx(3, rel=0.03)


def test_stragglers_do_not_move_the_mean():
    late = times(300, stragglers=np.full((300, 3), 0.1))
    samples = draw_samples(late, np.full(300, 200), 200, SeedTree(0).generator())
    assert mean_of(samples, REST, 5) == pytest.approx(1, rel=0.03)
    assert samples.seconds.max() > 6


def test_groups_share_the_budget_as_tasks_would():
    samples = draw_samples(times(), np.array([200]), 40, SeedTree(0).generator())
    size = dict(zip(zip(samples.wave, samples.executors, strict=True), np.diff(samples.ptr), strict=True))
    assert size[REST, 100] == 20
    assert size[FIRST, 100] == 20
    assert size[REST, 5] == 39
    assert size[FIRST, 5] == 2  # never fewer than two, if there are two tasks


def test_no_rest_wave_where_all_tasks_run_at_once():
    samples = draw_samples(times(), np.array([10]), 40, SeedTree(0).generator())
    assert set(samples.executors[samples.wave == REST]) == {5}


def test_unseen_waves_are_absent_and_groups_sorted():
    unseen = times(2, has_fresh=np.zeros((2, len(LEVELS)), dtype=bool))
    samples = draw_samples(unseen, np.array([50, 1]), 16, SeedTree(0).generator())
    assert FRESH not in samples.wave
    groups = list(zip(samples.stage, samples.wave, samples.executors, strict=True))
    assert groups == sorted(groups)
    assert (np.diff(samples.ptr) > 0).all()


def test_durations_are_rounded_and_above_0():
    tiny = times(steady_s=np.array([1e-6]), first_s=np.zeros(1), fresh_s=np.zeros(1))
    seconds = draw_samples(tiny, np.array([200]), 16, SeedTree(0).generator()).seconds
    assert seconds.min() > 0
    np.testing.assert_allclose(np.round(seconds * 1e4) / 1e4, seconds)


def test_normal_numbers_are_normal():
    z = normal(SeedTree(0).generator(), (100_000,))
    assert z.mean() == pytest.approx(0, abs=0.02)
    assert z.std() == pytest.approx(1, rel=0.02)
    assert (np.abs(z) < 1.96).mean() == pytest.approx(0.95, abs=0.005)
