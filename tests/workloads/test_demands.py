from __future__ import annotations

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.workloads.demands import memory_demands
from dovetail.workloads.source import open_source


def test_uniform_above_zero_and_seeded() -> None:
    demands = memory_demands(10_000, SeedTree(1))
    assert demands.min() > 0
    assert demands.max() <= 1
    assert abs(demands.mean() - 0.5) < 0.02
    np.testing.assert_array_equal(demands, memory_demands(10_000, SeedTree(1)))
    assert not memory_demands(5, None).any()


def test_bundled_workloads_take_the_option_and_change_nothing_else() -> None:
    plain, demanding = open_source("tpch-like").catalogue, open_source("tpch-like:memory=true").catalogue
    assert not plain.memory.any()
    assert demanding.memory.all()
    np.testing.assert_array_equal(plain.duration_s, demanding.duration_s)
