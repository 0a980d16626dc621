import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.workloads.elastic_arrivals import KINDS, ElasticArrivals, read_arrivals

DRAWN = [kind for kind in KINDS if kind != "trace"]


def arrivals(kind, span=None):
    return ElasticArrivals(kind, span, (1.0, 0.0, 5.0) if kind == "counts" else ())


def slots_of(spec, num=50, slots=100, seed=0):
    return spec.in_slots(num, slots, np.random.default_rng(seed))


@given(st.sampled_from(DRAWN), st.integers(1, 80), st.integers(1, 60), st.integers(0, 99))
def test_exactly_as_many_as_asked_for_in_order_and_within_the_horizon(kind, num, slots, seed):
    found = slots_of(arrivals(kind), num, slots, seed)
    assert found.shape == (num,)
    assert found.dtype == np.int64
    assert (np.diff(found) >= 0).all()
    assert found[0] >= 0 and found[-1] < slots


@pytest.mark.parametrize("kind", DRAWN)
def test_the_same_stream_gives_the_same_slots(kind):
    assert slots_of(arrivals(kind)).tolist() == slots_of(arrivals(kind)).tolist()


@pytest.mark.parametrize("kind", ["poisson", "uniform", "bursts"])
def test_another_stream_gives_others(kind):
    assert slots_of(arrivals(kind), seed=1).tolist() != slots_of(arrivals(kind), seed=2).tolist()


def test_batch_is_all_at_once():
    assert set(slots_of(arrivals("batch"))) == {0}


def test_poisson_ends_after_its_span_on_average():
    last = [slots_of(ElasticArrivals("poisson", 0.5), 100, 1000, seed)[-1] for seed in range(100)]
    assert np.mean(last) == pytest.approx(500, rel=0.05)


def test_poisson_has_exponential_gaps():
    gaps = np.diff(slots_of(ElasticArrivals("poisson", 0.5), 5000, 10**6))
    assert gaps.std() / gaps.mean() == pytest.approx(1, rel=0.05)


def test_uniform_fills_its_span_and_no_more():
    found = slots_of(ElasticArrivals("uniform", 0.4), 4000, 1000)
    assert found.max() < 400
    assert found.mean() == pytest.approx(200, rel=0.05)


def test_bursts_are_more_uneven_than_poisson():
    def unevenness(kind):
        counts = [np.bincount(slots_of(ElasticArrivals(kind, 1.0), 300, 300, s), minlength=300) for s in range(20)]
        return np.mean([each.var() / each.mean() for each in counts])

    assert unevenness("bursts") > 1.5 * unevenness("poisson")


@given(st.lists(st.integers(0, 9), min_size=1, max_size=80).filter(any), st.integers(0, 99))
def test_counts_with_as_many_slots_and_jobs_are_repeated_exactly(counts, seed):
    spec = ElasticArrivals("counts", counts=tuple(map(float, counts)))
    found = slots_of(spec, sum(counts), len(counts), seed)
    assert np.bincount(found, minlength=len(counts)).tolist() == counts


def test_counts_are_stretched_and_scaled():
    found = slots_of(ElasticArrivals("counts", counts=(1, 0, 3)), 400, 30)
    counts = np.bincount(found, minlength=30)
    assert counts[:10].tolist() == [10] * 10
    assert counts[10:20].tolist() == [0] * 10
    assert counts[20:].tolist() == [30] * 10


def test_counts_within_a_span():
    assert slots_of(ElasticArrivals("counts", 0.5, (1, 1)), 10, 10).max() == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "weekly"}, "poisson, uniform, batch"),
        ({"kind": "poisson", "span": 0.0}, "above 0"),
        ({"kind": "uniform", "span": 1.5}, "up to 1"),
        ({"kind": "uniform", "span": float("nan")}, "up to 1"),
        ({"kind": "batch", "span": 0.5}, "batch takes no span"),
        ({"kind": "trace", "span": 0.5}, "trace takes no span"),
        ({"kind": "poisson", "counts": (1.0,)}, "takes no counts"),
        ({"kind": "counts"}, "needs a series"),
        ({"kind": "counts", "counts": (1.0, -1.0)}, "0 or more"),
        ({"kind": "counts", "counts": (1.0, float("inf"))}, "finite"),
        ({"kind": "counts", "counts": (1e308, 1e308)}, "finite"),
        ({"kind": "counts", "counts": (float("nan"), 1.0)}, "0 or more"),
        ({"kind": "counts", "counts": (0.0, 0.0)}, "all counts are 0"),
    ],
)
def test_what_cannot_be_is_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        ElasticArrivals(**options)


def test_a_trace_has_no_slots_of_its_own():
    with pytest.raises(ConfigError, match="recorded"):
        slots_of(ElasticArrivals("trace"))


def test_as_written(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"a": [1, 2], "b": [3]}))
    assert read_arrivals("poisson") == ElasticArrivals("poisson")
    assert read_arrivals("uniform:span=0.25") == ElasticArrivals("uniform", 0.25)
    assert read_arrivals("counts:counts=[1,2]").counts == (1, 2)
    assert read_arrivals(f"counts:file={tmp_path / 'c.json'},pattern=a,span=0.5") == ElasticArrivals(
        "counts", 0.5, (1.0, 2.0)
    )


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("poison", UnknownName, "did you mean 'poisson'"),
        ("poisson:rate=3", ConfigError, "unknown key"),
        ("poisson:span=x", ConfigError, "span"),
        ("counts", ConfigError, "file=FILE"),
        ("counts:pattern=3", ConfigError, "give the file"),
        ("poisson:file=x.json", ConfigError, "only"),
        ("counts:file=no/such.json", DovetailError, "cannot be read"),
    ],
)
def test_what_is_written_wrongly_is_refused(text, error, says):
    with pytest.raises(error, match=says):
        read_arrivals(text)
