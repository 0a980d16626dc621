"""Every number that a learned policy of the gpu family sees, compiled; `gpu` says what each of them means."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from dovetail.core.gpu import Bools, Floats, GpuInfo, GpuView, Ints
from dovetail.core.stale_code import forget_stale_code

OPTIONS = {"cache": True, "nogil": True}
MINUTE_S = 60.0
ROUND_OFF = 1e-9
MANY = 1_000_000  # workers

forget_stale_code(Path(__file__).parent)


class Known(NamedTuple):
    """What does not change while a cluster is scheduled."""

    type: Ints  # (M,)
    rack: Ints  # (M,)
    gpus: Floats  # (M,) at least 1
    cpus: Floats  # (M,) at least 1
    memory: Floats  # (M,) at least 1
    price: Floats  # (M,) of the dearest
    rack_gpus: Floats  # (racks,) at least 1
    total: Floats  # (3,) GPUs, processors, memory
    speed: Floats  # (K, T)
    network: Floats  # (K,)
    devices: Floats  # (M,) GPUs, as they are
    measured: Floats  # (1,) 1: speeds of running jobs are measured, 0: they are guessed

    @classmethod
    def of(cls, info: GpuInfo) -> Known:
        gpus = info.machine_gpus.astype(np.float64)
        price = info.type_price[info.machine_type]
        racks = int(info.machine_rack.max()) + 1
        return cls(
            type=np.ascontiguousarray(info.machine_type, np.int64),
            rack=np.ascontiguousarray(info.machine_rack, np.int64),
            gpus=np.maximum(gpus, 1.0),
            cpus=np.maximum(info.machine_cpus, 1.0),
            memory=np.maximum(info.machine_memory, 1.0),
            price=price / max(float(info.type_price.max()), 1e-9),
            rack_gpus=np.maximum(np.bincount(info.machine_rack, gpus, minlength=racks), 1.0),
            total=np.array([max(gpus.sum(), 1.0), info.machine_cpus.sum(), info.machine_memory.sum()]),
            speed=np.ascontiguousarray(info.kind_speed, np.float64),
            network=np.ascontiguousarray(info.kind_network, np.float64),
            devices=gpus,
            measured=np.array([1.0 if info.speed_is_measured else 0.0]),
        )


class Room(NamedTuple):
    """What is free; written to while the jobs of one answer take their places one after another."""

    up: Bools  # (M,)
    device: Floats  # (M, D)
    whole: Ints  # (M,)
    cpus: Floats  # (M,)
    memory: Floats  # (M,)

    @classmethod
    def of(cls, view: GpuView) -> Room:
        return cls(
            view.machine_up.copy(),
            view.device_free.copy(),
            view.machine_whole_free.copy(),
            view.machine_cpus_free.copy(),
            view.machine_memory_free.copy(),
        )


class Queue(NamedTuple):
    """The queue as a whole; `passed` is written to while its jobs are gone through."""

    wanted: float  # GPUs that all waiting jobs want together
    next_s: float  # until the first running job is expected to end; 0: none runs
    run_left_s: Floats  # (R,) until each is expected to end
    run_gpus: Floats  # (R,) that each holds
    passed: Floats  # (1,) GPUs of the largest job that was gone through and did not start

    @classmethod
    def of(cls, view: GpuView) -> Queue:
        wanted, next_s, left_s, gpus = measure_queue(view)
        return cls(wanted, next_s, left_s, gpus, np.zeros(1))


@njit(**OPTIONS)
def _beside_gpus(cpus_there, cpus, memory_there, memory):
    """Workers that processors and memory are enough for."""
    most = MANY
    if cpus > 0.0:
        most = min(most, int(np.floor((cpus_there + ROUND_OFF) / cpus)))
    if memory > 0.0:
        most = min(most, int(np.floor((memory_there + ROUND_OFF) / memory)))
    return most


@njit(**OPTIONS)
def workers_that_fit(room, known, gpus, cpus, memory, types, kind, out):
    """(M,) workers of these demands that each machine takes."""
    for m in range(out.shape[0]):
        out[m] = 0
        if not room.up[m] or known.speed[kind, known.type[m]] <= 0.0 or (types >= 0 and not types >> known.type[m] & 1):
            continue
        most = _beside_gpus(room.cpus[m], cpus, room.memory[m], memory)
        if gpus >= 1.0:
            most = min(most, room.whole[m] // int(gpus + ROUND_OFF))
        elif gpus > 0.0:
            shares = 0
            for d in range(room.device.shape[1]):
                shares += int(np.floor((room.device[m, d] + ROUND_OFF) / gpus))
            most = min(most, shares)
        out[m] = most


@njit(**OPTIONS)
def all_that_fit(view, room, known):
    """(J, M) of every waiting job; and (J,) whether all its workers find a place."""
    jobs, machines = view.job_id.shape[0], known.type.shape[0]
    fits = np.empty((jobs, machines), np.int64)
    possible = np.zeros(jobs, np.bool_)
    for j in range(jobs):
        demands = (view.job_gpus[j], view.job_cpus[j], view.job_memory[j], view.job_types[j], view.job_kind[j])
        workers_that_fit(room, known, *demands, fits[j])
        places = 0
        for m in range(machines):
            places += min(fits[j, m], view.job_workers[j])
        possible[j] = places >= view.job_workers[j]
    return fits, possible


@njit(**OPTIONS)
def take(room, machine, gpus, cpus, memory):
    """One worker stands there now; devices as the world chooses them."""
    room.cpus[machine] -= cpus
    room.memory[machine] -= memory
    device = room.device[machine]
    if gpus >= 1.0:
        left = int(gpus + ROUND_OFF)
        for d in range(device.shape[0]):
            if left > 0 and device[d] > 1.0 - ROUND_OFF:
                device[d] = 0.0
                left -= 1
        room.whole[machine] -= int(gpus + ROUND_OFF)
    elif gpus > 0.0:
        best = -1
        for d in range(device.shape[0]):
            if device[d] + ROUND_OFF >= gpus and (best < 0 or device[d] < device[best]):
                best = d
        if device[best] > 1.0 - ROUND_OFF:
            room.whole[machine] -= 1
        device[best] = max(device[best] - gpus, 0.0)


@njit(**OPTIONS)
def measure_jobs(view, known, fits):
    """(J, columns of jobs)."""
    jobs, machines = fits.shape
    out = np.empty((jobs, 15))
    for j in range(jobs):
        workers, gpus = float(view.job_workers[j]), view.job_gpus[j]
        waited_s = max(view.time_s - view.job_arrival_s[j], 0.0)
        left_s = view.job_left_s[j]
        some, places, one = 0, 0, False
        for m in range(machines):
            some += fits[j, m] > 0
            places += min(fits[j, m], view.job_workers[j])
            one = one or fits[j, m] >= view.job_workers[j]
        share = 0.0
        for r in range(3):
            share = max(share, view.user_used[view.job_user[j], r] / max(known.total[r], 1e-9))
        row = out[j]
        row[0] = np.log2(workers) / 4.0
        row[1] = np.log2(1.0 + gpus) / 2.0
        row[2] = workers * gpus / known.total[0]
        row[3] = view.job_cpus[j] / known.cpus.max()
        row[4] = view.job_memory[j] / known.memory.max()
        row[5] = np.log1p(left_s / MINUTE_S) / 6.0
        row[6] = np.log1p(left_s * max(workers * gpus, 0.1) / MINUTE_S) / 6.0
        row[7] = np.log1p(waited_s / MINUTE_S) / 6.0
        row[8] = np.log1p(waited_s / max(left_s, MINUTE_S)) / 2.0
        row[9] = min(view.job_stops[j], 3) / 3.0
        row[10] = known.network[view.job_kind[j]]
        row[11] = some / machines
        row[12] = min(places / workers, 1.0)
        row[13] = 1.0 if one else 0.0
        row[14] = share
    return out


@njit(**OPTIONS)
def measure_speeds(view, known):
    """(R,) log of measured speed / expected alone on its types; (R,) machine with most of its workers, -1 = none.

    Where nothing is measured, the first is nan, and whatever comes of it: nobody learns from that.
    """
    runs = view.run_id.shape[0]
    expected, most = np.full(runs, np.inf), np.zeros(runs, np.int64)
    main = np.full(runs, -1, np.int64)
    for p in range(view.row_run.shape[0]):
        r, m = view.row_run[p], view.row_machine[p]
        expected[r] = min(expected[r], known.speed[view.run_kind[r], known.type[m]])
        if view.row_workers[p] > most[r]:
            most[r], main[r] = view.row_workers[p], m
    ratio = np.full(runs, 0.0 if known.measured[0] > 0.0 else np.nan)
    for r in range(runs):
        if main[r] >= 0 and known.measured[0] > 0.0:
            ratio[r] = np.log(max(view.run_speed[r], 1e-3) / max(expected[r], 1e-3))
    return ratio, main


@njit(**OPTIONS)
def measure_machines(view, known, ratio, main):
    """(M, columns of machines), as they are before anything of this answer is placed."""
    machines, racks = known.type.shape[0], known.rack_gpus.shape[0]
    runs = view.run_id.shape[0]
    rows = np.zeros(runs, np.int64)
    for p in range(view.row_run.shape[0]):
        rows[view.row_run[p]] += 1
    on_it, far, feels = np.zeros(machines), np.zeros(machines), np.zeros(machines)
    for p in range(view.row_run.shape[0]):
        r, m = view.row_run[p], view.row_machine[p]
        on_it[m] += 1.0
        far[m] += rows[r] > 1
        feels[m] += known.network[view.run_kind[r]]
    seen, speed = np.zeros(machines), np.zeros(machines)
    for r in range(runs):
        if main[r] >= 0 and not np.isnan(ratio[r]):
            seen[main[r]] += 1.0
            speed[main[r]] += ratio[r]
    in_rack = np.zeros(racks)
    for m in range(machines):
        in_rack[known.rack[m]] += view.machine_gpus_free[m]
    largest = known.gpus.max()
    out = np.empty((machines, 12))
    for m in range(machines):
        row = out[m]
        row[0] = 1.0 if view.machine_up[m] else 0.0
        row[1] = view.machine_gpus_free[m] / known.gpus[m]
        row[2] = view.machine_whole_free[m] / known.gpus[m]
        row[3] = view.machine_gpus_free[m] / largest
        row[4] = view.machine_cpus_free[m] / known.cpus[m]
        row[5] = view.machine_memory_free[m] / known.memory[m]
        row[6] = known.price[m]
        row[7] = on_it[m] / known.gpus[m]
        row[8] = far[m] / known.gpus[m]
        row[9] = speed[m] / max(seen[m], 1.0)
        row[10] = in_rack[known.rack[m]] / known.rack_gpus[known.rack[m]]
        row[11] = feels[m] / max(on_it[m], 1.0)
    return out


@njit(**OPTIONS)
def measure_pairs(view, known, room, job, fits):
    """(M, columns of pairs): job index `job` on each machine, of which each takes `fits` workers."""
    machines, racks = known.type.shape[0], known.rack_gpus.shape[0]
    workers, gpus, kind = view.job_workers[job], view.job_gpus[job], view.job_kind[job]
    in_rack, same = np.zeros(racks), np.zeros(machines)
    for m in range(machines):
        in_rack[known.rack[m]] += min(fits[m], workers)
    for p in range(view.row_run.shape[0]):
        same[view.row_machine[p]] += view.run_kind[view.row_run[p]] == kind
    out = np.empty((machines, 10))
    for m in range(machines):
        taken = min(fits[m], workers)
        free, left = 0.0, 2.0
        for d in range(room.device.shape[1]):
            free += room.device[m, d]
            if room.device[m, d] + ROUND_OFF >= gpus:
                left = min(left, max(room.device[m, d] - gpus, 0.0))
        row = out[m]
        row[0] = 1.0 if taken > 0 else 0.0
        row[1] = taken / workers
        row[2] = 1.0 if taken >= workers else 0.0
        row[3] = np.log(max(known.speed[kind, known.type[m]], 0.05))
        row[4] = max(free - taken * gpus, 0.0) / known.gpus[m]
        row[5] = max(room.cpus[m] - taken * view.job_cpus[job], 0.0) / known.cpus[m]
        row[6] = max(room.memory[m] - taken * view.job_memory[job], 0.0) / known.memory[m]
        row[7] = min(in_rack[known.rack[m]] / workers, 2.0)
        row[8] = same[m] / known.gpus[m]
        row[9] = 0.0 if gpus <= 0.0 or gpus >= 1.0 else min(left, 1.0)
    return out


@njit(**OPTIONS)
def measure_queue(view):
    """As `Queue` names it, but for the last."""
    left_s, gpus = np.empty(view.run_id.shape[0]), np.empty(view.run_id.shape[0])
    next_s = np.inf
    for r in range(left_s.shape[0]):
        left_s[r] = view.run_left_s[r] / max(view.run_speed[r], 1e-3)
        gpus[r] = view.run_workers[r] * view.run_gpus[r]
        next_s = min(next_s, left_s[r])
    wanted = 0.0
    for j in range(view.job_id.shape[0]):
        wanted += view.job_workers[j] * view.job_gpus[j]
    return wanted, next_s if left_s.shape[0] > 0 else 0.0, left_s, gpus


@njit(**OPTIONS)
def measure_start(view, known, room, queue, asked, job, fits):
    """(columns of starts,) of a job whose workers all find a place; each machine takes `fits` of them.

    `asked`: see `gpu_arrivals.asked_by_shorter`.
    """
    machines = known.type.shape[0]
    workers, kind, left_s = view.job_workers[job], view.job_kind[job], view.job_left_s[job]
    need = workers * view.job_gpus[job]
    total = max(known.total[0], 1e-9)
    free, whole, most = 0.0, 0, 0
    for m in range(machines):
        here = 0.0
        for d in range(room.device.shape[1]):
            here += room.device[m, d]
        free += here
        whole += here > known.gpus[m] - ROUND_OFF
        most = max(most, min(fits[m], workers))
    used = _fewest(fits, workers, most)
    filled = need / known.gpus.max()
    longer = 0.0
    for r in range(queue.run_left_s.shape[0]):
        longer += queue.run_gpus[r] * queue.run_left_s[r] / max(queue.run_left_s[r] + left_s, 1e-9)
    after = (free - need) / total
    time_left = np.log1p(left_s / MINUTE_S) / 6.0
    row = np.empty(17)
    row[0] = 1.0
    row[1] = 1.0 if need <= 0.0 else 0.0
    row[2] = time_left
    row[3] = need / total
    row[4] = np.log1p(max(view.time_s - view.job_arrival_s[job], 0.0) / max(left_s, MINUTE_S)) / 2.0
    row[5] = after
    row[6] = after * time_left
    row[7] = max(whole - filled, 0.0) / machines
    row[8] = 1.0 - min(np.ceil(filled - ROUND_OFF), used) / used if filled > ROUND_OFF else 0.0
    row[9] = np.log1p(known.network[kind] * (1.0 - 1.0 / used))
    could = _speed_there(known, _workers_if_empty(view, known, job), workers, kind)
    row[10] = np.log(max(_speed_there(known, fits, workers, kind), 1e-3) / max(could, 1e-3))
    row[11] = np.log1p(view.job_id.shape[0]) / 4.0
    row[12] = np.log1p(queue.wanted / total)
    row[13] = min(queue.passed[0] / total, 1.0)
    row[14] = longer / total
    row[15] = np.log1p(queue.next_s / MINUTE_S) / 6.0
    row[16] = asked
    return row


@njit(**OPTIONS)
def _workers_if_empty(view, known, job):
    """(M,) workers of a job that each machine would take with nobody on it: on what it has not got, none ever run."""
    gpus, cpus, memory = view.job_gpus[job], view.job_cpus[job], view.job_memory[job]
    types, kind = view.job_types[job], view.job_kind[job]
    found = np.zeros(known.type.shape[0], np.int64)
    for m in range(found.shape[0]):
        if known.speed[kind, known.type[m]] <= 0.0 or (types >= 0 and not types >> known.type[m] & 1):
            continue
        most = _beside_gpus(known.cpus[m], cpus, known.memory[m], memory)
        if gpus >= 1.0:
            most = min(most, int(known.devices[m] + ROUND_OFF) // int(gpus + ROUND_OFF))
        elif gpus > 0.0:
            most = min(most, int(known.devices[m] + ROUND_OFF) * int(np.floor((1.0 + ROUND_OFF) / gpus)))
        found[m] = most
    return found


@njit(**OPTIONS)
def _speed_there(known, fits, workers, kind):
    """On the fastest type that has room for all workers; on the slowest of those with any, if none has."""
    room = np.zeros(known.speed.shape[1], np.int64)
    for m in range(fits.shape[0]):
        room[known.type[m]] += min(fits[m], workers)
    best, slowest = 0.0, np.inf
    for t in range(room.shape[0]):
        if room[t] > 0:
            slowest = min(slowest, known.speed[kind, t])
        if room[t] >= workers:
            best = max(best, known.speed[kind, t])
    return best if best > 0.0 else slowest


@njit(**OPTIONS)
def _fewest(fits, workers, most):
    """Machines that the workers need at least; none takes more than `most`."""
    count = np.zeros(most + 1, np.int64)
    for m in range(fits.shape[0]):
        count[min(fits[m], most)] += 1
    used, left = 0, workers
    for each in range(most, 0, -1):
        taken = min(count[each], (left + each - 1) // each)
        used += taken
        left -= taken * each
        if left <= 0:
            break
    return max(used, 1)
