"""Workers of a gang on machines, compiled: the twins of `heuristic/gpu/places`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, Ints
from dovetail.schedulers.kernels.gpu_codes import GOLDEN, MIX1, MIX2, MOST_WORKERS, SECOND, PlaceCode
from dovetail.schedulers.kernels.gpu_room import TOLERANCE, Need, capacity, fits, share_device, take, take_back
from dovetail.schedulers.kernels.jit import bare

FIRST_FIT, BEST_FIT, LOAD_BALANCE = int(PlaceCode.FIRST_FIT), int(PlaceCode.BEST_FIT), int(PlaceCode.LOAD_BALANCE)
LEAST_ALLOCATED, MOST_ALLOCATED = int(PlaceCode.LEAST_ALLOCATED), int(PlaceCode.MOST_ALLOCATED)
PACK, FGD, TOPOLOGY = int(PlaceCode.PACK), int(PlaceCode.FGD), int(PlaceCode.TOPOLOGY)
ALIGNMENT, RANDOM, FASTEST = int(PlaceCode.ALIGNMENT), int(PlaceCode.RANDOM), int(PlaceCode.FASTEST)
FAILED = -np.inf


class Placing(NamedTuple):
    """How to place, and what that needs to know."""

    code: int
    most_gpus: float  # of a machine
    most_cpus: float
    most_memory: float
    key: int  # of random numbers
    count: int
    classes: Ints  # (C, 5) demands seen: thousandths of a GPU, processors, GB, types, how many
    seen: int  # rows of them in use
    types: int
    speed: Floats  # (K * T,) of each kind on each type
    score: Floats  # (M,) scratch, as all that follow
    free: Ints  # (M,)
    spare: Ints  # (M,)
    racks: Ints  # (racks,)


@bare
def drawn(key, count, place):
    h = np.uint64(key) + np.uint64(count) * np.uint64(GOLDEN) + np.uint64(place) * np.uint64(SECOND)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(MIX1)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(MIX2)
    h = h ^ (h >> np.uint64(31))
    return np.float64(h >> np.uint64(11)) * 2.0**-53


@bare
def aligned(room, m, need):
    total = 0.0
    if room.has_gpus[m] > 0.0:
        total = total + (need.gpus / room.has_gpus[m]) * (room.gpus[m] / room.has_gpus[m])
    if room.has_cpus[m] > 0.0:
        total = total + (need.cpus / room.has_cpus[m]) * (room.cpus[m] / room.has_cpus[m])
    if room.has_memory[m] > 0.0:
        total = total + (need.memory / room.has_memory[m]) * (room.memory[m] / room.has_memory[m])
    return total


@bare
def free_part(room, m, need):
    total, count = 0.0, 0.0
    if room.has_gpus[m] > 0.0:
        total = total + (room.gpus[m] - need.gpus) / room.has_gpus[m]
        count += 1.0
    if room.has_cpus[m] > 0.0:
        total = total + (room.cpus[m] - need.cpus) / room.has_cpus[m]
        count += 1.0
    if room.has_memory[m] > 0.0:
        total = total + (room.memory[m] - need.memory) / room.has_memory[m]
        count += 1.0
    return total / max(count, 1.0)


@bare
def fragmentation(room, m, need, placing, after, gives):
    """F of the machine times the jobs counted; `after`: with a worker there, on the devices of the mask `gives`."""
    devices = room.device.shape[1]
    gpus, cpus, memory, whole = room.gpus[m], room.cpus[m], room.memory[m], 0
    if after:
        gpus, cpus, memory = gpus - need.gpus, cpus - need.cpus, memory - need.memory
    share = min(need.gpus, 1.0)
    for d in range(devices):
        free = room.device[m, d]
        if (gives >> d) & 1:
            free = free - share
        if free >= 1.0 - TOLERANCE:
            whole += 1
    total = 0.0
    for c in range(placing.seen):
        wants = placing.classes[c, 0] / 1000.0
        runs = (
            wants > 0.0
            and (placing.classes[c, 3] >> room.type[m]) & 1 == 1
            and cpus + TOLERANCE >= placing.classes[c, 1]
            and memory + TOLERANCE >= placing.classes[c, 2]
            and (wants < 1.0 or whole >= wants)
        )
        useless = 0.0
        if runs:
            found = wants >= 1.0
            for d in range(devices):
                free = room.device[m, d]
                if (gives >> d) & 1:
                    free = free - share
                if free + TOLERANCE < min(wants, 1.0):
                    useless = useless + free
                else:
                    found = True
            runs = found
        total = total + placing.classes[c, 4] * (useless if runs else gpus)
    return total


@bare
def devices_given(room, m, need):
    """A bit for each device that a worker would get."""
    devices = 0
    if need.gpus >= 1.0:
        left = int(need.gpus)
        for d in range(room.device.shape[1]):
            if left > 0 and room.device[m, d] >= 1.0 - TOLERANCE:
                devices |= 1 << d
                left -= 1
    elif need.gpus > 0.0:
        devices = 1 << share_device(room, m, need.gpus)
    return devices


@bare
def score(room, m, need, placing):
    """Of a machine on which the worker fits."""
    if placing.code == PACK:
        return -room.gpus[m]
    if placing.code == LOAD_BALANCE:
        return room.gpus[m]
    if placing.code == BEST_FIT:
        left_over = (
            (room.gpus[m] - need.gpus) / placing.most_gpus
            + (room.cpus[m] - need.cpus) / placing.most_cpus
            + (room.memory[m] - need.memory) / placing.most_memory
        )
        return -left_over
    if placing.code == LEAST_ALLOCATED:
        return free_part(room, m, need)
    if placing.code == MOST_ALLOCATED:
        return -free_part(room, m, need)
    if placing.code == ALIGNMENT:
        return aligned(room, m, need)
    if placing.code == FGD:
        counted = 0
        for c in range(placing.seen):
            counted += placing.classes[c, 4]
        before = fragmentation(room, m, need, placing, False, 0)
        after = fragmentation(room, m, need, placing, True, devices_given(room, m, need))
        return (before - after) / max(1, counted)
    return -float(m)


@bare
def place_gang(room, need, job, placing, undo, machines):
    """All workers, into `machines` and taken from the room; False, and nothing is taken, if they do not fit.

    Also the score of the first worker's machine.
    """
    if placing.code == TOPOLOGY:
        return place_close_together(room, need, placing, undo, machines)
    if placing.code == FASTEST:
        return place_fastest(room, need, placing, undo, machines)
    if placing.code == RANDOM:
        return place_anywhere(room, need, job, placing, undo, machines)
    if placing.code == FIRST_FIT:
        return place_first(room, need, undo, machines)
    if need.workers == 1 and placing.code != FGD:
        return place_one(room, need, placing, undo, machines)
    best = -1
    for m in range(room.up.size):
        placing.score[m] = score(room, m, need, placing) if fits(room, m, need) else FAILED
        if placing.score[m] > FAILED and (best < 0 or placing.score[m] > placing.score[best]):
            best = m
    if best < 0:
        return False, 0.0
    affinity = placing.score[best]
    for worker in range(need.workers):
        if worker > 0:
            last = machines[worker - 1]
            placing.score[last] = score(room, last, need, placing) if fits(room, last, need) else FAILED
            best = 0
            for m in range(1, room.up.size):
                if placing.score[m] > placing.score[best]:
                    best = m
            if placing.score[best] == FAILED:
                take_back(room, undo, worker)
                return False, 0.0
        machines[worker] = best
        take(room, best, need, undo, worker)
    return True, affinity


@bare
def place_one(room, need, placing, undo, machines):
    """A single worker; whether it fits is asked only of machines that would be better than the best so far."""
    best, most = -1, FAILED
    for m in range(room.up.size):
        found = -room.gpus[m] if placing.code == PACK else score(room, m, need, placing)
        if found > most and fits(room, m, need):
            best, most = m, found
    if best < 0:
        return False, 0.0
    machines[0] = best
    take(room, best, need, undo, 0)
    return True, most


@bare
def place_first(room, need, undo, machines):
    m = 0
    for worker in range(need.workers):
        while m < room.up.size and not fits(room, m, need):
            m += 1
        if m == room.up.size:
            take_back(room, undo, worker)
            return False, 0.0
        machines[worker] = m
        take(room, m, need, undo, worker)
    return True, -float(machines[0])


@bare
def place_anywhere(room, need, job, placing, undo, machines):
    for worker in range(need.workers):
        count = 0
        for m in range(room.up.size):
            if fits(room, m, need):
                placing.free[count] = m
                count += 1
        if count == 0:
            take_back(room, undo, worker)
            return False, 0.0
        chosen = placing.free[int(drawn(placing.key, placing.count, job * MOST_WORKERS + worker) * count)]
        machines[worker] = chosen
        take(room, chosen, need, undo, worker)
    return True, 1.0


@bare
def fullest_that_holds(room, free, workers, rack):
    """The machine of the rack (-1: any) with the fewest free GPUs of those with room for all of them; or -1."""
    best = -1
    for m in range(free.size):
        if free[m] >= workers and (rack < 0 or room.rack[m] == rack) and (best < 0 or room.gpus[m] < room.gpus[best]):
            best = m
    return best


@bare
def fill_rack(room, free, workers, rack, machines):
    """So many workers on machines of the rack, into `machines`; how many machines.  `free` is used up."""
    placed, used = 0, 0
    while placed < workers:
        chosen = fullest_that_holds(room, free, workers - placed, rack)
        if chosen < 0:
            for m in range(free.size):
                if room.rack[m] == rack and free[m] > 0:
                    larger = chosen < 0 or free[m] > free[chosen]
                    if larger or (free[m] == free[chosen] and room.gpus[m] < room.gpus[chosen]):
                        chosen = m
        count = min(free[chosen], workers - placed)
        for worker in range(placed, placed + count):
            machines[worker] = chosen
        free[chosen] = 0
        placed += count
        used += 1
    return used


@bare
def place_close_together(room, need, placing, undo, machines):
    total = 0
    free = placing.free
    for m in range(room.up.size):
        free[m] = capacity(room, m, need)
        total += free[m]
    if total < need.workers:
        return False, 0.0
    alone = fullest_that_holds(room, free, need.workers, -1)
    if alone >= 0:
        for worker in range(need.workers):
            machines[worker] = alone
            take(room, alone, need, undo, worker)
        return True, -1.0
    sizes = placing.racks
    for rack in range(sizes.size):
        sizes[rack] = 0
    for m in range(room.up.size):
        sizes[room.rack[m]] += free[m]
    placed, used = 0, 0
    while placed < need.workers:
        left = need.workers - placed
        best, fewest = -1, 0
        for rack in range(sizes.size):
            if sizes[rack] >= left:
                for m in range(free.size):
                    placing.spare[m] = free[m]
                count = fill_rack(room, placing.spare, left, rack, machines[placed:])
                if best < 0 or count < fewest or (count == fewest and sizes[rack] < sizes[best]):
                    best, fewest = rack, count
        if best < 0:
            best = 0
            for rack in range(1, sizes.size):
                if sizes[rack] > sizes[best]:
                    best = rack
            left = sizes[best]
        used += fill_rack(room, free, left, best, machines[placed:])
        placed += left
        sizes[best] = 0
    for worker in range(need.workers):
        take(room, machines[worker], need, undo, worker)
    return True, -float(used)


@bare
def place_fastest(room, need, placing, undo, machines):
    """Type by type, the fastest first; then on all of them."""
    speed = placing.speed[need.kind * placing.types : (need.kind + 1) * placing.types]
    tried = 0
    for _ in range(placing.types):
        best = -1
        for t in range(placing.types):
            if (need.types & ~tried) >> t & 1 == 1 and (best < 0 or speed[t] > speed[best]):
                best = t
        if best < 0:
            break
        tried |= 1 << best
        alone = Need(need.gpus, need.cpus, need.memory, 1 << best, need.workers, need.kind)
        fit, _ = place_close_together(room, alone, placing, undo, machines)
        if fit:
            return True, speed[best]
    fit, _ = place_close_together(room, need, placing, undo, machines)
    slowest = np.inf
    if fit:
        for worker in range(need.workers):
            slowest = min(slowest, speed[room.type[machines[worker]]])
    return fit, slowest
