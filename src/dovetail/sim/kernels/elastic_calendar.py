"""The calendar of the elastic family, compiled: what is free on every host in every slot, and who takes it.

Arrays: `worker_free` (T, H, R) and `server_free` (T, K, R); rows of a plan are (slot, role, host, amount).
"""

from __future__ import annotations

from dovetail.sim.kernels.jit import entry

TOLERANCE = 1e-6  # of a capacity: sums of demands in another order differ by rounding


@entry
def take(worker_free, server_free, slot, role, host, amount, worker_demand, server_demand, sign):
    """Book the rows (`sign` 1), or give them back (-1)."""
    resources = worker_demand.size
    for i in range(slot.size):
        taken = sign * amount[i]
        if role[i] == 0:
            for r in range(resources):
                worker_free[slot[i], host[i], r] -= taken * worker_demand[r]
        else:
            for r in range(resources):
                server_free[slot[i], host[i], r] -= taken * server_demand[r]


@entry
def overdrawn(worker_free, server_free, worker_capacity, server_capacity, slot, role, host):
    """The first row on whose host some resource is overdrawn, as row * R + resource; -1 if there is none."""
    resources = worker_capacity.shape[1]
    for i in range(slot.size):
        for r in range(resources):
            if role[i] == 0:
                free, capacity = worker_free[slot[i], host[i], r], worker_capacity[host[i], r]
            else:
                free, capacity = server_free[slot[i], host[i], r], server_capacity[host[i], r]
            if free < -TOLERANCE * (1.0 + capacity):
                return i * resources + r
    return -1


@entry
def tally(slot, role, amount, first_slot, workers, servers):
    """Add up workers and parameter servers by slot, counted from `first_slot`."""
    for i in range(slot.size):
        if role[i] == 0:
            workers[slot[i] - first_slot] += amount[i]
        else:
            servers[slot[i] - first_slot] += amount[i]
