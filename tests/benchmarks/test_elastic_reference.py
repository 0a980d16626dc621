"""The published program in plain numpy decides as the compiled scheduler does, so their times can be compared."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.elastic_reference import PlainOasis
from tests.schedulers.optimise.elastic.small_worlds import small_world

from dovetail.schedulers.optimise.elastic.oasis import Oasis, OasisParams


@pytest.mark.parametrize("seed", range(12))
def test_decides_as_oasis_does(seed):
    """In every view, about the first of the new jobs: equally good schedules may differ, and with them what is left."""
    world = small_world(seed, jobs=20)
    plain, ours = (kind(OasisParams(tolerance=0.0)) for kind in (PlainOasis, Oasis))
    for scheduler in (plain, ours):
        scheduler.reset(world.info, np.random.default_rng(0))
    rejected = []
    while (view := world.advance()) is not None:
        decisions = ours.decide(view)
        for one, other in list(zip(plain.decide(view), decisions, strict=True))[:1]:
            assert (one.job, one.rejected) == (other.job, other.rejected)
            rejected.append(one.rejected)
            if not one.rejected:
                assert one.utility - one.cost == pytest.approx(other.utility - other.cost, rel=1e-6)
                assert one.plan.amount[one.plan.role == 0].sum() == view.job_work_left[one.job]
        world.apply(decisions)
    assert not all(rejected)
