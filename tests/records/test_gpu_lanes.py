from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.gpu_toys import toy_run

from dovetail.records.gpu_lanes import GpuBars, bars_of, levels, offsets


def test_bars_of_the_toy() -> None:
    run = toy_run()
    bars = bars_of(run)
    assert bars.machine.tolist() == [0, 0, 0, 0, 0, 1, 1] and bars.device.tolist() == [-1, 0, 0, 0, 1, 0, 1]
    assert run.segments.job[bars.segment].tolist() == [4, 0, 2, 3, 0, 1, 1]
    assert bars.share.tolist() == [0.25, 1, 0.5, 0.5, 1, 1, 1]  # a job without GPUs has its share of the processors
    assert levels(bars).tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert offsets(bars).tolist() == [0, 0, 0, 0.5, 0, 0, 0]


def test_what_is_free_may_be_in_pieces() -> None:
    """A quarter at each end is free when half a device is taken: it lies over the least of the others."""
    start, end = np.array([0.0, 0, 0, 5]), np.array([4.0, 9, 4, 9])
    zeros = np.zeros(4, np.int64)
    bars = GpuBars(zeros, zeros, np.arange(4), np.array([0.25, 0.5, 0.25, 0.5]), start, end)
    assert offsets(bars).tolist() == [0.0, 0.25, 0.75, 0.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6), st.sampled_from([0.1, 0.25, 0.5, 1.0])), max_size=12))
def test_levels_never_collide_and_offsets_stay_inside(drawn: list[tuple[int, int, float]]) -> None:
    drawn.sort(key=lambda one: one[0])
    start = np.array([one[0] for one in drawn], np.float64)
    end = start + np.array([one[1] for one in drawn], np.float64)
    share = np.array([one[2] for one in drawn], np.float64)
    zeros = np.zeros(len(drawn), np.int64)
    bars = GpuBars(zeros, zeros, np.arange(len(drawn)), share, start, end)
    level, offset = levels(bars), offsets(bars)
    for a in range(len(drawn)):
        for b in range(a):
            if start[a] < end[b] and start[b] < end[a]:
                assert level[a] != level[b]
    assert ((offset >= 0) & (offset + share <= 1 + 1e-9)).all()
