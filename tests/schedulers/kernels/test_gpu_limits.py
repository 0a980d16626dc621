"""Limits of what is free never turn away a job that fits, and do turn away most of those that do not."""

from __future__ import annotations

import numba
import numpy as np
from tests.schedulers.gpu_views import random_info, random_view

from dovetail.core.gpu import GpuView
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.kernels.gpu_limits import NEVER, measure_limits, no_limits, within
from dovetail.schedulers.kernels.gpu_queue import need_of, open_room
from dovetail.schedulers.kernels.gpu_room import fits, holds


@numba.njit
def looked_at(view, params, state, measured):
    """(J, 4): whether a worker may fit, and all; whether a worker fits, and all."""
    room = open_room(view, params, state)
    limits = no_limits(view.device_free.shape[1])
    if measured:
        measure_limits(room, limits)
    found = np.zeros((view.job_id.size, 4), np.bool_)
    for j in range(view.job_id.size):
        need = need_of(view, state, j)
        found[j, 0] = within(limits, need.gpus, need.cpus, need.memory, need.types, need.workers, False)
        found[j, 1] = within(limits, need.gpus, need.cpus, need.memory, need.types, need.workers, True)
        for m in range(room.up.size):
            if fits(room, m, need):
                found[j, 2] = True
        found[j, 3] = holds(room, need)
    return found, limits.age[0]


def looks(seed: int, measured: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    info = random_info(rng)
    scheduler = SCHEDULERS.create("gpu/fifo+pack")
    scheduler.reset(info, rng)
    kernel = scheduler.kernel()
    view = random_view(rng, info)
    writable = GpuView(view.time_s, *(np.array(part) for part in view[1:]))
    found, age = looked_at(writable, kernel.params, kernel.state, measured)
    assert measured != (age == NEVER)
    return found


def test_what_fits_is_within_the_limits() -> None:
    found = np.concatenate([looks(seed, True) for seed in range(300)])
    one_may, all_may, one_fits, all_fit = found.T
    assert all_may[all_fit].all() and one_may[all_fit].all()
    assert (all_may <= one_may).all() and (one_fits & one_may & ~all_may).any()
    assert all_fit.sum() > 100 and (~all_fit).sum() > 100
    assert (~all_may & ~all_fit).sum() > 0.7 * (~all_fit).sum()  # most of what does not fit is told at once


def test_without_a_look_everything_may_fit_that_some_machine_could_hold() -> None:
    one_may, all_may, one_fits, _ = np.concatenate([looks(seed, False) for seed in range(20)]).T
    assert all_may[one_fits].all() and (one_may == all_may).all()
    assert all_may.mean() > 0.9
