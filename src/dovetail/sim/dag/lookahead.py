"""What-if runs from a view: the simulator as a scheduler's model of the world.

A scratch world is put together from the view alone (mean durations, counts of running and promised tasks, no coming
arrivals, no luck), so a live engine can offer the same to its schedulers, and nothing private leaks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.dag import DagDecision, DagKernel, DagView, DurationProfiles, Floats, Ints
from dovetail.core.errors import InvalidDecision
from dovetail.sim.dag.left_over import still_to_pay
from dovetail.sim.dag.memory import allocate_buffers, allocate_records, allocate_world
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.dag.options import DagOptions
from dovetail.sim.dag.prepare import class_order, executor_classes, level_choice, plain_settings
from dovetail.sim.kernels import dag_state as layout
from dovetail.sim.kernels.dag_compile import compile_kernel, episode_loop
from dovetail.sim.kernels.dag_entry import addresses
from dovetail.sim.kernels.dag_resume import enter_resume
from dovetail.sim.kernels.dag_state import COUNTS, FINISHED, DagMemory, DagTable, allocate

JOBS = COSTS.index("jobs")


class ViewLookAhead:
    """Answers `LookAhead.costs` for worlds with these options."""

    def __init__(self, options: DagOptions, profiles: DurationProfiles) -> None:
        self._options = options
        self._profiles = profiles
        self._classes = executor_classes(options)

    def costs(
        self,
        view: DagView,
        candidates: Sequence[DagDecision],
        kernel: DagKernel,
        horizon_s: float = float("inf"),
    ) -> Floats:
        """Job-seconds from now to the end after each candidate, if the kernel decides everything else.

        Runs are cut short at the horizon; what the jobs that are there then would take is estimated.
        `InvalidDecision` if a candidate cannot be carried out, or the kernel goes wrong.
        """
        jobs, stages, edges = len(view.job_id), len(view.stage_id), len(view.edge_parent)
        table = view_table(view, self._options, self._profiles)
        memory = DagMemory(
            allocate_world(table, jobs, stages),
            allocate_records(0, 0),
            allocate_buffers(jobs, stages, edges, len(table.class_order)),
        )
        at = addresses(memory)
        function = compile_kernel(kernel)
        run_on = episode_loop()
        out = np.zeros(4, dtype=np.int64)
        counts = np.zeros(COUNTS, dtype=np.int64)
        columns = [np.array(column) for column in (view.stage_left, view.stage_running, view.stage_unclaimed)]
        # which class an executor is of is not in the view: the most demanding stages get the smallest that will do
        order = np.lexsort((-view.stage_cpu, -view.stage_memory))
        costs = np.empty(len(candidates))
        for i, candidate in enumerate(candidates):
            enter_resume(
                at,
                self._classes,
                np.arange(jobs),
                np.array(view.job_arrival_s),
                np.array(view.job_weight),
                np.array(view.job_deadline_s),
                float(view.time_s),
                order,
                *columns,
                int(view.source_job),
                int(view.source_stage),
                np.array(view.source_by_class),
                gift(view, candidate),
                float(view.time_s + horizon_s),
            )
            if run_on(function, kernel.params, kernel.state, out, at, counts) != FINISHED:
                raise InvalidDecision(
                    f"looking ahead from {candidate}: the kernel stalls, or decides what cannot be done"
                )
            costs[i] = memory.one.world["cost_jobs"][0]
            if horizon_s != float("inf"):
                costs[i] += still_to_pay(memory.one)[JOBS]
        return costs


def gift(view: DagView, candidate: DagDecision) -> Ints:
    """(stage, executors to give, class): limits mean something else where promised executors are placed anew."""
    stage, limit, kind, _ = candidate
    if not 0 <= stage < len(view.stage_id) or not view.stage_valid[stage]:
        raise InvalidDecision(f"looking ahead: stage {stage} of {candidate} may not be chosen; see stage_valid")
    more = limit - int(view.job_executors[view.stage_job[stage]])
    if more < 1:
        raise InvalidDecision(f"looking ahead: the limit of {candidate} is not above what the job holds")
    return np.array([stage, more, kind], dtype=np.int64)


def view_table(view: DagView, options: DagOptions, profiles: DurationProfiles) -> DagTable:
    """Each job of the view as a kind of job of its own, every task as long as the mean of its wave and level says."""
    jobs, stages = len(view.job_id), len(view.stage_id)
    kinds = options.executor_classes()
    dags = allocate(jobs + 1, layout.DAG)
    dags["stage_ptr"] = view.job_stage_ptr
    dags["edge_ptr"] = np.searchsorted(view.stage_job[view.edge_parent], np.arange(jobs + 1))
    dags["work_s"][:-1] = view.job_work_s
    first = np.asarray(view.job_stage_ptr)[np.asarray(view.stage_job)]
    edges = allocate(len(view.edge_parent), layout.EDGE)
    edges["parent"] = view.edge_parent - first[view.edge_parent]
    edges["child"] = view.edge_child - first[view.edge_child]
    rows = allocate(stages + 1, layout.ROW)
    rows["tasks"][:-1] = view.stage_tasks
    rows["num_parents"][:-1] = np.bincount(view.edge_child, minlength=stages)
    rows["child_ptr"][1:] = np.cumsum(np.bincount(view.edge_parent, minlength=stages))
    for name in ("profile", "mean_s", "critical_path_s", "cpu", "memory"):
        rows[name][:-1] = getattr(view, f"stage_{name}")
    order = np.argsort(view.edge_parent, kind="stable")
    fits = (view.stage_cpu[:, None] <= [kind.cpu for kind in kinds]) & (
        view.stage_memory[:, None] <= [kind.memory for kind in kinds]
    )
    means = 3 * len(profiles.levels)
    slots = allocate(stages * means, layout.SLOT)
    slots["start"] = (np.asarray(view.stage_profile)[:, None] * means + np.arange(means)).ravel()
    slots["count"] = 1
    return DagTable(
        settings=plain_settings(len(profiles.levels), options),
        levels=level_choice(profiles.levels, sum(kind.count for kind in kinds), options),
        class_order=class_order(kinds),
        dags=dags,
        rows=rows,
        edges=edges,
        children=np.ascontiguousarray(edges["child"][order], dtype=np.int64),
        fits=fits.astype(np.int64).ravel(),
        slots=slots,
        samples_s=profiles.mean_s.ravel(),
    )
