"""The list schedulers of `list_rule` as one function that numba can compile; the rule arrives in `params`."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import DagView, Floats, Ints, Reason
from dovetail.schedulers.heuristic.dag.list_rule import Equal, Keep, Order, StageRule

NO_SHARE = 3  # a tier: the job may not have any
ROUND_OFF = 1e-9  # so that 50 * 0.2 executors are 10, not 11

# `params`, in this order
ORDER, STAGE_RULE, READY_FIRST, CAPPED, ALPHA, KEEP, SPILL, EXECUTORS, REASON = range(9)
LONG_THRESHOLD, FIT_THRESHOLD, SPEEDUP, EQUAL, TOTAL_CPU, TOTAL_MEMORY = 9, 10, 11, 12, 13, 14
CLASSES = 15  # from here on: executors of each class, then its CPU, then its memory

# compiled code sees plain numbers
_BY_ARRIVAL, _BY_TOTAL_WORK, _BY_WORK_LEFT = int(Order.ARRIVAL), int(Order.TOTAL_WORK), int(Order.WORK_LEFT)
_BY_THREADS, _BY_MEMORY = int(Order.THREADS_USED), int(Order.MEMORY_USED)
_EQUAL_EXECUTORS, _EQUAL_THREADS, _EQUAL_MEMORY = int(Equal.EXECUTORS), int(Equal.THREADS), int(Equal.MEMORY)
LEAST_DEMAND = 1e-6  # of a task, as a share of the cluster: one that needs nothing is not worth infinitely much
_BY_PATH, _BY_TROUBLE, _BY_SCARCITY = int(StageRule.CRITICAL_PATH), int(StageRule.TROUBLESOME), int(StageRule.SCARCE)
_BELOW_CAP, _ALWAYS = int(Keep.BELOW_CAP), int(Keep.ALWAYS)
_KEEP_IN_JOB = int(Reason.KEEP_IN_JOB)
_SPILL_OVER = int(Reason.SPILL_OVER)
_TROUBLESOME_FIRST = int(Reason.TROUBLESOME_FIRST)


# the kernel marks stages of one job in `state`, for compiled schedulers have no other memory of their own
MOST_MARKS = 4096


def list_kernel(view: DagView, params: Floats, state: Ints, out: Ints) -> int:
    # caps: cap(job) = ceil(executors * weight(job) / total), worked out when a job is looked at
    capped = params[CAPPED] > 0.0
    alpha = params[ALPHA]
    by_rank = params[SPEEDUP] > 0.0
    equal = params[EQUAL] if capped and not by_rank else _EQUAL_EXECUTORS
    total = 0.0  # of the weights; of the unsaturated jobs where shares go by rank
    if capped:
        for job in range(view.job_unclaimed.size):
            if view.job_unclaimed[job] > 0:
                if equal != _EQUAL_EXECUTORS:
                    tasks, cpu, memory = 0, 0.0, 0.0
                    for s in range(view.job_stage_ptr[job], view.job_stage_ptr[job + 1]):
                        tasks += view.stage_unclaimed[s]
                        cpu += view.stage_unclaimed[s] * view.stage_cpu[s]
                        memory += view.stage_unclaimed[s] * view.stage_memory[s]
                    cpu /= params[TOTAL_CPU] * tasks
                    memory /= params[TOTAL_MEMORY] * tasks
                    need = cpu if equal == _EQUAL_THREADS else memory if equal == _EQUAL_MEMORY else max(cpu, memory)
                    total += 1.0 / max(need, LEAST_DEMAND)
                elif by_rank or alpha == 0.0:
                    total += 1.0
                else:
                    total += max(view.job_work_s[job], 1e-6) ** alpha

    by_trouble = params[STAGE_RULE] == _BY_TROUBLE
    classes = view.source_by_class.size
    by_scarcity = params[STAGE_RULE] == _BY_SCARCITY and classes > 1
    best = -1
    best_tier, best_limit, best_waits, best_apart = NO_SHARE, 0, False, False
    best_key, best_path, best_fitting = 0.0, 0.0, 0.0
    last_job, tier, limit = -1, NO_SHARE, 0
    key, skip, first, grouped = 0.0, True, 0, False
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
                if by_rank:
                    rank = 1
                    left = view.job_work_left_s[job]
                    for other in range(view.job_unclaimed.size):
                        more = view.job_work_left_s[other]
                        if view.job_unclaimed[other] > 0 and (more > left or (more == left and other > job)):
                            rank += 1
                    power = 1.0 / (1.0 - params[SPEEDUP])
                    share = (rank / total) ** power - ((rank - 1) / total) ** power
                elif equal != _EQUAL_EXECUTORS:
                    tasks, cpu, memory = 0, 0.0, 0.0
                    for s in range(view.job_stage_ptr[job], view.job_stage_ptr[job + 1]):
                        tasks += view.stage_unclaimed[s]
                        cpu += view.stage_unclaimed[s] * view.stage_cpu[s]
                        memory += view.stage_unclaimed[s] * view.stage_memory[s]
                    cpu /= params[TOTAL_CPU] * tasks
                    memory /= params[TOTAL_MEMORY] * tasks
                    need = cpu if equal == _EQUAL_THREADS else memory if equal == _EQUAL_MEMORY else max(cpu, memory)
                    share = 1.0 / max(need, LEAST_DEMAND) / total
                else:
                    share = (1.0 if alpha == 0.0 else max(view.job_work_s[job], 1e-6) ** alpha) / total
                cap = max(1, int(np.ceil(params[EXECUTORS] * share - ROUND_OFF)))
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
            elif params[ORDER] >= _BY_THREADS:
                cpu, memory = 0.0, 0.0
                for s in range(view.job_stage_ptr[job], view.job_stage_ptr[job + 1]):
                    cpu += view.stage_running[s] * view.stage_cpu[s]
                    memory += view.stage_running[s] * view.stage_memory[s]
                cpu /= params[TOTAL_CPU]
                memory /= params[TOTAL_MEMORY]
                key = (
                    cpu if params[ORDER] == _BY_THREADS else memory if params[ORDER] == _BY_MEMORY else max(cpu, memory)
                )
            skip = tier == NO_SHARE or tier > best_tier or (tier == best_tier and best >= 0 and key > best_key)
            if by_trouble and not skip:
                # mark the stages of this job that are troublesome, then those that lead to a marked one
                first, end = view.job_stage_ptr[job], view.job_stage_ptr[job + 1]
                grouped = end - first <= state.size
                if grouped:
                    longest = 0.0
                    for s in range(first, end):
                        longest = max(longest, view.stage_mean_s[s])
                    for s in range(first, end):
                        fitting = 0.0
                        for c in range(classes):
                            if (
                                view.stage_cpu[s] <= params[CLASSES + classes + c]
                                and view.stage_memory[s] <= params[CLASSES + 2 * classes + c]
                            ):
                                fitting += params[CLASSES + c]
                        is_long = view.stage_mean_s[s] >= params[LONG_THRESHOLD] * longest
                        is_hard = fitting <= params[FIT_THRESHOLD] * params[EXECUTORS]
                        state[s - first] = 1 if is_long or (is_hard and params[FIT_THRESHOLD] > 0.0) else 0
                    changed = True
                    while changed:
                        changed = False
                        for e in range(view.edge_child.size - 1, -1, -1):
                            parent, child = view.edge_parent[e] - first, view.edge_child[e] - first
                            if 0 <= parent < end - first and state[child] == 1 and state[parent] == 0:
                                state[parent] = 1
                                changed = True
        if skip:
            continue
        waits = params[READY_FIRST] > 0.0 and not view.stage_ready[v]
        apart = by_trouble and not (grouped and state[v - first] == 1)
        path = view.stage_critical_path_s[v] if params[STAGE_RULE] >= _BY_PATH else 0.0
        fitting = 0.0
        if by_scarcity:
            for c in range(classes):
                if (
                    view.stage_cpu[v] <= params[CLASSES + classes + c]
                    and view.stage_memory[v] <= params[CLASSES + 2 * classes + c]
                ):
                    fitting += params[CLASSES + c]
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
            elif fitting != best_fitting:
                if fitting > best_fitting:
                    continue
            elif path <= best_path:
                continue
        best, best_tier, best_limit = v, tier, limit
        best_key, best_waits, best_apart, best_path, best_fitting = key, waits, apart, path, fitting

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
