"""Many dag worlds, stepped together to their next decisions."""

from __future__ import annotations

from dovetail.sim.kernels.dag_decisions import apply, observe
from dovetail.sim.kernels.dag_entry import opened
from dovetail.sim.kernels.dag_events import advance
from dovetail.sim.kernels.dag_rounds import end_round
from dovetail.sim.kernels.dag_state import (
    BAD_STAGE,
    DECISION,
    EDGES,
    INVALID,
    JOB_ID,
    JOBS,
    STAGE_ID,
    STAGE_JOB,
    STAGES,
)
from dovetail.sim.kernels.jit import entry, kernel

NO_STAGE = -1  # in place of a stage: decline


@kernel
def measure(D, counts):
    """How much room the view of a world needs."""
    jobs = 0
    stages = 0
    edges = 0
    j = D.world[0].first_active
    while j != -1:
        dag = D.jobs[j].dag
        jobs += 1
        stages += D.dags[dag + 1].stage_ptr - D.dags[dag].stage_ptr
        edges += D.dags[dag + 1].edge_ptr - D.dags[dag].edge_ptr
        j = D.jobs[j].next
    counts[JOBS] = jobs
    counts[STAGES] = stages
    counts[EDGES] = edges


@kernel
def costs_now(D, out):
    """The integrals so far, lateness of unfinished jobs included."""
    world = D.world[0]
    late = world.cost_late
    j = world.first_active
    while j != -1:
        due = max(D.jobs[j].deadline_s, D.jobs[j].arrival_s)
        if world.now > due:
            late += world.now - due
        j = D.jobs[j].next
    out[0] = world.cost_time
    out[1] = world.cost_jobs
    out[2] = world.cost_weight
    out[3] = late
    out[4] = world.cost_executors


@kernel
def decide(D, R, B, first_job, first_stage, stage, limit, kind, reason):
    """Carry out a decision that names the stage by its place in the common buffers.  OK, or why not."""
    if stage == NO_STAGE:
        end_round(D)
        return 1
    i = first_stage + stage
    job = B.job_ints[JOB_ID, first_job + B.stage_ints[STAGE_JOB, i]]
    return apply(D, R, job, B.stage_ints[STAGE_ID, i], limit, kind, reason)


@entry
def step_worlds(at, first, last, shared, decisions, counts, places, status, costs, now, fresh):
    """Worlds first..last: carry out their decisions (but not where `fresh`), run on, and measure their views.

    `at` has the addresses of each world, `shared` those of the common buffers.
    """
    common = opened(shared)
    for w in range(first, last):
        if status[w] != DECISION and fresh[w] == 0:
            continue
        m = opened(at[w])
        if fresh[w] == 0:
            stage = decisions[w, 0]
            if stage != NO_STAGE and (stage < 0 or stage >= counts[w, STAGES]):
                m.one.world[0].refused = BAD_STAGE
                status[w] = INVALID
                continue
            given = decide(
                m.one,
                m.records,
                common.buffers,
                places[w, 0],
                places[w, 1],
                stage,
                decisions[w, 1],
                decisions[w, 2],
                decisions[w, 3],
            )
            if given <= 0:
                m.one.world[0].refused = -given
                status[w] = INVALID
                continue
        fresh[w] = 0
        status[w] = advance(m.one, m.records)
        measure(m.one, counts[w])
        costs_now(m.one, costs[w])
        now[w] = m.one.world[0].now


@entry
def observe_worlds(at, first, last, shared, counts, places, status):
    """Write the views of worlds first..last into the common buffers, each at its place."""
    common = opened(shared)
    for w in range(first, last):
        if status[w] == DECISION:
            m = opened(at[w])
            classes = m.one.settings[0].num_classes
            observe(
                m.one,
                common.buffers,
                places[w, 0],
                places[w, 0] + w,
                places[w, 1],
                places[w, 2],
                w * classes,
                False,
                counts[w],
            )
