"""Prices between their bounds, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.schedulers.optimise.elastic.prices import Bounds


def test_prices_grow_from_low_to_high():
    bounds = Bounds(0.5, np.array([8.0, 2.0]))
    capacity = np.array([[4.0, 0.0]])
    assert bounds.prices(np.array([[[4.0, 0.0]]]), capacity).tolist() == [[[0.5, 0.0]]]
    assert bounds.prices(np.array([[[0.0, 0.0]]]), capacity)[0, 0, 0] == pytest.approx(8.0)
    assert bounds.prices(np.array([[[2.0, 0.0]]]), capacity)[0, 0, 0] == pytest.approx(2.0)
    assert bounds.alpha == pytest.approx(np.log(16.0))
