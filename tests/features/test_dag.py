"""Node features and flat graphs: by hand, and the same for one view and for many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from dovetail.core.dag import DagInfo, DagView, DurationProfiles, ExecutorClass
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.features import FEATURE_SETS, feature_set, flatten
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.batch import DagBatch, DagBatchView, Episode
from dovetail.testing.dag_views import JobSketch, StageSketch, info_for, make_view, random_view
from dovetail.workloads import Arrivals, Deadlines, open_source

TWO_JOBS = make_view(
    [
        JobSketch(
            [
                StageSketch(tasks=100, mean_s=2.0, left=60, running=20, unclaimed=30),
                StageSketch(tasks=40, mean_s=5.0, parents=(0,)),
            ],
            executors=10,
            arrival_s=30.0,
            weight=3.0,
            deadline_s=150.0,
        ),
        JobSketch([StageSketch(tasks=8, mean_s=50.0)], arrival_s=60.0),
    ],
    offered=4,
    source_job=0,
    time_s=100.0,
)


INFO = info_for()  # 50 executors of one size, nothing known but the means


def test_published_versions_keep_their_columns():
    """A model is stored with the name of its features.  Whatever changes them must be a new version."""
    decima = ("tasks_left", "work_left", "job_executors", "source_executors", "local")
    wide = (
        *decima,
        "unclaimed",
        "mean_duration",
        "critical_path",
        "ready",
        "job_work_left",
        "job_unclaimed",
        "job_age",
        "job_weight",
        "job_time_to_deadline",
        "system_jobs",
        "system_work_left",
    )
    names = {name: tuple(column.name for column in one.columns) for name, one in FEATURE_SETS.items()}
    informed = (
        *wide[:-2],
        "running",
        "rest_duration",
        "first_extra",
        "fresh_extra",
        "inflation",
        "unclaimed_work",
        "log_job_work_left",
        "foremost",
        "place",
        "equal_share_gap",
        "rank_share_gap",
        "sharing_jobs",
        "source_idle",
        "log_backlog",
        "held_of_share",
        "offered_of_cluster",
        "log_equal_share",
    )
    fit = ("memory", "fitting_offered", "fitting_of_cluster", "log_pressure", "scarcest", "excess_pressure")
    classes = (*informed, *fit)
    assert names.pop("informed-3") == informed
    assert names == {"decima-1": decima, "wide-1": wide, "informed-2": informed, "classes-1": classes}


def test_decima_by_hand():
    nodes = feature_set("decima-1").write(flatten(TWO_JOBS))
    # tasks not started / 200, times mean duration / 100 s, held / 20, on offer / 20, local +-2
    expected = [
        [40 / 200, 80 / 100, 10 / 20, 4 / 20, 2],
        [40 / 200, 200 / 100, 10 / 20, 4 / 20, 2],
        [8 / 200, 400 / 100, 0, 4 / 20, -2],
    ]
    assert nodes.dtype == np.float32
    assert nodes.tolist() == np.array(expected, dtype=np.float32).tolist()


def test_wide_by_hand():
    features = feature_set("wide-1")
    nodes = features.write(flatten(TWO_JOBS))
    column = {one.name: nodes[:, k].tolist() for k, one in enumerate(features.columns)}
    assert column["unclaimed"] == pytest.approx([30 / 200, 40 / 200, 8 / 200])
    assert column["mean_duration"] == pytest.approx([0.2, 0.5, 5.0])
    assert column["critical_path"] == pytest.approx([7 / 100, 5 / 100, 50 / 100])
    assert column["ready"] == [1, 0, 1]
    assert column["job_work_left"] == pytest.approx([0.32, 0.32, 0.4])
    assert column["job_unclaimed"] == pytest.approx([70 / 200, 70 / 200, 8 / 200])
    assert column["job_age"] == pytest.approx([0.7, 0.7, 0.4])
    assert column["job_weight"] == [3, 3, 1]
    assert column["job_time_to_deadline"] == pytest.approx([0.5, 0.5, 10.0])
    assert column["system_jobs"] == pytest.approx([0.1, 0.1, 0.1])
    assert column["system_work_left"] == pytest.approx([0.072, 0.072, 0.072])


def informed(view: DagView, info: DagInfo, name: str = "informed-2") -> dict[str, list[float]]:
    features = feature_set(name)
    nodes = features.write(flatten(view, info))
    return {one.name: nodes[:, k].tolist() for k, one in enumerate(features.columns)}


def test_large_numbers_are_compressed():
    view = TWO_JOBS._replace(stage_mean_s=np.array([2.0, 5e4, 80.0]), job_executors=np.array([180, 0]))
    features = feature_set("informed-3")
    plain, shown = (feature_set(name).write(flatten(view, INFO)) for name in ("informed-2", "informed-3"))
    large = np.abs(plain) > 4
    assert (shown[~large] == plain[~large]).all()
    assert shown[large] == pytest.approx(np.sign(plain[large]) * 4 * (1 + np.log(np.abs(plain[large]) / 4)), rel=1e-6)
    assert (plain[large] > 0).any() and (plain[large] < 0).any()
    assert (features.low <= shown).all() and (shown <= features.high).all()


def test_informed_by_hand():
    # 50 executors; both jobs can use more; job 1 has the most work left, so it ranks first: shares 50/4 and 50 * 3/4
    column = informed(TWO_JOBS, INFO)
    assert column["running"] == pytest.approx([1, 0, 0])
    assert column["rest_duration"] == pytest.approx([1, 2.5, 25])
    assert column["first_extra"] == column["fresh_extra"] == column["inflation"] == [0, 0, 0]
    assert column["unclaimed_work"] == pytest.approx([0.6, 2.0, 4.0])
    assert column["log_job_work_left"] == pytest.approx(np.log1p([32, 32, 40]) / 5)
    assert column["foremost"] == [1, 0, 1]
    assert column["place"] == [0, 0, 1]
    assert column["equal_share_gap"] == pytest.approx([1.5, 1.5, 2.5])
    assert column["rank_share_gap"] == pytest.approx([2.75, 2.75, 1.25])
    assert column["sharing_jobs"] == pytest.approx([0.1] * 3)
    assert column["source_idle"] == [1, 1, 1]
    assert column["log_backlog"] == pytest.approx(np.log1p([720 / 50] * 3) / 5)
    assert column["held_of_share"] == pytest.approx([10 / 25, 10 / 25, 0])
    assert column["offered_of_cluster"] == pytest.approx([4 / 50] * 3)
    assert column["log_equal_share"] == pytest.approx(np.log1p([25] * 3) / 3)


def test_informed_durations_come_from_the_profiles():
    # by level 5, 15: fresh 6, 8; first 4, 5; rest 2, 3; job 0 holds 10 and would hold 20
    profiles = DurationProfiles(np.array([5, 15]), np.array([[[6.0, 8.0], [4.0, 5.0], [2.0, 3.0]]]))
    view = TWO_JOBS._replace(stage_profile=np.array([0, -1, -1]))
    column = informed(view, replace(INFO, profiles=profiles))
    assert column["rest_duration"] == pytest.approx([2.5 / 2, 5 / 2, 50 / 2])
    assert column["first_extra"] == pytest.approx([2 / 2, 0, 0])
    assert column["fresh_extra"] == pytest.approx([4.5 / 2, 0, 0])
    assert column["inflation"] == pytest.approx([(3 / 2.5 - 1) / 0.5, 0, 0])
    assert column["log_job_work_left"][0] == pytest.approx(np.log1p((60 * 2 + 40 * 5) / 10) / 5)


def test_classes_by_hand():
    # 30 small and 20 large executors; one small and three large ones on offer; the last stage needs a large one
    sizes = (ExecutorClass(30, cpu=1.0, memory=0.5), ExecutorClass(20, cpu=1.0, memory=2.0))
    view = TWO_JOBS._replace(source_by_class=np.array([1, 3]), stage_memory=np.array([0.4, 0.5, 1.0]))
    column = informed(view, replace(INFO, classes=sizes), "classes-1")
    waiting_s = np.array([60 + 200 + 400, 60 + 200 + 400, 400])  # unclaimed tasks times their mean duration
    pressure = np.log1p(waiting_s / [50, 50, 20])
    assert column["memory"] == pytest.approx([0.2, 0.25, 0.5])
    assert column["fitting_offered"] == pytest.approx([4 / 20, 4 / 20, 3 / 20])
    assert column["fitting_of_cluster"] == pytest.approx([1, 1, 0.4])
    assert column["log_pressure"] == pytest.approx(pressure / 5)
    assert column["excess_pressure"] == pytest.approx(pressure - pressure[0])
    assert column["scarcest"] == column["foremost"]
    twins = view._replace(stage_ready=np.array([True, True, True]), stage_valid=np.array([True, True, True]))
    twins = twins._replace(stage_memory=np.array([0.4, 1.0, 1.0]))
    column = informed(twins, replace(INFO, classes=sizes), "classes-1")
    assert (column["foremost"], column["scarcest"]) == ([1, 0, 1], [0, 1, 1])


def test_classes_where_executors_are_alike():
    column = informed(TWO_JOBS, INFO, "classes-1")
    assert column["memory"] == [0, 0, 0]
    assert column["fitting_offered"] == pytest.approx([4 / 20] * 3)
    assert column["fitting_of_cluster"] == pytest.approx([1, 1, 1])
    assert column["excess_pressure"] == [0, 0, 0]


def test_informed_needs_to_know_the_cluster():
    with pytest.raises(ConfigError, match=r"flatten\(view, info\)"):
        feature_set("informed-2").write(flatten(TWO_JOBS))


def test_executors_of_no_job_are_local_to_none():
    nodes = feature_set("decima-1").write(flatten(TWO_JOBS._replace(source_job=-1)))
    assert nodes[:, 4].tolist() == [-2, -2, -2]


def test_numbers_stay_within_their_bounds():
    huge = TWO_JOBS._replace(stage_left=np.full(3, 10**9), job_deadline_s=np.array([-1e9, np.inf]))
    for features in FEATURE_SETS.values():
        nodes = features.write(flatten(huge, INFO))
        assert (nodes >= features.low).all() and (nodes <= features.high).all()


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_output_can_be_given(name):
    features = feature_set(name)
    room = np.full((9, len(features)), 7.0, dtype=np.float32)
    nodes = features.write(flatten(TWO_JOBS, INFO), room)
    assert np.shares_memory(nodes, room)
    assert np.array_equal(nodes, features.write(flatten(TWO_JOBS, INFO)))
    assert (room[3:] == 7.0).all()


def test_an_unknown_set_is_an_error_with_a_suggestion():
    with pytest.raises(UnknownName, match="decima-1"):
        feature_set("decima1")


def test_the_graph_of_one_view():
    dags = flatten(TWO_JOBS)
    assert dags.edge_links.tolist() == [[0, 1]]
    assert (dags.job_ptr.tolist(), dags.stage_ptr.tolist(), dags.edge_ptr.tolist()) == ([0, 2], [0, 3], [0, 1])
    assert dags.job_stage_ptr.tolist() == [0, 2, 3]
    assert dags.job_world.tolist() == [0, 0]
    assert dags.least_limit.tolist() == [11, 11, 1]


def batch_views(steps: int = 90) -> Iterator[tuple[DagBatchView, DagInfo]]:
    """Worlds of different sizes under random decisions, one of which runs out of episodes."""
    source, seeds = open_source("layered:dags=9,tasks.tasks=[1,30]"), SeedTree(1)
    episodes = [
        Episode(
            source.sequence(
                jobs,
                Arrivals("poisson", interval_s=5.0),
                seeds.child(jobs),
                weights=(1.0, 2.0),
                deadlines=Deadlines(1.0, 2.0, 6),
            ),
            seeds.child(jobs),
        )
        for jobs in (1, 3, 7, 5)
    ]
    batch = DagBatch(source.catalogue, DagOptions(executors=6), iter(episodes), num_worlds=4)
    rng = np.random.default_rng(0)
    views, _ = batch.start()
    for _ in range(steps):
        yield views, batch.info
        stage, limit = np.full(4, -1), np.zeros(4, dtype=np.int64)
        for w in np.flatnonzero(views.active):
            view = views.world(w)
            stage[w] = rng.choice(np.flatnonzero(view.stage_valid))
            limit[w] = view.job_executors[view.stage_job[stage[w]]] + 1
        views, _ = batch.step(stage, limit)


@pytest.mark.parametrize("name", FEATURE_SETS)
def test_one_view_and_many_give_the_same(name):
    features = feature_set(name)
    emptied = False
    for views, info in batch_views():
        many = flatten(views, info)
        nodes = features.write(many)
        assert len(nodes) == many.num_stages == views.stage_ptr[-1]
        for w in range(4):
            one = flatten(views.world(w), info)
            first_job, first_stage = views.job_ptr[w], views.stage_ptr[w]
            stages = slice(first_stage, views.stage_ptr[w + 1])
            edges = slice(views.edge_ptr[w], views.edge_ptr[w + 1])
            assert np.array_equal(nodes[stages], features.write(one))
            assert np.array_equal(many.stage_job[stages], one.stage_job + first_job)
            assert np.array_equal(many.edge_links[edges], one.edge_links + first_stage)
            assert np.array_equal(many.least_limit[stages], one.least_limit)
            assert (many.stage_world[stages] == w).all()
            jobs = slice(first_job, views.job_ptr[w + 1])
            assert np.array_equal(many.job_stage_ptr[jobs], one.job_stage_ptr[:-1] + first_stage)
            is_local = views.active[w] and views.source_job[w] >= 0
            assert many.source_job[w] == (views.source_job[w] + first_job if is_local else -1)
            emptied |= not views.active[w]
    assert emptied


def test_features_do_not_touch_the_view():
    view = random_view(np.random.default_rng(0))  # its arrays are read-only
    before = [np.copy(array) for array in view]
    for features in FEATURE_SETS.values():
        features.write(flatten(view, INFO))
    assert all(np.array_equal(a, b) for a, b in zip(before, view, strict=True))
    assert isinstance(view, DagView)
