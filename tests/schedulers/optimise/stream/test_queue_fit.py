"""What queues tell of their operators."""

import numpy as np
import pytest
from tests.schedulers.stream_views import info_of, view_of

from dovetail.core.seeds import SeedTree
from dovetail.schedulers.optimise.stream.queue_fit import QueueFit, instances_at_once, waiting
from dovetail.sim.stream import StreamOptions, StreamWorld
from dovetail.workloads.stream_source import open_stream


def test_a_queue_of_one_instance_is_that_of_mm1():
    """r / (1 - r) records at it, of which r are being processed."""
    share = np.array([0.1, 0.5, 0.9])
    found = share + waiting(share, np.ones(3))
    assert found.tolist() == pytest.approx((share / (1.0 - share)).tolist())


def test_instances_at_once():
    assert instances_at_once(np.array([4.0, 4.0, 4.0]), np.array([0.0, 0.25, 1.0])).tolist() == pytest.approx(
        [4.0, 1 / 0.4375, 1.0]
    )


def test_skew_variability_and_service_time_are_found_from_queues_made_with_them():
    info = info_of("even", "skewed")
    skew, v, service_s, parallelism = np.array([0.0, 0.1]), np.array([0.7, 1.3]), np.array([0.01, 0.02]), [3, 5]
    at_once = instances_at_once(np.array(parallelism, dtype=float), skew)
    share = np.linspace(0.2, 0.9, 20)[:, None] * np.ones(2)
    rate = share * at_once / service_s
    there = at_once * share + v * waiting(share, at_once)
    view = view_of(
        info, parallelism, rows=20, op_rate=rate, op_busy=rate * service_s / parallelism, op_latency_s=there / rate
    )
    fit = QueueFit(info)
    fit.add(view, 20)
    assert fit.known.all()
    assert fit.skew.tolist() == pytest.approx(skew.tolist())
    assert fit.variability.tolist() == pytest.approx(v.tolist(), rel=0.01)
    assert fit.service_s.tolist() == pytest.approx(service_s.tolist())
    fit.add(view, 20)  # seen before
    assert fit.variability.tolist() == pytest.approx(v.tolist(), rel=0.01)


def test_nothing_seen_is_no_skew_and_a_variability_of_one():
    info = info_of("source")
    fit = QueueFit(info)
    fit.add(view_of(info, [1]), 5)
    assert (fit.skew[0], fit.variability[0], bool(fit.known[0])) == (0.0, 1.0, False)
    assert np.isnan(fit.service_s[0])


def test_what_the_simulator_shows_of_a_job():
    workload = open_stream("small-1").sequence(8 * 3600.0, SeedTree(1))
    world = StreamWorld(workload, StreamOptions(), SeedTree(1))
    fit = QueueFit(world.info)
    while (view := world.advance()) is not None:
        fit.add(view, world.info.snapshots)
        world.apply([])
    assert fit.skew.tolist() == pytest.approx(workload.op_skew.tolist(), abs=0.02)
    assert fit.variability.tolist() == pytest.approx(workload.op_variability.tolist(), rel=0.15)
    assert fit.service_s.tolist() == pytest.approx(workload.op_service_s.tolist(), rel=0.02)
