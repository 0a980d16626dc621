"""What the network sees of a world, gathered from its view, compiled.  `inputs` is the door to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dovetail.features.dag_measure import MEASURES, room_for_survey, survey, world_view, write_stage
from dovetail.schedulers.learned.decima.jit import INNER, OPTIONS


class Rows(NamedTuple):
    """Room for nodes and edges; the fields are those of `DecimaInput`."""

    nodes: Any  # (N, F)
    node_job: Any
    stage: Any
    valid: Any
    held: Any
    unclaimed: Any
    memory: Any
    fits: Any  # (N, C)
    edges: Any  # (E, 2)


@njit(**INNER)
def room_for(stages, edges, features, classes):
    return Rows(
        np.empty((stages, features), dtype=np.float32),
        np.empty(stages, dtype=np.int64),
        np.empty(stages, dtype=np.int64),
        np.empty(stages, dtype=np.bool_),
        np.empty(stages, dtype=np.int64),
        np.empty(stages, dtype=np.int64),
        np.empty(stages, dtype=np.float64),
        np.empty((stages, classes), dtype=np.bool_),
        np.empty((edges, 2), dtype=np.int64),
    )


@njit(**INNER)
def gather_world(view, known, selection, at, job_at, edge_at, rows):
    """One world's nodes, jobs and edges from these rows on; returns where the next world's may begin."""
    by_job, in_all = room_for_survey(view, known)
    numbers = np.empty(MEASURES, dtype=np.float64)
    new_row = np.empty(view.stage_id.shape[0], dtype=np.int64)
    survey(view, known, by_job, in_all)
    new_job = np.empty(view.job_id.shape[0], dtype=np.int64)
    for j in range(view.job_id.shape[0]):
        new_job[j] = job_at
        if view.job_unclaimed[j] > 0:
            job_at += 1
    for s in range(view.stage_id.shape[0]):
        j = view.stage_job[s]
        if view.stage_left[s] <= 0 or view.job_unclaimed[j] <= 0:
            new_row[s] = -1
            continue
        new_row[s] = at
        write_stage(view, known, by_job, in_all, s, numbers, selection, rows.nodes[at])
        rows.node_job[at] = new_job[j]
        rows.stage[at] = s
        rows.valid[at] = view.stage_valid[s]
        rows.held[at] = view.job_executors[j]
        rows.unclaimed[at] = view.stage_unclaimed[s]
        rows.memory[at] = view.stage_memory[s]
        for c in range(known.class_executors.shape[0]):
            rows.fits[at, c] = view.stage_cpu[s] <= known.cpu[c] and view.stage_memory[s] <= known.memory[c]
        at += 1
    for e in range(view.edge_parent.shape[0]):
        parent = new_row[view.edge_parent[e]]
        if parent >= 0:
            rows.edges[edge_at, 0] = parent
            rows.edges[edge_at, 1] = new_row[view.edge_child[e]]
            edge_at += 1
    return at, job_at, edge_at


@njit(**OPTIONS)
def gather_worlds(worlds, known, selection, starts):
    """All worlds, one after the other; where the nodes, jobs and edges of each begin goes to `starts` (3, B + 1)."""
    rows = room_for(
        worlds.stage_ptr[-1], worlds.edge_ptr[-1], selection.picked.shape[0], known.class_executors.shape[0]
    )
    at = job_at = edge_at = 0
    for w in range(worlds.time_s.shape[0]):
        if worlds.stage_ptr[w] < worlds.stage_ptr[w + 1]:
            view = world_view(worlds, w)
            at, job_at, edge_at = gather_world(view, known, selection, at, job_at, edge_at, rows)
        starts[0, w + 1] = at
        starts[1, w + 1] = job_at
        starts[2, w + 1] = edge_at
    return rows
