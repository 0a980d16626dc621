import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.workloads.generate.elastic_bursts import burst_rates


@given(st.integers(1, 200), st.integers(0, 50))
def test_a_rate_above_0_in_every_slot(slots, seed):
    rates = burst_rates(slots, np.random.default_rng(seed))
    assert rates.shape == (slots,)
    assert np.isfinite(rates).all() and (rates > 0).all()


def test_there_are_bursts_and_a_quiet_end():
    rates = np.array([burst_rates(300, np.random.default_rng(seed)) for seed in range(40)])
    assert np.median(rates.max(axis=1) / np.median(rates, axis=1)) > 5
    assert rates[:, -10:].mean() < 0.3 * rates[:, :-45].mean()
