"""Views of GPU clusters made by hand or at random, without a world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.gpu import GpuDecision, GpuInfo, GpuView
from dovetail.schedulers.heuristic.gpu.room import Need, Room, allowed_types

KINDS = ("even", "loves A100", "not on T4")
SPEED = np.array([[1.0, 1.5, 0.5], [1.0, 3.0, 0.4], [1.0, 1.2, 0.0]])


def cluster(
    machines: int = 4,
    gpus: int | Sequence[int] = 4,
    types: Sequence[int] = (0,),
    rack: int = 2,
    cpus: float = 32.0,
    memory: float = 256.0,
    **facts: Any,
) -> GpuInfo:
    """`types` and `gpus` are those of the machines in turn."""
    each = [gpus] if isinstance(gpus, int) else list(gpus)
    return GpuInfo(
        machine_name=tuple(f"m{m}" for m in range(machines)),
        machine_type=np.array([types[m % len(types)] for m in range(machines)], np.int64),
        machine_gpus=np.array([each[m % len(each)] for m in range(machines)], np.int64),
        machine_cpus=np.full(machines, cpus),
        machine_memory=np.full(machines, memory),
        machine_rack=np.arange(machines) // rack,
        type_name=("V100", "A100", "T4"),
        type_price=np.array([3.06, 4.1, 0.526]),
        kind_name=KINDS,
        kind_speed=SPEED,
        kind_network=np.array([0.2, 0.5, 0.0]),
        max_users=4,
        **facts,
    )


Job = dict[str, Any]
"""Fields of a job that differ from: one worker, one GPU, one processor, 1 GB, user 0, kind 0, any type, 100 s."""
USUAL: Job = {
    "workers": 1,
    "gpus": 1.0,
    "cpus": 1.0,
    "memory": 1.0,
    "user": 0,
    "kind": 0,
    "types": -1,
    "left_s": 100.0,
    "served_s": 0.0,
    "arrival_s": 0.0,
}
WHOLE_NUMBERS = ("workers", "user", "kind", "types")


def view_of(
    info: GpuInfo,
    waiting: Sequence[Job],
    running: Sequence[tuple[Job, Sequence[int]]] = (),
    time_s: float = 0.0,
    up: Sequence[bool] | None = None,
) -> GpuView:
    """Running jobs are given with the machine of each worker; devices are handed out as the world does it."""
    machines, devices = len(info.machine_name), max(1, int(info.machine_gpus.max()))
    is_up = np.ones(machines, np.bool_) if up is None else np.array(up, np.bool_)
    there = np.arange(devices) < info.machine_gpus[:, None]
    room = Room(
        info,
        is_up,
        np.where(there & is_up[:, None], 1.0, 0.0),
        np.where(is_up, info.machine_gpus, 0).astype(np.float64),
        np.where(is_up, info.machine_gpus, 0),
        np.where(is_up, info.machine_cpus, 0.0),
        np.where(is_up, info.machine_memory, 0.0),
    )
    used = np.zeros((info.max_users, 3))
    rows: list[tuple[int, int, int, int]] = []
    runs = [{**USUAL, "start_s": 0.0, "speed": 1.0, **job} for job, _ in running]
    for run, (_, machines_of) in enumerate(running):
        job = runs[run]
        need = Need(job["gpus"], job["cpus"], job["memory"], allowed_types(info, -1, job["kind"]))
        found: dict[tuple[int, int], int] = {}
        for machine in machines_of:
            assert room.fits(need)[machine], f"running job {run} does not fit machine {machine}"
            taken = room.take(machine, need)
            device = taken[0] if 0.0 < need.gpus < 1.0 else -1
            found[machine, device] = found.get((machine, device), 0) + 1
            used[job["user"]] += need.gpus, need.cpus, need.memory
        rows += [(run, machine, workers, device) for (machine, device), workers in found.items()]
    table = np.array(rows, np.int64).reshape(-1, 4)
    jobs = [{**USUAL, **job} for job in waiting]

    def column(of: Sequence[Job], name: str) -> Any:
        return np.array([one[name] for one in of], np.int64 if name in WHOLE_NUMBERS else np.float64)

    view = GpuView(
        time_s,
        np.arange(len(runs), len(runs) + len(jobs)),
        column(jobs, "arrival_s"),
        column(jobs, "user"),
        column(jobs, "kind"),
        column(jobs, "workers"),
        column(jobs, "gpus"),
        column(jobs, "cpus"),
        column(jobs, "memory"),
        column(jobs, "types"),
        column(jobs, "left_s"),
        column(jobs, "served_s"),
        np.zeros(len(jobs), np.int64),
        np.arange(len(runs)),
        column(runs, "arrival_s"),
        column(runs, "start_s"),
        column(runs, "user"),
        column(runs, "kind"),
        np.array([len(machines_of) for _, machines_of in running], np.int64),
        column(runs, "gpus"),
        column(runs, "cpus"),
        column(runs, "memory"),
        column(runs, "types"),
        column(runs, "left_s"),
        column(runs, "served_s"),
        column(runs, "speed"),
        table[:, 0].copy(),
        table[:, 1].copy(),
        table[:, 2].copy(),
        table[:, 3].copy(),
        is_up,
        room.device,
        room.gpus,
        room.whole,
        room.cpus,
        room.memory,
        used,
    )
    for part in view[1:]:
        part.flags.writeable = False  # type: ignore[union-attr]
    return view


def random_info(rng: np.random.Generator, **facts: Any) -> GpuInfo:
    return cluster(
        machines=int(rng.integers(1, 13)),
        gpus=[int(one) for one in rng.choice([0, 2, 4, 8], size=3)] + [4],
        types=[int(one) for one in rng.integers(0, 3, size=4)],
        rack=int(rng.integers(1, 5)),
        cpus=float(rng.integers(8, 40)),
        memory=float(rng.integers(16, 80)),
        **facts,
    )


def random_job(rng: np.random.Generator) -> Job:
    return {
        "workers": int(rng.choice([1, 1, 1, 2, 3, 4, 8])),
        "gpus": float(rng.choice([0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 1.0, 1.0, 2.0, 4.0])),
        "cpus": float(rng.choice([0.0, 0.5, 1.0, 2.0, 4.0, 6.0])),
        "memory": float(rng.choice([0.0, 1.0, 3.0, 8.0, 20.0])),
        "user": int(rng.integers(0, 4)),
        "kind": int(rng.integers(0, 3)),
        "types": int(rng.choice([-1, -1, -1, 1, 3, 6])),
        "left_s": float(rng.choice([10.0, 60.0, 100.0, 100.0, 5000.0])),
        "served_s": float(rng.choice([0.0, 0.0, 100.0, 5000.0])),
    }


def random_view(rng: np.random.Generator, info: GpuInfo, most: int = 30) -> GpuView:
    """A cluster partly in use, and jobs of all sizes waiting."""
    room_view = view_of(info, [])
    room = Room.of(room_view, info)
    running: list[tuple[Job, list[int]]] = []
    for _ in range(int(rng.integers(0, 25))):
        job = {**USUAL, **random_job(rng)}
        need = Need(job["gpus"], job["cpus"], job["memory"], allowed_types(info, job["types"], job["kind"]))
        placed: list[int] = []
        for _ in range(job["workers"]):
            fits = np.flatnonzero(room.fits(need))
            if len(fits):
                placed.append(int(rng.choice(fits)))
                room.take(placed[-1], need)
        if placed:
            running.append(({**job, "workers": len(placed), "speed": float(rng.choice([0.5, 1.0, 1.4]))}, placed))
    jobs = [random_job(rng) for _ in range(int(rng.integers(0, most)))]
    arrivals = np.sort(rng.integers(0, 1000, size=len(jobs))).astype(float)
    jobs = [{**job, "arrival_s": float(at)} for job, at in zip(jobs, arrivals, strict=True)]
    up = None
    if not running and rng.random() < 0.3:
        up = (rng.random(len(info.machine_name)) < 0.8).tolist()
    return view_of(info, jobs, running, 1000.0, up)


def check_valid(view: GpuView, info: GpuInfo, decisions: Sequence[GpuDecision]) -> None:
    """What a world demands of starts."""
    room, named = Room.of(view, info), set()
    for one in decisions:
        assert not one.stops and one.job not in named
        named.add(one.job)
        need = Need.of(view, info, one.job)
        assert len(one.machines) == need.workers
        for machine in one.machines.tolist():
            assert room.fits(need)[machine], f"job {one.job} does not fit machine {machine}"
            room.take(machine, need)
