"""The network, compiled: world by world, stage, class and limit.  `forward` is the door to it.

Nodes are columns, so that the innermost loops run over many of them at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dovetail.schedulers.learned.decima.jit import INNER, OPTIONS
from dovetail.schedulers.learned.decima.shape import CLASS_FEATURES, COUNT_SCALE, LEAK, LIMIT_FEATURES, LOG_SCALE, NETS

PREPARE, MESSAGE, GATHER, JOB_IN, JOB_OUT, ALL_IN, ALL_OUT, STAGE, LIMIT, CLASS = range(len(NETS))
LEAST = np.float32(LEAK)
FAST = {"contract", "reassoc", "nsz", "arcp"}
SCALE = np.float32(COUNT_SCALE)
SCALE_OF_LOGS = np.float32(LOG_SCALE)


class Workbench(NamedTuple):
    """Room for the numbers in between."""

    x: Any  # (widest, most) what goes into a net; nodes, jobs or options are columns
    a: Any  # (widest, most) its layers, by turns
    b: Any
    nodes: Any  # (embedding, most) embeddings
    jobs: Any  # (embedding, most)
    whole: Any  # (embedding, 1)
    options: Any  # (most,)
    chosen: Any  # (1,)


@njit(**INNER, fastmath=FAST)
def workbench(network, most):
    widest = 1
    for layer in range(network.layers.shape[0]):
        widest = max(widest, network.layers[layer, 1], network.layers[layer, 2])
    return Workbench(
        np.empty((widest, most), dtype=np.float32),
        np.empty((widest, most), dtype=np.float32),
        np.empty((widest, most), dtype=np.float32),
        np.zeros((network.embedding, most), dtype=np.float32),
        np.zeros((network.embedding, most), dtype=np.float32),
        np.zeros((network.embedding, 1), dtype=np.float32),
        np.empty(most, dtype=np.int64),
        np.empty(1, dtype=np.int64),
    )


@njit(**INNER, fastmath=FAST)
def _layers(network, first, last, source, count, a, b):
    """Columns of `source` through the layers first .. last of a net.  The result is in `a` or in `b`: it is returned.

    Units are rows and nodes are columns, so that the innermost loop runs over many nodes; four inputs at a time.
    """
    target, other = a, b
    for layer in range(first, last + 1):
        place, width_in, width_out = network.layers[layer, 0], network.layers[layer, 1], network.layers[layer, 2]
        weights = network.weights[place : place + width_in * width_out]
        bias = network.weights[place + width_in * width_out : place + width_in * width_out + width_out]
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
        target, other = other, target
    return source


@njit(**INNER, fastmath=FAST)
def _net(network, net, x, count, a, b):
    return _layers(network, network.first[net], network.first[net + 1] - 1, x, count, a, b)


@njit(**INNER, fastmath=FAST)
def _options_net(network, net, shared, options, count, bench):
    """Options of one decision through a net: column 0 of the first `shared` rows of `bench.x` is what they share,
    the rows after it are their own.
    """
    first, last = network.first[net], network.first[net + 1] - 1
    place, width_in, width_out = network.layers[first, 0], network.layers[first, 1], network.layers[first, 2]
    weights = network.weights[place : place + width_in * width_out]
    bias = network.weights[place + width_in * width_out : place + width_in * width_out + width_out]
    x, a = bench.x, bench.a
    for o in range(width_out):
        at = o * width_in
        alike = bias[o]
        for i in range(shared):
            alike += weights[at + i] * x[i, 0]
        row = a[o]
        for n in range(count):
            row[n] = alike
        for i in range(shared, shared + options):
            w0 = weights[at + i]
            x0 = x[i]
            for n in range(count):
                row[n] += w0 * x0[n]
        for n in range(count):
            row[n] = max(row[n], LEAST * row[n])
    return _layers(network, first + 1, last, a, count, bench.b, a)


@njit(**INNER, fastmath=FAST)
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


@njit(**INNER, fastmath=FAST)
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


@njit(**INNER, fastmath=FAST)
def _take(source, count, width, target):
    """The first rows and columns of one array into another."""
    for o in range(width):
        for n in range(count):
            target[o, n] = source[o, n]


@njit(**INNER, fastmath=FAST)
def _embed(network, nodes, node_job, first, last, first_job, num_jobs, edges, first_edge, last_edge, bench):
    """Embeddings of a world's nodes, jobs and of the whole, each a column, into the bench."""
    count, features, width = last - first, nodes.shape[1], network.embedding
    x, a, b, E, Y, Z = bench.x, bench.a, bench.b, bench.nodes, bench.jobs, bench.whole
    for n in range(count):
        for f in range(features):
            x[f, n] = nodes[first + n, f]
    _take(_net(network, PREPARE, x, count, a, b), count, width, E)
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
        result = _net(network, MESSAGE, x, senders, a, b)
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
        result = _net(network, GATHER, x, receivers, a, b)
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
    result = _net(network, JOB_IN, x, count, a, b)
    Y[:, :num_jobs] = 0.0
    for n in range(count):
        j = node_job[first + n] - first_job
        for o in range(width):
            Y[o, j] += result[o, n]
    _take(_net(network, JOB_OUT, Y, num_jobs, a, b), num_jobs, width, Y)
    result = _net(network, ALL_IN, Y, num_jobs, a, b)
    for o in range(width):
        total = np.float32(0.0)
        for j in range(num_jobs):
            total += result[o, j]
        Z[o, 0] = total
    _take(_net(network, ALL_OUT, Z, 1, a, b), 1, width, Z)


@njit(**INNER, fastmath=FAST)
def _fill_whole(network, nodes, row, n, j, bench, to):
    """Features of a node, its embedding, its job's and the system's, into column `to` of x; returns the width."""
    features, width = nodes.shape[1], network.embedding
    for f in range(features):
        bench.x[f, to] = nodes[row, f]
    for o in range(width):
        bench.x[features + o, to] = bench.nodes[o, n]
        bench.x[features + width + o, to] = bench.jobs[o, j]
        bench.x[features + 2 * width + o, to] = bench.whole[o, 0]
    return features + 3 * width


@njit(**INNER, fastmath=FAST)
def _fill_chosen(network, nodes, row, n, j, bench):
    """What all limits and classes of a stage are scored from, into column 0 of x; returns the width."""
    if network.limit_sees_stage:
        return _fill_whole(network, nodes, row, n, j, bench, 0)
    width = network.embedding
    for o in range(width):
        bench.x[o, 0] = bench.jobs[o, j]
        bench.x[width + o, 0] = bench.whole[o, 0]
    return 2 * width


@njit(**INNER, fastmath=FAST)
def choose_one(
    network, rows, first, last, first_job, num_jobs, first_edge, last_edge, offered, classes, luck, out, bench
):
    """The decision in one world: node row, class and limit into `out`, which stays as it is if there is nothing to
    choose.  Returns the logarithm of its probability.
    """
    nodes = rows.nodes
    if network.graph:
        _embed(
            network, nodes, rows.node_job, first, last, first_job, num_jobs, rows.edges, first_edge, last_edge, bench
        )
    # the stage
    count = 0
    for row in range(first, last):
        if rows.valid[row]:
            _fill_whole(network, nodes, row, row - first, rows.node_job[row] - first_job, bench, count)
            bench.options[count] = row
            count += 1
    if count == 0:
        return 0.0
    result = _net(network, STAGE, bench.x, count, bench.a, bench.b)
    log_p = _draw(result[0], count, luck[0], bench.chosen)
    row = bench.options[bench.chosen[0]]
    out[0] = row
    width = _fill_chosen(network, nodes, row, row - first, rows.node_job[row] - first_job, bench)
    # the executor class
    room = offered[0]
    if offered.shape[0] > 1:
        count = room = 0
        for c in range(offered.shape[0]):
            if rows.fits[row, c] and offered[c] > 0:
                bench.x[width, count] = classes[c, 0]
                bench.x[width + 1, count] = classes[c, 1]
                bench.x[width + 2, count] = offered[c] * SCALE
                bench.x[width + 3, count] = classes[c, 1] - rows.memory[row]
                bench.options[count] = c
                count += 1
                room += offered[c]
        bench.x[width, count] = 0.0
        bench.x[width + 1, count] = 0.0
        bench.x[width + 2, count] = room * SCALE
        bench.x[width + 3, count] = 0.0
        bench.options[count] = -1
        count += 1
        result = _options_net(network, CLASS, width, CLASS_FEATURES, count, bench)
        log_p += _draw(result[0], count, luck[1], bench.chosen)
        out[1] = bench.options[bench.chosen[0]]
        if out[1] >= 0:
            room = offered[out[1]]
    # the limit
    count = min(room, rows.unclaimed[row])
    held = rows.held[row]
    if not network.limits:
        out[2] = held + count
        return log_p
    limit_columns = np.empty(LIMIT_FEATURES, dtype=np.float32)
    for g in range(1, count + 1):
        limit_columns[0] = (held + g) * SCALE
        limit_columns[1] = g * SCALE
        limit_columns[2] = np.log(np.float32(held + g)) * SCALE_OF_LOGS
        limit_columns[3] = np.log(np.float32(g)) * SCALE_OF_LOGS
        limit_columns[4] = np.float32(g) / np.float32(count)
        for f in range(network.limit_columns):
            bench.x[width + f, g - 1] = limit_columns[f]
    result = _options_net(network, LIMIT, width, network.limit_columns, count, bench)
    log_p += _draw(result[0], count, luck[2], bench.chosen)
    out[2] = held + bench.chosen[0] + 1
    return log_p


@njit(**OPTIONS, fastmath=FAST)
def choose_all(network, rows, node_ptr, job_ptr, edge_ptr, offered, classes, luck, out, log_probability):
    """A decision in each world, as `choose_one` takes it."""
    worlds = node_ptr.shape[0] - 1
    most = 1
    for w in range(worlds):
        most = max(most, node_ptr[w + 1] - node_ptr[w], job_ptr[w + 1] - job_ptr[w], offered[w].sum())
    bench = workbench(network, most + 1)  # as many classes as executors on offer, or any
    for w in range(worlds):
        if node_ptr[w] < node_ptr[w + 1]:
            log_probability[w] = choose_one(
                network,
                rows,
                node_ptr[w],
                node_ptr[w + 1],
                job_ptr[w],
                job_ptr[w + 1] - job_ptr[w],
                edge_ptr[w],
                edge_ptr[w + 1],
                offered[w],
                classes,
                luck[w],
                out[w],
                bench,
            )


assert LIMIT_FEATURES == 5 and CLASS_FEATURES == 4  # what `choose_one` writes
