import numpy as np
import pytest

from dovetail.core.errors import DovetailError
from dovetail.workloads.gpu_arrivals import DAY_S, GpuArrivals, read_arrivals


@pytest.mark.parametrize("kind", ["poisson", "diurnal", "uniform"])
def test_jobs_come_as_often_as_is_said(kind):
    times = GpuArrivals(kind, interval_s=60.0).times(20_000, 60.0, np.random.default_rng(0))
    assert (np.diff(times) >= 0).all() and times[0] >= 0
    assert times[-1] / 20_000 == pytest.approx(60, rel=0.03)


def test_the_load_sets_the_interval():
    arrivals = GpuArrivals("poisson", load=0.5)
    assert arrivals.mean_interval_s(3600.0, 32.0) == pytest.approx(3600 / 16)
    assert GpuArrivals("poisson").mean_interval_s(900.0, 10.0) == pytest.approx(100.0)  # 0.9 unless it is said
    assert GpuArrivals("poisson", interval_s=7.0).mean_interval_s(0.0, 0.0) == 7.0


def test_the_day_has_a_busy_and_a_quiet_half():
    times = GpuArrivals("diurnal", interval_s=60.0, swing=0.8).times(50_000, 60.0, np.random.default_rng(1))
    angle = 2 * np.pi * times / DAY_S
    assert 2 * np.cos(angle).mean() == pytest.approx(0.8, abs=0.05)
    assert np.sin(angle).mean() == pytest.approx(0, abs=0.03)
    even = GpuArrivals("diurnal", interval_s=60.0, swing=0.0).times(100, 60.0, np.random.default_rng(1))
    poisson = GpuArrivals("poisson", interval_s=60.0).times(100, 60.0, np.random.default_rng(1))
    np.testing.assert_array_equal(even, poisson)


@pytest.mark.parametrize("hours", [2, 12, 20, 50])
def test_the_rate_is_kept_over_parts_of_a_day(hours):
    jobs, rng = 5000, np.random.default_rng(3)
    interval_s = hours * 3600 / jobs
    times = GpuArrivals("diurnal", interval_s=interval_s).times(jobs, interval_s, rng)
    assert times[-1] == pytest.approx(hours * 3600, rel=0.05)


def test_all_at_once():
    assert not GpuArrivals("batch").times(5, 0.0, np.random.default_rng(0)).any()


def test_as_a_person_writes_them():
    assert read_arrivals("poisson:load=0.9") == GpuArrivals("poisson", load=0.9)
    assert read_arrivals("diurnal:interval_s=60,swing=0.3") == GpuArrivals("diurnal", interval_s=60.0, swing=0.3)
    assert read_arrivals("trace:apart=true,load=1") == GpuArrivals("trace", load=1.0, apart=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("poison", "did you mean 'poisson'"),
        ("poisson:load=1,interval_s=3", "one or the other"),
        ("poisson:load=0", "above 0"),
        ("poisson:swing=0.1", "takes no swing"),
        ("diurnal:swing=2", "0 to 1"),
        ("poisson:apart=true", "takes no apart"),
        ("batch:load=1", "takes no load"),
        ("poisson:lode=1", "did you mean 'load'"),
        ("poisson:kind=batch", "said already"),
    ],
)
def test_what_cannot_be_is_refused(text, says):
    with pytest.raises(DovetailError, match=says):
        read_arrivals(text)


def test_what_has_no_load():
    with pytest.raises(DovetailError, match="jobs without GPUs"):
        GpuArrivals("poisson", load=1.0).mean_interval_s(0.0, 8.0)
    with pytest.raises(DovetailError, match="cluster without GPUs"):
        GpuArrivals("poisson", load=1.0).mean_interval_s(5.0, 0.0)
    with pytest.raises(DovetailError, match="recorded times"):
        GpuArrivals("trace").times(3, 1.0, np.random.default_rng(0))
