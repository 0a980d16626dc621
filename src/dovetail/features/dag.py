"""One dag view, or the views of many worlds at once, as node features and one flat graph.

    dags = flatten(view, info)  # a `DagView`, or a batch of them, and what is known of the cluster
    nodes = feature_set("decima-1").write(dags)  # (S, F) float32, one row per stage
    parent, child = dags.edge_links.T  # rows of `nodes`

Rows are the stages of all worlds, world by world and in the order of each view, so that row `stage_ptr[w] +
v` is stage v of world w and a decision needs no translation.  Finished stages keep their row.

A feature set is a name, a version and its columns.  What a trained model was trained on is its full name; a
change that moves any number is a new version, and the old one stays.  `decima-1` has the node features and
the scales of Decima (SIGCOMM 2019, section 5.1 and public code); `wide-1` adds what a network without message
passing cannot work out for itself, and what the weighted and the deadline objectives depend on; `informed-1`
(`dag_informed`) adds how work grows with parallelism, and each job's place among the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Bools, DagInfo, DagView, DurationProfiles, Floats, Ints

Features = NDArray[np.float32]

LARGE = 1e4  # counts and times are cut off here, in scaled units, so that spaces can have bounds


class ManyDagViews(Protocol):
    """The views of B worlds in common columns; `dovetail.sim.dag.batch.DagBatchView` is one."""

    @property
    def columns(self) -> DagView: ...
    @property
    def job_ptr(self) -> Ints: ...  # (B + 1,)
    @property
    def stage_ptr(self) -> Ints: ...  # (B + 1,)
    @property
    def edge_ptr(self) -> Ints: ...  # (B + 1,)
    @property
    def time_s(self) -> Floats: ...  # (B,)
    @property
    def source_job(self) -> Ints: ...  # (B,) in the world's own jobs, or -1
    @property
    def source_stage(self) -> Ints: ...  # (B,) in the world's own stages, or -1
    @property
    def source_executors(self) -> Ints: ...  # (B,)


@dataclass(frozen=True)
class FlatDags:
    """The jobs, stages and edges of B worlds in common rows.

    `columns` are the fields of the views, cut to J, S and E rows; the indices inside them still count within
    their own world.  The arrays below count in common rows.
    """

    columns: DagView
    job_ptr: Ints  # (B + 1,) job rows of world w are job_ptr[w] : job_ptr[w + 1]
    stage_ptr: Ints  # (B + 1,) the same for stages
    edge_ptr: Ints  # (B + 1,) the same for edges
    stage_world: Ints  # (S,)
    stage_job: Ints  # (S,) job row
    edge_links: Ints  # (E, 2) stage rows: parent, child
    time_s: Floats  # (B,)
    source_job: Ints  # (B,) job row, -1: the executors on offer belong to no job
    source_idle: Bools  # (B,) they are idle, not leaving a stage
    source_executors: Ints  # (B,)
    num_executors: int = 0  # of the cluster; 0 = not known
    profiles: DurationProfiles | None = None

    @cached_property
    def _remembered(self) -> dict[str, NDArray[Any]]:
        return {}

    def remember(self, name: str, measure: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """What several columns need is measured once."""
        if name not in self._remembered:
            self._remembered[name] = measure()
        return self._remembered[name]

    @property
    def num_worlds(self) -> int:
        return len(self.time_s)

    @property
    def num_stages(self) -> int:
        return len(self.stage_job)

    @cached_property
    def job_stage_ptr(self) -> Ints:
        """(J + 1,) stage rows of job row j are job_stage_ptr[j] : job_stage_ptr[j + 1]."""
        ptr = np.zeros(len(self.columns.job_id) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.stage_job, minlength=len(ptr) - 1), out=ptr[1:])
        return ptr

    @cached_property
    def job_world(self) -> Ints:
        """(J,)"""
        return np.repeat(np.arange(self.num_worlds), np.diff(self.job_ptr))

    @cached_property
    def least_limit(self) -> Ints:
        """(S,) the lowest limit that gives the stage an executor: one more than its job holds."""
        return self.columns.job_executors[self.stage_job] + 1


def flatten(view: DagView | ManyDagViews, info: DagInfo | None = None) -> FlatDags:
    """Put one view, or many, into common rows.  Columns are not copied: they live as long as the view.

    `info` is what some feature sets need to know of the cluster.
    """
    dags = _flatten_one(view) if isinstance(view, DagView) else _flatten_many(view)
    return dags if info is None else replace(dags, num_executors=info.num_executors, profiles=info.profiles)


def _flatten_one(view: DagView) -> FlatDags:
    sizes = len(view.job_id), len(view.stage_id), len(view.edge_parent)
    job_ptr, stage_ptr, edge_ptr = np.array([(0, size) for size in sizes], dtype=np.int64)
    return FlatDags(
        columns=view,
        job_ptr=job_ptr,
        stage_ptr=stage_ptr,
        edge_ptr=edge_ptr,
        stage_world=np.zeros(sizes[1], dtype=np.int64),
        stage_job=view.stage_job,
        edge_links=np.stack((view.edge_parent, view.edge_child), axis=1),
        time_s=np.array([view.time_s]),
        source_job=np.array([view.source_job]),
        source_idle=np.array([view.source_stage == -1]),
        source_executors=np.array([view.source_executors]),
    )


def _flatten_many(views: ManyDagViews) -> FlatDags:
    worlds = np.arange(len(views.time_s))
    jobs, stages, edges = int(views.job_ptr[-1]), int(views.stage_ptr[-1]), int(views.edge_ptr[-1])
    sizes = {"job": jobs, "sta": stages, "edg": edges}
    cut = {name: getattr(views.columns, name)[: sizes[name[:3]]] for name in DagView._fields[5:]}
    cut["job_stage_ptr"] = views.columns.job_stage_ptr[: jobs + len(worlds)]
    columns = views.columns._replace(**cut)
    stage_world = np.repeat(worlds, np.diff(views.stage_ptr))
    first_stage = np.repeat(views.stage_ptr[:-1], np.diff(views.edge_ptr))
    edge_links = np.empty((edges, 2), dtype=np.int64)
    np.add(columns.edge_parent, first_stage, out=edge_links[:, 0])
    np.add(columns.edge_child, first_stage, out=edge_links[:, 1])
    has_source = (views.source_job >= 0) & (np.diff(views.job_ptr) > 0)  # not in a world without an episode
    return FlatDags(
        columns=columns,
        job_ptr=views.job_ptr,
        stage_ptr=views.stage_ptr,
        edge_ptr=views.edge_ptr,
        stage_world=stage_world,
        stage_job=columns.stage_job + views.job_ptr[stage_world],
        edge_links=edge_links,
        time_s=views.time_s,
        source_job=np.where(has_source, views.source_job + views.job_ptr[:-1], -1),
        source_idle=views.source_stage == -1,
        source_executors=views.source_executors,
    )


@dataclass(frozen=True)
class Column:
    """One number about each stage: `measure`, divided by `scale`, cut off at `low` and `high` (scaled)."""

    name: str
    meaning: str
    scale: float
    measure: Callable[[FlatDags], NDArray[Any]]
    low: float = 0.0
    high: float = LARGE


@dataclass(frozen=True)
class FeatureSet:
    """Columns in a fixed order, under a name that stands for exactly these numbers."""

    family: str
    version: int
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        return f"{self.family}-{self.version}"

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def low(self) -> Features:
        return np.array([column.low for column in self.columns], dtype=np.float32)

    @cached_property
    def high(self) -> Features:
        return np.array([column.high for column in self.columns], dtype=np.float32)

    def write(self, dags: FlatDags, out: Features | None = None) -> Features:
        """(S, F) features of every stage; into the first S rows of `out`, if given, which are returned."""
        nodes = np.empty((dags.num_stages, len(self)), dtype=np.float32) if out is None else out[: dags.num_stages]
        for position, column in enumerate(self.columns):
            scaled = np.divide(column.measure(dags), column.scale)
            nodes[:, position] = np.clip(scaled, column.low, column.high, out=scaled)
        return nodes


def not_started(dags: FlatDags) -> Ints:
    return dags.columns.stage_left - dags.columns.stage_running


def _is_local(dags: FlatDags) -> Floats:
    return np.where(dags.stage_job == dags.source_job[dags.stage_world], 1.0, -1.0)


def of_job(dags: FlatDags, values: NDArray[Any]) -> NDArray[Any]:
    return values[dags.stage_job]


def _time_to_deadline_s(dags: FlatDags) -> NDArray[Any]:
    return of_job(dags, dags.columns.job_deadline_s) - dags.time_s[dags.stage_world]


def _work_in_system_s(dags: FlatDags) -> Floats:
    work_s = np.bincount(dags.job_world, dags.columns.job_work_left_s, minlength=dags.num_worlds)
    return np.asarray(work_s[dags.stage_world], dtype=np.float64)


_DECIMA = (
    Column("tasks_left", "tasks of the stage not started", 200.0, not_started),
    Column(
        "work_left",
        "tasks not started times their mean duration, seconds",
        100.0,
        lambda dags: not_started(dags) * dags.columns.stage_mean_s,
    ),
    Column(
        "job_executors",
        "executors that the stage's job holds, those on offer not counted",
        20.0,
        lambda dags: of_job(dags, dags.columns.job_executors),
    ),
    Column(
        "source_executors",
        "executors on offer",
        20.0,
        lambda dags: dags.source_executors[dags.stage_world],
    ),
    Column("local", "+2 if they are at the stage's job, else -2", 0.5, _is_local, low=-2.0, high=2.0),
)

_WIDE = (
    *_DECIMA,
    Column("unclaimed", "tasks neither started nor promised", 200.0, lambda dags: dags.columns.stage_unclaimed),
    Column("mean_duration", "of one task, seconds", 10.0, lambda dags: dags.columns.stage_mean_s),
    Column(
        "critical_path",
        "the stage and the longest chain after it, one task each, seconds",
        100.0,
        lambda dags: dags.columns.stage_critical_path_s,
    ),
    Column("ready", "1 if all parents are complete", 1.0, lambda dags: dags.columns.stage_ready, high=1.0),
    Column(
        "job_work_left",
        "work of the job not finished, task-seconds",
        1000.0,
        lambda dags: of_job(dags, dags.columns.job_work_left_s),
    ),
    Column(
        "job_unclaimed",
        "tasks of the job nobody has claimed",
        200.0,
        lambda dags: of_job(dags, dags.columns.job_unclaimed),
    ),
    Column(
        "job_age",
        "time since the job arrived, seconds",
        100.0,
        lambda dags: dags.time_s[dags.stage_world] - of_job(dags, dags.columns.job_arrival_s),
    ),
    Column("job_weight", "weight of the job", 1.0, lambda dags: of_job(dags, dags.columns.job_weight)),
    Column(
        "job_time_to_deadline",
        "time until the job is due, seconds; -10 or less, 10 or more (and no deadline) look the same",
        100.0,
        _time_to_deadline_s,
        low=-10.0,
        high=10.0,
    ),
    Column(
        "system_jobs",
        "jobs in the system",
        20.0,
        lambda dags: np.diff(dags.job_ptr)[dags.stage_world],
    ),
    Column(
        "system_work_left",
        "work of all of them not finished, task-seconds",
        10_000.0,
        _work_in_system_s,
    ),
)

DECIMA = FeatureSet("decima", 1, _DECIMA)
WIDE = FeatureSet("wide", 1, _WIDE)
