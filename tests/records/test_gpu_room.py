from __future__ import annotations

import numpy as np
import pytest
from tests.gpu_toys import TROUBLES, toy_run

from dovetail.records.gpu_room import RoomOverTime


def test_the_toy() -> None:
    """Both machines are full until 100 s; then m0 has two devices less two halves, until they are done at 162.5 s."""
    run = toy_run()
    assert RoomOverTime(run, 2).between(10.0, 100.0) == (0.0, 0, 0.0, ())
    seen = RoomOverTime(run, 0).between(100.0, 200.0)  # two whole devices on one machine
    assert seen.room_share == pytest.approx(0.375) and seen.most_workers == 1
    assert seen.free_gpus == pytest.approx((62.5 * 1 + 37.5 * 2) / 100)
    assert seen.spans == ((162.5, 200.0, 2.0),)
    seen = RoomOverTime(run, 1).between(50.0, 200.0)  # two workers of one device
    assert seen.room_share == pytest.approx(37.5 / 150) and seen.most_workers == 2
    assert RoomOverTime(run, 3).between(120.0, 150.0).room_share == 1.0  # half a device of a V100
    assert RoomOverTime(run, 4).between(0.0, 200.0).room_share == 1.0
    assert RoomOverTime(run, 4).between(50.0, 50.0) == (0.0, 0, 0.0, ())


def test_types_and_machines_that_are_down() -> None:
    run = toy_run(**TROUBLES)
    failed = run.outages
    first = int(np.flatnonzero((failed.machine == 0) & ~failed.up)[0])
    back = int(np.flatnonzero((failed.machine == 0) & failed.up & (np.arange(len(failed)) > first))[0])
    span = float(failed.time_s[first]), float(failed.time_s[back])
    assert RoomOverTime(run, 3).between(*span)[:2] == (0.0, 0)
    assert RoomOverTime(run, 4).between(*span).room_share > 0.0  # it takes the other machine
