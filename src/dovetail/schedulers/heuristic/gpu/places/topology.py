"""As few machines as possible, in as few racks as possible: what slows a gang down least.

A gang that one machine can hold goes to the fullest such machine.  One that a rack can hold goes to the rack where it
takes the fewest machines; among those to the one with the least room.  Otherwise racks are filled up, those with the
most room first, until one rack can hold the rest.  Within a rack machines with the most room come first, and the last
workers go to the fullest machine that holds them all.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Ints, Place
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.room import Gang, Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class Topology(PlacePart):
    WHY = Place.CLOSE_TOGETHER
    CODE = PlaceCode.TOPOLOGY

    def gang(self, room: Room, need: Need, job: int) -> Gang | None:
        chosen = choose(room, room.capacity(need), need.workers)
        if chosen is None:
            return None
        devices = [room.take(machine, need) for machine in chosen]
        return Gang(chosen, devices, -float(len(set(chosen))))


def choose(room: Room, capacity: Ints, workers: int) -> list[int] | None:
    """A machine for each worker; None if there is no room for all."""
    if int(capacity.sum()) < workers:
        return None
    alone = fullest_that_holds(room, capacity, workers, range(len(capacity)))
    if alone >= 0:
        return [alone] * workers
    racks = [
        np.flatnonzero(room.info.machine_rack == rack).tolist() for rack in range(room.info.machine_rack.max() + 1)
    ]
    chosen: list[int] = []
    left = workers
    while left > 0:
        sizes = [int(capacity[rack].sum()) for rack in racks]
        holding = [number for number, size in enumerate(sizes) if size >= left]
        if holding:
            fills = {number: fill(room, capacity, left, racks[number]) for number in holding}
            best = min(holding, key=lambda number: (len(set(fills[number])), sizes[number], number))
            return chosen + fills[best]
        largest = max(range(len(racks)), key=lambda number: (sizes[number], -number))
        chosen += fill(room, capacity, sizes[largest], racks[largest])
        left -= sizes[largest]
        racks[largest] = []
    return chosen


def fill(room: Room, capacity: Ints, workers: int, machines: list[int]) -> list[int]:
    """So many workers on these machines, which have room for them."""
    chosen: list[int] = []
    left, unused = workers, list(machines)
    while left > 0:
        last = fullest_that_holds(room, capacity, left, unused)
        if last >= 0:
            return chosen + [last] * left
        largest = min(unused, key=lambda machine: (-capacity[machine], room.gpus[machine], machine))
        chosen += [largest] * int(capacity[largest])
        left -= int(capacity[largest])
        unused.remove(largest)
    return chosen


def fullest_that_holds(room: Room, capacity: Ints, workers: int, machines: list[int] | range) -> int:
    """The machine with the fewest free GPUs of those with room for all of them; -1 if there is none."""
    holding = [machine for machine in machines if capacity[machine] >= workers]
    return min(holding, key=lambda machine: (room.gpus[machine], machine)) if holding else -1
