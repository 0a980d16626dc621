"""Whether containers fit hosts of the same kind, each wholly on one: first fit, and where that fails, exactly."""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import Floats, Ints
from dovetail.schedulers.optimise.program import INFINITY, Limits, Program


def pack(capacity: Floats, demand: Floats, counts: Ints, time_s: float) -> Ints | None:
    """(J, hosts) how many containers of each job on each host; None if they do not fit, or nothing is known in time.

    capacity: (hosts, R), demand: (J, R), counts: (J,).
    """
    first = _first_fit(capacity, demand, counts)
    return first if first is not None else _exactly(capacity, demand, counts, time_s)


def _first_fit(capacity: Floats, demand: Floats, counts: Ints) -> Ints | None:
    """Large containers first."""
    from dovetail.schedulers.kernels.elastic_placing import place_in_groups

    placed = np.zeros((len(counts), len(capacity)), dtype=np.int64)
    left, free = counts.reshape(-1, 1).copy(), capacity.copy()
    size = (demand / np.maximum(capacity.sum(axis=0), 1e-300)).max(axis=1)
    place_in_groups(
        free, demand, np.zeros(len(capacity), dtype=np.int64), np.argsort(-size, kind="stable"), left, placed
    )
    return None if left.any() else placed


def _exactly(capacity: Floats, demand: Floats, counts: Ints, time_s: float) -> Ints | None:
    jobs = np.flatnonzero(counts)
    hosts, resources = capacity.shape
    program = Program()
    upper = np.repeat(counts[jobs], hosts).astype(np.float64)
    columns = program.add_columns(upper.size, upper=upper, integer=True).reshape(len(jobs), hosts)
    wanted = counts[jobs].astype(np.float64)
    program.add_rows(len(jobs), (np.arange(len(jobs))[:, None], columns, 1.0), lower=wanted, upper=wanted)
    row = np.arange(hosts * resources).reshape(1, hosts, resources)
    term = (row, columns[:, :, None], demand[jobs][:, None, :])
    program.add_rows(hosts * resources, term, lower=-INFINITY, upper=(capacity * (1 + 1e-9)).ravel())
    answer = program.solve(Limits(time_s=time_s))
    if answer.values is None:
        return None
    placed = np.zeros((len(counts), hosts), dtype=np.int64)
    placed[jobs] = np.rint(answer.values).astype(np.int64).reshape(len(jobs), hosts)
    return placed
