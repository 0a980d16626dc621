"""What the server remembers of every job: what it is, how it stands, and where its results lie."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.execution.errors import RequestRefused
from dovetail.execution.inputs import write_index
from dovetail.execution.journal import Completion, JournalledJob
from dovetail.execution.outfile import FINISHED, out_path, read, scan
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import JobStatus, JobSummary, StageStatus, State, TaskFailure

FIELDS = 4  # executor, incarnation, offset, length
NOWHERE = -1
PART_BYTES = 64 * 1024 * 1024
MANY = 10_000  # results of a stage, of which messages need not name each place


Place = tuple[int, int, int, int]
"""executor, incarnation, offset of the record, length of its payload"""


class StageRecord:
    """Where the results of a stage's tasks lie; -1 while there is none."""

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks
        self.places = array("q")  # empty: not in memory
        self.finished = 0
        self.failed = 0
        self.lost = 0

    def put(self, task: int, executor: int, incarnation: int, offset: int, length: int) -> bool:
        """Whether this is the first result of the task: only that one counts."""
        if not self.places:
            self.places = array("q", [NOWHERE]) * (FIELDS * self.tasks)
        at = FIELDS * task
        if self.places[at] != NOWHERE:
            return False
        self.places[at : at + FIELDS] = array("q", (executor, incarnation, offset, length))
        self.finished += 1
        return True

    def place(self, task: int) -> Place | None:
        if not self.places:
            return None
        executor, incarnation, offset, length = self.places[FIELDS * task : FIELDS * (task + 1)]
        return None if executor == NOWHERE else (executor, incarnation, offset, length)


class JobRecord:
    def __init__(self, job: int, spec: JobSpec, directory: Path, submitted_s: float) -> None:
        self.job = job
        self.spec = spec
        self.directory = directory  # of this job
        self.submitted_s = submitted_s
        self.state: State = "running"
        self.ended_s: float | None = None
        self.failure: TaskFailure | None = None
        self.failure_place: Place | None = None
        self.failures: dict[tuple[int, int], Place] = {}  # (stage, task): where the last failed run left its word
        self.stages = [StageRecord(stage.tasks) for stage in spec.stages]

    @classmethod
    def of(cls, kept: JournalledJob, directory: Path) -> JobRecord:
        """As the journal has it."""
        record = cls(kept.job, kept.spec, directory, kept.submitted_s)
        record.state, record.ended_s = kept.state, kept.ended_s  # type: ignore[assignment]
        if kept.failure is not None:
            place = kept.failure.pop("place", None)
            record.failure = TaskFailure.from_json(kept.failure)
            record.failure_place = tuple(place) if isinstance(place, list) else None
        return record

    @property
    def has_ended(self) -> bool:
        return self.state != "running"

    @property
    def payload_path(self) -> str:
        return str(self.directory / "payload")

    def release(self) -> None:
        """Of an ended job that is in the journal, only the counts stay in memory."""
        self.failures.clear()
        for stage in self.stages:
            stage.places = array("q")

    @property
    def is_released(self) -> bool:
        return self.has_ended and any(stage.finished and not stage.places for stage in self.stages)

    def recall(self, completions: Sequence[Completion]) -> None:
        """Take over from the journal where the results of an ended job lie."""
        for stage in self.stages:
            stage.finished = 0
        for _, number, task, *place in completions:
            self.stages[number].put(task, *place)

    def restore(self, completions: Sequence[Completion]) -> list[Completion]:
        """Take over what the journal knows, and what out files know beyond that, which is returned."""
        for _, stage, task, executor, incarnation, offset, length in completions:
            self.stages[stage].put(task, executor, incarnation, offset, length)
        found = []
        if not self.has_ended:
            for path in sorted(self.directory.glob("out-*-*")):
                executor, incarnation = (int(part) for part in path.name.split("-")[1:])
                for record in scan(str(path)):
                    if record.ok != FINISHED or record.stage >= len(self.stages):
                        continue
                    place = (executor, incarnation, record.offset, record.length)
                    if self.stages[record.stage].put(record.task, *place):
                        found.append((self.job, record.stage, record.task, *place))
        return found

    def finished_tasks(self) -> dict[int, list[int]]:
        """By stage."""
        done = {}
        for number, stage in enumerate(self.stages):
            if stage.finished:
                done[number] = [task for task in range(stage.tasks) if stage.places[FIELDS * task] != NOWHERE]
        return done

    def stage_settings(self, stage: int, *, limit_memory: bool) -> dict[str, Any]:
        """What an executor must know of a stage before its first task of it."""
        spec = self.spec.stages[stage]
        inputs = None
        if spec.inputs:
            inputs = {self.spec.stages[parent].name: self.inputs(parent) for parent in spec.after}
        return {
            "payload": self.payload_path,
            "directory": str(self.directory),
            "inputs": inputs,
            "cpus": spec.cpus,
            "memory_bytes": int(spec.memory_gb * 1e9) if limit_memory else 0,
            "sys_path": self.spec.sys_path,
        }

    def inputs(self, stage: int) -> list[tuple[str, int, int]] | str:
        """Where the results of a complete stage lie, as `inputs.Inputs` takes it: of many tasks, in a file."""
        if self.spec.stages[stage].tasks <= MANY:
            return self.places(stage)
        path = str(self.directory / f"index-{stage}")
        if not os.path.exists(path):
            try:
                write_index(path, self.places(stage))
            except OSError:  # no room for it: the long way, then
                return self.places(stage)
        return path

    def places(self, stage: int) -> list[tuple[str, int, int]]:
        """(out file, offset, length) of all tasks of a complete stage."""
        found = []
        directory = str(self.directory)
        for task in range(self.spec.stages[stage].tasks):
            place = self.stages[stage].place(task)
            assert place is not None, f"stage {stage} of job {self.job} is not complete: no result of task {task}"
            executor, incarnation, offset, length = place
            found.append((out_path(directory, executor, incarnation), offset, length))
        return found

    def results(self, stage: int, start: int, count: int) -> tuple[list[bool], list[bytes]]:
        """Of the tasks from `start` on, as many as fit."""
        if not 0 <= stage < len(self.stages):
            raise RequestRefused(f"job {self.job} has {len(self.stages)} stages; there is no number {stage}")
        tasks = self.spec.stages[stage].tasks
        if not 0 <= start < tasks:
            raise RequestRefused(
                f"stage {self.spec.stages[stage].name!r} of job {self.job} has {tasks} tasks; none is number {start}"
            )
        ok: list[bool] = []
        payloads: list[bytes] = []
        size = 0
        for task in range(start, min(start + max(1, count), tasks)):
            place, good = self.stages[stage].place(task), True
            if place is None:
                good = False
                failed = self.failure is not None and (self.failure.stage, self.failure.task) == (stage, task)
                place = self.failure_place if failed else None
            payload = b"" if place is None else read(self._file(place), place[2], place[3])
            if payloads and size + len(payload) > PART_BYTES:
                break
            size += len(payload)
            ok.append(good)
            payloads.append(payload)
        return ok, payloads

    def _file(self, place: Place) -> str:
        return out_path(str(self.directory), place[0], place[1])

    # --- for people ---

    def summary(self, running: int) -> JobSummary:
        finished = sum(stage.finished for stage in self.stages)
        return JobSummary(
            self.job, self.spec.name, self.state, self.submitted_s, self.ended_s, self.spec.num_tasks, finished, running
        )

    def status(self, running: Sequence[int]) -> JobStatus:
        """`running`: tasks of each stage that an executor has."""
        stages = tuple(
            StageStatus(spec.name, spec.tasks, stage.finished, at_work, stage.failed, stage.lost)
            for spec, stage, at_work in zip(self.spec.stages, self.stages, running, strict=True)
        )
        return JobStatus(self.job, self.spec.name, self.state, self.submitted_s, self.ended_s, stages, self.failure)
