"""How long tasks take and when executors fail: counters through a hash, so that history cannot change luck."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.dag_state import TASK_END, TASK_LOST
from dovetail.sim.kernels.jit import kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
SILVER = np.uint64(0xD1B54A32D192ED03)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
LOW_32 = np.uint64(0xFFFFFFFF)


@kernel
def mix(z):
    """splitmix64's finaliser: a counter in, 64 random-looking bits out."""
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def draw_duration(D, v, wave, executors):
    """How long the next task of stage v takes: the counter decides, not the history."""
    starts = D.stages[v].starts
    D.stages[v].starts = starts + 1
    h = mix(D.world[0].duration_key + np.uint64(v) * GOLDEN + np.uint64(starts) * SILVER)
    level = D.levels[executors].below
    if np.float64(h >> np.uint64(32)) * 2.0**-32 < D.levels[executors].up:
        level += 1
    slot = (D.stages[v].row * 3 + wave) * D.settings[0].num_levels + level
    pick = np.int64(((h & LOW_32) * np.uint64(D.slots[slot].count)) >> np.uint64(32))
    duration = D.samples_s[D.slots[slot].start + pick]
    if D.settings[0].straggler_probability > 0.0:
        luck = mix(h + np.uint64(1))
        if np.float64(luck >> np.uint64(32)) * 2.0**-32 < D.settings[0].straggler_probability:
            duration *= D.settings[0].straggler_factor
    return duration


@kernel
def next_failure(D, e):
    """Move executor e's next failure one exponential gap on."""
    i = D.executors[e].failures
    D.executors[e].failures = i + 1
    h = mix(D.world[0].failure_key + np.uint64(e) * GOLDEN + np.uint64(i) * SILVER)
    u = np.float64(h >> np.uint64(11)) * 2.0**-53
    D.executors[e].failure_s += -D.settings[0].mean_time_to_failure_s * np.log(1.0 - u)


@kernel
def task_end(D, e, end):
    """When and how the task that e starts now ends: (time, kind of event)."""
    if D.settings[0].mean_time_to_failure_s > 0.0:
        now = D.world[0].now
        while D.executors[e].failure_s < now:
            next_failure(D, e)
        if D.executors[e].failure_s < end:
            return D.executors[e].failure_s, TASK_LOST
    return end, TASK_END
