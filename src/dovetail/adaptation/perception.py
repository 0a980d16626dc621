"""What happens and what the work looks like, read off the views alone, so that simulated and live worlds look the same.

A *window* is a stretch of time under one composition.  Its cost is what the user asked for, divided by the work done:

    completion   job-seconds in the system (Little's law: their sum is the sum of all completion times) per second of
                 progress.  A job makes as much progress as it would need time alone: its longest chain of stages or
                 its work on all executors, whichever is longer, times the share of its work that was done.  Only
                 jobs that arrived in the window count: what others have waited for is not its doing.
    makespan     executor-seconds that went by while there were jobs, per second of work done
    utilisation  the inverse of the share of executors that ran tasks while there were jobs
    overhead     seconds from slot free to task started, where a world measures it (`core.observation`)

so that a hard window is not blamed on the composition.

Where jobs pile up, those that arrived in a window say little: most of what it does is for others.  The completion cost
of a *crowded* window is about all jobs: job-seconds that went by, per job-second by which those still to come became
fewer.  Those to come are at the least (`to_come_s`): the jobs present in order of the work left, on all executors one
after the other, none faster than its longest chain.  Whoever works off short jobs first at full speed pays 1 for 1.

A job's end is not seen in a view, but by the next one it is
gone.  Nothing was left to hand out of it when it was last seen, so it lasted at most its longest chain from then on.
A job that failed or was cancelled is gone too; of those a live world tells (`core.observation`), and what they did not
complete counts for nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np

from dovetail.core.dag import DagInfo, DagView, Floats
from dovetail.core.observation import Observation

Objective = Literal["completion", "makespan", "utilisation", "overhead"]
FEATURES = ("granularity", "width", "depth", "memory", "together")
"""Of arriving work: log10 of seconds per task, tasks per stage and stages per job; memory per task; whether it came
at the same time as another job."""
_RECENT = 16  # arrivals that the features are the mean of


@dataclass
class SeenJob:
    arrival_s: float
    work_s: float
    alone_s: float
    left_s: float  # work at the start of the window
    own: bool  # whether it arrived in this window
    features: Floats


@dataclass(frozen=True)
class Window:
    """What came of a stretch of time."""

    start_s: float
    end_s: float
    arrivals: int  # the jobs it is judged by
    jobs_done: int
    job_seconds: float
    progress_s: float
    alone_s: float  # what its jobs need alone, all of them to the end
    work_s: float  # task-seconds done, by estimated durations
    utilisation: float  # share of the executors that ran tasks
    overhead_s: float  # nan: not measured
    present_job_s: float  # job-seconds of all jobs
    relief_s: float  # by how much the job-seconds to come became fewer, apart from what arrived

    def cost(self, objective: Objective, executors: int, *, crowded: bool = False) -> float:
        """Per unit of work done; nan where nothing was done or measured."""
        if objective == "completion" and crowded:
            return self.present_job_s / self.relief_s if self.relief_s > 0.0 else nan
        if objective == "completion":
            return self.job_seconds / self.progress_s if self.progress_s > 0.0 else nan
        if objective == "makespan":
            return executors * (self.end_s - self.start_s) / self.work_s if self.work_s > 0.0 else nan
        if objective == "utilisation":
            return 1.0 / self.utilisation if self.utilisation > 0.0 else nan
        return self.overhead_s

    def cost_at_least(self, objective: Objective, executors: int) -> float:
        """What the cost will be at the least when all its jobs are complete; early on, progress is behind."""
        if objective == "completion":
            return self.job_seconds / self.alone_s if self.alone_s > 0.0 else nan
        return self.cost(objective, executors)


class Perception:
    """Fed every view in turn; `window` tells what happened since `start_window`."""

    def __init__(self, info: DagInfo) -> None:
        self._executors = info.num_executors
        self._jobs: dict[int, SeenJob] = {}  # in the system, by job id
        self._ids = b""  # of the jobs of the last view
        self._time_s = 0.0
        self._last = (np.zeros(0), np.zeros(0))  # by job: work left, longest chain that is left
        self._abandoned: set[int] = set()  # jobs that will not be complete when they are gone
        self._running = 0
        self._recent: deque[Floats] = deque(maxlen=_RECENT)
        self._overhead: list[float] = []
        self.arrived: list[Floats] = []  # features of jobs that are new in the last view
        self._clear(0.0)

    def _clear(self, time_s: float) -> None:
        self._start_s = time_s
        self._jobs_done = self._own_done = 0
        self._job_seconds = self._progress_s = self._alone_s = self._work_s = 0.0
        self._running_s = self._present_s = self._present_job_s = self._to_come_s = 0.0
        self._overhead = []

    def start_window(self, view: DagView) -> None:
        """The jobs that are new in this view belong to the window; those before them do not."""
        self._clear(view.time_s)
        self._to_come_s = to_come_s(view, len(view.job_id), self._executors)
        old = len(view.job_id) - len(self.arrived)
        for j, (job, left_s) in enumerate(zip(view.job_id.tolist(), view.job_work_left_s.tolist(), strict=True)):
            self._jobs[job].left_s = left_s
            self._jobs[job].own = j >= old

    def see(self, view: DagView) -> None:
        """Take in a view: who came, who went, what runs."""
        passed_s = view.time_s - self._time_s
        self._running_s += self._running * passed_s
        self._present_s += passed_s if self._jobs else 0.0
        self._present_job_s += passed_s * len(self._jobs)
        self.arrived = []
        ids = view.job_id.tobytes()
        if ids != self._ids:
            self._ids = ids
            self._come_and_go(view)
        # copied, for a view is valid for one decision only
        self._last = (view.job_work_left_s.copy(), _chains_s(view))
        self._running = int(view.stage_running.sum())
        self._time_s = view.time_s

    def observe(self, observation: Observation) -> None:
        if observation.scheduling_overhead_s is not None:
            self._overhead.append(observation.scheduling_overhead_s)
        self._abandoned.update(job for job in observation.abandoned if job in self._jobs)

    def _come_and_go(self, view: DagView) -> None:
        present = view.job_id.tolist()
        here = set(present)
        gone = [(j, job) for j, job in enumerate(self._jobs) if job not in here]  # in the order of the last view
        left_s, last_s = self._last
        self._forget_abandoned(here)
        for j, job in gone:
            seen = self._jobs.pop(job)
            if job in self._abandoned:
                self._abandoned.discard(job)
                self._work_s += max(0.0, seen.left_s - left_s.item(j))
                self._present_job_s -= view.time_s - max(self._start_s, seen.arrival_s)
                continue
            end_s = min(view.time_s, self._time_s + last_s.item(j))
            self._jobs_done += 1
            self._present_job_s -= view.time_s - end_s
            if seen.own:
                self._own_done += 1
                self._job_seconds += max(0.0, end_s - seen.arrival_s)
                self._progress_s += seen.alone_s * seen.left_s / seen.work_s
                self._alone_s += seen.alone_s
            self._work_s += seen.left_s
        for j, job in enumerate(present):
            if job not in self._jobs:
                seen = self._first_sight(view, j)
                self._jobs[job] = seen
                self.arrived.append(seen.features)
                self._recent.append(seen.features)
        if self.arrived:
            before = len(present) - len(self.arrived)
            self._to_come_s += to_come_s(view, len(present), self._executors) - to_come_s(view, before, self._executors)

    def _forget_abandoned(self, here: set[int]) -> None:
        """That those are gone which failed or were cancelled relieves nobody of work that was done."""
        left_s, last_s = self._last
        kept = np.array([job in here or job not in self._abandoned for job in self._jobs], np.bool_)
        if not kept.all():
            before_s = _to_come_s(left_s, last_s, self._executors)
            self._to_come_s -= before_s - _to_come_s(left_s[kept], last_s[kept], self._executors)

    def _first_sight(self, view: DagView, j: int) -> SeenJob:
        stages = slice(int(view.job_stage_ptr[j]), int(view.job_stage_ptr[j + 1]))
        tasks = view.stage_tasks[stages]
        work_s = max(float(view.job_work_s[j]), 1e-9)
        arrival_s = float(view.job_arrival_s[j])
        beside = view.job_arrival_s[max(0, j - 1) : j + 2]
        features = np.array(
            [
                np.log10(work_s / tasks.sum()),
                np.log10(tasks.mean()),
                np.log10(tasks.size),
                float(view.stage_memory[stages] @ tasks) / tasks.sum(),
                float((beside == arrival_s).sum() > 1),
            ]
        )
        alone_s = max(float(view.stage_critical_path_s[stages].max()), work_s / self._executors, 1e-9)
        return SeenJob(arrival_s, work_s, alone_s, work_s, True, features)

    def features(self) -> Floats:
        """(len(FEATURES),) means over the jobs that arrived last."""
        recent: Floats = np.mean(self._recent, axis=0) if self._recent else np.zeros(len(FEATURES))
        return recent

    def forget_before(self, arrivals: int) -> None:
        """Only so many of the last arrivals are of the present kind."""
        kept = list(self._recent)[-arrivals:]
        self._recent.clear()
        self._recent.extend(kept)

    @property
    def jobs_done(self) -> int:
        return self._jobs_done

    @property
    def recent(self) -> int:
        return len(self._recent)

    def window(self, view: DagView) -> Window:
        """Since it was started, with the jobs that are still there."""
        job_seconds, progress_s, work_s = self._job_seconds, self._progress_s, self._work_s
        alone_s, arrivals = self._alone_s, self._own_done
        for job, left_s in zip(view.job_id.tolist(), view.job_work_left_s.tolist(), strict=True):
            seen = self._jobs[job]
            done_s = max(0.0, seen.left_s - left_s)
            if seen.own:
                job_seconds += view.time_s - seen.arrival_s
                progress_s += seen.alone_s * done_s / seen.work_s
                alone_s += seen.alone_s
                arrivals += 1
            work_s += done_s
        return Window(
            start_s=self._start_s,
            end_s=view.time_s,
            arrivals=arrivals,
            jobs_done=self._jobs_done,
            job_seconds=job_seconds,
            progress_s=progress_s,
            alone_s=alone_s,
            work_s=work_s,
            utilisation=self._running_s / (self._executors * self._present_s) if self._present_s > 0.0 else 0.0,
            overhead_s=float(np.mean(self._overhead)) if self._overhead else nan,
            present_job_s=self._present_job_s,
            relief_s=self._to_come_s - to_come_s(view, len(view.job_id), self._executors),
        )


def to_come_s(view: DagView, jobs: int, executors: int) -> float:
    """Job-seconds that the first so many jobs will at least spend in the system from now on."""
    if jobs == 0:
        return 0.0
    return _to_come_s(view.job_work_left_s[:jobs], _chains_s(view)[:jobs], executors)


def _to_come_s(left_s: Floats, chains_s: Floats, executors: int) -> float:
    order = np.argsort(left_s, kind="stable")
    return float(np.maximum(np.cumsum(left_s[order]) / executors, chains_s[order]).sum())


def _chains_s(view: DagView) -> Floats:
    """By job: the longest chain of stages that are not finished."""
    chains: Floats = np.maximum.reduceat(
        np.where(view.stage_left > 0, view.stage_critical_path_s, 0.0), view.job_stage_ptr[:-1]
    )
    return chains
