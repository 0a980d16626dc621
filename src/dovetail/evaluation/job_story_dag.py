"""Why a job waited: what a record says about one job, put in order.

A job *has work waiting* at a time when one of its stages is ready (all parents complete) and has more tasks
not started than executors on their way to it.  Executors on their way are those given to the stage by a
decision that have not started a task of it since; a promise that was dropped errs towards "not waiting".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dovetail.core.dag import Bools, Floats, Ints
from dovetail.records.dag import DagRun


@dataclass(frozen=True, slots=True)
class StageStory:
    """One stage; times are absolute, inf = never."""

    stage: int
    name: str
    tasks: int
    parents: tuple[int, ...]
    ready_s: float  # all parents complete
    first_start_s: float
    complete_s: float
    executors: int  # different ones that ran it
    lost: int  # tasks cut short by failures


@dataclass(frozen=True, eq=False)
class JobStory:
    """The record of a run, seen from one job."""

    run: DagRun
    job: int

    @property
    def arrival_s(self) -> float:
        return float(self.run.jobs.arrival_s[self.job])

    @property
    def finish_s(self) -> float:
        return float(self.run.jobs.finish_s[self.job])

    @cached_property
    def end_s(self) -> float:
        """When the job finished, or else the run ended."""
        return self.finish_s if np.isfinite(self.finish_s) else self.run.end_s

    @cached_property
    def stages(self) -> tuple[StageStory, ...]:
        return tuple(self._stage(int(row)) for row in np.flatnonzero(self.run.stages.job == self.job))

    @cached_property
    def own_tasks(self) -> Ints:
        """Rows of this job's tasks, by start."""
        rows = np.flatnonzero(self.run.tasks.job == self.job)
        return rows[np.argsort(self.run.tasks.start_s[rows], kind="stable")]

    @cached_property
    def own_decisions(self) -> Ints:
        """Rows of the decisions that gave this job executors."""
        decisions = self.run.decisions
        return np.flatnonzero((decisions.job == self.job) & (decisions.given > 0))

    @cached_property
    def critical_chain(self) -> tuple[StageStory, ...]:
        """From the first stage to the last: each waited for the one before it, the latest of its parents."""
        if not self.stages:
            return ()
        chain = [max(self.stages, key=lambda stage: (stage.complete_s, stage.stage))]
        while chain[-1].parents:
            parents = (self.stages[parent] for parent in chain[-1].parents)
            chain.append(max(parents, key=lambda stage: (stage.complete_s, stage.stage)))
        return tuple(reversed(chain))

    @property
    def critical_stage(self) -> StageStory | None:
        """The stage of that chain that took longest from ready to complete."""
        return max(self.critical_chain, key=lambda stage: stage.complete_s - stage.ready_s, default=None)

    @cached_property
    def executors_over_time(self) -> tuple[Floats, Ints]:
        """Times of change, and the number of executors running tasks of the job from then on."""
        tasks, rows = self.run.tasks, self.own_tasks
        when = np.concatenate((tasks.start_s[rows], tasks.end_s[rows]))
        step = np.concatenate((np.ones(rows.size, dtype=np.int64), -np.ones(rows.size, dtype=np.int64)))
        time_s, where = np.unique(when, return_inverse=True)
        change = np.zeros(time_s.size, dtype=np.int64)
        np.add.at(change, where, step)
        return time_s, np.cumsum(change)

    @cached_property
    def shares_s(self) -> dict[str, float]:
        """Time in the system by what the job was doing: running, else executors were coming, else waiting."""
        ready_s = [stage.ready_s for stage in self.stages]
        given_s = self.run.decisions.time_s[self.own_decisions]
        changes = np.concatenate((self.executors_over_time[0], given_s, ready_s, [self.arrival_s, self.end_s]))
        edge = np.unique(np.clip(changes, self.arrival_s, self.end_s))
        start_s, length_s = edge[:-1], np.diff(edge)
        running = self._running_at(start_s) > 0
        coming = ~running & np.any([coming > 0 for _, _, coming in self._stages_at(start_s)], axis=0)
        return {
            "waiting_s": float(length_s[~running & ~coming].sum()),
            "on_the_way_s": float(length_s[coming].sum()),
            "running_s": float(length_s[running].sum()),
        }

    @cached_property
    def passed_over(self) -> Ints:
        """Rows of decisions that gave executors to other jobs while this one had work waiting."""
        decisions = self.run.decisions
        inside = (decisions.time_s >= self.arrival_s) & (decisions.time_s < self.end_s)
        others = (decisions.job != self.job) & (decisions.job >= 0) & (decisions.given > 0)
        rows = np.flatnonzero(others & inside)
        waiting = np.zeros(rows.size, dtype=np.bool_)
        for ready, left, coming in self._stages_at(decisions.time_s[rows], rows):
            waiting |= ready & (left > coming)
        return rows[waiting]

    def _stages_at(self, time_s: Floats, before: Ints | None = None) -> Iterator[tuple[Bools, Ints, Ints]]:
        """For each stage, at these times: is it ready, tasks not started, executors on their way to it.

        With `before`, only decisions before these rows count.
        """
        tasks, decisions = self.run.tasks, self.run.decisions
        for stage in self.stages:
            rows = self.own_tasks[tasks.stage[self.own_tasks] == stage.stage]
            lost_s = np.sort(tasks.end_s[rows[tasks.lost[rows]]])
            started = np.searchsorted(tasks.start_s[rows], time_s, side="right")
            left = stage.tasks - started + np.searchsorted(lost_s, time_s, side="right")
            own = self.own_decisions[decisions.stage[self.own_decisions] == stage.stage]
            total = np.concatenate(([0], np.cumsum(decisions.given[own])))
            if before is None:
                given = total[np.searchsorted(decisions.time_s[own], time_s, side="right")]
            else:
                given = total[np.searchsorted(own, before)]
            came = np.searchsorted(tasks.start_s[rows[self._came[rows]]], time_s, side="right")
            # Nobody comes any more once the stage has run dry; promises left over were dropped.
            coming = np.where(left > 0, np.maximum(given - came, 0), 0)
            yield stage.ready_s <= time_s, left, coming

    @cached_property
    def _came(self) -> Bools:
        """(N,) is the task the executor's first one of this stage since it ran something else?"""
        tasks = self.run.tasks
        order = np.lexsort((tasks.start_s, tasks.executor))
        came = np.ones(order.size, dtype=np.bool_)
        columns = [column[order] for column in (tasks.executor, tasks.job, tasks.stage)]
        came[order[1:]] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        return came

    def _running_at(self, time_s: Floats) -> Ints:
        change_s, count = self.executors_over_time
        return np.concatenate(([0], count))[np.searchsorted(change_s, time_s, side="right")]

    def _stage(self, row: int) -> StageStory:
        run, stage = self.run, int(self.run.stages.stage[row])
        own = (run.edges.job == self.job) & (run.edges.child == stage)
        parents = tuple(sorted({int(parent) for parent in run.edges.parent[own]}))
        rows = self.own_tasks[run.tasks.stage[self.own_tasks] == stage]
        tasks, lost = int(run.stages.tasks[row]), int(run.tasks.lost[rows].sum())
        ends = [self._complete_s(parent) for parent in parents]
        return StageStory(
            stage=stage,
            name=run.stages.name[row],
            tasks=tasks,
            parents=parents,
            ready_s=max(ends, default=self.arrival_s),
            first_start_s=float(run.tasks.start_s[rows].min(initial=np.inf)),
            complete_s=self._complete_s(stage),
            executors=np.unique(run.tasks.executor[rows]).size,
            lost=lost,
        )

    def _complete_s(self, stage: int) -> float:
        tasks = self.run.tasks
        rows = self.own_tasks[(tasks.stage[self.own_tasks] == stage) & ~tasks.lost[self.own_tasks]]
        wanted = self.run.stages.tasks[(self.run.stages.job == self.job) & (self.run.stages.stage == stage)]
        return float(tasks.end_s[rows].max(initial=0.0)) if rows.size >= wanted.sum() else float("inf")
