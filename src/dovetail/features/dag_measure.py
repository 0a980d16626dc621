"""Every number that a feature set can show of a stage, compiled: `measure_stage` writes them in the order of `COLUMNS`.

`dag_columns` says what each of them means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from dovetail.core.dag import DagView
from dovetail.core.stale_code import forget_stale_code
from dovetail.features.dag_columns import COLUMNS, COMPRESSED_FROM, FEW, MORE, RANK_POWER

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True}
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""For functions that only compiled code calls: without the wrappers for Python they compile in half the time."""
FRESH, FIRST, REST = range(3)  # the waves of a profile
WAVES = 3
MEASURES = len(COLUMNS)

forget_stale_code(Path(__file__).parent)

# what a world is told once: numbers by job row, and of the whole
RANK, BARE_WORK_S, FOREMOST, SCARCEST = range(4)
BY_JOB = 4
SHARING, SHARING_WORK_S, WORK_S, BY_CLASS = range(4)  # from BY_CLASS on: unclaimed work, by least class that fits


@njit(**INNER)
def mean_duration_s(known, profile, otherwise_s, wave, executors):
    """Of a task of that wave if its job holds so many executors; `otherwise_s` where there is no profile."""
    levels, mean_s = known.levels, known.mean_s
    count = levels.shape[0]
    if profile < 0 or count == 0:
        return otherwise_s
    first = (profile * WAVES + wave) * count
    if executors <= levels[0]:
        return mean_s[first]
    if executors >= levels[count - 1]:
        return mean_s[first + count - 1]
    k = 0
    while levels[k + 1] < executors:
        k += 1
    up = (executors - levels[k]) / (levels[k + 1] - levels[k])
    return mean_s[first + k] * (1.0 - up) + mean_s[first + k + 1] * up


# A view is a hundred numbers, and handing it on copies them: what is called for each stage takes what it needs of it.


@njit(**INNER)
def least_class(cpu, memory, known):
    """The class with the least memory that such a task fits on; -1: there is none."""
    least = -1
    for c in range(known.class_executors.shape[0]):
        if cpu <= known.cpu[c] and memory <= known.memory[c] and (least < 0 or known.memory[c] < known.memory[least]):
            least = c
    return least


@njit(**INNER)
def executors_that_fit(cpu, memory, known):
    """Executors of the cluster that such a task fits on."""
    fitting = 0.0
    for c in range(known.class_executors.shape[0]):
        if cpu <= known.cpu[c] and memory <= known.memory[c]:
            fitting += known.class_executors[c]
    return fitting


@njit(**INNER)
def room_for_survey(view, known):
    """`by_job` and `in_all`, as `survey` fills them."""
    by_job = np.empty((BY_JOB, view.job_id.shape[0]), dtype=np.float64)
    return by_job, np.empty(BY_CLASS + known.class_executors.shape[0], dtype=np.float64)


@njit(**INNER)
def survey(view, known, by_job, in_all):
    """What all stages of a job, or of the world, have in common."""
    jobs = view.job_id.shape[0]
    keys = np.empty(jobs, dtype=np.float64)
    which = np.empty(jobs, dtype=np.int64)
    sharing = 0
    in_all[:] = 0.0
    for j in range(jobs - 1, -1, -1):  # of equal jobs the first ranks as the smaller
        by_job[RANK, j] = 0.0
        by_job[FOREMOST, j] = -1.0
        by_job[SCARCEST, j] = -1.0
        fewest = 0.0
        in_all[WORK_S] += view.job_work_left_s[j]
        if view.job_unclaimed[j] > 0:
            in_all[SHARING_WORK_S] += view.job_work_left_s[j]
            keys[sharing] = -view.job_work_left_s[j]
            which[sharing] = j
            sharing += 1
        work_s = 0.0
        for s in range(view.job_stage_ptr[j], view.job_stage_ptr[j + 1]):
            if view.stage_left[s] > 0:
                each_s = mean_duration_s(known, view.stage_profile[s], view.stage_mean_s[s], REST, FEW)
                work_s += view.stage_left[s] * each_s
            if view.stage_unclaimed[s] > 0:
                least = least_class(view.stage_cpu[s], view.stage_memory[s], known)
                if least >= 0:
                    in_all[BY_CLASS + least] += view.stage_unclaimed[s] * view.stage_mean_s[s]
            if view.stage_valid[s]:
                best = np.int64(by_job[FOREMOST, j])
                if best < 0 or (
                    view.stage_critical_path_s[s] > view.stage_critical_path_s[best]
                    if view.stage_ready[s] == view.stage_ready[best]
                    else view.stage_ready[s]
                ):
                    by_job[FOREMOST, j] = s
                best = np.int64(by_job[SCARCEST, j])
                fitting = executors_that_fit(view.stage_cpu[s], view.stage_memory[s], known)
                if best < 0 or (
                    (
                        view.stage_critical_path_s[s] > view.stage_critical_path_s[best]
                        if fitting == fewest
                        else fitting < fewest
                    )
                    if view.stage_ready[s] == view.stage_ready[best]
                    else view.stage_ready[s]
                ):
                    by_job[SCARCEST, j] = s
                    fewest = fitting
        by_job[BARE_WORK_S, j] = work_s
    in_all[SHARING] = sharing
    order = np.argsort(keys[:sharing], kind="mergesort")
    for place in range(sharing):
        by_job[RANK, which[order[place]]] = place + 1


@njit(**INNER)
def measure_stage(view, known, by_job, in_all, s, out):
    """The numbers of one stage, unscaled."""
    j, executors = view.stage_job[s], known.executors
    held, unclaimed = view.job_executors[j], view.stage_unclaimed[s]
    not_started = view.stage_left[s] - view.stage_running[s]
    profile, mean_s = view.stage_profile[s], view.stage_mean_s[s]
    rest_s = mean_duration_s(known, profile, mean_s, REST, held)
    later_s = mean_duration_s(known, profile, mean_s, REST, held + MORE)
    sharing = max(in_all[SHARING], 1.0)
    rank = by_job[RANK, j]
    above = max(rank, 1.0)
    equal_share = executors / sharing
    share_by_rank = executors * ((above / sharing) ** RANK_POWER - ((above - 1.0) / sharing) ** RANK_POWER)
    out[0] = not_started
    out[1] = not_started * mean_s
    out[2] = held
    out[3] = view.source_executors
    out[4] = 1.0 if j == view.source_job else -1.0
    out[5] = unclaimed
    out[6] = mean_s
    out[7] = view.stage_critical_path_s[s]
    out[8] = 1.0 if view.stage_ready[s] else 0.0
    out[9] = view.job_work_left_s[j]
    out[10] = view.job_unclaimed[j]
    out[11] = view.time_s - view.job_arrival_s[j]
    out[12] = view.job_weight[j]
    out[13] = view.job_deadline_s[j] - view.time_s
    out[14] = view.job_id.shape[0]
    out[15] = in_all[WORK_S]
    out[16] = view.stage_running[s]
    out[17] = rest_s
    out[18] = mean_duration_s(known, profile, mean_s, FIRST, held) - rest_s
    out[19] = mean_duration_s(known, profile, mean_s, FRESH, held) - rest_s
    out[20] = later_s / max(rest_s, 1e-9) - 1.0
    out[21] = unclaimed * rest_s
    out[22] = np.log1p(by_job[BARE_WORK_S, j] / 10.0)
    out[23] = 1.0 if s == np.int64(by_job[FOREMOST, j]) else 0.0
    out[24] = (in_all[SHARING] - rank) / max(in_all[SHARING] - 1.0, 1.0)
    out[25] = equal_share - held
    out[26] = share_by_rank - held
    out[27] = in_all[SHARING]
    leaving = view.source_stage >= 0 and view.job_unclaimed[view.source_job] > 0
    out[28] = 0.0 if leaving else 1.0
    out[29] = np.log1p(in_all[SHARING_WORK_S] / max(executors, 1.0))
    out[30] = held / max(equal_share, 1.0)
    out[31] = view.source_executors / max(executors, 1.0)
    out[32] = np.log1p(equal_share)
    measure_fit(view.stage_cpu[s], view.stage_memory[s], view.source_by_class, known, in_all, out)
    out[37] = 1.0 if s == np.int64(by_job[SCARCEST, j]) else 0.0


@njit(**INNER)
def measure_fit(cpu, memory, source_by_class, known, in_all, out):
    """Those of the numbers that say what a task can run on."""
    least = least_class(cpu, memory, known)
    largest = offered = needing = needed_s = all_s = 0.0
    for c in range(known.class_executors.shape[0]):
        largest = max(largest, known.memory[c])
        all_s += in_all[BY_CLASS + c]
        if cpu <= known.cpu[c] and memory <= known.memory[c]:
            offered += source_by_class[c]
        if least >= 0 and known.memory[c] >= known.memory[least]:
            needing += known.class_executors[c]
            needed_s += in_all[BY_CLASS + c]
    pressure = np.log1p(needed_s / max(needing, 1.0))
    out[33] = memory / largest if 0.0 < largest < np.inf else 0.0
    out[34] = offered
    out[35] = executors_that_fit(cpu, memory, known) / max(known.executors, 1.0)
    out[36] = pressure
    out[38] = pressure - np.log1p(all_s / max(known.executors, 1.0))


@njit(**INNER)
def write_stage(view, known, by_job, in_all, s, numbers, selection, out):
    """The features of one stage into a row; `numbers` is room for all that can be measured."""
    measure_stage(view, known, by_job, in_all, s, numbers)
    for f in range(selection.picked.shape[0]):
        scaled = numbers[selection.picked[f]] / selection.scale[f]
        scaled = min(max(scaled, selection.low[f]), selection.high[f])
        if selection.compressed and abs(scaled) > COMPRESSED_FROM:
            scaled = np.copysign(COMPRESSED_FROM * (1.0 + np.log(abs(scaled) / COMPRESSED_FROM)), scaled)
        out[f] = scaled


@njit(**INNER)
def world_view(worlds, w):
    """The view of one of many worlds; `DagBatchView.world` compiled."""
    columns = worlds.columns
    classes = columns.source_by_class.shape[0] // worlds.time_s.shape[0]
    j, jj = worlds.job_ptr[w], worlds.job_ptr[w + 1]
    s, ss = worlds.stage_ptr[w], worlds.stage_ptr[w + 1]
    e, ee = worlds.edge_ptr[w], worlds.edge_ptr[w + 1]
    return DagView(
        worlds.time_s[w],
        worlds.source_job[w],
        worlds.source_stage[w],
        worlds.source_executors[w],
        columns.source_by_class[w * classes : (w + 1) * classes],
        columns.job_id[j:jj],
        columns.job_arrival_s[j:jj],
        columns.job_weight[j:jj],
        columns.job_deadline_s[j:jj],
        columns.job_executors[j:jj],
        columns.job_unclaimed[j:jj],
        columns.job_work_s[j:jj],
        columns.job_work_left_s[j:jj],
        columns.job_stage_ptr[j + w : jj + w + 1],
        columns.stage_id[s:ss],
        columns.stage_job[s:ss],
        columns.stage_tasks[s:ss],
        columns.stage_left[s:ss],
        columns.stage_running[s:ss],
        columns.stage_unclaimed[s:ss],
        columns.stage_profile[s:ss],
        columns.stage_mean_s[s:ss],
        columns.stage_critical_path_s[s:ss],
        columns.stage_cpu[s:ss],
        columns.stage_memory[s:ss],
        columns.stage_ready[s:ss],
        columns.stage_valid[s:ss],
        columns.edge_parent[e:ee],
        columns.edge_child[e:ee],
    )


@njit(**OPTIONS)
def write_worlds(worlds, known, selection, out):
    """The features of all stages of all worlds."""
    numbers = np.empty(MEASURES, dtype=np.float64)
    for w in range(worlds.time_s.shape[0]):
        first = worlds.stage_ptr[w]
        if first == worlds.stage_ptr[w + 1]:
            continue
        view = world_view(worlds, w)
        by_job, in_all = room_for_survey(view, known)
        survey(view, known, by_job, in_all)
        for s in range(view.stage_id.shape[0]):
            write_stage(view, known, by_job, in_all, s, numbers, selection, out[first + s])
