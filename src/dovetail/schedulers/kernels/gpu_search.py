"""The searches over order and places, compiled: see `optimise/gpu/mosa` and `optimise/gpu/malo` for what they are.

A solution is a row of 2n numbers from 0 to 1: n keys, smallest first, then n genes, each a place and a mask of types.
"""

from __future__ import annotations

import numpy as np

from dovetail.schedulers.kernels.gpu_lookahead import anybody_fits, evaluate, open_scene, start_now
from dovetail.schedulers.kernels.gpu_placing import drawn
from dovetail.schedulers.kernels.jit import bare, entry


@bare
def chance(key, count):
    """The next random number from 0 to 1; `count` (1,) counts them."""
    count[0] += 1
    return drawn(key, count[0], 0)


@bare
def value(view, params, state, scene, solution):
    n = scene.jobs.size
    return evaluate(view, params, state, scene, solution[:n], solution[n:])


@bare
def total(found, scale, weight):
    """The objectives as one, relative to the first solution: weight x time + (1 - weight) x fee."""
    return weight * found[0] / scale[0] + (1.0 - weight) * found[1] / scale[1]


@bare
def dominates(a, b):
    return a[0] <= b[0] and a[1] <= b[1] and (a[0] < b[0] or a[1] < b[1])


@bare
def copy_into(source, target):
    for i in range(source.size):
        target[i] = source[i]


@bare
def archive(solution, found, solutions, values, size):
    """Keep it unless one that is kept dominates it; those it dominates go.  How many are kept.

    Beyond the limit the worst of them in the first objective makes place.
    """
    kept = 0
    for i in range(size):
        if dominates(values[i], found) or (values[i, 0] == found[0] and values[i, 1] == found[1]):
            return size
    for i in range(size):
        if not dominates(found, values[i]):
            if kept != i:
                copy_into(solutions[i], solutions[kept])
                copy_into(values[i], values[kept])
            kept += 1
    if kept == values.shape[0]:
        worst = 0
        for i in range(1, kept):
            if values[i, 0] > values[worst, 0]:
                worst = i
        if values[worst, 0] <= found[0]:
            return kept
        kept -= 1
        copy_into(solutions[kept], solutions[worst])
        copy_into(values[kept], values[worst])
    copy_into(solution, solutions[kept])
    values[kept, 0], values[kept, 1] = found[0], found[1]
    return kept + 1


@bare
def best_of(values, size, scale, weight):
    best = 0
    for i in range(1, size):
        if total(values[i], scale, weight) < total(values[best], scale, weight):
            best = i
    return best


@bare
def neighbour(solution, n, key, count):
    """Two jobs change places in the order, one goes elsewhere in it, or one is placed otherwise."""
    move = chance(key, count)
    i = min(int(chance(key, count) * n), n - 1)
    if move < 1.0 / 3.0 and n > 1:
        j = min(int(chance(key, count) * n), n - 1)
        solution[i], solution[j] = solution[j], solution[i]
    elif move < 2.0 / 3.0 and n > 1:
        solution[i] = chance(key, count)
    else:
        solution[n + i] = chance(key, count)


@entry
def anneal(
    view, params, state, jobs, types, price, first, budget, weight, hot, cold, kept, key, starts, machines, scores
):
    """Multi-objective simulated annealing from `first`; the best solution goes there, what starts now to `starts`."""
    scene = open_scene(view, params, state, jobs, types, price)
    if not anybody_fits(view, state, scene):
        return 0
    n, count = jobs.size, np.zeros(1, np.int64)
    solutions, values = np.empty((kept, 2 * n)), np.empty((kept, 2))
    now, trial, found, here, scale = first.copy(), first.copy(), np.empty(2), np.empty(2), np.empty(2)
    scale[0], scale[1] = value(view, params, state, scene, now)
    here[0], here[1] = scale[0], scale[1]
    scale[0], scale[1] = max(scale[0], 1e-9), max(scale[1], 1e-9)
    size = archive(now, here, solutions, values, 0)
    for step in range(1, budget):
        heat = hot * (cold / hot) ** (step / budget)
        copy_into(now, trial)
        neighbour(trial, n, key, count)
        found[0], found[1] = value(view, params, state, scene, trial)
        size = archive(trial, found, solutions, values, size)
        tilt = min(max(weight + (chance(key, count) - 0.5) * 0.5, 0.0), 1.0)
        worse = total(found, scale, tilt) - total(here, scale, tilt)
        if worse <= 0.0 or chance(key, count) < np.exp(-worse / heat):
            copy_into(trial, now)
            copy_into(found, here)
    best = best_of(values, size, scale, weight)
    copy_into(solutions[best], first)
    return start_now(view, state, scene, first[:n], first[n:], starts, machines, scores)


@bare
def clip(number):
    return min(max(number, 0.0), 1.0)


@bare
def walk(around, low, high, steps, key, count):
    """Where a random walk of so many steps ends that begins at `around` and is kept from `low` to `high`."""
    at, least, most = 0.0, 0.0, 0.0
    for _ in range(steps):
        at += 1.0 if chance(key, count) > 0.5 else -1.0
        least, most = min(least, at), max(most, at)
    if most == least:
        return around
    return clip(low + (at - least) * (high - low) / (most - least))


@bare
def roulette(values, size, scale, weight, key, count):
    """One of them, the better the likelier."""
    sum_ = 0.0
    for i in range(size):
        sum_ += 1.0 / max(total(values[i], scale, weight), 1e-9)
    left = chance(key, count) * sum_
    for i in range(size):
        left -= 1.0 / max(total(values[i], scale, weight), 1e-9)
        if left <= 0.0:
            return i
    return size - 1


@entry
def hunt(
    view,
    params,
    state,
    jobs,
    types,
    price,
    first,
    budget,
    weight,
    population,
    steps,
    factor,
    crossover,
    kept,
    key,
    starts,
    machines,
    scores,
):
    """Ant lions with elite differential evolution; the best solution goes to `first`, what starts now to `starts`."""
    scene = open_scene(view, params, state, jobs, types, price)
    if not anybody_fits(view, state, scene):
        return 0
    n, size, count = jobs.size, 0, np.zeros(1, np.int64)
    width = 2 * n
    lions, worth = np.empty((population, width)), np.empty((population, 2))
    solutions, values = np.empty((kept, width)), np.empty((kept, 2))
    ant, found, scale = np.empty(width), np.empty(2), np.empty(2)
    for lion in range(population):
        for i in range(width):
            lions[lion, i] = first[i] if lion == 0 else chance(key, count)
        if lion % 2 == 1:
            for i in range(n, width):
                lions[lion, i] = first[i]  # half of them differ from the first in the order alone
        worth[lion, 0], worth[lion, 1] = value(view, params, state, scene, lions[lion])
        if lion == 0:
            scale[0], scale[1] = max(worth[0, 0], 1e-9), max(worth[0, 1], 1e-9)
        size = archive(lions[lion], worth[lion], solutions, values, size)
    rounds = max(1, (budget - population) // (2 * population))
    for turn in range(rounds):
        # the walks narrow as the hunt goes on: I = 10^w * turn / rounds
        done = (turn + 1) / rounds
        power = 6 if done > 0.95 else 5 if done > 0.9 else 4 if done > 0.75 else 3 if done > 0.5 else 2
        ratio = 1.0 if done <= 0.1 else 10.0**power * done / 100.0
        reach = 0.5 / max(ratio, 1.0)
        for one in range(population):
            lion = roulette(worth, population, scale, weight, key, count)
            elite = best_of(values, size, scale, weight)
            for i in range(width):
                by_lion = walk(lions[lion, i], lions[lion, i] - reach, lions[lion, i] + reach, steps, key, count)
                by_elite = walk(
                    solutions[elite, i], solutions[elite, i] - reach, solutions[elite, i] + reach, steps, key, count
                )
                ant[i] = clip((by_lion + by_elite) / 2.0)
            found[0], found[1] = value(view, params, state, scene, ant)
            size = archive(ant, found, solutions, values, size)
            if total(found, scale, weight) < total(worth[one], scale, weight):  # the lion builds its pit there
                copy_into(ant, lions[one])
                copy_into(found, worth[one])
        for one in range(population):
            elite = best_of(values, size, scale, weight)
            a = min(int(chance(key, count) * population), population - 1)
            b = min(int(chance(key, count) * population), population - 1)
            sure = min(int(chance(key, count) * width), width - 1)
            for i in range(width):
                ant[i] = lions[one, i]
                if i == sure or chance(key, count) < crossover:
                    ant[i] = clip(solutions[elite, i] + factor * (lions[a, i] - lions[b, i]))
            found[0], found[1] = value(view, params, state, scene, ant)
            size = archive(ant, found, solutions, values, size)
            if total(found, scale, weight) < total(worth[one], scale, weight):
                copy_into(ant, lions[one])
                copy_into(found, worth[one])
    best = best_of(values, size, scale, weight)
    copy_into(solutions[best], first)
    return start_now(view, state, scene, first[:n], first[n:], starts, machines, scores)
