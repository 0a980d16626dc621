"""What learned autoscalers see: free of units, the newest last, and of the right operators."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamInfo
from dovetail.features.stream import COLUMNS, StreamFeatures, clock, cost_s, depth
from dovetail.sim.stream import StreamOptions, StreamWorld
from dovetail.workloads.stream_source import open_stream


def column(rows, name):
    return rows[..., COLUMNS.index(name)]


@pytest.fixture
def world():
    source = open_stream("nexmark-q3")
    options = StreamOptions(interval_s=600.0, history=12, step_s=5.0, noise=0.0)
    return StreamWorld(source.sequence(7200.0, SeedTree(3)), options, SeedTree(3))


def test_rows_of_a_world(world):
    features, info = StreamFeatures(world.info), world.info
    view = world.advance()
    seen = features.of(view)
    assert seen.shape == (info.history, len(info.operator_job), len(COLUMNS)) and seen.dtype == np.float32
    assert np.isfinite(seen).all() and np.abs(seen).max() < 20.0
    missing = info.history - len(view.op_busy)
    assert missing == 2 and (seen[0] == seen[missing]).all() and (seen[missing] != seen[missing + 1]).any()
    np.testing.assert_allclose(column(seen, "busy")[missing:], view.op_busy, rtol=1e-5)
    np.testing.assert_allclose(cost_s(view), world.workload.op_service_s, rtol=1e-6)
    fed = np.isin(np.arange(len(info.operator_job)), info.edge_to)
    assert (column(seen, "is a source")[0] == ~fed).all()


def test_time_goes_on_in_the_rows(world):
    features = StreamFeatures(world.info)
    view = world.advance()
    sine, cosine = (column(features.of(view), f"time of day, {name}")[-1, 0] for name in ("sine", "cosine"))
    np.testing.assert_allclose([sine, cosine], clock(np.array([view.clock_s]))[0], atol=1e-6)
    age = column(features.of(view), "age of the snapshot")[:, 0]
    assert age[-1] == 0.0 and (np.diff(age[2:]) < 0.0).all()


def test_units_do_not_matter(world):
    """Twice the records at half the cost each: the same job."""
    view = world.advance()
    seen = StreamFeatures(world.info).of(view)
    names = ("op_input_rate", "op_rate", "op_queued", "job_rate", "job_lag")
    other = view._replace(**{name: 2.0 * getattr(view, name) for name in names})
    again = StreamFeatures(world.info).of(other)
    same = [name for name in COLUMNS if name != "records waiting at an instance"]
    for name in same:
        np.testing.assert_allclose(column(again, name), column(seen, name), rtol=1e-4, atol=1e-5, err_msg=name)


def test_depth_and_neighbours():
    edges = np.array([[0, 1], [0, 2], [1, 2], [2, 3]])
    info = StreamInfo(
        operator_name=("a", "b", "c", "d"),
        operator_job=np.zeros(4, np.int64),
        operator_max=np.full(4, 5),
        edge_from=edges[:, 0],
        edge_to=edges[:, 1],
        job_name=("job",),
        job_slo_s=np.ones(1),
        job_restart_s=np.ones(1),
        slots=20,
        interval_s=60.0,
        snapshot_s=60.0,
        history=5,
        weight=0.7,
    )
    assert depth(info).tolist() == [0, 1, 2, 3]
    around = np.empty((3, 1, 4), np.float32)
    StreamFeatures(info)._above.of(np.array([[1.0, 2.0, 4.0, 8.0]], np.float32), out=around)
    assert around[:, 0].tolist() == [[0, 1, 1.5, 4], [0, 1, 2, 4], [0, 1, 3, 4]]
