"""What holds in every stream world, whatever is decided."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.stream_toys import Anything, random_workload

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamDecision, StreamView, reward
from dovetail.sim.kernels import stream_state as layout
from dovetail.sim.stream import StreamOptions, StreamResult, StreamWorld, run

OPTIONS = StreamOptions(interval_s=10.0, snapshot_s=1.0, history=30, noise=0.1)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> tuple[StreamWorld, Anything, np.random.Generator]:
    rng = np.random.default_rng(seed)
    workload, scheduler = random_workload(rng), Anything()
    return StreamWorld(workload, OPTIONS, SeedTree(seed), record=True), scheduler, rng


def assert_possible(world: StreamWorld) -> None:
    """In the state itself: nobody overtakes, no buffer is overfull, nothing is done before it arrives."""
    memory, workload = world._memory, world.workload
    progress, job = memory.op_floats[layout.PROGRESS], workload.op_job
    arrived, slack = memory.job_floats[layout.ARRIVED], 1e-9 * (1 + memory.job_floats[layout.ARRIVED])
    assert np.all(progress <= arrived[job])
    assert np.all(progress[workload.edge_to] <= progress[workload.edge_from])
    assert np.all(memory.job_floats[layout.DELIVERED] <= arrived)
    assert np.all(memory.job_floats[layout.SAVED] <= memory.job_floats[layout.DELIVERED] + slack)
    for i in range(workload.num_operators):
        parents = workload.edge_from[workload.edge_to == i]
        if len(parents) and workload.gain[i] > 0:
            waiting = workload.gain[i] * (progress[parents].min() - progress[i])
            room = memory.op_ints[layout.PARALLELISM, i] * (workload.op_buffer[i] + 1)
            assert waiting <= room * (1 + 1e-9) + workload.gain[i] * slack[job[i]]


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_records_are_conserved_and_in_order(seed: int) -> None:
    world, scheduler, rng = drawn(seed)
    scheduler.reset(world.info, rng)
    while (view := world.advance()) is not None:
        assert_possible(world)
        assert np.all(view.op_busy >= 0) and np.all(view.op_blocked >= 0)
        assert np.all(view.op_busy + view.op_blocked <= 1 + 1e-9)
        assert np.all(view.op_queued >= 0) and np.all(view.job_lag >= 0)
        assert np.all(np.isfinite(view.op_latency_s)) and np.all(view.op_latency_s >= 0)
        assert np.all(np.isfinite(view.job_latency_s)) and np.all(view.job_latency_s >= 0)
        assert np.all((view.job_down_share >= 0) & (view.job_down_share <= 1 + 1e-12))
        assert np.all(view.job_latency_s <= view.time_s + 1e-6)
        world.apply(scheduler.decide(view))
    assert_possible(world)
    result, workload = world.result(), world.workload
    total = result.snapshots
    assert total is not None
    for job in range(workload.num_jobs):
        come = total.job_rate[:, job] * OPTIONS.snapshot_s
        left = np.concatenate([[0.0], total.job_lag[:, job]])[:-1] + come - total.job_lag[:, job]
        assert np.all(left >= -1e-9 * (1 + come.sum()))
        counted = left.reshape(-1, 10).sum(axis=1)[1:]
        np.testing.assert_allclose(result.delivered[:, job], counted, atol=1e-9 * (1 + come.sum()))
    assert result.delay_weight.sum() == pytest.approx(result.delivered.sum())
    expected = reward(result.latency_s, workload.job_slo_s, result.utilisation, OPTIONS.weight)
    np.testing.assert_array_equal(result.reward, expected)
    assert np.all(result.parallelism.sum(axis=1) <= workload.slots)
    assert result.decisions == len(result.decision_rows)
    changed = {(row.interval, int(workload.op_job[row.operator])) for row in result.decision_rows}
    assert changed == set(map(tuple, np.argwhere(result.rescaled).tolist()))


def assert_same_bytes(ours: StreamResult, theirs: StreamResult) -> None:
    for name in StreamResult.__dataclass_fields__:
        a, b = getattr(ours, name), getattr(theirs, name)
        if isinstance(a, np.ndarray):
            assert a.tobytes() == b.tobytes(), name
    assert ours.snapshots is not None and theirs.snapshots is not None
    for name, a, b in zip(StreamView._fields, ours.snapshots, theirs.snapshots, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), name


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_same_seeds_same_bytes(seed: int) -> None:
    one, other = (run(world, scheduler, rng) for world, scheduler, rng in (drawn(seed), drawn(seed)))
    assert_same_bytes(one, other)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_naming_operators_as_they_are_changes_nothing(seed: int) -> None:
    class Loud(Anything):
        """Names every operator, those it does not change as well."""

        def decide(self, view: StreamView) -> list[StreamDecision]:
            said = {decision.operator: decision.parallelism for decision in super().decide(view)}
            return [StreamDecision(i, said.get(i, int(now))) for i, now in enumerate(view.parallelism)]

    (world, quiet, rng), (again, _, same) = drawn(seed), drawn(seed)
    assert_same_bytes(run(world, quiet, rng), run(again, Loud(), same))


def test_chance_is_that_of_the_service_stream() -> None:
    """Another seed, another run; without noise seeds do not matter."""
    rng = np.random.default_rng(1)
    workload = random_workload(rng)
    busy = {}
    for noise in (0.0, 0.1):
        for seed in (1, 2):
            options = StreamOptions(interval_s=10.0, snapshot_s=1.0, noise=noise)
            world = StreamWorld(workload, options, SeedTree(seed))
            busy[noise, seed] = run(world, Anything(), np.random.default_rng(0)).busy
    np.testing.assert_array_equal(busy[0.0, 1], busy[0.0, 2])
    assert np.any(busy[0.1, 1] != busy[0.1, 2])


def test_noise_has_mean_one() -> None:
    from tests.sim.stream_toys import chain

    from dovetail.sim.stream.prepare import service_factors

    workload = chain([0.01] * 10, 1.0, minutes=5000)
    factors = service_factors(workload, StreamOptions(noise=0.3), SeedTree(0))
    assert factors.shape == (5000, 10)
    assert factors.mean() == pytest.approx(1.0, abs=0.005)
    assert np.log(factors).std() == pytest.approx(0.3, abs=0.005)
