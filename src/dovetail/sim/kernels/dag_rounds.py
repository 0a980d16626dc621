"""Rounds: which executors are on offer, and what becomes of those nobody wants."""

from __future__ import annotations

from dovetail.sim.kernels.dag_idle import leave_home, set_free, take_free
from dovetail.sim.kernels.dag_moves import committed
from dovetail.sim.kernels.dag_state import GROUP_ROUND, NO_ROUND, STAGE_ROUND
from dovetail.sim.kernels.jit import kernel


@kernel
def open_group_round(D, group):
    world = D.world[0]
    world.round_kind = GROUP_ROUND
    world.round_id += 1
    world.round_source = group
    world.round_job = group - 1
    world.round_executor = -1
    world.round_left = D.groups[group].total
    for kind in range(D.settings[0].num_classes):
        D.on_offer[kind] = D.queues[group * D.settings[0].num_classes + kind].free_count


@kernel
def open_stage_round(D, s, e, job):
    """e, free but on no list, and the executors still busy on s without a commitment, are on offer."""
    world = D.world[0]
    world.round_kind = STAGE_ROUND
    world.round_id += 1
    world.round_source = s
    world.round_job = job
    world.round_executor = e
    left = 0
    for kind in range(D.settings[0].num_classes):
        count = D.stage_executors[s * D.settings[0].num_classes + kind] - committed(D, s, kind)
        if kind == D.executors[e].kind:
            count += 1
        D.on_offer[kind] = count
        left += count
    world.round_left = left


@kernel
def has_undry_stage(D, j):
    first = D.jobs[j].first_stage
    dag = D.jobs[j].dag
    stages = D.dags[dag + 1].stage_ptr - D.dags[dag].stage_ptr
    unstarted = 0
    for v in range(first, first + stages):
        unstarted += D.stages[v].unstarted
    return unstarted > 0


@kernel
def decline(D, e):
    """e, on no list, was offered and not taken."""
    home = D.executors[e].home
    if D.settings[0].idle_until_arrival and home >= 0 and not has_undry_stage(D, home):
        leave_home(D, e)
        home = -1
    set_free(D, e, home, True)


@kernel
def move_to_common(D, j, offered):
    """All free executors of job j lose their home."""
    for kind in range(D.settings[0].num_classes):
        while D.queues[(j + 1) * D.settings[0].num_classes + kind].free_count > 0:
            e = take_free(D, j, kind)
            leave_home(D, e)
            set_free(D, e, -1, offered)


@kernel
def end_round(D):
    world = D.world[0]
    source = world.round_source
    if world.round_kind == GROUP_ROUND:
        D.groups[source].offered = world.version
        if D.settings[0].idle_until_arrival and source > 0 and not has_undry_stage(D, source - 1):
            move_to_common(D, source - 1, True)
    else:
        D.stages[source].offered = world.version
        e = world.round_executor
        if e != -1:
            decline(D, e)
    world.round_kind = NO_ROUND


@kernel
def find_group(D, job):
    """The next free group to be offered: that of `job`, the common one, the others by number; -1 = none."""
    world = D.world[0]
    version = world.version
    forced = D.settings[0].idle_until_arrival != 0
    if job >= 0 and D.groups[job + 1].total > 0:
        mark = D.groups[job + 1].offered
        if mark == -1 or (not forced and mark != version):
            return job + 1
    if D.groups[0].total > 0:
        mark = D.groups[0].offered
        if mark == -1 or (not forced and mark != version):
            return 0
    if world.total_free > D.groups[0].total:
        j = world.first_active
        while j != -1:
            if D.groups[j + 1].total > 0:
                mark = D.groups[j + 1].offered
                if mark == -1 or (not forced and mark != version):
                    return j + 1
            j = D.jobs[j].next
    return -1
