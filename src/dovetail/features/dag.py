"""One dag view, or the views of many worlds at once, as node features and one flat graph.

    dags = flatten(view, info)  # a `DagView`, or a batch of them, and what is known of the cluster
    nodes = feature_set("decima-1").write(dags)  # (S, F) float32, one row per stage
    parent, child = dags.edge_links.T  # rows of `nodes`

Rows are the stages of all worlds, world by world and in the order of each view, so that row `stage_ptr[w] +
v` is stage v of world w and a decision needs no translation.  Finished stages keep their row.  `dag_columns` has the
feature sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import DagInfo, DagView, Floats, Ints
from dovetail.core.errors import ConfigError
from dovetail.features.dag_columns import COLUMNS, COMPRESSED_FROM, NEEDS_CLUSTER, OF_ALL_JOBS, Column

Features = NDArray[np.float32]


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
    source_stage: Ints  # (B,) stage in its own world that they leave, -1: they are idle
    source_executors: Ints  # (B,)
    info: DagInfo | None = None

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

    def worlds(self) -> Worlds:
        columns = self.columns._replace(time_s=0.0, source_job=-1, source_stage=-1, source_executors=0)
        local_job = np.where(self.source_job >= 0, self.source_job - self.job_ptr[:-1], -1)
        pointers = (self.job_ptr, self.stage_ptr, self.edge_ptr)
        return Worlds(columns, self.time_s, local_job, self.source_stage, self.source_executors, *pointers)

    @cached_property
    def least_limit(self) -> Ints:
        """(S,) the lowest limit that gives the stage an executor: one more than its job holds."""
        return self.columns.job_executors[self.stage_job] + 1


def flatten(view: DagView | ManyDagViews, info: DagInfo | None = None) -> FlatDags:
    """Put one view, or many, into common rows.  Columns are not copied: they live as long as the view.

    `info` is what some feature sets need to know of the cluster.
    """
    dags = _flatten_one(view) if isinstance(view, DagView) else _flatten_many(view)
    return replace(dags, info=info)


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
        source_stage=np.array([view.source_stage]),
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
        source_stage=views.source_stage,
        source_executors=views.source_executors,
    )


class Worlds(NamedTuple):
    """The views of B worlds as compiled code takes them; `columns` count within their own world."""

    columns: DagView
    time_s: Floats  # (B,)
    source_job: Ints  # (B,)
    source_stage: Ints  # (B,)
    source_executors: Ints  # (B,)
    job_ptr: Ints  # (B + 1,)
    stage_ptr: Ints  # (B + 1,)
    edge_ptr: Ints  # (B + 1,)


class Known(NamedTuple):
    """What is known of cluster and durations, as compiled code takes it; no levels: no profiles."""

    executors: int
    levels: Floats  # (L,)
    mean_s: Floats  # (P * 3 * L,)
    class_executors: Floats  # (C,)
    cpu: Floats  # (C,)
    memory: Floats  # (C,)

    @classmethod
    def of(cls, info: DagInfo | None) -> Known:
        if info is None:
            return cls(0, *np.zeros((5, 0)))
        durations = (np.zeros(0), np.zeros(0)) if info.profiles is None else info.profiles.flat
        classes = np.array([(kind.count, kind.cpu, kind.memory) for kind in info.classes], dtype=np.float64)
        return cls(info.num_executors, *durations, *classes.T.copy())


class Selection(NamedTuple):
    """The columns of a feature set, as compiled code takes them."""

    picked: Ints  # (F,) position in `COLUMNS`
    scale: Floats
    low: Floats
    high: Floats
    compressed: bool


@dataclass(frozen=True)
class FeatureSet:
    """Columns in a fixed order, under a name that stands for exactly these numbers."""

    name: str
    columns: tuple[Column, ...]
    compressed: bool = False

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def low(self) -> Features:
        return self._shown([column.low for column in self.columns])

    @cached_property
    def high(self) -> Features:
        return self._shown([column.high for column in self.columns])

    def _shown(self, bounds: list[float]) -> Features:
        values = np.array(bounds)
        if self.compressed:
            beyond = np.maximum(np.abs(values) / COMPRESSED_FROM, 1.0)
            values = np.where(beyond > 1.0, np.copysign(COMPRESSED_FROM * (1.0 + np.log(beyond)), values), values)
        return values.astype(np.float32)

    @cached_property
    def selection(self) -> Selection:
        picked = np.array([COLUMNS.index(column) for column in self.columns], dtype=np.int64)
        scale, low, high = np.array([(c.scale, c.low, c.high) for c in self.columns], dtype=np.float64).T.copy()
        return Selection(picked, scale, low, high, self.compressed)

    @property
    def needs_all_jobs(self) -> bool:
        """Also those all of whose tasks are claimed, which a kernel is not shown."""
        return any(column.name in OF_ALL_JOBS for column in self.columns)

    def write(self, dags: FlatDags, out: Features | None = None) -> Features:
        """(S, F) features of every stage; into the first S rows of `out`, if given, which are returned."""
        from dovetail.features.dag_measure import write_worlds  # loads numba

        if dags.info is None and any(column.name in NEEDS_CLUSTER for column in self.columns):
            raise ConfigError(f"features {self.name}: the cluster is not known; call flatten(view, info)")
        nodes = np.empty((dags.num_stages, len(self)), dtype=np.float32) if out is None else out[: dags.num_stages]
        write_worlds(dags.worlds(), Known.of(dags.info), self.selection, nodes)
        return nodes
