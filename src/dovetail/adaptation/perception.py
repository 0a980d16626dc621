"""What happens and what the work looks like, read off the views alone, so that simulated and live worlds look the same.

A *window* is a stretch of time under one composition.  Its cost is what the user asked for, divided by the work done:

    completion   job-seconds in the system (Little's law: their sum is the sum of all completion times) per second of
                 progress.  A job makes as much progress as it would need time alone: its longest chain of stages or
                 its work on all executors, whichever is longer, times the share of its work that was done.  Only
                 jobs that arrived in the window count: what others have waited for is not its doing.
    makespan     executor-seconds that went by while there were jobs, per second of work done
    utilisation  the inverse of the share of executors that ran tasks while there were jobs
    overhead     seconds from slot free to task started, where a world measures it (`core.observation`)

so that a hard window is not blamed on the composition.  A job's end is not seen in a view, but by the next one it is
gone.  Nothing was left to hand out of it when it was last seen, so it lasted at most its longest chain from then on.
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

    def cost(self, objective: Objective, executors: int) -> float:
        """Per unit of work done; nan where nothing was done or measured."""
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
        self._last = (np.zeros(0, np.int64), np.zeros(0), np.zeros(1, np.int64))
        self._running = 0
        self._recent: deque[Floats] = deque(maxlen=_RECENT)
        self._overhead: list[float] = []
        self.arrived: list[Floats] = []  # features of jobs that are new in the last view
        self._clear(0.0)

    def _clear(self, time_s: float) -> None:
        self._start_s = time_s
        self._jobs_done = self._own_done = 0
        self._job_seconds = self._progress_s = self._alone_s = self._work_s = 0.0
        self._running_s = self._present_s = 0.0
        self._overhead = []

    def start_window(self, view: DagView) -> None:
        """The jobs that are new in this view belong to the window; those before them do not."""
        self._clear(view.time_s)
        old = len(view.job_id) - len(self.arrived)
        for j, (job, left_s) in enumerate(zip(view.job_id.tolist(), view.job_work_left_s.tolist(), strict=True)):
            self._jobs[job].left_s = left_s
            self._jobs[job].own = j >= old

    def see(self, view: DagView) -> None:
        """Take in a view: who came, who went, what runs."""
        passed_s = view.time_s - self._time_s
        self._running_s += self._running * passed_s
        self._present_s += passed_s if self._jobs else 0.0
        self.arrived = []
        ids = view.job_id.tobytes()
        if ids != self._ids:
            self._ids = ids
            self._come_and_go(view)
        # copied, for a view is valid for one decision only
        self._last = (view.stage_left.copy(), view.stage_critical_path_s.copy(), view.job_stage_ptr.copy())
        self._running = int(view.stage_running.sum())
        self._time_s = view.time_s

    def observe(self, observation: Observation) -> None:
        if observation.scheduling_overhead_s is not None:
            self._overhead.append(observation.scheduling_overhead_s)

    def _come_and_go(self, view: DagView) -> None:
        present = view.job_id.tolist()
        here = set(present)
        gone = [(j, job) for j, job in enumerate(self._jobs) if job not in here]  # in the order of the last view
        if gone:
            left, path_s, ptr = self._last
            last_s = np.maximum.reduceat(np.where(left > 0, path_s, 0.0), ptr[:-1])
        for j, job in gone:
            seen = self._jobs.pop(job)
            end_s = min(view.time_s, self._time_s + last_s.item(j))
            self._jobs_done += 1
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
        )
