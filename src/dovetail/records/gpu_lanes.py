"""Who holds which device when: the places of a gpu run, device by device.

A bar is a job on one device of a machine for as long as a segment lasts; jobs without GPUs have one for each machine,
on device -1, where they share its processors.  Several that are on a device at the same time have different levels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, Ints
from dovetail.records.gpu import GpuRun

ROUND_OFF = 1e-9


class GpuBars(NamedTuple):
    """B bars, by machine, device and start."""

    machine: Ints  # (B,)
    device: Ints  # (B,) -1 = the job has no GPUs
    segment: Ints  # (B,)
    share: Floats  # (B,) of the device; without GPUs, of the processors of the machine
    start_s: Floats  # (B,)
    end_s: Floats  # (B,)


def bars_of(run: GpuRun) -> GpuBars:
    """All bars of a run."""
    places, segments = run.places, run.segments
    gpus = run.jobs.gpus[segments.job[places.segment]]
    bits = (places.devices[:, None] >> np.arange(max(int(run.machines.gpus.max(initial=0)), 1))) & 1
    whole, device = np.nonzero(bits)
    shared = np.flatnonzero(places.device >= 0)
    without = np.flatnonzero((places.device < 0) & (places.devices == 0))
    row = np.concatenate((whole, shared, without))
    on = np.concatenate((device, places.device[shared], np.full(without.size, -1)))
    cpus = run.jobs.cpus[segments.job[places.segment]] * places.workers / run.machines.cpus[places.machine]
    share = np.concatenate((np.ones(whole.size), (gpus * places.workers)[shared], cpus[without]))
    segment = places.segment[row]
    start_s = segments.start_s[segment]
    order = np.lexsort((segment, start_s, on, places.machine[row]))
    row, segment = row[order], segment[order]
    return GpuBars(places.machine[row], on[order], segment, share[order], start_s[order], run.segment_end_s[segment])


def levels(bars: GpuBars) -> Ints:
    """(B,) 0, or which of several that are on the same device at the same time: the lowest that is free."""
    found = np.zeros(len(bars.machine), np.int64)
    until: list[float] = []
    lane = (-1, -2)
    columns = zip(bars.machine.tolist(), bars.device.tolist(), bars.start_s.tolist(), bars.end_s.tolist(), strict=True)
    for place, (machine, device, start_s, end_s) in enumerate(columns):
        if (machine, device) != lane:
            lane, until = (machine, device), []
        level = next((at for at, end in enumerate(until) if end <= start_s), len(until))
        until[level : level + 1] = [end_s]
        found[place] = level
    return found


def offsets(bars: GpuBars) -> Floats:
    """(B,) where in its device, 0 to 1, a bar lies: the lowest gap that takes its share, or beside the least of others.

    Shares of a device add up to 1 at most, but what is free may be in pieces.
    """
    found = np.zeros(len(bars.machine))
    held: list[tuple[float, float, float]] = []  # from, to, until when
    lane = (-1, -2)
    columns = zip(*(column.tolist() for column in (*bars[:2], *bars[3:])), strict=True)
    for place, (machine, device, share, start_s, end_s) in enumerate(columns):
        if (machine, device) != lane:
            lane, held = (machine, device), []
        held = [one for one in held if one[2] > start_s]
        tried = [0.0, *(to for _, to, _ in held if to + share <= 1.0 + ROUND_OFF)]
        covered = [sum(max(0.0, min(at + share, to) - max(at, low)) for low, to, _ in held) for at in tried]
        at = min(zip(covered, tried, strict=True))[1]
        held.append((at, at + share, end_s))
        found[place] = at
    return found
