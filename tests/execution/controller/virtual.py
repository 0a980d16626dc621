"""The controller in virtual time: an engine without processes, that knows how long each task will take."""

from __future__ import annotations

import heapq
from types import SimpleNamespace
from typing import Any

from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.messages import (
    FINISHED,
    ExecutorDown,
    ExecutorUp,
    Instruction,
    JobEnded,
    JobSubmitted,
    Run,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.spec import JobSpec, StageSpec
from dovetail.sim.dag.options import DagOptions
from dovetail.testing.dag_reference import TaskRow
from dovetail.testing.dag_reference_chance import Chance
from dovetail.workloads.dag import DagWorkload

ARRIVAL, END, CUT, BACK = 0, 1, 3, 4
"""Kinds of events; those of the same time are ordered by them, as docs/dag-model.md says."""


def job_spec(workload: DagWorkload, number: int) -> JobSpec:
    catalogue = workload.catalogue
    dag = int(workload.job_dag[number])
    rows = range(catalogue.stage_ptr[dag], catalogue.stage_ptr[dag + 1])
    parents: list[list[int]] = [[] for _ in rows]
    for edge in range(catalogue.edge_ptr[dag], catalogue.edge_ptr[dag + 1]):
        parents[catalogue.edge_child[edge]].append(int(catalogue.edge_parent[edge]))
    stages = tuple(
        StageSpec(
            str(position),
            int(catalogue.num_tasks[row]),
            tuple(parents[position]),
            float(catalogue.cpu[row]),
            float(catalogue.memory[row]),
            expected_s=float(catalogue.stage_mean_s[row]),
        )
        for position, row in enumerate(rows)
    )
    return JobSpec(f"job {number}", stages, float(workload.weight[number]))


class VirtualEngine:
    """Plays a workload through a controller, with the luck of the simulator."""

    def __init__(self, workload: DagWorkload, options: DagOptions, scheduler: Any, keys: tuple[int, int]) -> None:
        self.workload = workload
        self.options = options
        classes = options.executor_classes()
        settings = ControllerOptions(classes, options.moving_delay_s, batch_s=0.0, copies=None, crashes=10**9)
        self.controller = Controller(settings, "test", scheduler, lambda: scheduler)
        self.chance = Chance(workload.catalogue, options, *keys)
        self.first_number = [0]
        for number in range(workload.num_jobs):
            self.first_number.append(self.first_number[-1] + len(job_spec(workload, number).stages))
        self.heap: list[tuple[float, int, int]] = [
            (float(workload.arrival_s[number]), ARRIVAL, number) for number in range(workload.num_jobs)
        ]
        heapq.heapify(self.heap)
        self.executors = [
            SimpleNamespace(number=0, executor_class=c, next_failure_s=float("inf"), failures_drawn=0, run=None)
            for c, kind in enumerate(classes)
            for _ in range(kind.count)
        ]
        self.finish_s = [float("nan")] * workload.num_jobs
        self.task_log: list[TaskRow] = []
        self.notices: list[Instruction] = []

    def play(self) -> None:
        for number, executor in enumerate(self.executors):
            executor.number = number
            self.chance.draw_next_failure(executor)
            self._carry_out(self.controller.handle(ExecutorUp(number, executor.executor_class, "node"), 0.0), 0.0)
        left = self.workload.num_jobs
        while left or self.controller.jobs:
            timer_s = self.controller.next_timer_s()
            if not self.heap or (timer_s, 2, -1) < self.heap[0]:
                assert timer_s < float("inf"), "nothing is left to wait for"
                self._carry_out(self.controller.handle(TimePassed(), timer_s), timer_s)
                continue
            now_s, kind, number = heapq.heappop(self.heap)
            if kind == ARRIVAL:
                left -= 1
                more = bool(self.heap) and self.heap[0][:2] == (now_s, ARRIVAL)
                event: Any = JobSubmitted(number, job_spec(self.workload, number), more_follow=more)
            elif kind == END:
                run, start_s = self.executors[number].run
                self._log(number, now_s, lost=False)
                event = TasksEnded(number, run.batch, [TaskEnd(run.tasks[0], FINISHED, now_s - start_s)])
            elif kind == CUT:
                self._log(number, now_s, lost=True)
                self.chance.draw_next_failure(self.executors[number])
                heapq.heappush(self.heap, (now_s + self.options.repair_s, BACK, number))
                event = ExecutorDown(number, "it failed")
            else:
                event = ExecutorUp(number, self.executors[number].executor_class, "node")
            self._carry_out(self.controller.handle(event, now_s), now_s)

    def _carry_out(self, instructions: list[Instruction], now_s: float) -> None:
        for instruction in instructions:
            if isinstance(instruction, Run):
                self._start(instruction, now_s)
            elif isinstance(instruction, JobEnded):
                assert instruction.state == "done"
                self.finish_s[instruction.job] = now_s
            else:
                self.notices.append(instruction)

    def _start(self, run: Run, now_s: float) -> None:
        assert len(run.tasks) == 1
        row = int(self.workload.catalogue.stage_ptr[self.workload.job_dag[run.job]]) + run.stage
        stage: Any = SimpleNamespace(number=self.first_number[run.job] + run.stage, starts=run.starts, row=row)
        end_s = now_s + self.chance.duration_s(stage, run.wave, run.at_home)
        executor = self.executors[run.executor]
        executor.run = (run, now_s)
        failure_s = self.chance.next_failure_s(executor, now_s)
        event = (failure_s, CUT, run.executor) if failure_s < end_s else (end_s, END, run.executor)
        heapq.heappush(self.heap, event)

    def _log(self, number: int, now_s: float, lost: bool) -> None:
        run, start_s = self.executors[number].run
        self.task_log.append((number, run.job, run.stage, run.wave, lost, start_s, now_s))
