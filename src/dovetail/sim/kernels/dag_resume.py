"""A dag world that starts in the middle: from what a view says, and nothing else."""

from __future__ import annotations

from dovetail.sim.kernels.dag_decisions import give, held
from dovetail.sim.kernels.dag_entry import opened
from dovetail.sim.kernels.dag_heap import push_event
from dovetail.sim.kernels.dag_idle import change, set_free, take_free
from dovetail.sim.kernels.dag_reset import reset
from dovetail.sim.kernels.dag_rounds import open_group_round, open_stage_round
from dovetail.sim.kernels.dag_state import (
    BUSY,
    EXECUTOR_ARRIVAL,
    MOVING,
    TASK_END,
)
from dovetail.sim.kernels.jit import entry, kernel


@kernel
def take_fitting(D, v, source_stage, by_class):
    """An executor from the common pool that can run stage v, smallest first; -1 = none but those to be offered."""
    classes = D.settings[0].num_classes
    for i in range(classes):
        kind = D.class_order[i]
        offered = by_class[kind] if source_stage == -1 else min(1, by_class[kind])
        if D.fits[D.stages[v].row * classes + kind] == 1 and D.queues[kind].free_count > offered:
            return take_free(D, -1, kind)
    return -1


@kernel
def let_jobs_in(D, now):
    """All jobs are in the system; stages are as far as `left` says."""
    world = D.world[0]
    world.now = now
    jobs = world.num_jobs
    world.next_arrival = jobs
    world.in_system = jobs
    world.unsaturated_jobs = jobs
    world.first_active = 0 if jobs > 0 else -1
    world.last_active = jobs - 1
    for j in range(jobs):
        D.jobs[j].prev = j - 1
        D.jobs[j].next = j + 1 if j + 1 < jobs else -1
        world.active_weight += D.jobs[j].weight


@kernel
def place_busy(D, order, stage_left, stage_running, source_stage, by_class):
    """Busy executors on running tasks, their ends spread evenly; stages in the order given, most demanding first."""
    now = D.world[0].now
    for v in order:
        stage = D.stages[v]
        job = D.jobs[stage.job]
        row = stage.row
        done = D.rows[row].tasks - stage_left[v]
        unstarted = stage_left[v] - stage_running[v]
        running = 0
        for i in range(stage_running[v]):
            e = take_fitting(D, v, source_stage, by_class)
            if e == -1:
                break
            running += 1
            executor = D.executors[e]
            executor.state = BUSY
            executor.home = stage.job
            executor.stage = v
            executor.last_stage = v
            executor.start_s = now
            job.home += 1
            D.stage_executors[v * D.settings[0].num_classes + executor.kind] += 1
            share = (i + 0.5) / stage_running[v]
            push_event(D, now + share * D.rows[row].mean_s, TASK_END, e)
        stage.left = stage_left[v]
        stage.running = running
        stage.starts = done + running
        change(D, v, unstarted + (stage_running[v] - running) - stage.unstarted, 0)
        if stage_left[v] == 0:
            job.stages_left -= 1
            for i in range(D.rows[row].child_ptr, D.rows[row + 1].child_ptr):
                D.stages[job.first_stage + D.children[i]].parents_left -= 1


@kernel
def place_promised(D, order, stage_unclaimed, source_stage, by_class):
    """Executors promised to a stage are half-way there; those still busy elsewhere were placed already."""
    now = D.world[0].now
    for v in order:
        promised = D.stages[v].unstarted - stage_unclaimed[v]
        for _ in range(promised):
            e = take_fitting(D, v, source_stage, by_class)
            if e == -1:
                break
            D.executors[e].state = MOVING
            D.executors[e].stage = v
            D.jobs[D.stages[v].job].incoming += 1
            change(D, v, 0, 1)
            push_event(D, now + 0.5 * D.settings[0].moving_delay_s, EXECUTOR_ARRIVAL, e)


@kernel
def make_offer(D, source_job, source_stage, by_class):
    """The round of the view: idle executors of the source's job, or of the stage that has run dry."""
    taken = -1
    for kind in range(by_class.shape[0]):
        for _ in range(by_class[kind]):
            if source_stage >= 0 and taken != -1:
                break
            e = take_free(D, -1, kind)
            if source_job >= 0:
                D.jobs[source_job].home += 1
                D.executors[e].home = source_job
                D.executors[e].last_stage = D.jobs[source_job].first_stage
            if source_stage >= 0:
                taken = e
            else:
                set_free(D, e, source_job, False)
    if source_stage >= 0:
        open_stage_round(D, source_stage, taken, source_job)
    else:
        open_group_round(D, source_job + 1)


@entry
def enter_resume(
    at,
    executor_class,
    jobs,
    arrivals,
    weights,
    deadlines,
    now,
    order,
    stage_left,
    stage_running,
    stage_unclaimed,
    source_job,
    source_stage,
    by_class,
    candidate,
    horizon_s,
):
    """The world as a view says it is, after `candidate` (stage, executors to give, class) has been carried out."""
    m = opened(at)
    reset(m.one, executor_class, jobs, arrivals, weights, deadlines, 0, 0, horizon_s)
    let_jobs_in(m.one, now)
    place_busy(m.one, order, stage_left, stage_running, source_stage, by_class)
    place_promised(m.one, order, stage_unclaimed, source_stage, by_class)
    make_offer(m.one, source_job, source_stage, by_class)
    job = m.one.stages[candidate[0]].job
    stage = candidate[0] - m.one.jobs[job].first_stage
    give(m.one, job, stage, held(m.one, job) + candidate[1], candidate[2])
