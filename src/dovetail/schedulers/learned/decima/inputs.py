"""What the network is given: the stages that matter in one or many worlds, as flat arrays.

Finished stages are left out (messages go from children to parents, so they could not reach a stage that matters),
and so are jobs all of whose tasks are claimed: nothing can be decided about them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Bools, DagInfo, DagView, Floats, Ints
from dovetail.features import FeatureSet, flatten
from dovetail.features.dag import Features, Known, ManyDagViews


@dataclass(frozen=True)
class DecimaInput:
    """B worlds, J unsaturated jobs, N nodes (their unfinished stages), E edges among them, C executor classes.

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

    def world(self, w: int) -> DecimaInput:
        """One of its worlds alone."""
        node, job = int(self.node_ptr[w]), int(self.job_ptr[w])
        nodes, edges = slice(node, int(self.node_ptr[w + 1])), slice(int(self.edge_ptr[w]), int(self.edge_ptr[w + 1]))
        by_node = ("nodes", "stage", "valid", "held", "unclaimed", "memory", "fits")
        return DecimaInput(
            **{name: getattr(self, name)[nodes].copy() for name in by_node},
            node_job=self.node_job[nodes] - job,
            node_ptr=self.node_ptr[w : w + 2] - node,
            job_ptr=self.job_ptr[w : w + 2] - job,
            edges=self.edges[edges] - node,
            edge_ptr=self.edge_ptr[w : w + 2] - self.edge_ptr[w],
            offered=self.offered[w : w + 1].copy(),
            classes=self.classes,
        )


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
    from dovetail.schedulers.learned.decima.gather import gather_worlds  # loads numba

    dags = flatten(view, info)
    starts = np.zeros((3, dags.num_worlds + 1), dtype=np.int64)
    rows = gather_worlds(
        dags.worlds(),
        Known.of(info),
        features.selection,
        starts,
    )
    nodes, _, edges = starts[:, -1].tolist()
    return DecimaInput(
        **{name: getattr(rows, name)[: edges if name == "edges" else nodes].copy() for name in rows._fields},
        node_ptr=starts[0],
        job_ptr=starts[1],
        edge_ptr=starts[2],
        offered=dags.columns.source_by_class.reshape(dags.num_worlds, len(info.classes)).copy(),
        classes=class_sizes(info) if classes is None else classes,
    )
