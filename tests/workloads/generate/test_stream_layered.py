import numpy as np
import pytest

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.workloads.stream_check import work_faults
from dovetail.workloads.stream_source import STREAM, open_stream

SIZES = {
    "small-1": (5, 4, 2),
    "small-2": (6, 4, 1),
    "medium-1": (11, 5, 4),
    "medium-2": (14, 6, 5),
    "large-1": (26, 8, 8),
    "large-2": (38, 9, 14),
}
"""Operators, operators on the longest chain, joins: as documented."""


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_as_documented(name):
    jobs = open_stream(name).table
    assert (jobs.num_operators, int(jobs.level().max()) + 1, int((jobs.parents() > 1).sum())) == SIZES[name]
    demand = jobs.demand()
    assert demand.min() > 0.39 and demand.max() < 4.6
    assert jobs.op_service_s.min() >= 5e-5 and jobs.op_service_s.max() <= 5e-3
    assert set(jobs.op_max) == {10} and jobs.slots == min(200, 10 * jobs.num_operators)
    most = 1 / (jobs.op_skew + (1 - jobs.op_skew) / jobs.op_max)
    assert (most / demand).min() >= 2.19
    assert (jobs.job_slo_s >= 2.0).all()


def test_sizes_differ_in_runtime():
    restart = {name: open_stream(name).table.job_restart_s[0] for name in SIZES}
    assert set(restart.values()) == {0.3, 1.5, 7.0}
    assert open_stream("small-1:runtime=python").table.job_restart_s[0] == 7.0
    assert open_stream("small-1:restart_s=2.5").table.job_restart_s[0] == 2.5


@pytest.mark.parametrize("seed", range(30))
def test_any_layers_make_a_valid_job(seed):
    rng = np.random.default_rng(seed)
    layers, sources, sinks = (int(value) for value in (rng.integers(3, 8), rng.integers(1, 5), rng.integers(1, 4)))
    operators = layers - 2 + sources + sinks + int(rng.integers(0, 20))
    spec = f"stream-layered:operators={operators},layers={layers},sources={sources},sinks={sinks},seed={seed}"
    work = open_stream(spec).sequence(3600.0, SeedTree(seed))
    assert work_faults(work) == []
    parents = np.bincount(work.edge_to, minlength=operators)
    children = np.bincount(work.edge_from, minlength=operators)
    assert (parents == 0).sum() == sources and (children == 0).sum() == sinks
    assert (work.gain > 0).all()


def test_two_layers_are_sources_and_sinks():
    jobs = open_stream("stream-layered:operators=3,layers=2,sources=2,sinks=1").table
    assert jobs.edge_to.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("stream-layered:layers=1", "expected 2 layers or more"),
        ("stream-layered:operators=3", "no fewer than layers"),
        ("stream-layered:sources=6", "at least one operator in every layer"),
        ("stream-layered:layers=2", "none beside sources and sinks"),
        ("stream-layered:join_chance=2", "join_chance is 2; expected 0 to 1"),
        ("stream-layered:demand=[2,1]", "expected a range"),
        ("small-1:rate=0", "rate is 0"),
        ("small-1:runtime=luke", "runtime"),
        ("small-1:instances=0", "instances is 0"),
    ],
)
def test_what_cannot_be_is_refused(spec, says):
    with pytest.raises(ConfigError, match=says):
        open_stream(spec)


@pytest.mark.parametrize("name", [name for name in STREAM if name.startswith("nexmark")])
def test_queries(name):
    jobs = open_stream(name).table
    most = 1 / (jobs.op_skew + (1 - jobs.op_skew) / jobs.op_max)
    assert (most / jobs.demand()).min() > 2.1
    assert jobs.op_service_s.min() >= 5e-5 and jobs.op_service_s.max() <= 5e-3
    assert jobs.op_source.sum() == 1.0
    assert (jobs.level() == 0).sum() == {"q3": 2, "q8": 2}.get(name.removeprefix("nexmark-"), 1)


def test_slower_queries():
    one, two = (open_stream(f"nexmark-q5:scale={scale}").table for scale in (1, 2))
    np.testing.assert_allclose(two.demand(), 2 * one.demand())


def test_slots_that_bind_at_peaks():
    source = open_stream("shared")
    jobs, work = source.table, source.sequence(None, SeedTree(0))
    peak = work.rate.reshape(3, -1, 60).mean(axis=2).max(axis=1) / jobs.job_rate
    wanted = jobs.demand() * peak[jobs.op_job]
    assert jobs.num_jobs == 3 and jobs.op_start.sum() <= jobs.slots < np.ceil(wanted / 0.8).sum()
    assert open_stream("shared:slots=99").table.slots == 99
