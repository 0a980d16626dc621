"""The compiled gpu world against its plain-Python twin: same decisions, same trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sim.gpu_toys import RandomPlacer, random_jobs, random_model, toy_model

from dovetail.cluster.gpu import MACHINE_KINDS, GpuCluster
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision, GpuView
from dovetail.core.seeds import SeedTree
from dovetail.sim.gpu import GpuOptions, GpuWorld
from dovetail.sim.kernels.gpu_state import COMPLETED, MACHINE_LOST, STOPPED
from dovetail.testing.gpu_reference import ReferenceGpuWorld

WHY = {"complete": COMPLETED, "stopped": STOPPED, "machine lost": MACHINE_LOST}
KINDS = st.lists(st.sampled_from(sorted(MACHINE_KINDS)), min_size=1, max_size=3).map(tuple)
CLUSTERS = st.builds(GpuCluster, st.integers(1, 6), KINDS, st.integers(1, 3), uneven=st.sampled_from([0.0, 0.2]))
OPTIONS = st.builds(
    GpuOptions,
    cluster=CLUSTERS,
    interval_s=st.sampled_from([0.0, 0.0, 7.0, 60.0]),
    preemption=st.booleans(),
    quantum_s=st.sampled_from([13.0, 40.0]),
    restart_s=st.sampled_from([0.0, 7.0]),
    checkpoint_s=st.sampled_from([0.0, 20.0, 100.0]),
    mean_time_to_failure_s=st.sampled_from([0.0, 0.0, 600.0, 3000.0]),
    repair_s=st.sampled_from([0.0, 100.0]),
    mood_sigma=st.sampled_from([0.0, 0.3]),
    mood_period_s=st.sampled_from([60.0, 100.0]),
    mood_every_s=st.sampled_from([10.0, 33.0, 150.0]),
)


def bad_decisions(view: GpuView, good: list[GpuDecision], rng: np.random.Generator) -> Any:
    """One of the things that no world may take, alone or after decisions that may be valid."""
    jobs, machines = len(view.job_id), len(view.machine_up)
    some = int(rng.integers(jobs))
    anywhere = rng.integers(machines, size=view.job_workers[some])
    one = GpuDecision(some, anywhere)
    most = np.full(view.job_workers[some], int(rng.integers(machines)))
    return [
        [one._replace(job=-1)],
        [one._replace(job=jobs)],
        [one._replace(job=float(some))],
        [one._replace(job=str(some))],
        [one._replace(machines=anywhere[:-1])],
        [one._replace(machines=np.append(anywhere, 0))],
        [one._replace(machines=anywhere.astype(float))],
        [one._replace(machines=np.full(len(anywhere), machines))],
        [one._replace(machines=np.full(len(anywhere), -1))],
        [one._replace(machines=None)],
        [one._replace(reason=99)],
        [one._replace(place=-1)],
        [one._replace(job=len(view.run_id), machines=np.zeros(0, np.int64), stops=True)],
        [one._replace(job=-1, machines=np.zeros(0, np.int64), stops=True)],
        [one._replace(stops=True)],
        [one[:3]],
        None,
        [None],
        [*good, one._replace(job=-2)],
        [*good, *good[:1], one._replace(job=-2)],
        [*good, one._replace(machines=most), one._replace(machines=most)],
    ]


def refuses(world: GpuWorld | ReferenceGpuWorld, decisions: Any) -> bool:
    try:
        world.apply(decisions)
    except InvalidDecision:
        return True
    return False


def assert_refused(worlds: tuple[GpuWorld, ReferenceGpuWorld], decisions: Any) -> None:
    """Both refuse, and still show what they showed before, to the last bit."""
    for world in worlds:
        view = world.advance()
        before = [np.array(part) for part in view]
        assert refuses(world, decisions), f"{world} took {decisions}"
        for name, ours, theirs in zip(GpuView._fields, world.advance(), before, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def assert_same_view(fast: GpuView, slow: GpuView) -> None:
    for name, ours, theirs in zip(GpuView._fields, fast, slow, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape, name
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7, err_msg=name)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def apply_to_both(
    worlds: tuple[GpuWorld, ReferenceGpuWorld], view: GpuView, placer: RandomPlacer, decisions: list[GpuDecision]
) -> None:
    """Carry them out; or, if both worlds refuse (a second stop, a stall), what can be carried out."""
    fast, slow = worlds
    for choice in (decisions, [one for one in decisions if not one.stops], placer.first_that_fits(view)):
        if not refuses(slow, choice):
            fast.apply(choice)
            return
        assert_refused(worlds, choice)
    raise AssertionError("nothing at all can be carried out")


def assert_same_trajectory(jobs: int, options: GpuOptions, seed: int, *, ties: bool, eager: float = 0.7) -> None:
    rng = np.random.default_rng(seed)
    model = toy_model(3) if ties else random_model(rng)
    workload = random_jobs(rng, jobs, options.cluster, model, ties=ties)
    seeds = SeedTree(seed)
    fast = GpuWorld(workload, model, options, seeds, record=True)
    slow = ReferenceGpuWorld(workload, model, options, seeds.child("failures").key(), seeds.child("moods").key())
    placer = RandomPlacer(fast.info, rng, eager)
    while True:
        theirs, ours = slow.advance(), fast.advance()
        if theirs is None or ours is None:
            assert theirs is None and ours is None
            break
        assert_same_view(ours, theirs)
        decisions = placer.decide(ours)
        if rng.random() < 0.2:
            bad = bad_decisions(ours, decisions, rng)
            assert_refused((fast, slow), bad[rng.integers(len(bad))])
        apply_to_both((fast, slow), ours, placer, decisions)
    assert_same_result(fast, slow)


def assert_same_result(fast: GpuWorld, slow: ReferenceGpuWorld) -> None:
    result = fast.result()
    for name in ("finish_s", "running_s", "served_s", "fee", "stops"):
        theirs = [getattr(job, name) for job in slow.jobs]
        np.testing.assert_allclose(getattr(result, name), theirs, rtol=1e-6, atol=1e-7, err_msg=name)
    starts = [job.first_start_s for job in slow.jobs]
    np.testing.assert_allclose(result.start_s, starts, rtol=1e-6, atol=1e-7)
    assert (result.events, result.decisions, result.asked) == (slow.events, slow.decisions, slow.asked)
    ours = []
    for segment in result.segments:
        rows = result.rows[segment["first_row"] : segment["first_row"] + segment["rows"]]
        where = [(int(row["machine"]), int(row["device"]), int(row["workers"])) for row in rows]
        ours.append(
            (int(segment["job"]), float(segment["start_s"]), float(segment["end_s"]), int(segment["why"]), where)
        )
    theirs = sorted(slow.segments, key=lambda one: (one[0], one[1]))
    ours.sort(key=lambda one: (one[0], one[1]))
    assert [(job, WHY[why], rows) for job, _, _, why, rows in theirs] == [(one[0], one[3], one[4]) for one in ours]
    np.testing.assert_allclose([one[1:3] for one in ours], [one[1:3] for one in theirs], rtol=1e-6, atol=1e-7)
    log = [(int(row["machine"]), bool(row["up"])) for row in result.machine_log]
    assert log == [(machine, up) for _, machine, up in slow.machine_log]


@given(st.integers(1, 14), OPTIONS, st.integers(0, 2**32), st.sampled_from([0.4, 1.0]))
@settings(max_examples=200, deadline=None)
def test_same_trajectory(jobs: int, options: GpuOptions, seed: int, eager: float) -> None:
    assert_same_trajectory(jobs, options, seed, ties=False, eager=eager)


@given(st.integers(1, 14), OPTIONS, st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_same_trajectory_where_much_happens_at_once(jobs: int, options: GpuOptions, seed: int) -> None:
    calm = GpuOptions(
        options.cluster, options.interval_s, options.preemption, quantum_s=20.0, restart_s=10.0, mood_sigma=0.0
    )
    assert_same_trajectory(jobs, calm, seed, ties=True)


def test_same_trajectory_on_a_larger_cluster() -> None:
    cluster = GpuCluster(20, ("v100x8", "t4x4", "p100x2"), rack=4)
    options = GpuOptions(
        cluster, preemption=True, checkpoint_s=50.0, restart_s=5.0, mean_time_to_failure_s=4000.0, mood_every_s=60.0
    )
    assert_same_trajectory(120, options, 3, ties=False)
