"""A fresh dag world."""

from __future__ import annotations

import numpy as np

from dovetail.sim.kernels.dag_chance import next_failure
from dovetail.sim.kernels.dag_idle import set_free
from dovetail.sim.kernels.dag_state import NO_ROUND
from dovetail.sim.kernels.jit import kernel


@kernel
def reset(D, executor_class, job_dag, arrival_s, weight, deadline_s, duration_key, failure_key, horizon_s):
    """The world starts again with the given jobs (in order of arrival)."""
    world = D.world[0]
    world.next_arrival = 0
    world.in_system = 0
    world.unsaturated_jobs = 0
    world.heap_size = 0
    world.version = 0
    world.total_free = 0
    world.round_kind = NO_ROUND
    world.round_id = 0
    world.round_executor = -1
    world.round_left = 0
    world.round_job = -1
    world.events = 0
    world.decisions = 0
    world.task_records = 0
    world.decision_records = 0
    world.now = 0.0
    world.cost_time = 0.0
    world.cost_jobs = 0.0
    world.cost_weight = 0.0
    world.cost_late = 0.0
    world.cost_executors = 0.0
    world.active_weight = 0.0
    world.busy_s = 0.0
    world.horizon = horizon_s
    world.duration_key = duration_key
    world.failure_key = failure_key
    jobs = job_dag.shape[0]
    world.num_jobs = jobs
    world.first_active = -1
    world.last_active = -1
    world.event_job = -1
    world.checked = -1
    classes = D.settings[0].num_classes
    executors = D.settings[0].num_executors
    for kind in range(classes):
        D.on_offer[kind] = 0
    v = 0
    for j in range(jobs):
        dag = job_dag[j]
        first = D.dags[dag].stage_ptr
        last = D.dags[dag + 1].stage_ptr
        job = D.jobs[j]
        job.dag = dag
        job.first_stage = v
        job.arrival_s = arrival_s[j]
        job.weight = weight[j]
        job.deadline_s = deadline_s[j]
        job.finish_s = np.nan
        job.home = 0
        job.incoming = 0
        job.outgoing = 0
        job.stages_left = last - first
        job.unsaturated = last - first
        for row in range(first, last):
            stage = D.stages[v]
            stage.job = j
            stage.row = row
            stage.unstarted = D.rows[row].tasks
            stage.left = D.rows[row].tasks
            stage.running = 0
            stage.reserved = 0
            stage.parents_left = D.rows[row].num_parents
            stage.parents_unsaturated = D.rows[row].num_parents
            stage.chosen_round = -1
            stage.offered = -1
            stage.starts = 0
            stage.commit_head = -1
            stage.commit_tail = -1
            for kind in range(classes):
                D.stage_executors[v * classes + kind] = 0
            v += 1
    for group in range(jobs + 1):
        D.groups[group].total = 0
        D.groups[group].offered = 0
        for slot in range(group * classes, (group + 1) * classes):
            queue = D.queues[slot]
            queue.free_head = -1
            queue.free_tail = -1
            queue.free_count = 0
            queue.park_head = -1
            queue.park_tail = -1
    world.at_work = executors
    for e in range(executors):
        D.commitments[e].next = e + 1 if e + 1 < executors else -1
        executor = D.executors[e]
        executor.kind = executor_class[e]
        executor.failures = 0
        executor.failure_s = 0.0
        if D.settings[0].mean_time_to_failure_s > 0.0:
            next_failure(D, e)
        set_free(D, e, -1, False)
    world.free_commitment = 0
