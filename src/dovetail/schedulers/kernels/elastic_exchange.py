"""Divisions of elastic/dorm made better by exchanges, compiled: take away, fill what is free, keep the better.

Nothing here is drawn, and nothing depends on the clock: the same division is improved in the same way anywhere.
"""

from __future__ import annotations

import numpy as np

from dovetail.schedulers.kernels.elastic_division import (
    BETTER,
    fitting,
    gain,
    may_change,
    objective,
    removable,
    resize,
    undo_change,
)
from dovetail.schedulers.kernels.jit import bare, entry

NOBODY = -1


@entry
def approach(rules, now, wanted, chosen):
    """Workers of the chosen jobs as wanted (J, K), rounded down: first whoever gets fewer, then more as they fit."""
    jobs, kinds = now.workers.shape
    for sign in (-1, 1):
        for j in range(jobs):
            for k in range(kinds):
                more = int(np.floor(wanted[j, k] + 1e-6)) - now.workers[j, k]
                if not chosen[j] or more * sign <= 0:
                    continue
                if sign < 0 and removable(rules, now, j, k, -more):
                    resize(rules, now, j, k, more)
                elif sign > 0 and may_change(rules, now, j):
                    more = min(more, fitting(rules, now, j, k))
                    if more > 0 and now.count[j, 0] + more >= rules.least[j]:
                        resize(rules, now, j, k, more)


@entry
def improve(rules, now, saved, middle, target, trials):
    """Fill; then exchange the workers of one job, and if that does not help any more, of two, until the target.

    `now` is written to; `saved` and `middle` are room for copies.  Of pairs so many `trials` are made.
    """
    fill(rules, now, NOBODY, NOBODY)
    copy_to(now, saved)
    left = trials
    helped = True
    while helped and objective(rules, now) < target:
        helped = exchange_one(rules, now, saved)
        if not helped:
            helped, left = exchange_two(rules, now, saved, middle, target, left)


@bare
def exchange_one(rules, now, saved):
    """Whether it helped; `now` and `saved` are the same before and after."""
    jobs, kinds = now.workers.shape
    helped = False
    for j in range(jobs):
        for k in range(-1, kinds):
            fewer = 1
            while take_away(rules, now, j, k, fewer):
                if refill(rules, now, saved, j, NOBODY):
                    copy_to(now, saved)
                    helped, fewer = True, 1
                else:
                    copy_to(saved, now)
                    fewer += 1
    return helped


@bare
def exchange_two(rules, now, saved, middle, target, trials):
    """The same with a second job; also returns how many trials are left."""
    jobs, kinds = now.workers.shape
    helped = False
    for j in range(jobs):
        for k in range(-1, kinds):
            fewer = 1
            while trials > 0 and objective(rules, saved) < target and take_away(rules, now, j, k, fewer):
                copy_to(now, middle)
                better, trials = exchange_second(rules, now, saved, middle, j, 0 if k < 0 else j + 1, trials)
                copy_to(saved, now)
                helped |= better
                fewer += 1
    return helped, trials


@bare
def exchange_second(rules, now, saved, middle, j, first, trials):
    """Take from one more job, of those from `first` on, what helps; that is then saved.  `middle`: without j."""
    jobs, kinds = now.workers.shape
    for i in range(first, jobs):
        if i == j:
            continue
        for k in range(kinds):
            fewer = 1
            while trials > 0 and take_away(rules, now, i, k, fewer):
                trials -= 1
                if refill(rules, now, saved, j, i):
                    copy_to(now, saved)
                    return True, trials
                copy_to(middle, now)
                fewer += 1
    return False, trials


@bare
def take_away(rules, now, j, k, fewer):
    """So many workers of a job on a kind; with k = -1, its change."""
    if k < 0:
        return fewer == 1 and undo_change(rules, now, j)
    if not removable(rules, now, j, k, fewer):
        return False
    resize(rules, now, j, k, -fewer)
    return True


@bare
def refill(rules, now, saved, but, nor):
    """Give what is free to others, and what is then left to anybody; whether that is better than what was saved."""
    fill(rules, now, but, nor)
    fill(rules, now, NOBODY, NOBODY)
    return objective(rules, now) > objective(rules, saved) + BETTER


@bare
def fill(rules, now, but, nor):
    """More workers where the objective grows most by them, until it does not; none of the jobs `but` and `nor`."""
    jobs, kinds = now.workers.shape
    while True:
        best, best_j, best_k, best_more = BETTER, -1, -1, 0
        for j in range(jobs):
            one = gain(rules, now, j, 1)  # no further worker brings more: the objective is concave in them
            most = rules.most[j] - now.count[j, 0]
            if j in (but, nor) or one <= 0.0 or one * most <= best or not may_change(rules, now, j):
                continue
            for k in range(kinds):
                room = fitting(rules, now, j, k)
                if one * room > best:
                    more = best_number(rules, now, j, room)
                    grows = gain(rules, now, j, more)
                    if grows > best:
                        best, best_j, best_k, best_more = grows, j, k, more
        if best_j < 0:
            return
        resize(rules, now, best_j, best_k, best_more)


@bare
def best_number(rules, now, j, room):
    """The number of further workers, up to `room`, by which the objective grows most."""
    more = max(1, rules.least[j] - now.count[j, 0])
    while more < room and gain(rules, now, j, more + 1) > gain(rules, now, j, more):
        more += 1
    return more


@bare
def copy_to(now, other):
    for table, copy in (
        (now.workers, other.workers),
        (now.servers, other.servers),
        (now.count, other.count),
    ):
        copy_table(table, copy)
    copy_table(now.worker_free, other.worker_free)
    copy_table(now.server_free, other.server_free)
    for j in range(now.changed.size):
        other.changed[j] = now.changed[j]
    for i in range(now.figures.size):
        other.figures[i] = now.figures[i]


@bare
def copy_table(table, copy):
    for i in range(table.shape[0]):
        for k in range(table.shape[1]):
            copy[i, k] = table[i, k]
