"""What hosts have room for while nothing stands on them, by one tolerance for everybody who asks."""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import BANDWIDTH, Floats, Ints

TOLERANCE = 1e-9  # of a demand, as in the kernels that put workers on hosts
MOST = 2.0**31  # of containers that take next to nothing


def held(capacity: Floats, demand: Floats) -> Floats:
    """(J, H) containers of each demand (J, R) that each host (H, R) holds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(demand[:, None] > 0, capacity[None] / demand[:, None], np.inf)  # (J, H, R)
    count: Floats = np.floor(times.min(axis=2) * (1 + TOLERANCE) + TOLERANCE)
    return np.minimum(count, MOST)


def workers_served(workers: Floats, servers: Floats, worker_demand: Floats, server_demand: Floats) -> Ints:
    """(J,) of so many workers, those whose bandwidth so many parameter servers cover; demands: (J, R)."""
    b, server_b = worker_demand[:, BANDWIDTH], server_demand[:, BANDWIDTH]
    with np.errstate(divide="ignore", invalid="ignore"):
        served = np.where(b > 0, np.floor(servers * server_b / b + TOLERANCE), np.inf)
    return np.minimum(np.minimum(workers, served), MOST).astype(np.int64)
