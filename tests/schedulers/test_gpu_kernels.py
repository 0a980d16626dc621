"""Every order and every place of GPU jobs decides the same in Python and compiled, and what it says is valid."""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
import pytest
from tests.schedulers.gpu_views import check_valid, random_info, random_view

from dovetail.core.gpu import GpuDecision, GpuKernel, GpuView, Place, Reason
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.gpu_parts import GPU_PARTS
from dovetail.schedulers.heuristic.gpu.room import Need, Room

ORDERS = [name.partition("/")[2] for name in GPU_PARTS.names("order")]
PLACES = [name.partition("/")[2] for name in GPU_PARTS.names("place")]
COMPILED = [
    *(f"gpu/{order}+{place}" for order in ORDERS if order != "max-min" for place in PLACES),
    *(f"gpu/fifo+{place}:strict=true" for place in ("first-fit", "topology")),
    "gpu/srtf+pack:by=time",
    "gpu/las+pack:threshold_s=50",
    "gpu/tetris:weight=0",
    "gpu/random",
]


@cache
def compiled(function: Any) -> Any:
    return numba.njit(function)


def answer(kernel: GpuKernel, view: GpuView) -> list[GpuDecision]:
    """Of the compiled kernel, in buffers as a world has them."""
    jobs = len(view.job_id)
    starts, scores = np.full((jobs, 3), -9, np.int64), np.full((jobs, 2), -9.0)
    machines = np.full(int(view.job_workers.sum()) + 1, -9, np.int64)
    writable = GpuView(view.time_s, *(np.array(part) for part in view[1:]))
    count = compiled(kernel.function)(writable, kernel.params, kernel.state, starts, machines, scores)
    for part, before in zip(writable[1:], view[1:], strict=True):
        assert np.array_equal(part, before), "the kernel wrote to its view"
    found, used = [], 0
    for i in range(count):
        job, reason, place = starts[i].tolist()
        workers = int(view.job_workers[job])
        found.append(
            GpuDecision(
                job,
                machines[used : used + workers].copy(),
                reason=Reason(reason),
                place=Place(place),
                priority=float(scores[i, 0]),
                affinity=float(scores[i, 1]),
            )
        )
        used += workers
    return found


def said(decisions: Any) -> list[tuple[Any, ...]]:
    return [
        (one.job, one.machines.tolist(), one.stops, one.reason, one.place, one.priority, one.affinity)
        for one in decisions
    ]


@pytest.mark.parametrize("spec", COMPILED)
def test_two_ways_agree(spec: str) -> None:
    started = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, len(spec)])
        info = random_info(rng)
        scheduler = SCHEDULERS.create(spec)
        scheduler.reset(info, np.random.default_rng(seed))
        kernel = scheduler.kernel()
        for _ in range(3):  # what is remembered between decisions must agree as well
            view = random_view(rng, info)
            decisions = scheduler.decide(view)
            check_valid(view, info, decisions)
            assert all(one.reason != Reason.UNSTATED and one.place != Place.UNSTATED for one in decisions)
            seen = view if kernel.wants_running else without_running(view)
            assert said(answer(kernel, seen)) == said(decisions)
            started += len(decisions)
    assert started > 20


def without_running(view: GpuView) -> GpuView:
    emptied = {name: getattr(view, name)[:0] for name in view._fields if name.startswith(("run_", "row_"))}
    return view._replace(**emptied)


@pytest.mark.parametrize("order", [order for order in ORDERS if order != "easy-backfill"])
def test_nobody_that_fits_is_left_waiting(order: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        info = random_info(rng)
        scheduler = SCHEDULERS.create(f"gpu/{order}+first-fit")
        scheduler.reset(info, rng)
        view = random_view(rng, info)
        room, waiting = Room.of(view, info), set(range(len(view.job_id)))
        for one in scheduler.decide(view):
            waiting.remove(one.job)
            for machine in one.machines.tolist():
                room.take(machine, Need.of(view, info, one.job))
        for job in waiting:
            need = Need.of(view, info, job)
            assert room.capacity(need).sum() < need.workers
