"""The fluid of the stream world against single records (`testing/stream_records.py`).

Tolerances: means over a bin of 20 s in which the load changes are within 15 % of those of 30 runs of records (or
three standard errors of these); steady states within 8 %, most of which is the
chance of the records; a chain with back-pressure within 4 %, because a fluid whose buffer holds 20 records never finds
it empty, while records sometimes do, and sometimes find room where the fluid finds none.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.stream_toys import Nothing, chain

from dovetail.core.seeds import SeedTree
from dovetail.sim.stream import StreamOptions, StreamResult, StreamWorld, run
from dovetail.testing.stream_records import Station, pass_records

RUNS = 30


def fluid(servers: list[int], service_s: list[float], rate: list[float], buffer: float = 1e9) -> StreamResult:
    workload = chain(service_s, rate, parallelism=servers, bin_s=20.0, op_buffer=buffer)
    options = StreamOptions(interval_s=20.0, snapshot_s=1.0, noise=0.0)
    return run(StreamWorld(workload, options, SeedTree(0), record=True), Nothing(), np.random.default_rng(0))


@pytest.mark.parametrize(("servers", "stations"), [(1, 1), (4, 1), (4, 3)])
def test_load_that_changes(servers: int, stations: int) -> None:
    """Up to overload and back: the number in the system, bin by bin, and the mean latency."""
    rate, service_s = [60.0, 95.0, 120.0, 60.0, 60.0], servers / 100.0
    result = fluid([servers] * stations, [service_s] * stations, rate)
    assert result.snapshots is not None
    ours = result.snapshots.op_queued.sum(axis=1)[:-1].reshape(-1)
    looks_s = [float(second) for second in range(1, 100)]
    passed = [
        pass_records([Station(servers, service_s)] * stations, rate, 20.0, np.random.default_rng(i), looks_s=looks_s)
        for i in range(RUNS)
    ]
    numbers = np.array([each.number.sum(axis=1) for each in passed])
    for first in range(0, 80, 20):
        theirs = numbers[:, first : first + 20].mean(axis=1)
        error = 3 * theirs.std() / np.sqrt(RUNS)
        assert ours[first : first + 20].mean() == pytest.approx(theirs.mean(), rel=0.15, abs=error), first
    delays = [each.departure_s - each.arrival_s for each in passed]
    late = [delay[(each.departure_s > 20.0)].mean() for each, delay in zip(passed, delays, strict=True)]
    mean_s = float((result.latency_s * result.delivered).sum() / result.delivered.sum())
    assert mean_s == pytest.approx(np.mean(late), rel=0.15)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_steady_tandem(load: float) -> None:
    servers, service_s = [1, 4, 2], [0.01, 0.04, 0.02]
    result = fluid(servers, service_s, [100.0 * load] * 4)
    stations = [Station(c, s) for c, s in zip(servers, service_s, strict=True)]
    passed = pass_records(stations, [100.0 * load] * 100, 20.0, np.random.default_rng(1), measure_from_s=40.0)
    np.testing.assert_allclose(result.queued[-1], passed.mean_number, rtol=0.08)
    np.testing.assert_allclose(result.busy[-1], passed.busy, rtol=0.02)


def test_back_pressure() -> None:
    """More comes than the last station can take: the others are held up for the rest of their time."""
    servers, service_s, buffer = [4, 2, 2], [0.02, 0.0125, 0.02], 19.0
    result = fluid(servers, service_s, [150.0] * 20, buffer)
    stations = [Station(c, s, c * (buffer + 1)) for c, s in zip(servers, service_s, strict=True)]
    passed = pass_records(stations, [150.0] * 20, 20.0, np.random.default_rng(2), measure_from_s=60.0)
    left = np.isfinite(passed.departure_s) & (passed.departure_s > 60.0)
    assert result.delivered[2:].sum() / (20.0 * len(result.delivered[2:])) == pytest.approx(
        left.sum() / 340.0, rel=0.04
    )
    np.testing.assert_allclose(result.busy[-1], passed.busy, atol=0.04)
    np.testing.assert_allclose(result.blocked[-1], passed.blocked, atol=0.04)
    np.testing.assert_allclose(result.queued[-1, 1:], passed.mean_number[1:], rtol=0.04)
