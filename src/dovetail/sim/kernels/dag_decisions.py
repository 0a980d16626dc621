"""What a scheduler sees of the dag world, and carrying out what it says."""

from __future__ import annotations

from dovetail.core.dag import DagView
from dovetail.sim.kernels.dag_events import advance, may_choose
from dovetail.sim.kernels.dag_idle import take_free
from dovetail.sim.kernels.dag_moves import commit, dispatch
from dovetail.sim.kernels.dag_rounds import end_round
from dovetail.sim.kernels.dag_state import (
    BAD_CLASS,
    BAD_STAGE,
    CLASS_DOES_NOT_FIT,
    DECISION,
    EDGE_CHILD,
    EDGE_PARENT,
    EDGES,
    GROUP_ROUND,
    INVALID,
    JOB_ARRIVAL,
    JOB_DEADLINE,
    JOB_EXECUTORS,
    JOB_ID,
    JOB_UNCLAIMED,
    JOB_WEIGHT,
    JOB_WORK,
    JOB_WORK_LEFT,
    JOBS,
    LIMIT_TOO_HIGH,
    LIMIT_TOO_LOW,
    NOT_VALID,
    OK,
    ON_OFFER,
    SOURCE_JOB,
    SOURCE_STAGE,
    STAGE_CPU,
    STAGE_CRITICAL_PATH,
    STAGE_ID,
    STAGE_JOB,
    STAGE_LEFT,
    STAGE_MEAN,
    STAGE_MEMORY,
    STAGE_PROFILE,
    STAGE_READY,
    STAGE_ROUND,
    STAGE_RUNNING,
    STAGE_TASKS,
    STAGE_UNCLAIMED,
    STAGE_VALID,
    STAGES,
)
from dovetail.sim.kernels.jit import kernel


@kernel
def held(D, j):
    """Executors at, on their way to, or promised to job j, without those on offer or promised to another job."""
    count = D.jobs[j].home + D.jobs[j].incoming - D.jobs[j].outgoing
    if j == D.world[0].round_job:
        count -= D.world[0].round_left
    return count


@kernel
def observe(D, B, job_at, ptr_at, stage_at, edge_at, class_at, lean, counts):
    """Write the view of world w into the buffers from the given places on.

    `lean` leaves out saturated jobs.  `counts` gets jobs, stages, edges, source job, source stage, executors on offer.
    """
    world = D.world[0]
    source_job = -1
    source_stage = -1
    jobs = 0
    stages = 0
    edges = 0
    B.job_ptr[ptr_at] = 0
    j = world.first_active
    while j != -1:
        if lean and D.jobs[j].unsaturated == 0:
            j = D.jobs[j].next
            continue
        if j == world.round_job:
            source_job = jobs
            if world.round_kind == STAGE_ROUND:
                source_stage = stages + world.round_source - D.jobs[j].first_stage
        dag = D.jobs[j].dag
        base = D.jobs[j].first_stage
        first = D.dags[dag].stage_ptr
        last = D.dags[dag + 1].stage_ptr
        job_unclaimed = 0
        work_left = 0.0
        for row in range(first, last):
            v = base + row - first
            i = stage_at + stages + row - first
            unclaimed = max(0, D.stages[v].unstarted - D.stages[v].reserved)
            job_unclaimed += unclaimed
            left = D.stages[v].left
            work_left += left * D.rows[row].mean_s
            B.stage_ints[STAGE_ID, i] = row - first
            B.stage_ints[STAGE_JOB, i] = jobs
            B.stage_ints[STAGE_TASKS, i] = D.rows[row].tasks
            B.stage_ints[STAGE_LEFT, i] = left
            B.stage_ints[STAGE_RUNNING, i] = D.stages[v].running
            B.stage_ints[STAGE_UNCLAIMED, i] = unclaimed
            B.stage_ints[STAGE_PROFILE, i] = D.rows[row].profile
            B.stage_floats[STAGE_MEAN, i] = D.rows[row].mean_s
            B.stage_floats[STAGE_CRITICAL_PATH, i] = D.rows[row].critical_path_s
            B.stage_floats[STAGE_CPU, i] = D.rows[row].cpu
            B.stage_floats[STAGE_MEMORY, i] = D.rows[row].memory
            B.stage_flags[STAGE_READY, i] = D.stages[v].parents_left == 0
            B.stage_flags[STAGE_VALID, i] = unclaimed > 0 and may_choose(D, v, row)
        for edge in range(D.dags[dag].edge_ptr, D.dags[dag + 1].edge_ptr):
            B.edge_ints[EDGE_PARENT, edge_at + edges] = stages + D.edges[edge].parent
            B.edge_ints[EDGE_CHILD, edge_at + edges] = stages + D.edges[edge].child
            edges += 1
        i = job_at + jobs
        B.job_ints[JOB_ID, i] = j
        B.job_floats[JOB_ARRIVAL, i] = D.jobs[j].arrival_s
        B.job_floats[JOB_WEIGHT, i] = D.jobs[j].weight
        B.job_floats[JOB_DEADLINE, i] = D.jobs[j].deadline_s
        B.job_ints[JOB_EXECUTORS, i] = held(D, j)
        B.job_ints[JOB_UNCLAIMED, i] = job_unclaimed
        B.job_floats[JOB_WORK, i] = D.dags[dag].work_s
        B.job_floats[JOB_WORK_LEFT, i] = work_left
        jobs += 1
        stages += last - first
        B.job_ptr[ptr_at + jobs] = stages
        j = D.jobs[j].next
    for kind in range(D.settings[0].num_classes):
        B.by_class[class_at + kind] = D.on_offer[kind]
    counts[JOBS] = jobs
    counts[STAGES] = stages
    counts[EDGES] = edges
    counts[SOURCE_JOB] = source_job
    counts[SOURCE_STAGE] = source_stage
    counts[ON_OFFER] = world.round_left


@kernel
def view_of(D, B, counts):
    """The single-world view over buffers written from place 0 on."""
    jobs = counts[JOBS]
    stages = counts[STAGES]
    edges = counts[EDGES]
    return DagView(
        D.world[0].now,
        counts[SOURCE_JOB],
        counts[SOURCE_STAGE],
        counts[ON_OFFER],
        B.by_class[:],
        B.job_ints[JOB_ID][:jobs],
        B.job_floats[JOB_ARRIVAL][:jobs],
        B.job_floats[JOB_WEIGHT][:jobs],
        B.job_floats[JOB_DEADLINE][:jobs],
        B.job_ints[JOB_EXECUTORS][:jobs],
        B.job_ints[JOB_UNCLAIMED][:jobs],
        B.job_floats[JOB_WORK][:jobs],
        B.job_floats[JOB_WORK_LEFT][:jobs],
        B.job_ptr[: jobs + 1],
        B.stage_ints[STAGE_ID][:stages],
        B.stage_ints[STAGE_JOB][:stages],
        B.stage_ints[STAGE_TASKS][:stages],
        B.stage_ints[STAGE_LEFT][:stages],
        B.stage_ints[STAGE_RUNNING][:stages],
        B.stage_ints[STAGE_UNCLAIMED][:stages],
        B.stage_ints[STAGE_PROFILE][:stages],
        B.stage_floats[STAGE_MEAN][:stages],
        B.stage_floats[STAGE_CRITICAL_PATH][:stages],
        B.stage_floats[STAGE_CPU][:stages],
        B.stage_floats[STAGE_MEMORY][:stages],
        B.stage_flags[STAGE_READY][:stages],
        B.stage_flags[STAGE_VALID][:stages],
        B.edge_ints[EDGE_PARENT][:edges],
        B.edge_ints[EDGE_CHILD][:edges],
    )


@kernel
def check(D, j, stage, limit, kind):
    """Why (stage of job j, limit, executor class) cannot be carried out now, or OK."""
    row = D.dags[D.jobs[j].dag].stage_ptr + stage
    if not may_choose(D, D.jobs[j].first_stage + stage, row):
        return NOT_VALID
    if limit <= held(D, j):
        return LIMIT_TOO_LOW
    if limit > D.settings[0].num_executors:
        return LIMIT_TOO_HIGH
    if kind < -1 or kind >= D.settings[0].num_classes:
        return BAD_CLASS
    if kind >= 0 and (D.on_offer[kind] == 0 or D.fits[row * D.settings[0].num_classes + kind] == 0):
        return CLASS_DOES_NOT_FIT
    return OK


@kernel
def give(D, j, stage, limit, kind):
    """Hand executors on offer to a stage; the decision has been checked.  Returns how many."""
    world = D.world[0]
    v = D.jobs[j].first_stage + stage
    row = D.dags[D.jobs[j].dag].stage_ptr + stage
    want = min(limit - held(D, j), D.stages[v].unstarted - D.stages[v].reserved)
    given = 0
    D.stages[v].chosen_round = world.round_id
    e = world.round_executor
    if (
        e != -1
        and D.fits[row * D.settings[0].num_classes + D.executors[e].kind] == 1
        and (kind == -1 or kind == D.executors[e].kind)
    ):
        world.round_executor = -1
        D.on_offer[D.executors[e].kind] -= 1
        world.round_left -= 1
        given = 1
        dispatch(D, e, v, 0)
    for i in range(D.settings[0].num_classes):
        c = D.class_order[i]
        if D.fits[row * D.settings[0].num_classes + c] == 0 or (kind != -1 and kind != c):
            continue
        count = min(want - given, D.on_offer[c])
        if count <= 0:
            continue
        D.on_offer[c] -= count
        world.round_left -= count
        given += count
        if world.round_kind == GROUP_ROUND:
            for _ in range(count):
                dispatch(D, take_free(D, world.round_job, c), v, 0)
        else:
            commit(D, world.round_source, v, c, count)
    return given


@kernel
def apply(D, R, j, stage, limit, kind, reason):
    """Carry out one decision: the executors given, or minus the reason it was refused."""
    refused = check(D, j, stage, limit, kind)
    if refused != OK:
        return -refused
    world = D.world[0]
    i = world.decision_records
    recording = i < R.decisions.shape[0]
    on_offer = world.round_left
    given = give(D, j, stage, limit, kind)
    if recording:
        source = world.round_job
        row = R.decisions[i]
        row.time_s = world.now
        row.source_job = source
        row.source_stage = -1
        if world.round_kind == STAGE_ROUND and source >= 0:
            row.source_stage = world.round_source - D.jobs[source].first_stage
        row.on_offer = on_offer
        row.job = j
        row.stage = stage
        row.limit = limit
        row.given = given
        row.executor_class = kind
        row.reason = reason
        world.decision_records = i + 1
    world.decisions += 1
    return given


@kernel
def run_compiled(kernel, params, memory, out, D, R, B, counts):
    """Whole episodes without entering Python.  Returns what `advance` returned last, or INVALID."""
    while True:
        status = advance(D, R)
        if status != DECISION:
            return status
        observe(D, B, 0, 0, 0, 0, 0, True, counts)
        if kernel(view_of(D, B, counts), params, memory, out) == 0:
            end_round(D)
            continue
        given = apply_at(D, R, B, counts, out[0], out[1], out[2], out[3])
        if given <= 0:
            D.world[0].refused = -given
            return INVALID


@kernel
def step(D, R, B, decline, counts):
    """For a scheduler in Python: end the round if it declined, run on, and write the next view."""
    if decline:
        end_round(D)
    status = advance(D, R)
    if status == DECISION:
        observe(D, B, 0, 0, 0, 0, 0, False, counts)
    return status


@kernel
def apply_at(D, R, B, counts, stage, limit, kind, reason):
    """Carry out a decision that names the stage by its place in the view."""
    if stage < 0 or stage >= counts[STAGES]:
        return -BAD_STAGE
    job = B.job_ints[JOB_ID, B.stage_ints[STAGE_JOB, stage]]
    return apply(D, R, job, B.stage_ints[STAGE_ID, stage], limit, kind, reason)


@kernel
def decide_and_step(D, R, B, counts, stage, limit, kind, reason):
    """The common case in one call: one decision by its place in the view, then on to the next view."""
    given = apply_at(D, R, B, counts, stage, limit, kind, reason)
    if given <= 0:
        D.world[0].refused = -given
        return INVALID
    return step(D, R, B, False, counts)
