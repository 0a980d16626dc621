"""Slurm's queue and nodes as views: what jobs need, what is free, who runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.execution.slurm.paper_slurm import START_S, a_job, a_node, recorded_jobs, recorded_nodes

from dovetail.cluster.gpu import TYPE_INDEX
from dovetail.cluster.gpu_speed import default_speeds
from dovetail.core.gpu import GpuView
from dovetail.execution.engines.slurm.cluster import OTHER, Cluster, Kinds, cluster_of, is_same
from dovetail.execution.engines.slurm.estimates import NO_LIMIT_S, Estimates
from dovetail.execution.engines.slurm.room import Room
from dovetail.execution.engines.slurm.shape import Shape, shape_of
from dovetail.execution.engines.slurm.trace import Trace, is_marked, said, trace_of, traced
from dovetail.execution.engines.slurm.view import Numbers, Waiting, running_of, view_of
from dovetail.features.gpu import MACHINE_COLUMNS, GpuFeatures
from dovetail.features.gpu_neighbours import Pressure, measure_pressure, measure_surprise
from dovetail.schedulers.learned.das.scheduler import Das

V100, A100 = TYPE_INDEX["V100"], TYPE_INDEX["A100"]


def recorded_cluster() -> Cluster:
    return cluster_of(recorded_nodes(), {"n3": 1}, Kinds(), "V100")


def test_machines() -> None:
    info = recorded_cluster().info
    assert info.machine_name == ("n1", "n2", "n3")
    assert info.machine_type.tolist() == [V100, V100, A100]
    assert info.machine_memory.tolist() == [31.25] * 3
    assert info.machine_rack.tolist() == [0, 0, 1]
    assert info.kind_name == (OTHER,) and (info.kind_speed == 1).all() and not info.preemption


def test_types_are_known_by_what_sites_call_them() -> None:
    nodes = [a_node("a", gpu_type="nvidia_a100-sxm4-80gb"), a_node("b", gpu_type="a10g-24gb"), a_node("c", gpu_type="")]
    cluster = cluster_of(nodes, {}, Kinds(), "T4")
    assert [cluster.info.type_name[kind] for kind in cluster.info.machine_type] == ["A100", "A10", "T4"]
    assert cluster.type_of("tesla_a100") == A100 and cluster.type_of("mi300x") == -1
    new = cluster_of([a_node("a", gpu_type="mi300x")], {}, Kinds(), "T4")
    assert new.info.type_name[-1] == "mi300x" and new.info.kind_speed[0, -1] == 1
    assert "mi300x" in new.notices[0]


def test_kinds_of_training() -> None:
    kinds = Kinds(("bert",), np.full((1, len(TYPE_INDEX)), 0.5), np.array([0.2]))
    cluster = cluster_of(recorded_nodes(), {}, kinds, "V100")
    assert cluster.kind_of("bert") == 0 and cluster.kind_of("what") == 1
    assert cluster.info.kind_speed[:, V100].tolist() == [0.5, 0.5]
    shipped = cluster_of(recorded_nodes(), {}, Kinds.of(default_speeds()), "V100").info
    assert shipped.kind_name[-1] == OTHER and shipped.kind_speed[-1, A100] > shipped.kind_speed[-1, V100]


def test_the_same_machines_are_recognised() -> None:
    nodes = [a_node("a"), a_node("b")]
    one = cluster_of(nodes, {}, Kinds(), "V100")
    assert is_same(one, cluster_of([replace(node, gpus_used=2) for node in nodes], {}, Kinds(), "V100"))
    assert not is_same(one, cluster_of([nodes[0], replace(nodes[1], gpus=8)], {}, Kinds(), "V100"))
    assert not is_same(one, cluster_of(nodes, {"b": 1}, Kinds(), "V100"))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("queued", Shape(1, 2, 4, 31.25, 1 << V100)),
        ("held", Shape(1, 1, 1, 100 / 1024)),
        ("tasks", Shape(2, 1, 2, 100 / 1024, spread=True)),
        ("perjob", Shape(1, 4, 1, 400 / 1024)),
        ("cpu", Shape(2, 0, 1, 2.0)),
        ("range", "may run on different numbers of nodes"),
    ],
)
def test_shapes_of_recorded_jobs(name: str, shape: Shape | str) -> None:
    assert shape_of(recorded_jobs()[name], recorded_cluster()) == shape


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({"gres_per_node": "gres:shard:2"}, Shape(1, 0.5, 1, 1.0)),
        ({"gres_per_node": "gres:shard:4"}, Shape(1, 1.0, 1, 1.0)),
        ({"gres_per_node": "gres:shard:5"}, "asks for shards of several GPUs"),
        ({"gres_per_node": "gres:gpu:MI300:1"}, "asks for GPUs of type MI300, which no node has"),
        ({"gres_per_node": "gres:gpu:1,gres:nic:1"}, "asks for several generic resources"),
        ({"gres_per_node": "gres:nic:1"}, "asks for nic"),
        (
            {"tasks": 4, "cpus": 8, "gres_per_node": "", "gres_per_task": "gres:gpu:1", "memory_per_node": False},
            Shape(4, 1, 2, 0.25),
        ),
        ({"tasks": 4, "cpus": 4, "gres_per_node": "", "gres_per_task": "gres:gpu:1"}, Shape(1, 4, 4, 1.0)),
        (
            {"max_nodes": 2, "tres": {"node": 2.0, "mem": 2048.0}, "gres_per_node": "", "gres_per_job": "gres:gpu:4"},
            "says how many GPUs in all, but not how many on each node",
        ),
        (
            {"max_nodes": 2, "tres": {"node": 2.0, "mem": 2048.0}, "tasks": 3, "cpus": 3}
            | {"gres_per_node": "", "gres_per_task": "gres:gpu:1"},
            "has no equal number of tasks on each node",
        ),
    ],
)
def test_shapes(changes: dict[str, object], shape: Shape | str) -> None:
    assert shape_of(a_job(1, **changes), recorded_cluster()) == shape  # type: ignore[arg-type]


def test_what_is_free() -> None:
    jobs = tuple(recorded_jobs().values())
    room = Room.of(recorded_cluster(), recorded_nodes(), jobs)
    assert room.up.tolist() == [True, False, True]
    assert room.devices.tolist() == [[0, 0, 0.5, 1], [0, 0, 0, 0], [0, 0, 1, 1]]
    assert room.cpus.tolist() == [13, 0, 14]
    assert room.memory.tolist() == pytest.approx([31_800 / 1024, 0, 31_900 / 1024])
    assert room.whole.tolist() == [1, 0, 2]


def test_devices_of_which_slurm_only_says_how_many() -> None:
    node = a_node("a", gpus_used=3)
    room = Room.of(cluster_of([node], {}, Kinds(), "V100"), [node], [])
    assert room.devices.tolist() == [[0, 0, 0, 1]]


def test_workers_of_a_spread_job_stand_apart() -> None:
    room = Room.empty(cluster_of([a_node("a"), a_node("b")], {}, Kinds(), "V100").info)
    assert room.places(Shape(3, 1, 1, 1.0)).tolist() == [3, 3]
    assert room.places(Shape(3, 1, 1, 1.0, spread=True)).tolist() == [1, 1]
    assert not room.fits(Shape(3, 1, 1, 1.0, spread=True))


@given(
    shape=st.builds(
        Shape,
        st.integers(1, 9),
        st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0]),
        st.integers(0, 6).map(float),
        st.integers(0, 12).map(float),
        st.sampled_from([-1, 1 << V100, 1 << A100]),
        st.just(False),
        st.just(0),
    ),
    taken=st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.25, 0.5, 1.0])), max_size=8),
)
def test_so_many_places_as_workers_can_take(shape: Shape, taken: list[tuple[int, float]]) -> None:
    nodes = [a_node("a"), a_node("b", gpus=2), a_node("c", gpu_type="A100")]
    room = Room.empty(cluster_of(nodes, {}, Kinds(), "V100").info)
    for machine, gpus in taken:
        room.take(Shape(1, gpus, 1.0, 1.0), machine)
    places = room.places(shape)
    for machine in range(3):
        work = room.copy()
        many = 0
        while many < shape.workers and work.take(shape, machine):
            many += 1
        assert many == places[machine]
        assert (work.devices >= 0).all() and work.cpus[machine] >= 0 and work.memory[machine] >= 0


def test_the_view() -> None:
    jobs, cluster = recorded_jobs(), recorded_cluster()
    now_s = jobs["resnet"].start_s + 60.0
    room = Room.of(cluster, recorded_nodes(), tuple(jobs.values()))
    waiting = [
        Waiting(job, shape, 1)
        for job in (jobs["queued"], jobs["cpu"])
        if isinstance(shape := shape_of(job, cluster), Shape)
    ]
    running = [running_of(jobs[name], cluster, 0) for name in ("resnet", "bert", "shared")]
    numbers, estimates = Numbers(now_s - 1000.0), Estimates("dovetail")
    view = view_of(cluster, room, waiting, [one for one in running if one], now_s, numbers, estimates)
    assert isinstance(view, GpuView) and view.time_s == 1000.0
    assert view.job_id.tolist() == [0, 1] and view.job_workers.tolist() == [1, 2] and view.job_types.tolist() == [1, -1]
    assert view.job_left_s.tolist() == [600.0, 86_400.0] and view.job_stops.tolist() == [1, 1]
    assert view.run_workers.tolist() == [2, 1, 1] and view.run_gpus.tolist() == [2.0, 4.0, 0.5]
    assert view.run_left_s.tolist() == pytest.approx([540.0, 540.0, 541.0], abs=2.0)
    assert view.row_run.tolist() == [0, 0, 1, 2] and view.row_machine.tolist() == [0, 2, 1, 0]
    assert view.row_workers.tolist() == [1, 1, 1, 1] and view.row_device.tolist() == [-1, -1, -1, 2]
    assert view.machine_whole_free.tolist() == [1, 0, 2] and view.machine_gpus_free.tolist() == [1.5, 0, 2]
    assert view.user_used.shape == (2, 3)
    assert view.user_used[view.run_user[0], 0] == 8.0 and view.user_used[view.run_user[2], 0] == 0.5
    assert not any(array.flags.writeable for array in view[1:] if isinstance(array, np.ndarray))


def test_a_running_job_is_as_fast_as_its_kind_on_the_slowest_of_its_types() -> None:
    """So it ends when it is estimated to.  Nobody measured it, which schedulers are told."""
    speed = np.ones((2, len(TYPE_INDEX)))
    speed[0, [V100, A100]] = 0.8, 1.6
    speed[1, A100] = 0.0
    cluster = cluster_of(recorded_nodes(), {}, Kinds(("net", "odd"), speed, np.zeros(2)), "V100")
    nodes = {"both": ("n1", "n3"), "fast": ("n3",), "odd": ("n3",)}
    jobs = {name: a_job(number, limit_s=600.0, start_s=START_S) for number, name in enumerate(nodes)}
    running = []
    for name, job in jobs.items():
        shape = Shape(len(nodes[name]), 1, 1, 1.0, kind=cluster.kind_of("odd" if name == "odd" else "net"))
        found = running_of(replace(job, nodes=nodes[name], gres_held=("gpu:1",) * len(nodes[name])), cluster, 0, shape)
        assert found is not None
        running.append(found)
    room, numbers, now_s = Room.empty(cluster.info), Numbers(START_S), START_S + 100.0
    view = view_of(cluster, room, [], running, now_s, numbers, Estimates("dovetail"))
    assert view.run_speed.tolist() == [0.8, 1.6, 1.0], "odd runs, whatever is said of it"
    assert (view.run_left_s / view.run_speed).tolist() == pytest.approx([500.0] * 3)
    assert not cluster.info.speed_is_measured


def test_das_learns_nothing_from_speeds_that_nobody_measured() -> None:
    """Not of jobs in company, nor of one on two nodes, whose speed would be a surprise if it were as it is said."""
    cluster = cluster_of([a_node("n1"), a_node("n2")], {}, Kinds.of(default_speeds()), "V100")
    pair = Shape(2, 1, 1, 1.0, kind=cluster.kind_of("resnet-18-b16"), spread=True)
    waiting = [Waiting(a_job(1, limit_s=600.0), pair), Waiting(a_job(2, limit_s=600.0), pair._replace(workers=1))]
    das = Das()
    das.reset(cluster.info, np.random.default_rng(0))
    numbers, estimates, room = Numbers(START_S), Estimates("dovetail"), Room.empty(cluster.info)
    das.decide(view_of(cluster, room, waiting, [], START_S + 100.0, numbers, estimates))
    assert das._memory.placed[0] == 2
    held = ("gpu:1", "gpu:1")
    jobs = [(a_job(1, nodes=("n1", "n2"), gres_held=held), pair), (a_job(2, nodes=("n1",), gres_held=held[:1]), None)]
    running = [one for job, shape in jobs if (one := running_of(replace(job, start_s=START_S), cluster, 0, shape))]
    third = Waiting(a_job(3, limit_s=600.0), pair)
    view = view_of(cluster, room, [third], running, START_S + 200.0, numbers, estimates)
    das.decide(view)
    assert set(view.run_id.tolist()) == {0, 1} and not das._memory.seen.any()
    features = GpuFeatures(cluster.info)
    ratio, main = features.speeds(view)
    assert np.isnan(ratio).all()
    assert not features.machines(view, ratio, main)[:, MACHINE_COLUMNS.index("speed of its jobs, as expected")].any()
    pressure = Pressure(*measure_pressure(view, das._about))
    assert np.isnan(measure_surprise(view, features.known, das._about, pressure, ratio)).all()
    taken_for_measured = measure_surprise(view, features.known, das._about, pressure, np.zeros(2))
    assert (taken_for_measured > 0.01).all()


def test_where_the_tasks_of_a_free_job_went() -> None:
    job = replace(recorded_jobs()["resnet"], gres_held=("gpu:V100:3(IDX:0-2)", "gpu:A100:1(IDX:0)"))
    found = running_of(job, recorded_cluster(), 0, Shape(4, 1, 1, 1.0))
    assert found is not None and [(row.machine, row.workers) for row in found.rows] == [(0, 3), (2, 1)]


def test_estimates() -> None:
    estimates, job = Estimates("dovetail"), a_job(1, limit_s=600.0)
    assert estimates.of(job) == 600.0
    assert estimates.of(a_job(1, limit_s=float("inf"))) == NO_LIMIT_S
    assert estimates.of(replace(job, comment="dovetail:kind=bert,estimate_s=50")) == 50.0
    assert estimates.of(replace(job, comment="dovetail:estimate_s=nan")) == 600.0
    for took_s in (10.0, 30.0, 20.0):
        estimates.learn(replace(job, state="COMPLETED", start_s=START_S, end_s=START_S + took_s))
    estimates.learn(replace(job, state="FAILED", start_s=START_S, end_s=START_S + 1))
    assert estimates.of(job) == 20.0 and estimates.of(replace(job, user="another")) == 600.0
    assert estimates.left(replace(job, start_s=START_S), START_S + 5.0) == 15.0
    assert estimates.left(replace(job, start_s=START_S), START_S + 500.0) == 2.0


def test_history() -> None:
    estimates = Estimates("dovetail")
    assert estimates.read_sacct("100|ann|train|v2\n\nx|ann|train\n0|ann|train\n") == 1
    assert estimates.of(a_job(1, user="ann", name="train|v2")) == 100.0
    line = (
        "JobId=36 UserId=bob(65534) GroupId=nogroup(65534) Name=a job JobState=COMPLETED Partition=gpu TimeLimit=10 "
        "StartTime=2026-11-18T01:48:15 EndTime=2026-11-18T01:48:45 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/tmp "
    )
    found = estimates.read_completions(f"{line}\n{line.replace('COMPLETED', 'FAILED')}\n\nnonsense\nmore\n")
    assert found == (1, 2, 2, 4, "nonsense")
    assert estimates.of(a_job(1, user="bob", name="a job")) == 30.0


def test_words_on_a_job() -> None:
    job = a_job(1, comment="dovetail:kind=bert, estimate_s=50,odd", admin_comment="site: x")
    assert is_marked(job, "dovetail") and not is_marked(job, "dove") and is_marked(a_job(1, name="ml-7"), "ml")
    assert said(job, "dovetail") == {"kind": "bert", "estimate_s": "50"} and said(job, "other") == {}
    first = replace(job, admin_comment=traced(job, Trace("h/1/2", "told", -5)))
    assert first.admin_comment == "site: x [dovetail h/1/2 told nice=-5]"
    assert trace_of(first) == Trace("h/1/2", "told", -5) and trace_of(job) is None
    assert traced(first, Trace("h/1/2", "free")) == "site: x [dovetail h/1/2 free]"
