"""A fresh dag world."""

from __future__ import annotations

import numpy as np
from dovetail.sim.kernels.jit import kernel

from dovetail.sim.kernels.dag_rules import next_failure, set_free


@kernel
def reset(D, executor_class, job_dag, arrival_s, weight, deadline_s, duration_key, failure_key, horizon_s):
    """The world starts again with the given jobs (in order of arrival).  Its scalars have been zeroed."""
    world = D.world[0]
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
    v = 0
    for j in range(jobs):
        dag = job_dag[j]
        first = D.dags[dag].stage_ptr
        last = D.dags[dag + 1].stage_ptr
        job = D.jobs[j]
        job.dag = dag
        job.base = v
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
            stage.round = -1
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
