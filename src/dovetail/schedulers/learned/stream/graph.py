"""The operators of a job set as the arrays that networks read: who is near whom."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.core.stream import Ints, StreamInfo

Singles = NDArray[np.float32]


class Graph(NamedTuple):
    """O operators of J jobs; up to M operators are near one."""

    above: Singles  # (O, O) row i: the mean over those that feed i
    below: Singles  # (O, O) row i: the mean over those that i feeds
    near: Ints  # (O, M) operators within some hops downstream, the nearest first, then i itself
    near_there: Singles  # (O, M) 1: one of them; 0: to fill up
    member: Singles  # (J, O) row j: the mean over the operators of job j
    job: Ints  # (O,)


def graph_of(info: StreamInfo, hops: int, neighbours: int) -> Graph:
    """`neighbours`: the nearest of them, at most; the arrays are as wide as whoever has the most needs."""
    count, jobs = len(info.operator_job), len(info.job_name)
    feeds = np.zeros((count, count), np.float32)
    feeds[info.edge_from, info.edge_to] = 1.0
    found = [_downstream(feeds, operator, hops)[:neighbours] for operator in range(count)]
    most = max(max(map(len, found)), 1)
    near = np.tile(np.arange(count)[:, None], (1, most))
    there = np.zeros((count, most), np.float32)
    for operator, others in enumerate(found):
        near[operator, : len(others)], there[operator, : len(others)] = others, 1.0
    member = np.zeros((jobs, count), np.float32)
    member[info.operator_job, np.arange(count)] = 1.0
    return Graph(_means(feeds.T), _means(feeds), near, there, _means(member), np.asarray(info.operator_job))


def _downstream(feeds: Singles, operator: int, hops: int) -> list[int]:
    """Breadth first."""
    seen, edge = [], [operator]
    for _ in range(hops):
        edge = [int(k) for k in np.flatnonzero(feeds[edge].any(axis=0)) if k not in seen] if edge else []
        seen += edge
    return seen


def _means(rows: Singles) -> Singles:
    found: Singles = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    return found
