"""The compiled stream world against its plain-Python twin: same decisions, same trajectory."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.stream_toys import Anything, random_workload

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamView
from dovetail.sim.stream import StreamOptions, StreamWorld
from dovetail.testing.stream_reference import ReferenceStreamWorld
from dovetail.testing.stream_reference_view import build_view, interval_tables


def random_options(rng: np.random.Generator, bin_s: float) -> StreamOptions:
    interval_s = float(rng.choice([10.0, 15.0, 30.0]))
    return StreamOptions(
        interval_s=interval_s,
        snapshot_s=float(rng.choice([5.0, 10.0])),
        step_s=float(rng.choice([0.5, 1.0, 2.5])),
        history=int(rng.integers(1, 6)),
        noise=float(rng.choice([0.0, 0.05, 0.3])),
        restore_mb_s=200.0,
    )


def close(ours: object, theirs: object, scale: float = 1.0) -> None:
    """Equal but for rounding.  What is left of a drained queue is rounding too, hence the absolute part."""
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-7, atol=1e-7 * scale)


def assert_same_view(fast: StreamView, slow: StreamView, many: float) -> None:
    for name, ours, theirs in zip(StreamView._fields, fast, slow, strict=True):
        assert np.shape(ours) == np.shape(theirs), name
        if name == "op_latency_s":
            # A ratio: where next to nothing was processed it is that of two roundings.
            counts = np.asarray(slow.op_rate) > 1e-6 * many
            close(np.where(counts, ours, 0), np.where(counts, theirs, 0))
        elif name == "job_latency_s":
            continue  # likewise; intervals are compared
        else:
            close(ours, theirs, many if "queued" in name or "rate" in name or "lag" in name else 1.0)


@pytest.mark.parametrize("seed", range(100))
def test_same_trajectory(seed: int) -> None:
    rng = np.random.default_rng(seed)
    workload = random_workload(rng)
    options, seeds = random_options(rng, workload.bin_s), SeedTree(seed)
    fast, slow = StreamWorld(workload, options, seeds, record=True), ReferenceStreamWorld(workload, options, seeds)
    scheduler, many = Anything(), float(workload.rate.max())
    scheduler.reset(fast.info, rng)
    while (view := fast.advance()) is not None:
        twin = slow.advance()
        assert twin is not None
        assert_same_view(view, twin, many)
        decisions = scheduler.decide(view)
        fast.apply(decisions)
        slow.apply(decisions)
    assert slow.advance() is None
    result, tables = fast.result(), interval_tables(slow)
    for name, theirs in tables.items():
        ours = getattr(result, name)
        if name == "latency_s":
            some = (tables["delivered"] > 1e-6 * many) | (tables["delivered"] == 0) & (tables["lag"] > 1e-6 * many)
            close(np.where(some, ours, 0), np.where(some, theirs, 0))
        else:
            close(ours, theirs, many if name in ("delivered", "arrived", "lag", "rate", "queued") else 1.0)
    assert result.snapshots is not None
    everything = build_view_of_all(slow)
    assert_same_view(result.snapshots, everything, many)
    for job, weights in zip(slow.jobs, result.delay_weight, strict=True):
        close(weights.sum(), sum(count for count, _ in job.delays), many)
        theirs, _ = np.histogram(
            [delay_s for _, delay_s in job.delays],
            bins=result.delay_edges_s,
            weights=[count for count, _ in job.delays],
        )
        moved = np.abs(np.cumsum(weights) - np.cumsum(theirs))
        assert (moved > 1e-6 * many).mean() < 0.02  # a delay at an edge may fall to either side


def build_view_of_all(slow: ReferenceStreamWorld) -> StreamView:
    from dataclasses import replace

    slow.options = replace(slow.options, history=10_000)
    return build_view(slow)
