"""What the network is given: the stages that matter in one or many worlds, as flat arrays.

Finished stages are left out (messages go from children to parents, so they could not reach a stage that matters),
and so are jobs all of whose tasks are claimed: nothing can be decided about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Bools, DagInfo, DagView, Floats, Ints
from dovetail.features import FeatureSet, flatten
from dovetail.features.dag import Features, ManyDagViews


@dataclass(frozen=True)
class DecimaInput:
    """B worlds, J jobs, N nodes (unfinished stages of unsaturated jobs), E edges among them, C executor classes.

    Nodes and edges are grouped by world; jobs too.  `stage` leads back to the view.  All arrays are its own, so it
    outlives the view.
    """

    nodes: Features  # (N, F)
    node_job: Ints  # (N,) job row
    node_ptr: Ints  # (B + 1,)
    job_ptr: Ints  # (B + 1,)
    edges: Ints  # (E, 2) node rows: parent, child
    edge_ptr: Ints  # (B + 1,)
    stage: Ints  # (N,) stage index in its own world's view
    valid: Bools  # (N,)
    held: Ints  # (N,) executors that the node's job holds
    unclaimed: Ints  # (N,) tasks of the stage that nobody has claimed
    memory: Floats  # (N,) that a task needs
    fits: Bools  # (N, C)
    offered: Ints  # (B, C) executors on offer
    classes: Features  # (C, 2) CPU and memory, as shares of the largest

    @property
    def num_worlds(self) -> int:
        return len(self.node_ptr) - 1


def class_sizes(info: DagInfo) -> Features:
    """(C, 2) CPU and memory of each class, as shares of the largest; 1 where there is no bound."""
    sizes = np.array([(kind.cpu, kind.memory) for kind in info.classes], dtype=np.float64)
    most = sizes.max(axis=0)
    with np.errstate(invalid="ignore"):
        shares = np.where(np.isfinite(most), sizes / most, np.where(np.isinf(sizes), 1.0, 0.0))
    return shares.astype(np.float32)


def decima_input(
    view: DagView | ManyDagViews, info: DagInfo, features: FeatureSet, *, classes: Features | None = None
) -> DecimaInput:
    """What the network sees of one view, or of many (worlds without a view have no rows)."""
    dags = flatten(view, info)
    columns = dags.columns
    rows = np.flatnonzero((columns.stage_left > 0) & (columns.job_unclaimed[dags.stage_job] > 0))
    worlds = dags.num_worlds
    new_row = np.full(dags.num_stages, -1, dtype=np.int64)
    new_row[rows] = np.arange(len(rows))
    edges = new_row[dags.edge_links]
    kept = edges[:, 0] >= 0 if len(edges) else np.zeros(0, dtype=np.bool_)
    world = dags.stage_world[rows]
    job = dags.stage_job[rows]
    kinds = info.classes
    num_classes = len(kinds)
    if num_classes == 1:
        fits = np.ones((len(rows), 1), dtype=np.bool_)
    else:
        fits = (columns.stage_cpu[rows, None] <= [kind.cpu for kind in kinds]) & (
            columns.stage_memory[rows, None] <= [kind.memory for kind in kinds]
        )
    return DecimaInput(
        nodes=features.write(dags)[rows],
        node_job=job,
        node_ptr=_pointer(np.bincount(world, minlength=worlds)),
        job_ptr=dags.job_ptr,
        edges=np.ascontiguousarray(edges[kept]),
        edge_ptr=_pointer(np.bincount(world[edges[kept, 0]], minlength=worlds)),
        stage=rows - dags.stage_ptr[world],
        valid=columns.stage_valid[rows],
        held=columns.job_executors[job],
        unclaimed=columns.stage_unclaimed[rows],
        memory=columns.stage_memory[rows],
        fits=fits,
        offered=columns.source_by_class.reshape(worlds, num_classes).copy(),
        classes=class_sizes(info) if classes is None else classes,
    )


def _pointer(sizes: NDArray[np.int64]) -> Ints:
    ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr
