"""Costs become rewards on two scales that mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.adaptation.reward import Rewards


def test_a_halving_is_worth_a_quarter() -> None:
    rewards = Rewards()
    assert np.isnan(rewards.cost((0, False), 0.5))
    assert rewards.of((0, False), 8.0, believed=0.5) == 0.5
    assert rewards.of((0, False), 4.0, believed=0.5) == 0.75
    assert rewards.of((0, False), 1e9, believed=0.5) == 0.0
    assert rewards.of((0, False), 1e-9, believed=0.5) == 1.0
    assert rewards.cost((0, False), 0.75) == pytest.approx(4.0)


def test_the_first_window_of_the_other_kind_is_worth_what_its_composition_was() -> None:
    rewards = Rewards()
    rewards.of((0, False), 8.0, believed=0.5)
    assert rewards.of((0, True), 1.3, believed=0.62) == pytest.approx(0.62)
    assert rewards.of((0, True), 2.6, believed=0.62) == pytest.approx(0.37)
    assert rewards.cost((0, True), 0.62) == pytest.approx(1.3)
