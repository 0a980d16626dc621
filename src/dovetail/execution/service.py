"""What clients can ask of a server."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dovetail.execution.controller.messages import AnyScheduler, JobCancelled, SchedulerReplaced
from dovetail.execution.errors import InvalidJob, RequestRefused
from dovetail.execution.job_table import JobRecord
from dovetail.execution.payload import Payload, PayloadError
from dovetail.execution.server import DRAINING, Server
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import EngineStatus, JobStatus, ResultsPart
from dovetail.execution.swaps import keep_swap
from dovetail.execution.understudy import rehearsed

LATEST = 1000  # ended jobs that a status lists


class ServerService:
    """A `control_hub.Service`."""

    def __init__(self, server: Server, scheduler: str = "") -> None:
        """`scheduler`: that the engine was started with, or would have been but for an earlier swap."""
        self._server = server
        self._asked_for = scheduler or server.controller.incumbent.name
        self._swaps: dict[str, list[Callable[[str | Exception], None]]] = {}  # being prepared: who waits for them
        self._recalled: JobRecord | None = None  # the ended job whose results were asked for last

    def submit(self, spec: JobSpec, payload: bytes, key: str) -> int:
        server = self._server
        known = server.journal.find(key) if key else None
        if known is not None:
            return known
        if server.is_draining:
            raise RequestRefused("the engine is draining: it finishes what it has and takes no new jobs")
        try:
            parts = Payload.from_bytes(payload, f"the payload of job {spec.name!r}")
        except PayloadError as error:
            raise InvalidJob(str(error)) from error
        tasks = [parts.tasks(stage) for stage in range(parts.stages)]
        if tasks != [stage.tasks for stage in spec.stages]:
            raise InvalidJob(f"job {spec.name!r}: its payload has stages of {tasks} tasks; expected those of the job")
        return server.submit(spec, parts.write, key)

    def status(self) -> EngineStatus:
        server = self._server
        running = dict.fromkeys(server.jobs, 0)
        for run in server.sent.running():
            running[run.job] = running.get(run.job, 0) + 1
        return EngineStatus(
            scheduler=server.controller.incumbent.name,
            executors=len(server.executors_up),
            busy=len(server.controller.busy_executors()),
            nodes=len(set(server.executors_up.values())),
            draining=server.is_draining,
            up_s=time.time() - server.started_s,
            jobs=tuple(record.summary(running[record.job]) for record in self._latest()),
            overheads=server.overheads.status(),
            trouble=server.trouble,
        )

    def _latest(self) -> list[JobRecord]:
        """All that are running, and the last of those that have ended."""
        records = list(self._server.jobs.values())
        ended = [record for record in records if record.has_ended][:-LATEST]
        skipped = {record.job for record in ended}
        return [record for record in records if record.job not in skipped]

    def job(self, job: int) -> JobStatus:
        record = self._record(job)
        running = [0] * len(record.spec.stages)
        live = self._server.controller.jobs.get(job)
        if live is not None:
            running = [sum(len(e.outstanding) for e in stage.executors) for stage in live.stages]
        return record.status(running)

    def results(self, job: int, stage: int, start: int, count: int) -> ResultsPart:
        record = self._record(job)
        if record.is_released:
            self._recall(record)
        ok, payloads = record.results(stage, start, count)
        return ResultsPart(tuple(ok), tuple(payloads))

    def cancel(self, job: int) -> bool:
        if not self._record(job).has_ended:
            self._server.handle(JobCancelled(job))
        return not self._server.is_unsaved(job)

    def drain(self, on: bool) -> None:
        self._server.journal.set_order(DRAINING, "yes" if on else None)
        self._server.is_draining = on

    def swap(self, scheduler: str, then: Callable[[str | Exception], None]) -> None:
        waiting = self._swaps.setdefault(scheduler, [])
        waiting.append(then)
        if len(waiting) == 1:  # otherwise a client has lost patience, and asks again
            options = self._server.controller.options
            self._server.aside.do(partial(rehearsed, scheduler, options), partial(self._swapped, scheduler))

    def _swapped(self, name: str, outcome: AnyScheduler | Exception) -> None:
        """The new scheduler is ready, or never will be."""
        told: str | Exception
        try:
            if isinstance(outcome, Exception):
                raise outcome
            keep_swap(self._server.journal, self._asked_for, name)
            self._server.handle(SchedulerReplaced(name, outcome))
            told = self._server.controller.incumbent.took_over
        except Exception as error:
            told = error
        for then in self._swaps.pop(name):
            then(told)

    def down(self) -> None:
        self._server.is_running = False

    def forget(self, job: int) -> None:
        server = self._server
        if job not in server.jobs:
            if job > server.journal.latest():
                raise _no_job(job)
            return  # it is gone already
        if not server.jobs[job].has_ended:
            raise RequestRefused(f"job {job} is running; expected one that has ended: cancel it first")
        server.save()
        if server.journal_trouble:
            raise RequestRefused(f"job {job} cannot be forgotten now: {server.journal_trouble}")
        server.journal.forget(job)
        shutil.rmtree(server.jobs.pop(job).directory, ignore_errors=True)

    def events(self, since: int) -> Mapping[str, Any]:
        kept = [notice for notice in self._server.notices if notice[0] >= since]
        keys = ("number", "time_s", "kind", "text")
        return {
            "events": [dict(zip(keys, notice, strict=True)) for notice in kept],
            "next": kept[-1][0] + 1 if kept else since,
            "adaptation": self._server.controller.incumbent.adaptation(),
        }

    def _recall(self, record: JobRecord) -> None:
        """Results of ended jobs are asked for in one go, job by job: only the last one's places are kept."""
        if self._recalled is not None and self._recalled is not record:
            self._recalled.release()
        self._recalled = record
        record.recall(self._server.journal.completions(record.job))

    def _record(self, job: int) -> JobRecord:
        if job not in self._server.jobs:
            raise _no_job(job)
        return self._server.jobs[job]


def _no_job(job: int) -> RequestRefused:
    return RequestRefused(f"there is no job {job}; `dovetail status` lists them")
