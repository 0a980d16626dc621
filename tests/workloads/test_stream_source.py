import numpy as np
import pytest
from tests.workloads.samples import assert_same
from tests.workloads.stream_samples import diamond, recorded, series

from dovetail.core.errors import DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import WEEK_S
from dovetail.workloads.stream_check import work_faults
from dovetail.workloads.stream_rates import RecordedRates
from dovetail.workloads.stream_source import STREAM, StreamSource, open_stream
from dovetail.workloads.stream_store import write_stream


@pytest.mark.parametrize("name", STREAM)
def test_every_bundled_workload_is_valid(name):
    source = open_stream(name)
    work = source.sequence(None, SeedTree(0))
    assert work_faults(work) == []
    assert (source.jobs, source.duration_s, source.interval_s) == (work.num_jobs, WEEK_S, 3600.0)
    assert work.duration_s == WEEK_S and work.clock_s == 0.0
    np.testing.assert_allclose(work.rate.mean(axis=1), source.table.job_rate)


def test_equal_seeds_give_equal_sequences_and_streams_are_apart():
    source, jittered = open_stream("small-1"), open_stream("small-1:jitter=0.2")
    assert_same(source.sequence(None, SeedTree(3)), source.sequence(None, SeedTree(3)))
    assert not np.array_equal(source.sequence(None, SeedTree(3)).rate, source.sequence(None, SeedTree(4)).rate)
    plain, noisy = source.sequence(86_400.0, SeedTree(3)), jittered.sequence(86_400.0, SeedTree(3))
    assert plain.clock_s == noisy.clock_s
    factor = noisy.rate / plain.rate
    assert factor.mean() == pytest.approx(1.0, abs=0.03) and factor.std() == pytest.approx(0.2, abs=0.02)


def test_windows_of_a_record():
    source = recorded(rates=series((1.0, 2.0, 3.0, 4.0, 5.0, 6.0)))
    starts = set()
    for seed in range(40):
        work = source.sequence(180.0, SeedTree(seed))
        start = round(work.rate[0, 0] / 100 * 3.5) - 1
        np.testing.assert_allclose(work.rate[0], 100 / 3.5 * np.arange(start + 1, start + 4))
        assert work.clock_s == 86_400.0 + 60 * start
        starts.add(start)
    assert starts == {0, 1, 2, 3}
    whole = source.sequence(None, SeedTree(5))
    assert whole.duration_s == 360.0 and whole.rate.mean() == pytest.approx(100.0)


def test_windows_side_by_side():
    source = recorded(rates=series((1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0)))
    assert source.windows(180.0) == 2
    found = [source.sequence(180.0, SeedTree(8), window) for window in range(2)]
    for window, work in enumerate(found):
        np.testing.assert_allclose(work.rate[0], 100 / (30 / 7) * (3 * window + np.arange(1, 4)))
        assert work.clock_s == 86_400.0 + 180 * window
    with pytest.raises(DovetailError, match=r"2 windows of 180 s side by side, seeds 0 to 1; seed 2 asked for"):
        source.sequence(180.0, SeedTree(0), 2)
    with pytest.raises(DovetailError, match="are drawn, so there are no windows"):
        open_stream("small-1").sequence(3600.0, SeedTree(0), 0)


def test_clocks_go_round():
    late = series((1.0, 2.0), bin_s=60.0)
    source = recorded(rates=type(late)(late.name, 60.0, WEEK_S - 60.0, late.rate))
    assert {source.sequence(60.0, SeedTree(seed)).clock_s for seed in range(9)} == {WEEK_S - 60.0, 0.0}


def test_one_series_for_several_jobs_or_one_for_each():
    one = recorded(2, series((1.0, 2.0, 3.0)))
    rate = one.sequence(None, SeedTree(0)).rate
    np.testing.assert_array_equal(rate[0], rate[1])
    both = recorded(2, series((1.0, 3.0), (6.0, 2.0), names=("a", "b")))
    np.testing.assert_allclose(both.sequence(None, SeedTree(0)).rate, [[50, 150], [150, 50]])
    wrong = StreamSource("x", diamond(2), RecordedRates("r", series((1.0,), (2.0,), names=("a", "c"))), 60.0)
    with pytest.raises(DovetailError, match="are for jobs a, c"):
        wrong.sequence(None, SeedTree(0))


def test_other_rates(tmp_path):
    write_stream(RecordedRates("mine", series()), tmp_path / "r")
    source = open_stream("small-1", rates=str(tmp_path / "r"))
    assert (source.rates.name, source.duration_s) == ("mine", 7200.0)
    np.testing.assert_allclose(source.sequence(None, SeedTree(0)).rate.mean(), 600.0)
    assert open_stream(f"small-1:rates={tmp_path / 'r'}").duration_s == 7200.0
    assert open_stream("small-1:rates=[step:low=1,high=2],duration_s=3600").duration_s == 3600.0
    write_stream(recorded(), tmp_path / "w")
    assert open_stream(tmp_path / "w", rates="step").rates.name == "step"


def test_a_file_of_the_same_name_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "shared").mkdir()
    (tmp_path / "web").mkdir()
    monkeypatch.chdir(tmp_path)
    assert open_stream("shared").jobs == 3


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: open_stream("small-3"), "did you mean 'small-"),
        (lambda: open_stream("small-1:rte=1"), "did you mean 'rate'"),
        (lambda: open_stream("no/such"), "no such directory"),
        (lambda: open_stream("small-1", rates="wbe"), "did you mean 'web'"),
        (lambda: open_stream("small-1:slots=3"), "5 operators and 3 slots"),
        (lambda: open_stream("small-1").sequence(90.0, SeedTree(0)), "expected a multiple of 60 s"),
        (lambda: open_stream("small-1").sequence(0.0, SeedTree(0)), "0 s asked for"),
        (lambda: open_stream("small-1").sequence(1e12, SeedTree(0)), "10,000,000 of them at most"),
        (lambda: recorded().sequence(86_400.0, SeedTree(0)), "86,400 s in a row asked for, 7,200 s were recorded"),
    ],
)
def test_what_cannot_be_is_refused(make, says):
    with pytest.raises(DovetailError, match=says):
        make()


def test_unknown_names_are_told_apart():
    with pytest.raises(UnknownName):
        open_stream("tiny")
