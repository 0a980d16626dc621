"""The list schedulers of `list_rule` as one function that numba can compile; the rule arrives in `params`."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import DagView, Floats, Ints, Reason
from dovetail.schedulers.heuristic.list_rule import Keep, Order, StageRule

NO_SHARE = 3  # a tier: the job may not have any
ROUND_OFF = 1e-9  # so that 50 * 0.2 executors are 10, not 11

# `params`, in this order
ORDER, STAGE_RULE, READY_FIRST, CAPPED, ALPHA, KEEP, SPILL, EXECUTORS, REASON = range(9)
LONG_THRESHOLD, FIT_THRESHOLD = 9, 10
CLASSES = 11  # from here on: executors of each class, then its CPU, then its memory

# compiled code sees plain numbers
_BY_ARRIVAL, _BY_TOTAL_WORK, _BY_WORK_LEFT = int(Order.ARRIVAL), int(Order.TOTAL_WORK), int(Order.WORK_LEFT)
_BY_PATH, _BY_TROUBLE = int(StageRule.CRITICAL_PATH), int(StageRule.TROUBLESOME)
_BELOW_CAP, _ALWAYS = int(Keep.BELOW_CAP), int(Keep.ALWAYS)
_KEEP_IN_JOB = int(Reason.KEEP_IN_JOB)
_SPILL_OVER = int(Reason.SPILL_OVER)
_TROUBLESOME_FIRST = int(Reason.TROUBLESOME_FIRST)


def list_kernel(view: DagView, params: Floats, state: Ints, out: Ints) -> int:
    # caps: cap(job) = ceil(executors * weight(job) / total), worked out when a job is looked at
    capped = params[CAPPED] > 0.0
    alpha = params[ALPHA]
    total = 0.0
    if capped:
        for job in range(view.job_unclaimed.size):
            if view.job_unclaimed[job] > 0:
                total += 1.0 if alpha == 0.0 else max(view.job_work_s[job], 1e-6) ** alpha

    # stages that are troublesome or lead to one that is
    by_trouble = params[STAGE_RULE] == _BY_TROUBLE
    classes = view.source_by_class.size
    in_group = np.zeros(view.stage_valid.size if by_trouble else 0, np.bool_)
    if by_trouble:
        for job in range(view.job_unclaimed.size):
            first, end = view.job_stage_ptr[job], view.job_stage_ptr[job + 1]
            longest = 0.0
            for v in range(first, end):
                longest = max(longest, view.stage_mean_s[v])
            for v in range(first, end):
                fitting = 0.0
                for c in range(classes):
                    if (
                        view.stage_cpu[v] <= params[CLASSES + classes + c]
                        and view.stage_memory[v] <= params[CLASSES + 2 * classes + c]
                    ):
                        fitting += params[CLASSES + c]
                in_group[v] = view.stage_mean_s[v] >= params[LONG_THRESHOLD] * longest or (
                    params[FIT_THRESHOLD] > 0.0 and fitting <= params[FIT_THRESHOLD] * params[EXECUTORS]
                )
        changed = True
        while changed:
            changed = False
            for e in range(view.edge_child.size - 1, -1, -1):
                if in_group[view.edge_child[e]] and not in_group[view.edge_parent[e]]:
                    in_group[view.edge_parent[e]] = True
                    changed = True

    best = -1
    best_tier, best_limit, best_waits, best_apart = NO_SHARE, 0, False, False
    best_key, best_path = 0.0, 0.0
    last_job, tier, limit = -1, NO_SHARE, 0
    key = 0.0
    for v in range(view.stage_valid.size):
        if not view.stage_valid[v]:
            continue
        job = view.stage_job[v]
        if job != last_job:
            last_job = job
            held = view.job_executors[job]
            limit = held + view.source_executors
            tier = 1
            if capped:
                weight = 1.0 if alpha == 0.0 else max(view.job_work_s[job], 1e-6) ** alpha
                cap = max(1, int(np.ceil(params[EXECUTORS] * weight / total - ROUND_OFF)))
                if held < cap:
                    limit = cap
                else:
                    tier = 2 if params[SPILL] > 0.0 else NO_SHARE
            if job == view.source_job:
                if params[KEEP] == _ALWAYS:
                    tier = 0
                    limit = held + view.source_executors
                elif params[KEEP] == _BELOW_CAP and tier == 1:
                    tier = 0
            key = 0.0
            if params[ORDER] == _BY_ARRIVAL:
                key = float(job)
            elif params[ORDER] == _BY_TOTAL_WORK:
                key = view.job_work_s[job]
            elif params[ORDER] == _BY_WORK_LEFT:
                key = view.job_work_left_s[job]
        if tier == NO_SHARE or tier > best_tier:
            continue
        waits = params[READY_FIRST] > 0.0 and not view.stage_ready[v]
        apart = by_trouble and not in_group[v]
        path = view.stage_critical_path_s[v] if params[STAGE_RULE] >= _BY_PATH else 0.0
        if best >= 0 and tier == best_tier:  # does it come before the best so far?
            if key != best_key:
                if key > best_key:
                    continue
            elif waits != best_waits:
                if waits:
                    continue
            elif apart != best_apart:
                if apart:
                    continue
            elif path <= best_path:
                continue
        best, best_tier, best_limit = v, tier, limit
        best_key, best_waits, best_apart, best_path = key, waits, apart, path

    if best < 0:
        return 0
    out[0] = best
    out[1] = best_limit
    out[2] = -1
    if best_tier == 0:
        out[3] = _KEEP_IN_JOB
    elif best_tier == 2:
        out[3] = _SPILL_OVER
    elif by_trouble and not best_apart:
        out[3] = _TROUBLESOME_FIRST
    else:
        out[3] = int(params[REASON])
    return 1
