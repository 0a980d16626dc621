"""What of a DAS network evolves."""

from __future__ import annotations

import numpy as np

from dovetail.schedulers.learned.das.shape import DasShape
from dovetail.training.das_evolution import (
    EVOLVED,
    evolved_names,
    evolved_of,
    rewards_of_pairs,
    scales_of,
    with_evolved,
)

SHAPE = DasShape(width=8, heads=2, hidden=8, rank=3, history=4)


def test_there_and_back():
    fresh = SHAPE.fresh(np.random.default_rng(0))
    moved = with_evolved(fresh, evolved_of(fresh) + 1.0)
    for name, value in fresh.items():
        assert (moved[name] == value + (name in EVOLVED)).all(), name
    assert len(scales_of(fresh)) == len(evolved_of(fresh)) == sum(fresh[name].size for name in EVOLVED)


def test_a_network_without_a_process_has_no_trust_in_it():
    fresh = DasShape(width=8, heads=2, hidden=8, random_walk=False).fresh(np.random.default_rng(0))
    assert set(EVOLVED) - set(evolved_names(fresh)) == {"place.walk.trust"}


def test_rewards_are_in_units_of_what_the_pair_came_to():
    """Sequences may differ a thousandfold; of each, only how the two ways differ counts."""
    costs = np.array([[90.0, 1.0], [9e4, 4.0], [110.0, 1.0], [11e4, 4.0]])
    found = rewards_of_pairs(costs, lambda ratios: ratios[..., 0])
    assert found.ravel().tolist() == [-0.9, -0.9, -1.1, -1.1]
