"""The whole scheduler as one kernel: the view gathered, the network computed, the likeliest decision taken.

So whole episodes run compiled, and a trained network can complete the copies of a world that look-ahead tries
decisions in.  Everything it needs to know travels in the two arrays of a `DagKernel`; `pack_kernel` puts it there.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from dovetail.core.dag import DagInfo, DagKernel, DagView, Floats, Ints, Reason
from dovetail.features import FeatureSet
from dovetail.features.dag import Known, Selection
from dovetail.schedulers.learned.decima.compiled import choose_one, workbench
from dovetail.schedulers.learned.decima.forward import PackedNetwork
from dovetail.schedulers.learned.decima.gather import gather_world, room_for
from dovetail.schedulers.learned.decima.inputs import class_sizes

LEARNED = int(Reason.LEARNED)
# `state` begins with these; then where each block of floats begins in `params`, where each block of integers begins
# in `state` itself, and those integers
EXECUTORS, EMBEDDING, GRAPH, LIMIT_SEES_STAGE, LIMITS, LIMIT_COLUMNS, COMPRESSED, FLOATS = range(8)
LEVELS, PROFILES, COUNT, CPU, MEMORY, SIZES, SCALE, LOW, HIGH, WEIGHTS = range(FLOATS, FLOATS + 10)
LAYERS, FIRST, PICKED, END = range(WEIGHTS + 1, WEIGHTS + 5)


def pack_kernel(network: PackedNetwork, features: FeatureSet, info: DagInfo) -> DagKernel:
    picked, scale, low, high, compressed = features.selection
    weights = np.append(network.weights, np.zeros(len(network.weights) % 2, dtype=np.float32)).view(np.float64)
    sizes = class_sizes(info).ravel().astype(np.float64)
    executors, *known = Known.of(info)
    floats = [*known, sizes, scale, low, high, weights]
    ints = [network.layers.ravel(), network.first, picked]
    starts = list(accumulate([len(block) for block in floats[:-1]], initial=0))
    int_starts = list(accumulate([len(block) for block in ints], initial=END + 1))
    options = [network.graph, network.limit_sees_stage, network.limits, network.limit_columns, compressed]
    fixed = [executors, network.embedding, *options]
    state = np.concatenate([np.array([*fixed, *starts, *int_starts]), *ints]).astype(np.int64)
    return DagKernel(decide, np.concatenate(floats), state, allocates=True)


def decide(view: DagView, params: Floats, state: Ints, out: Ints) -> int:
    known = Known(
        state[EXECUTORS],
        params[state[LEVELS] : state[PROFILES]],
        params[state[PROFILES] : state[COUNT]],
        params[state[COUNT] : state[CPU]],
        params[state[CPU] : state[MEMORY]],
        params[state[MEMORY] : state[SIZES]],
    )
    classes = known.class_executors.shape[0]
    sizes = params[state[SIZES] : state[SCALE]].astype(np.float32).reshape((classes, 2))
    layers = state[state[LAYERS] : state[FIRST]]
    selection = Selection(
        state[state[PICKED] : state[END]],
        params[state[SCALE] : state[LOW]],
        params[state[LOW] : state[HIGH]],
        params[state[HIGH] : state[WEIGHTS]],
        state[COMPRESSED] != 0,
    )
    network = PackedNetwork(
        params[state[WEIGHTS] :].view(np.float32),
        layers.reshape((layers.shape[0] // 3, 3)),
        state[state[FIRST] : state[PICKED]],
        state[EMBEDDING],
        state[GRAPH] != 0,
        state[LIMIT_SEES_STAGE] != 0,
        state[LIMITS] != 0,
        state[LIMIT_COLUMNS],
    )
    rows = room_for(view.stage_id.shape[0], view.edge_parent.shape[0], selection.picked.shape[0], classes)
    nodes, jobs, edges = gather_world(view, known, selection, 0, 0, 0, rows)
    if nodes == 0:
        return 0
    bench = workbench(network, max(nodes, jobs, view.source_executors + 1))
    luck = np.full(3, -1.0)
    chosen = np.full(3, -1, dtype=np.int64)
    choose_one(
        network,
        rows,
        0,
        nodes,
        0,
        jobs,
        0,
        edges,
        view.source_by_class,
        sizes,
        luck,
        chosen,
        bench,
    )
    if chosen[0] < 0:
        return 0
    out[0] = rows.stage[chosen[0]]
    out[1] = chosen[2]
    out[2] = chosen[1]
    out[3] = LEARNED
    return 1
