"""Features of slots, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.schedulers.optimise.elastic.small_worlds import small_world

from dovetail.core.elastic import ElasticInfo, ElasticJobs
from dovetail.features.elastic import BANDS, COLUMNS, SlotFeatures


def column(features, name):
    return features[:, COLUMNS.index(name)]


def test_what_is_to_come_counts_from_now_and_only_what_is_not_here_yet():
    """One job a slot in slots 0 .. 9, each worth half a slot of the only resource; 20 are expected."""
    jobs = ElasticJobs(
        arrival=np.arange(10),
        work=np.full(10, 5),
        max_workers=np.full(10, 5),
        worker_demand=np.tile([0.0, 1.0, 0.0, 0.0, 0.1], (10, 1)),
        server_demand=np.tile([0.0, 0.0, 0.0, 0.0, 1.0], (10, 1)),
        utility=np.ones((10, 3)),
    )
    wide = np.array([[0.0, 10.0, 0.0, 0.0, 1e9]])
    info = ElasticInfo(10, 60.0, wide, wide, jobs, expected_jobs=20.0)
    view = small_world(0, slots=10).advance()
    assert view is not None
    view = view._replace(slot=0, worker_free=np.repeat(wide[None], 10, 0), server_free=np.repeat(wide[None], 10, 0))
    found = SlotFeatures(info).of(view)
    assert found.shape == (10, len(COLUMNS))
    # By slot s, s jobs of the history will have come after this one, twice as many are expected: s cluster slots.
    assert column(found, "coming_all") == pytest.approx(np.log1p(np.arange(10)))
    assert column(found, "coming_late") == pytest.approx(np.log1p([0, 1, 2, 3, 4, 5, 5, 5, 5, 5]))
    assert column(found, "workers_booked") == pytest.approx(0.0)
    assert column(found, "horizon") == pytest.approx(np.arange(9, -1, -1) / 10)


def test_bookings_show():
    world = small_world(1)
    view = world.advance()
    assert view is not None
    features = SlotFeatures(world.info)
    half = view.worker_free.copy()
    half[2] *= 0.25
    booked = column(features.of(view._replace(worker_free=half)), "workers_booked")
    assert booked[2] == pytest.approx(0.75)
    assert np.delete(booked, 2) == pytest.approx(0.0)


def test_all_are_finite_in_a_whole_run():
    world = small_world(2)
    features = SlotFeatures(world.info)
    while (view := world.advance()) is not None:
        assert np.isfinite(features.of(view)).all()
        world.apply([])


def test_bands_are_means_over_slots():
    world = small_world(3, slots=12)
    view = world.advance()
    assert view is not None
    features = SlotFeatures(world.info)
    every, bands = features.of(view), features.in_bands(view)
    assert bands.shape == (len(BANDS), len(COLUMNS))
    assert bands[0] == pytest.approx(every[0])
    assert bands[1] == pytest.approx(every[1:3].mean(axis=0))
    assert bands[3] == pytest.approx(every[7:].mean(axis=0))  # the horizon ends within it
    assert not bands[4:].any()
