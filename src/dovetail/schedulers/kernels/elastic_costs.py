"""What it costs to run d workers of a job in one slot, for every d: the slot sub-routine of OASiS, compiled.

Workers of a job are alike, so the cheapest places are those on the hosts with the lowest price of one worker, as many
on each as fit; likewise the parameter servers, of which d workers need ceil(d b / B).
"""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import servers_needed
from dovetail.schedulers.kernels.jit import entry, kernel

ROOM = 1e-9  # against rounding: a worker that fits exactly, fits


@kernel
def places(price, free, demand, most, unit, fit):
    """Price of one worker on each host and how many fit, in order of price; returns the order.

    price, free: (H, R), demand: (R,); writes unit: (H,) and fit: (H,), at most `most`.
    """
    hosts, resources = price.shape
    for h in range(hosts):
        cost = 0.0
        room = float(most)
        for r in range(resources):
            if demand[r] > 0.0:
                cost += price[h, r] * demand[r]
                room = min(room, free[h, r] / demand[r] + ROOM)
        unit[h] = cost
        fit[h] = max(int(np.floor(room)), 0)
    return np.argsort(unit, kind="mergesort")


@kernel
def costs_of_places(price, free, demand, most, unit, fit, out):
    """out[n] = cost of n of them on the cheapest places; returns how many there is room for."""
    order = places(price, free, demand, most, unit, fit)
    placed = 0
    out[0] = 0.0
    for h in order:
        for _ in range(min(fit[h], most - placed)):
            out[placed + 1] = out[placed] + unit[h]
            placed += 1
        if placed == most:
            break
    return placed


needed = kernel(servers_needed)


@kernel
def servers_for(workers, worker_b, server_b):
    return int(needed(workers, worker_b, server_b))


@entry
def slot_costs(
    worker_price, server_price, worker_free, server_free, worker_demand, server_demand, most, first, last, out, room
):
    """out[s, d] = least cost of d workers and their servers in slot s, first <= s < last; room[s] = the largest d."""
    resources = worker_demand.size
    worker_b, server_b = worker_demand[resources - 1], server_demand[resources - 1]
    most_servers = servers_for(most, worker_b, server_b)
    unit_w, unit_s = np.empty(worker_price.shape[1]), np.empty(server_price.shape[1])
    fit_w = np.empty(worker_price.shape[1], dtype=np.int64)
    fit_s = np.empty(server_price.shape[1], dtype=np.int64)
    servers = np.empty(most_servers + 1)
    for s in range(first, last):
        workers = costs_of_places(worker_price[s], worker_free[s], worker_demand, most, unit_w, fit_w, out[s])
        if workers == 0:
            room[s] = 0
            continue
        there = costs_of_places(
            server_price[s],
            server_free[s],
            server_demand,
            servers_for(workers, worker_b, server_b),
            unit_s,
            fit_s,
            servers,
        )
        d = 1
        while d <= workers:
            serving = servers_for(d, worker_b, server_b)
            if serving > there:
                break
            out[s, d] += servers[serving]
            d += 1
        room[s] = d - 1


@kernel
def put(price, free, demand, amount, unit, fit, slot, role, out, rows):
    """Rows for so many of one role on the cheapest places of a slot; returns how many rows, -1 if they do not fit."""
    for h in places(price, free, demand, amount, unit, fit):
        here = min(fit[h], amount)
        if here > 0:
            out[0, rows], out[1, rows], out[2, rows], out[3, rows] = slot, role, h, here
            rows += 1
            amount -= here
        if amount == 0:
            return rows
    return -1


@entry
def place(worker_price, server_price, worker_free, server_free, worker_demand, server_demand, taken, first_slot, out):
    """Rows (slot, role, host, amount) of the cheapest places for taken[s] workers in slot s, and for their servers.

    out: (4, rows); returns the number of rows, or -1 if they do not fit.
    """
    last = worker_demand.size - 1
    unit_w, unit_s = np.empty(worker_price.shape[1]), np.empty(server_price.shape[1])
    fit_w = np.empty(worker_price.shape[1], dtype=np.int64)
    fit_s = np.empty(server_price.shape[1], dtype=np.int64)
    rows = 0
    for s in range(taken.size):
        if taken[s] == 0:
            continue
        servers = servers_for(taken[s], worker_demand[last], server_demand[last])
        slot = first_slot + s
        rows = put(worker_price[s], worker_free[s], worker_demand, taken[s], unit_w, fit_w, slot, 0, out, rows)
        if rows >= 0:
            rows = put(server_price[s], server_free[s], server_demand, servers, unit_s, fit_s, slot, 1, out, rows)
        if rows < 0:
            return -1
    return rows


@entry
def book(slot, role, host, amount, which, sign, first_slot, demand, capacity, low, log_range, profile, free, price):
    """Take the rows of one role (`which`) from what is free, or give them back (`sign` -1), and set prices anew."""
    for i in range(slot.size):
        if role[i] != which:
            continue
        s, h = slot[i] - first_slot, host[i]
        for r in range(demand.size):
            free[s, h, r] -= sign * amount[i] * demand[r]
            if capacity[h, r] > 0.0:
                taken = 1.0 - free[s, h, r] / capacity[h, r]
                price[s, h, r] = low * np.exp(log_range[r] * taken) * profile[s]
