"""Moods and failures of machines: counters through a hash, so that nothing that happens changes them."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.dag_chance import GOLDEN, SILVER, mix
from dovetail.sim.kernels.jit import kernel

LASTING = (1 << 63) - 1  # a counter


@kernel
def hash_of(key, machine, counter):
    return mix(key + np.uint64(machine) * GOLDEN + np.uint64(counter) * SILVER)


@kernel
def uniform(h):
    """From 0 to below 1."""
    return np.float64(h >> np.uint64(11)) * 2.0**-53


@kernel
def normal(key, machine, counter):
    """Box and Muller's."""
    h = hash_of(key, machine, counter)
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(h)))
    return radius * np.cos(2.0 * np.pi * uniform(mix(h + np.uint64(1))))


@kernel
def exponential(key, machine, counter, mean):
    return -mean * np.log(1.0 - uniform(hash_of(key, machine, counter)))


@kernel
def last_multiple(t, step):
    """The largest n with n * step <= t."""
    n = np.int64(np.floor(t / step))
    while (n + 1) * step <= t:
        n += 1
    while n * step > t:
        n -= 1
    return n


@kernel
def lasting(D, m):
    """The factor of machine m that stays what it is: no mood ever has its counter."""
    uneven = D.settings[0].uneven
    if uneven == 0.0:
        return 1.0
    return np.exp(uneven * normal(D.settings[0].mood_key, m, LASTING))


@kernel
def look_at_moods(D, look):
    """From now on moods are those of look number `look`; machines are looked at when they are needed."""
    world = D.world[0]
    world.look = look
    t = look * D.settings[0].mood_every_s
    period = D.settings[0].mood_period_s
    n = last_multiple(t, period)
    part = t / period - n
    root = np.sqrt((1.0 - part) * (1.0 - part) + part * part)
    world.weight_0 = (1.0 - part) / root
    world.weight_1 = part / root


@kernel
def mood(D, m):
    """The factor on the speed of everything on machine m, as it was looked at last."""
    sigma = D.settings[0].mood_sigma
    machine = D.machines[m]
    if sigma == 0.0:
        return machine.lasting
    world = D.world[0]
    if machine.look != world.look:
        machine.look = world.look
        n = last_multiple(world.look * D.settings[0].mood_every_s, D.settings[0].mood_period_s)
        if machine.period != n:
            machine.period = n
            machine.z_0 = normal(D.settings[0].mood_key, m, n)
            machine.z_1 = normal(D.settings[0].mood_key, m, n + 1)
        x = world.weight_0 * machine.z_0 + world.weight_1 * machine.z_1
        machine.mood = machine.lasting * np.exp(sigma * x)
    return machine.mood


@kernel
def draw_time(D, m, mean):
    """How long machine m stays as it is: the counter decides."""
    draws = D.machines[m].draws
    D.machines[m].draws = draws + 1
    return exponential(D.settings[0].failure_key, m, draws, mean)
