import numpy as np
import pytest
from tests.workloads.stream_samples import recorded, series

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import WEEK_S
from dovetail.workloads.stream_rates import RATES, GeneratedRates, RecordedRates, read_rates
from dovetail.workloads.stream_store import write_stream


def test_by_name_and_with_parameters():
    assert all(isinstance(read_rates(name), GeneratedRates) for name in RATES)
    rates = read_rates("step:low=0.5,high=3,bin_s=30")
    assert (rates.shape.low, rates.shape.high, rates.bin_s) == (0.5, 3.0, 30.0)
    assert read_rates("[step:low=0.5,high=3]").shape.high == 3.0


def test_a_stored_series(tmp_path):
    write_stream(RecordedRates("mine", series()), tmp_path / "r")
    rates = read_rates(str(tmp_path / "r"))
    np.testing.assert_array_equal(rates.recorded.rate, series().rate)
    assert (rates.bin_s, rates.recorded.clock_s, rates.duration_s) == (60.0, 86_400.0, 7200.0)
    write_stream(recorded(), tmp_path / "w")
    assert read_rates(str(tmp_path / "w")).duration_s == 7200.0


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("wab", UnknownName, "did you mean 'web'"),
        ("web:swng=1", ConfigError, "did you mean 'swing'"),
        ("web:noise=-1", ConfigError, "noise is -1; expected 0 to 3"),
        ("web:bin_s=11", ConfigError, "divide a week"),
        ("step:low=3", ConfigError, "low to be no more than high"),
        ("no/such", DovetailError, "no such directory"),
        ("web:", ConfigError, "nothing after the colon"),
    ],
)
def test_what_cannot_be_is_refused(text, error, says):
    with pytest.raises(error, match=says):
        read_rates(text)


def test_series_are_as_long_as_asked_for_or_a_week():
    rates = read_rates("diurnal")
    assert rates.series(("j",), 10, SeedTree(0)).duration_s == WEEK_S
    assert rates.series(("j",), 20_000, SeedTree(0)).rate.shape == (1, 20_000)
    both = rates.series(("j", "k"), 10, SeedTree(0))
    assert both.name == ("j", "k") and not np.array_equal(both.rate[0], both.rate[1])


def test_a_record_has_an_end_and_names():
    rates = RecordedRates("mine", series((1.0, 2.0), (3.0, 4.0), names=("a", "b")))
    assert rates.series(("a", "b"), 2, SeedTree(0)) is rates.recorded
    with pytest.raises(DovetailError, match="180 s in a row asked for, 120 s were recorded"):
        rates.series(("a", "b"), 3, SeedTree(0))
    with pytest.raises(DovetailError, match="are for jobs a, b, not for b, a"):
        rates.series(("b", "a"), 2, SeedTree(0))
