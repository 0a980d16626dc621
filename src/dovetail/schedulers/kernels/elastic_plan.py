"""The best schedule of one job at given prices: the sub-routine of OASiS, compiled.

Given c_s(d), the cost of d workers in slot s, find the completion slot e and the workers d_0 .. d_e that maximise
f(e) - sum c_s(d_s) with sum d_s = work.  OASiS does this by dynamic programming over (slot, work done), which takes
slots x work x workers steps.  The same optimum is found here much faster:

1. Replace each c_s by its lower convex hull.  Then the cheapest way to do the work by slot e is to take hull segments
   in order of slope, which gives a lower bound of the cost, and so an upper bound of the payoff, for all e at once.
2. Go through completion slots in order of that bound.  Complete the segments taken to a real schedule; it costs more
   than the bound by some gap.  If the gap is no more than what is tolerated, that is it.
3. Otherwise, with l the slope of the last segment, only d with c_s(d) - l d - min(c_s(x) - l x) <= gap can be part of a
   better schedule.  The dynamic program is run over those d alone, which are few, and is exact.
4. Stop when the next bound does not beat the best payoff found.  Where waiting costs nothing, many slots have the same
   bound: then the dynamic program is run once for the last of them, and no slot is looked at that could not beat the
   best payoff even at that cost.
"""

from __future__ import annotations

import numpy as np

from dovetail.schedulers.kernels.jit import entry, kernel

INFEASIBLE = 1e300


@kernel
def hull(costs, room, slope, length):
    """Segments of the lower convex hull of costs[0 .. room], slopes ascending; returns their number."""
    top = 0  # corners 0 .. top, kept in `length` as positions until the end
    length[0] = 0
    for d in range(1, room + 1):
        while top > 0:
            a, b = length[top - 1], length[top]
            if (costs[b] - costs[a]) * (d - b) >= (costs[d] - costs[b]) * (b - a):
                top -= 1
            else:
                break
        top += 1
        length[top] = d
    for i in range(top):
        a, b = length[i], length[i + 1]
        slope[i] = (costs[b] - costs[a]) / (b - a)
    for i in range(top):
        length[i] = length[i + 1] - length[i]
    return top


@kernel
def lower_bounds(costs, room, work, utility, bound, last_slope, slopes, lengths, segments):
    """bound[e] = least cost by the hulls to do the work by the end of slot e; last_slope[e] = the last segment's slope.

    Stops where the utility can no longer pay for the work; returns the number of slots looked at.  The hull of slot s
    is left in the first segments[s] of slopes[s] and lengths[s].
    """
    slots, width = costs.shape
    old_slope, old_length = np.empty(work + width + 1), np.empty(work + width + 1, dtype=np.int64)
    new_slope, new_length = np.empty(work + width + 1), np.empty(work + width + 1, dtype=np.int64)
    held, steepest, enough = 0, 0.0, False  # segments, the largest of their slopes, and whether they do the work
    for e in range(slots):
        bound[e] = INFEASIBLE
        if utility[e] <= 0.0:  # utilities fall, and costs are not negative
            return e
        slope, length = slopes[e], lengths[e]
        fresh = segments[e] = hull(costs[e], room[e], slope, length)
        if enough and (fresh == 0 or steepest <= slope[:fresh].min()):  # nothing here is cheaper
            bound[e], last_slope[e] = bound[e - 1], last_slope[e - 1]
            continue
        i = j = count = 0
        total = 0
        cost = 0.0
        steepest = -np.inf
        while total < work and (i < held or j < fresh):
            if j == fresh or (i < held and old_slope[i] <= slope[j]):
                one, size = old_slope[i], old_length[i]
                i += 1
            else:
                one, size = slope[j], length[j]
                j += 1
            size = min(size, work - total)
            new_slope[count] = one
            new_length[count] = size
            count += 1
            total += size
            cost += one * size
            steepest = max(steepest, one)
        old_slope, new_slope = new_slope, old_slope
        old_length, new_length = new_length, old_length
        held = count
        enough = total == work
        if enough:
            bound[e] = cost
            last_slope[e] = old_slope[count - 1]
    return slots


@kernel
def fill(costs, room, work, e, slope, slopes, lengths, segments, taken):
    """A schedule near the bound: hull segments below the last slope, then whole ones of that slope, then the rest."""
    left = work
    for s in range(e + 1):
        taken[s] = 0
        for i in range(segments[s]):
            if slopes[s, i] >= slope:
                break
            taken[s] += lengths[s, i]
        left -= taken[s]
    for s in range(e + 1):
        if left == 0:
            break
        for i in range(segments[s]):
            if slopes[s, i] > slope:
                break
            if slopes[s, i] == slope and lengths[s, i] <= left:
                taken[s] += lengths[s, i]
                left -= lengths[s, i]
    while left > 0:
        best, at, step = INFEASIBLE, -1, 0
        for s in range(e + 1):  # all of it in one slot, or as much as one slot takes at the lowest price
            size = min(left, room[s] - taken[s])
            if size <= 0:
                continue
            each = (costs[s, taken[s] + size] - costs[s, taken[s]]) / size
            if each < best or (each == best and size > step):
                best, at, step = each, s, size
        if at < 0:
            return INFEASIBLE
        taken[at] += step
        left -= step
    cost = 0.0
    for s in range(e + 1):
        cost += costs[s, taken[s]]
    return cost


@kernel
def exact(costs, room, work, e, slope, gap, taken):
    """The cheapest schedule by the end of slot e, by dynamic programming over what `gap` does not rule out."""
    width = costs.shape[1]
    candidate = np.empty((e + 1, width), dtype=np.int32)
    number = np.zeros(e + 1, dtype=np.int64)
    for s in range(e + 1):
        least = INFEASIBLE
        for d in range(room[s] + 1):
            least = min(least, costs[s, d] - slope * d)
        for d in range(room[s] + 1):
            if costs[s, d] - slope * d - least <= gap * (1 + 1e-9) + 1e-12:
                candidate[s, number[s]] = d
                number[s] += 1
    # Work done after each slot lies within what the slots before can do and the slots after must leave.
    low, high = np.zeros(e + 2, dtype=np.int64), np.zeros(e + 2, dtype=np.int64)
    for s in range(e + 1):
        low[s + 1] = low[s] + candidate[s, 0]
        high[s + 1] = high[s] + candidate[s, number[s] - 1]
    after_low, after_high = 0, 0
    low[e + 1] = max(low[e + 1], work)
    high[e + 1] = min(high[e + 1], work)
    for s in range(e, 0, -1):
        after_low += candidate[s, 0]
        after_high += candidate[s, number[s] - 1]
        low[s] = max(low[s], work - after_high)
        high[s] = min(high[s], work - after_low)
    for s in range(e + 2):
        if low[s] > high[s]:
            return INFEASIBLE
    widest = 0
    for s in range(e + 2):
        widest = max(widest, high[s] - low[s] + 1)
    choice = np.zeros((e + 1, widest), dtype=np.int32)
    before, after = np.full(widest, INFEASIBLE), np.empty(widest)
    before[0] = 0.0
    for s in range(e + 1):
        size = high[s + 1] - low[s + 1] + 1
        after[:size] = INFEASIBLE
        for i in range(number[s]):
            d = candidate[s, i]
            cost = costs[s, d]
            first = max(low[s] + d, low[s + 1])
            last = min(high[s] + d, high[s + 1])
            for w in range(first, last + 1):
                total = before[w - d - low[s]] + cost
                if total < after[w - low[s + 1]]:
                    after[w - low[s + 1]] = total
                    choice[s, w - low[s + 1]] = d
        before, after = after, before
    cost = before[0]
    if cost >= INFEASIBLE:
        return INFEASIBLE
    w = work
    for s in range(e, -1, -1):
        taken[s] = choice[s, w - low[s + 1]]
        w -= taken[s]
    return cost


@entry
def best_schedule(costs, room, work, utility, tolerance, taken):
    """(completion slot, its cost).  If no schedule pays, -1 - the slot of the one that comes closest to it, and what
    that costs at least; if none completes the work, (-1 - S, 0).

    costs: (S, N + 1), room: (S,), utility: (S,) of completing in each slot, not increasing.  The payoff is at most
    `tolerance` x utility below the best.  Writes the workers of each slot to taken: (S,).
    """
    slots = costs.shape[0]
    bound, slope = np.empty(slots), np.empty(slots)
    slopes, lengths = np.empty(costs.shape), np.empty((slots, costs.shape[1] + 1), dtype=np.int64)
    segments = np.empty(slots, dtype=np.int64)
    looked_at = lower_bounds(costs, room, work, utility, bound, slope, slopes, lengths, segments)
    promising = np.full(looked_at, -np.inf)
    possible = False
    for e in range(looked_at):
        if bound[e] < INFEASIBLE:
            possible = True
            promising[e] = utility[e] - bound[e]
    if not possible:
        return -1 - slots, 0.0
    best, best_cost, chosen = 0.0, 0.0, -1
    cheapest = -1.0  # what the work costs at least, however late it is completed, once that is known
    trial = np.zeros(slots, dtype=np.int64)
    for e in np.argsort(-promising, kind="mergesort"):
        if promising[e] <= best + 1e-12:
            break
        if utility[e] - cheapest <= best and cheapest >= 0.0:
            continue
        cost = fill(costs, room, work, e, slope[e], slopes, lengths, segments, trial)
        gap = cost - bound[e]
        if gap > tolerance * utility[e] + 1e-9 * (1.0 + cost):
            cost = min(cost, exact(costs, room, work, e, slope[e], gap, trial))
            if cheapest < 0.0 and bound[looked_at - 1] == bound[e]:
                gap = cost - bound[e]
                cheapest = exact(costs, room, work, looked_at - 1, slope[looked_at - 1], gap, np.empty_like(trial))
        if utility[e] - cost > best:
            best, best_cost, chosen = utility[e] - cost, cost, e
            taken[:] = 0
            taken[: e + 1] = trial[: e + 1]
    if chosen < 0:
        closest = int(np.argmax(promising))
        return -1 - closest, bound[closest]
    return chosen, best_cost
