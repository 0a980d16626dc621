"""The queues of the stream world against formulas: M/M/1, M/M/c, tandems, overload, and a chain with back-pressure."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from tests.sim.stream_toys import Nothing, chain

from dovetail.core.seeds import SeedTree
from dovetail.sim.stream import StreamOptions, StreamResult, StreamWorld, run
from dovetail.workloads.stream import StreamWorkload


def settled(workload: StreamWorkload, **options: Any) -> StreamResult:
    """Let it run, without noise; intervals of a quarter of the time."""
    chosen = {"interval_s": workload.duration_s / 4, "snapshot_s": 10.0, "noise": 0.0, "history": 1, **options}
    world = StreamWorld(workload, StreamOptions(**chosen), SeedTree(0), record=True)
    return run(world, Nothing(), np.random.default_rng(0))


def erlang_number(servers: int, load: float) -> float:
    """Mean number in an M/M/c queue, by Erlang's C formula."""
    offered, blocking = servers * load, 1.0
    for k in range(1, servers + 1):
        blocking = offered * blocking / (k + offered * blocking)
    waits = blocking / (1 - load * (1 - blocking))
    return offered + waits * load / (1 - load)


@pytest.mark.parametrize("load", [0.05, 0.3, 0.6, 0.9, 0.95])
@pytest.mark.parametrize("service_s", [0.001, 0.1, 1.0])
def test_one_server_is_exact(load: float, service_s: float) -> None:
    result = settled(chain([service_s], load / service_s, minutes=120), interval_s=1800.0)
    assert result.latency_s[-1, 0] == pytest.approx(service_s / (1 - load), rel=1e-3)
    assert result.queued[-1, 0] == pytest.approx(load / (1 - load), rel=1e-3)
    assert result.busy[-1, 0] == pytest.approx(load, rel=1e-6)
    assert result.snapshots is not None
    assert result.snapshots.op_latency_s[-1, 0] == pytest.approx(service_s / (1 - load), rel=1e-3)


@pytest.mark.parametrize("servers", range(2, 11))
def test_several_servers_against_erlang(servers: int) -> None:
    """Sakasegawa's formula is never below Erlang's (but for 0.1 %), and 2.6 % above it at most, from load 0.1 on."""
    for load in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95):
        result = settled(chain([0.02], load * servers / 0.02, parallelism=servers, minutes=12))
        exact_s = erlang_number(servers, load) / (load * servers / 0.02)
        assert -0.001 < result.latency_s[-1, 0] / exact_s - 1 < 0.026
        assert result.busy[-1, 0] == pytest.approx(load, rel=1e-6)


def test_less_variable_queues_wait_less() -> None:
    """G/G/c: waiting goes with the mean of the squared variations; like clockwork nobody waits."""
    for variability in (0.0, 0.5, 2.0):
        result = settled(chain([0.01], 80.0, op_variability=variability))
        assert result.latency_s[-1, 0] == pytest.approx(0.01 + variability * 0.8 / 0.2 * 0.01, rel=1e-3)


def test_tandem_is_the_sum_of_its_parts() -> None:
    kinds = [(0.01, 1), (0.03, 4), (0.05, 8)]
    alone = [settled(chain([service_s], 90.0, parallelism=c)).latency_s[-1, 0] for service_s, c in kinds]
    together = settled(chain([kind[0] for kind in kinds], 90.0, parallelism=[kind[1] for kind in kinds]))
    assert together.latency_s[-1, 0] == pytest.approx(sum(alone), rel=1e-6)
    exact_s = sum(erlang_number(c, 90.0 * service_s / c) / 90.0 for service_s, c in kinds)
    assert together.latency_s[-1, 0] == pytest.approx(exact_s, rel=0.026)


def test_selectivity_thins_and_multiplies() -> None:
    """Half of 100 records a second come to the second operator, three times as many to the third."""
    workload = chain([0.001, 0.01, 0.001], 100.0, op_selectivity=[0.5, 3.0, 1.0])
    result = settled(workload)
    np.testing.assert_allclose(result.rate[-1], [100.0, 50.0, 150.0])
    np.testing.assert_allclose(result.busy[-1], [0.1, 0.5, 0.15])


@pytest.mark.parametrize("variability", [0.0, 1.0])
def test_overload_is_the_fluid_line(variability: float) -> None:
    """50 a second more than it can take pile up, and the last one delivered is that much late."""
    result = settled(chain([0.01], 150.0, op_variability=variability))
    assert result.snapshots is not None
    ends_s = 10.0 * (1 + np.arange(len(result.snapshots.job_lag)))
    lag = result.snapshots.job_lag[:, 0]
    np.testing.assert_allclose(lag[30:], 50.0 * ends_s[30:], rtol=2e-3)
    late = result.snapshots.job_latency_s[:, 0]
    np.testing.assert_allclose(late[30:], (ends_s - 5.0)[30:] / 3.0, rtol=5e-3)
    assert result.busy[-1, 0] == pytest.approx(1.0, abs=1e-4)


def test_skew_limits_what_can_be_busy() -> None:
    """With half of the records at one instance, that is the limit: 2 of 8 instances can be busy at most, or so."""
    result = settled(chain([0.01], 1000.0, parallelism=8, op_skew=0.5, op_variability=0.0))
    servers = 1 / (0.5 + 0.5 / 8)
    assert result.rate[-1, 0] == pytest.approx(servers / 0.01)
    assert result.busy[-1, 0] == pytest.approx(servers / 8)


def test_back_pressure_like_clockwork() -> None:
    """80 a second come; 100, then 50 can be taken, and 10 stand before the second.  So the first is held up half of
    its time, and 30 a second pile up before it."""
    result = settled(chain([0.01, 0.02], 80.0, op_variability=0.0, op_buffer=9.0))
    np.testing.assert_allclose(result.rate[-1], [50.0, 50.0])
    np.testing.assert_allclose(result.busy[-1], [0.5, 1.0])
    np.testing.assert_allclose(result.blocked[-1], [0.5, 0.0], atol=1e-12)
    assert result.queued[-1, 1] == pytest.approx(10.0)
    assert result.lag[-1, 0] == pytest.approx(30.0 * 3600, rel=1e-3)


def test_back_pressure_with_chance() -> None:
    """With ten records at it, an M/M/1 queue is busy 10 of 11 parts of its time: that is the rate of the chain, and of
    everybody before it, through a third operator that is never full."""
    result = settled(chain([0.01, 0.004, 0.02, 0.001], 80.0, op_buffer=9.0))
    rate = 50.0 * 10 / 11
    np.testing.assert_allclose(result.rate[-1], rate, rtol=1e-6)
    np.testing.assert_allclose(result.busy[-1], rate * np.array([0.01, 0.004, 0.02, 0.001]), rtol=1e-6)
    np.testing.assert_allclose(result.queued[-1, 1:3], 10.0, rtol=1e-6)
    # The second has its buffer full, too, and would do 10/11 of what it can; the first has a queue without end.
    np.testing.assert_allclose(result.blocked[-1, :2], [1 - rate * 0.01, 10 / 11 - rate * 0.004], rtol=1e-3)
    np.testing.assert_allclose(result.blocked[-1, 2:], 0.0, atol=1e-9)


def test_a_join_waits_for_the_slower_side() -> None:
    """Two sources feed one operator; one of them does 40 a second, so the other is held up when the buffer is full."""
    join = {
        "op_source": np.array([1.0, 1.0, 0.0]),
        "edge_from": np.array([0, 1]),
        "edge_to": np.array([2, 2]),
        "edge_share": np.ones(2),
    }
    result = settled(chain([0.001, 0.025, 0.001], 80.0, op_variability=0.0, op_buffer=19.0, **join))
    np.testing.assert_allclose(result.rate[-1], [40.0, 40.0, 80.0], rtol=1e-9)
    assert result.delivered[-1, 0] == pytest.approx(40.0 * 900)


@pytest.mark.parametrize("step_s", [0.25, 1.0, 5.0])
def test_the_length_of_a_step_changes_little(step_s: float) -> None:
    """Steady states do not depend on it at all, and a queue that builds up and drains only a little."""
    rates = [60.0, 130.0, 60.0, 60.0]
    coarse = settled(chain([0.01], rates), interval_s=60.0, step_s=step_s)
    fine = settled(chain([0.01], rates), interval_s=60.0, step_s=0.1)
    np.testing.assert_allclose(coarse.lag, fine.lag, rtol=0.01)
    np.testing.assert_allclose(coarse.latency_s, fine.latency_s, rtol=0.06)


def test_a_large_count_does_not_blur_small_queues() -> None:
    """After thousands of millions of records a queue of one is still one."""
    result = settled(chain([0.5e-6], 1e6, minutes=120), interval_s=1800.0)
    assert result.queued[-1, 0] == pytest.approx(1.0, rel=1e-4)
    assert result.latency_s[-1, 0] == pytest.approx(1e-6, rel=1e-2)


def test_nothing_comes_for_a_while() -> None:
    """What is left drains, and then nobody waits; the first to come after the break are not late because of it."""
    result = settled(chain([0.05, 0.05], [10.0, 0.0, 0.0, 10.0]), interval_s=60.0, snapshot_s=1.0)
    assert result.snapshots is not None
    late = result.snapshots.job_latency_s[:, 0]
    assert late[:60].max() < 0.5
    # alone in the system, a record is done after a time that is at least t with probability e^(-t / 0.05) or so
    drained = 60 + int(np.ceil(2 * 0.2 * log(1e9)))
    np.testing.assert_allclose(late[drained:180], 0.0, atol=1e-12)
    assert late[180:].max() < 0.5
    assert result.latency_s[1, 0] == 0.0
    assert exp(-60 / 0.05) == 0.0 and sqrt(result.lag[1, 0]) == 0.0
