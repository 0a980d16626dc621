"""The network, compiled: world by world, stage, class and limit.  `forward` is the door to it.

Nodes are columns, so that the innermost loops run over many of them at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from dovetail.schedulers.learned.decima.shape import CLASS_FEATURES, LEAK, LIMIT_FEATURES, NETS

PREPARE, MESSAGE, GATHER, JOB_IN, JOB_OUT, ALL_IN, ALL_OUT, STAGE, LIMIT, CLASS = range(len(NETS))
LEAST = np.float32(LEAK)
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
COUNT_SCALE = np.float32(1.0 / 20.0)  # of executors


@njit(**OPTIONS)
def _net(network, net, x, count, a, b):
    """Columns of `x` through a net.  The result is in `a` (0 is returned) or in `b` (1).

    Units are rows and nodes are columns, so that the innermost loop runs over many nodes; four inputs at a time.
    """
    source = x
    last = network.first[net + 1] - 1
    turn = 0
    for layer in range(network.first[net], last + 1):
        place, width_in, width_out = network.layers[layer, 0], network.layers[layer, 1], network.layers[layer, 2]
        weights = network.weights[place : place + width_in * width_out]
        bias = network.weights[place + width_in * width_out : place + width_in * width_out + width_out]
        target = a if turn == 0 else b
        whole = width_in - width_in % 4
        for o in range(width_out):
            row = target[o]
            for n in range(count):
                row[n] = bias[o]
            at = o * width_in
            for i in range(0, whole, 4):
                w0, w1, w2, w3 = weights[at + i], weights[at + i + 1], weights[at + i + 2], weights[at + i + 3]
                x0, x1, x2, x3 = source[i], source[i + 1], source[i + 2], source[i + 3]
                for n in range(count):
                    row[n] += w0 * x0[n] + w1 * x1[n] + w2 * x2[n] + w3 * x3[n]
            for i in range(whole, width_in):
                w0 = weights[at + i]
                x0 = source[i]
                for n in range(count):
                    row[n] += w0 * x0[n]
            if layer != last:
                for n in range(count):
                    row[n] = max(row[n], LEAST * row[n])
        source = target
        turn = 1 - turn
    return 1 - turn


@njit(**OPTIONS)
def _heights(edges, first_edge, last_edge, first_node, height):
    """Stages on the longest chain below each node."""
    height[:] = 0
    changed = True
    while changed:
        changed = False
        for e in range(last_edge - 1, first_edge - 1, -1):
            parent, child = edges[e, 0] - first_node, edges[e, 1] - first_node
            if height[parent] <= height[child]:
                height[parent] = height[child] + 1
                changed = True


@njit(**OPTIONS)
def _draw(scores, count, luck, chosen):
    """Which score is taken goes to `chosen[0]`: the highest if luck is below 0.  Returns its log probability."""
    best = 0
    for i in range(1, count):
        if scores[i] > scores[best]:
            best = i
    total = 0.0
    for i in range(count):
        total += np.exp(np.float64(scores[i] - scores[best]))
    pick = best
    if luck >= 0.0:
        left = luck * total
        pick = count - 1
        for i in range(count):
            left -= np.exp(np.float64(scores[i] - scores[best]))
            if left < 0.0:
                pick = i
                break
    chosen[0] = pick
    return np.float64(scores[pick] - scores[best]) - np.log(total)


@njit(**OPTIONS)
def _take(source, count, width, target):
    """The first rows and columns of one array into another."""
    for o in range(width):
        for n in range(count):
            target[o, n] = source[o, n]


@njit(**OPTIONS)
def _embed(network, nodes, node_job, first, last, first_job, num_jobs, edges, first_edge, last_edge, E, Y, Z, x, a, b):
    """Embeddings of a world's nodes (E), jobs (Y) and of the whole (Z), each a column."""
    count, features, width = last - first, nodes.shape[1], network.embedding
    for n in range(count):
        for f in range(features):
            x[f, n] = nodes[first + n, f]
    turn = _net(network, PREPARE, x, count, a, b)
    _take(a if turn == 0 else b, count, width, E)
    height = np.zeros(count, dtype=np.int64)
    _heights(edges, first_edge, last_edge, first, height)
    tallest = 0
    for n in range(count):
        tallest = max(tallest, height[n])
    sums = np.zeros((width, count), dtype=np.float32)
    place = np.zeros(count, dtype=np.int64)
    for level in range(1, tallest + 1):
        senders = 0
        for n in range(count):
            if height[n] == level - 1:
                for o in range(width):
                    x[o, senders] = E[o, n]
                place[n] = senders
                senders += 1
        turn = _net(network, MESSAGE, x, senders, a, b)
        result = a if turn == 0 else b
        for e in range(first_edge, last_edge):
            parent, child = edges[e, 0] - first, edges[e, 1] - first
            if height[child] == level - 1:
                for o in range(width):
                    sums[o, parent] += result[o, place[child]]
        receivers = 0
        for n in range(count):
            if height[n] == level:
                for o in range(width):
                    x[o, receivers] = sums[o, n]
                receivers += 1
        turn = _net(network, GATHER, x, receivers, a, b)
        result = a if turn == 0 else b
        receivers = 0
        for n in range(count):
            if height[n] == level:
                for o in range(width):
                    E[o, n] += result[o, receivers]
                receivers += 1
    for n in range(count):
        for f in range(features):
            x[f, n] = nodes[first + n, f]
        for o in range(width):
            x[features + o, n] = E[o, n]
    turn = _net(network, JOB_IN, x, count, a, b)
    result = a if turn == 0 else b
    Y[:, :num_jobs] = 0.0
    for n in range(count):
        j = node_job[first + n] - first_job
        for o in range(width):
            Y[o, j] += result[o, n]
    turn = _net(network, JOB_OUT, Y, num_jobs, a, b)
    _take(a if turn == 0 else b, num_jobs, width, Y)
    turn = _net(network, ALL_IN, Y, num_jobs, a, b)
    result = a if turn == 0 else b
    for o in range(width):
        total = np.float32(0.0)
        for j in range(num_jobs):
            total += result[o, j]
        Z[o, 0] = total
    turn = _net(network, ALL_OUT, Z, 1, a, b)
    _take(a if turn == 0 else b, 1, width, Z)


@njit(**OPTIONS)
def _fill_whole(network, nodes, row, n, j, E, Y, Z, x, to):
    """Features of a node, its embedding, its job's and the system's, into column `to` of x; returns the width."""
    features, width = nodes.shape[1], network.embedding
    for f in range(features):
        x[f, to] = nodes[row, f]
    for o in range(width):
        x[features + o, to] = E[o, n]
        x[features + width + o, to] = Y[o, j]
        x[features + 2 * width + o, to] = Z[o, 0]
    return features + 3 * width


@njit(**OPTIONS)
def _fill_chosen(network, nodes, row, n, j, E, Y, Z, x, to):
    """What limit and class are scored from."""
    if network.limit_sees_stage:
        return _fill_whole(network, nodes, row, n, j, E, Y, Z, x, to)
    width = network.embedding
    for o in range(width):
        x[o, to] = Y[o, j]
        x[width + o, to] = Z[o, 0]
    return 2 * width


@njit(**OPTIONS)
def choose_all(
    network,
    nodes,
    node_job,
    node_ptr,
    job_ptr,
    edges,
    edge_ptr,
    valid,
    held,
    unclaimed,
    memory,
    fits,
    offered,
    classes,
    luck,
    out,
    log_probability,
):
    worlds = node_ptr.shape[0] - 1
    most = 1
    for w in range(worlds):
        most = max(most, node_ptr[w + 1] - node_ptr[w], job_ptr[w + 1] - job_ptr[w])
        total = 0
        for c in range(offered.shape[1]):
            total += offered[w, c]
        most = max(most, total)
    widest = 1
    for layer in range(network.layers.shape[0]):
        widest = max(widest, network.layers[layer, 1], network.layers[layer, 2])
    x = np.zeros((widest, most), dtype=np.float32)
    a = np.zeros((widest, most), dtype=np.float32)
    b = np.zeros((widest, most), dtype=np.float32)
    E = np.zeros((network.embedding, most), dtype=np.float32)
    Y = np.zeros((network.embedding, most), dtype=np.float32)
    Z = np.zeros((network.embedding, 1), dtype=np.float32)
    scores = np.zeros(most, dtype=np.float32)
    options = np.zeros(most, dtype=np.int64)
    chosen = np.zeros(1, dtype=np.int64)
    for w in range(worlds):
        first, last, first_job = node_ptr[w], node_ptr[w + 1], job_ptr[w]
        if first == last:
            continue
        if network.graph:
            _embed(
                network,
                nodes,
                node_job,
                first,
                last,
                first_job,
                job_ptr[w + 1] - first_job,
                edges,
                edge_ptr[w],
                edge_ptr[w + 1],
                E,
                Y,
                Z,
                x,
                a,
                b,
            )
        # the stage
        count = 0
        for row in range(first, last):
            if valid[row]:
                _fill_whole(network, nodes, row, row - first, node_job[row] - first_job, E, Y, Z, x, count)
                options[count] = row
                count += 1
        if count == 0:
            continue
        turn = _net(network, STAGE, x, count, a, b)
        result = a if turn == 0 else b
        for i in range(count):
            scores[i] = result[0, i]
        log_p = _draw(scores, count, luck[w, 0], chosen)
        row = options[chosen[0]]
        n, j = row - first, node_job[row] - first_job
        out[w, 0] = row
        # the executor class
        room = offered[w, 0]
        if offered.shape[1] > 1:
            count = 0
            for c in range(offered.shape[1]):
                if fits[row, c] and offered[w, c] > 0:
                    width = _fill_chosen(network, nodes, row, n, j, E, Y, Z, x, count)
                    x[width, count] = classes[c, 0]
                    x[width + 1, count] = classes[c, 1]
                    x[width + 2, count] = offered[w, c] * COUNT_SCALE
                    x[width + 3, count] = classes[c, 1] - memory[row]
                    options[count] = c
                    count += 1
            turn = _net(network, CLASS, x, count, a, b)
            result = a if turn == 0 else b
            for i in range(count):
                scores[i] = result[0, i]
            log_p += _draw(scores, count, luck[w, 1], chosen)
            out[w, 1] = options[chosen[0]]
            room = offered[w, out[w, 1]]
        # the limit
        count = min(room, unclaimed[row])
        for g in range(1, count + 1):
            width = _fill_chosen(network, nodes, row, n, j, E, Y, Z, x, g - 1)
            x[width, g - 1] = (held[row] + g) * COUNT_SCALE
            x[width + 1, g - 1] = g * COUNT_SCALE
            x[width + 2, g - 1] = np.float32(g) / np.float32(count)
        turn = _net(network, LIMIT, x, count, a, b)
        result = a if turn == 0 else b
        for i in range(count):
            scores[i] = result[0, i]
        log_p += _draw(scores, count, luck[w, 2], chosen)
        out[w, 2] = held[row] + chosen[0] + 1
        log_probability[w] = log_p


assert LIMIT_FEATURES == 3 and CLASS_FEATURES == 4  # what `choose_all` writes
