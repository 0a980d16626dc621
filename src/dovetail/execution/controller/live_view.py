"""The live state as a `DagView`: flat arrays that follow the objects, laid out anew when jobs come or go.

Only stages that changed since the last view are written again, so a view costs little more than slicing, however many
tasks ended in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.core.dag import Bools, DagView, ExecutorClass, Floats, Ints
from dovetail.execution.controller.state import Job, Round, Stage

MANY = 50  # stages of a job, beyond which arrays are summed up faster than lists


class LiveView:
    """All jobs in the system, in order of arrival, stage by stage."""

    def __init__(self, classes: Sequence[ExecutorClass]) -> None:
        self._classes = classes
        self.jobs: list[Job] = []
        self.stages: list[Stage] = []
        self._stale: list[Stage] = []
        self._shape_is_stale = True
        self._set_rows()

    def add(self, job: Job) -> None:
        """Rows are laid out again at the next view: jobs that come together cost one layout."""
        self.jobs.append(job)
        self._shape_is_stale = True

    def remove(self, job: Job) -> None:
        self.jobs.remove(job)
        self._shape_is_stale = True

    def touch(self, stage: Stage) -> None:
        """The stage changed."""
        if not stage.stale:
            stage.stale = True
            self._stale.append(stage)

    def view(self, time_s: float, round_: Round) -> DagView | None:
        """What a scheduler sees of a round; None if no stage may be chosen."""
        if self._shape_is_stale:
            self._set_rows()
        elif self._stale:
            self._refresh()
        valid = self._valid(round_)
        if not valid.any():
            return None
        on_offer = sum(round_.on_offer)
        held = self._held.copy()
        for at, job in enumerate(self.jobs):
            held[at] = job.at_home + job.moving_here + job.promised_here - job.promised_away
        source_job = -1
        if round_.job is not None and not round_.job.ended:
            source_job = round_.job.row
            held[source_job] -= on_offer
        source_stage = -1 if round_.stage is None or source_job < 0 else round_.stage.row
        columns = (
            self._job_id, self._arrival_s, self._weight, self._deadline_s, held, self._job_unclaimed, self._job_work_s,
            self._job_work_left_s, self._stage_ptr, self._stage_id, self._stage_job, self._tasks, self._left,
            self._running, self._unclaimed, self._profile, self._mean_s, self._critical_path_s, self._cpu, self._memory,
            self._ready, valid, self._edge_parent, self._edge_child,
        )  # fmt: skip
        by_class = np.array(round_.on_offer, dtype=np.int64)
        return DagView(time_s, source_job, source_stage, on_offer, _sealed(by_class), *map(_sealed, columns))

    def _valid(self, round_: Round) -> Bools:
        unsaturated = self._unclaimed > 0
        valid = unsaturated.copy()
        valid[self._edge_child[unsaturated[self._edge_parent]]] = False  # a parent still has tasks to hand out
        for stage in round_.chosen:
            if not stage.job.ended:
                valid[stage.row] = False
        fits = np.zeros(len(valid), dtype=np.bool_)
        for number, kind in enumerate(self._classes):
            if round_.on_offer[number]:
                fits |= (self._cpu <= kind.cpu) & (self._memory <= kind.memory)
        return valid & fits

    # --- rows ---

    def _set_rows(self) -> None:
        self._shape_is_stale = False
        self._stale.clear()
        self.stages = [stage for job in self.jobs for stage in job.stages]
        for at, job in enumerate(self.jobs):
            job.row = at
        for at, stage in enumerate(self.stages):
            stage.row, stage.stale = at, False
        for job in self.jobs:
            estimate_again(job)
        jobs, stages = self.jobs, self.stages
        self._job_id = _ints([job.number for job in jobs])
        self._arrival_s = _floats([job.arrival_s for job in jobs])
        self._weight = _floats([job.spec.weight for job in jobs])
        self._deadline_s = _floats(
            [np.inf if job.spec.deadline_s is None else job.arrival_s + job.spec.deadline_s for job in jobs]
        )
        self._held = np.zeros(len(jobs), dtype=np.int64)
        self._stage_ptr = _ints(np.cumsum([0, *(len(job.stages) for job in jobs)]))
        self._stage_id = _ints([stage.id for stage in stages])
        self._stage_job = _ints([stage.job.row for stage in stages])
        self._tasks = _ints([stage.tasks for stage in stages])
        self._left = _ints([stage.tasks - stage.finished for stage in stages])
        self._running = _ints([len(stage.executors) for stage in stages])
        self._unclaimed = _ints([stage.unclaimed for stage in stages])
        self._profile = _ints([stage.profile for stage in stages])
        self._mean_s = _floats([stage.mean_s for stage in stages])
        self._critical_path_s = _floats([stage.critical_path_s for stage in stages])
        self._cpu = _floats([stage.spec.cpus for stage in stages])
        self._memory = _floats([stage.spec.memory_gb for stage in stages])
        self._ready = np.array([stage.ready for stage in stages], dtype=np.bool_)
        self._edge_parent = _ints([parent.row for stage in stages for parent in stage.parents])
        self._edge_child = _ints([stage.row for stage in stages for _ in stage.parents])
        self._job_unclaimed = np.zeros(len(jobs), dtype=np.int64)
        self._job_work_s = np.zeros(len(jobs))
        self._job_work_left_s = np.zeros(len(jobs))
        for job in jobs:
            self._sum_up(job)

    def _refresh(self) -> None:
        touched: dict[Job, None] = {}
        for stage in self._stale:
            stage.stale = False
            if stage.job.ended:
                continue
            touched[stage.job] = None
            row = stage.row
            self._left[row] = stage.tasks - stage.finished
            self._running[row] = len(stage.executors)
            self._unclaimed[row] = stage.unclaimed
            self._ready[row] = stage.ready
            for changed in estimate_stage_again(stage):
                self._mean_s[changed.row] = changed.mean_s
                self._critical_path_s[changed.row] = changed.critical_path_s
        self._stale.clear()
        for job in touched:
            self._sum_up(job)

    def _sum_up(self, job: Job) -> None:
        at, stages = job.row, job.stages
        if len(stages) > MANY:
            rows = slice(stages[0].row, stages[-1].row + 1)
            self._job_unclaimed[at] = self._unclaimed[rows].sum()
            self._job_work_s[at] = self._tasks[rows] @ self._mean_s[rows]
            self._job_work_left_s[at] = self._left[rows] @ self._mean_s[rows]
            return
        self._job_unclaimed[at] = sum([stage.unclaimed for stage in stages])
        self._job_work_s[at] = sum([stage.tasks * stage.mean_s for stage in stages])
        self._job_work_left_s[at] = sum([(stage.tasks - stage.finished) * stage.mean_s for stage in stages])


def estimate_again(job: Job) -> None:
    """Take over what was learned of all the job's stages."""
    changed = False
    for stage in job.stages:
        if stage.critical_path_s == 0.0 or not stage.estimate.fixed:
            mean_s = stage.estimate.mean_s
            changed = changed or mean_s != stage.mean_s or stage.critical_path_s == 0.0
            stage.mean_s = mean_s
    if changed:
        for stage in reversed(job.parents_first()):
            stage.critical_path_s = _critical_path_s(stage)


def estimate_stage_again(stage: Stage) -> Iterator[Stage]:
    """Take over what was learned of one stage: which ones that changes.

    Its parents' longest chains change too, but those of finished stages matter to nobody; so jobs of many stages cost
    no more, stage by stage, than others.
    """
    if stage.estimate.fixed or stage.estimate.mean_s == stage.mean_s:
        return
    stage.mean_s = stage.estimate.mean_s
    waiting = [stage]
    while waiting:
        one = waiting.pop()
        path_s = _critical_path_s(one)
        if one is stage or path_s != one.critical_path_s:
            one.critical_path_s = path_s
            yield one
            waiting += [parent for parent in one.parents if not parent.complete]


def _critical_path_s(stage: Stage) -> float:
    return stage.mean_s + max((child.critical_path_s for child in stage.children), default=0.0)


def _sealed(array: np.ndarray) -> np.ndarray:
    """The same memory, but whoever gets this cannot write to it."""
    sealed = array.view()
    sealed.flags.writeable = False
    return sealed


def _ints(values: object) -> Ints:
    return np.array(values, dtype=np.int64)


def _floats(values: object) -> Floats:
    return np.array(values, dtype=np.float64)
