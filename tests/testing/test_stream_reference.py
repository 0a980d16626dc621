"""The plain-Python stream world by itself: it refuses what the compiled one refuses, and its inverse of arrivals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.sim.stream_toys import chain

from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision, StreamView
from dovetail.sim.stream import StreamOptions, StreamWorld
from dovetail.testing import ReferenceStreamWorld

OPTIONS = StreamOptions(interval_s=60.0, noise=0.0)


@pytest.mark.parametrize(
    "decisions",
    [
        [StreamDecision(2, 1)],
        [StreamDecision(-1, 1)],
        [StreamDecision(1.0, 1)],
        [StreamDecision(1, 0)],
        [StreamDecision(1, 5)],
        [StreamDecision(1, True)],
        [StreamDecision(0, 2), StreamDecision(0, 2)],
        [StreamDecision(0, 3), StreamDecision(1, 4)],
        [StreamDecision(0, 2, 99)],
        [StreamDecision(0, 2, Reason.IDLE, "much")],
        [StreamDecision(0, 2, Reason.IDLE, -1.0)],
        [StreamDecision(0, 2), None],
        None,
    ],
)
def test_both_refuse_and_go_on_as_before(decisions: Any) -> None:
    workload = chain([0.01, 0.02], 30.0, minutes=3, op_max=np.array([4, 4]), slots=6)
    worlds = ReferenceStreamWorld(workload, OPTIONS, SeedTree(0)), StreamWorld(workload, OPTIONS, SeedTree(0))
    for world in worlds:
        view = world.advance()
        with pytest.raises(InvalidDecision):
            world.apply(decisions)
        assert world.advance() is view
        world.apply([StreamDecision(0, 2), StreamDecision(1, 4)])
    slow, fast = (world.advance() for world in worlds)
    assert slow is not None and fast is not None
    for name, ours, theirs in zip(StreamView._fields, fast, slow, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9, err_msg=name)
    with pytest.raises(InvalidDecision, match="nothing was asked"):
        ReferenceStreamWorld(workload, OPTIONS, SeedTree(0)).apply([])


def test_when_a_record_arrived() -> None:
    """600 in the first minute, none in the second, 1200 in the third."""
    job = ReferenceStreamWorld(chain([0.01], [10.0, 0.0, 20.0]), OPTIONS, SeedTree(0)).jobs[0]
    assert [job.came_by(t) for t in (0.0, 30.0, 60.0, 90.0, 120.0, 150.0, 180.0)] == [0, 300, 600, 600, 600, 1200, 1800]
    for first in (True, False):
        assert job.arrival_s(300.0, first=first) == 30.0
        assert job.arrival_s(1200.0, first=first) == 150.0
        assert job.arrival_s(1800.0, first=first) == 180.0
    assert job.arrival_s(600.0, first=True) == 60.0
    assert job.arrival_s(600.0, first=False) == 120.0
