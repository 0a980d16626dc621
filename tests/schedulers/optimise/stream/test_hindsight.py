"""What every number of instances would be worth, held to the simulator."""

from dataclasses import replace

import numpy as np
import pytest
from tests.schedulers.stream_views import info_of
from tests.sim.stream_toys import chain

from dovetail.core.errors import DovetailError
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.heuristic.stream.fixed import Fixed
from dovetail.schedulers.optimise.stream.hindsight import Hindsight
from dovetail.sim.stream import StreamOptions, StreamWorld, run

HOURLY = StreamOptions(noise=0.0)
WORKLOAD = chain([0.02, 0.05], [20.0, 60.0] * 120, parallelism=4, op_max=np.array([5, 8]), slots=16)


def hour_with(instances: int) -> float:
    """The reward of the second hour, from the start with so many at the second operator."""
    workload = replace(WORKLOAD, op_start=np.array([2, instances]))
    result = run(StreamWorld(workload, HOURLY, SeedTree(0)), Fixed(), np.random.default_rng(0))
    return float(result.reward[1, 0])


def test_it_must_be_told():
    with pytest.raises(DovetailError, match="tells the future"):
        Hindsight(info_of("source"))


def test_the_order_is_that_of_the_simulator():
    """Of the second operator's instances, with the first as the teacher takes it: enough."""
    world = StreamWorld(WORKLOAD, HOURLY, SeedTree(0))
    told = Hindsight(world.info_for(Hindsight)).worths(world.advance())
    assert told is not None and np.isnan(told[0, 5:]).all() and np.isfinite(told[1]).all()
    measured = [hour_with(p) for p in range(1, 9)]
    assert int(np.argmax(told[1])) == int(np.argmax(measured))
    enough = slice(3, None)  # below, a queue grows for ever, and only its order is to be right
    np.testing.assert_allclose(told[1, enough], measured[enough], atol=0.02)
    assert (np.diff(told[1, :3]) > 0.0).all()


def test_nothing_is_said_of_an_interval_that_does_not_come():
    world = StreamWorld(WORKLOAD, HOURLY, SeedTree(0))
    teacher, said = Hindsight(world.info_for(Hindsight)), []
    while (view := world.advance()) is not None:
        said.append(teacher.worths(view) is not None)
        world.apply([])
    assert all(said)  # the world asks nothing after the last interval either
