"""The server of an engine: one thread, one loop, between clients, executors, the journal and the pure controller.

Whatever comes in becomes an event for the controller; what it answers is carried out; completions are journalled.
The order matters in two places: a job is acknowledged only once it is in the journal, and its end is told to those who
wait only once that is.  If the journal or a result cannot be written, nothing new is started until it can be.
"""

from __future__ import annotations

import logging
import selectors
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from dovetail.core.observation import Observation
from dovetail.execution.agenda import Agenda
from dovetail.execution.aside import Aside
from dovetail.execution.control_hub import ControlHub
from dovetail.execution.control_sockets import ControlSockets
from dovetail.execution.controller import Controller
from dovetail.execution.controller.messages import (
    Cancel,
    Event,
    ExecutorDown,
    ExecutorUp,
    Held,
    Instruction,
    JobEnded,
    JobSubmitted,
    Notice,
    Restart,
    Resumed,
    Run,
    Stalled,
    TaskEnd,
    TasksEnded,
    TimePassed,
)
from dovetail.execution.controller.tape import TapeWriter
from dovetail.execution.job_table import JobRecord
from dovetail.execution.journal import Journal, JournalError
from dovetail.execution.kept_beliefs import KeptBeliefs
from dovetail.execution.outfile import CANCELLED, FAILED, FINISHED
from dovetail.execution.overheads import Overheads
from dovetail.execution.recorder import Recorder
from dovetail.execution.sent import SentBatches
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import State, TaskFailure
from dovetail.execution.workers import Connected, Entry, Workers
from dovetail.records.beliefs import BeliefsFile

COMMIT_EVERY_S = 0.02
RETRY_JOURNAL_S = 1.0
OBSERVE_EVERY_S = 1.0
STALL_S = 0.05  # without listening: below it, tasks cannot tell
FEW = 100  # turns
DRAINING = "draining"  # order in the journal
INCARNATIONS = 1_000_000  # of one executor under one server, at most
KEPT_NOTICES = 1000
STATES: dict[str, State] = {"done": "succeeded", "failed": "failed", "cancelled": "cancelled"}

Arguments = Callable[[Run], Sequence[Any]]
"""What tasks of a replay are called with; see `replay`."""

log = logging.getLogger("dovetail.execution")


class Server:
    """Use as: `start()`, then `step()` while `is_running`, then `close()`."""

    def __init__(
        self,
        directory: Path,
        controller: Controller,
        workers: Workers,
        journal: Journal,
        *,
        time_scale: float = 1.0,
        arguments: Arguments | None = None,
        tape: TapeWriter | None = None,
        recorder: Recorder | None = None,
        beliefs: BeliefsFile | None = None,
    ) -> None:
        """With a `time_scale` of 0.01 the controller's seconds pass every 10 ms: replays run by it.  `beliefs`: of the
        scheduler, read at the start and written now and then."""
        self.directory = directory
        self.controller = controller
        self.workers = workers
        self.journal = journal
        self.jobs: dict[int, JobRecord] = {}
        self.notices: deque[tuple[int, float, str, str]] = deque(maxlen=KEPT_NOTICES)  # number, time, kind, text
        self.overheads = Overheads()
        self.executors_up: dict[int, str] = {}  # node by executor
        self.sent = SentBatches(self.overheads)
        self.is_draining = False
        self.is_running = True
        self.journal_trouble = ""  # why it cannot be written
        self._full: dict[int, str] = {}  # executors that wait for room for a result
        self.selector = selectors.DefaultSelector()
        self.started_s = time.time()
        self.tasks_finished = 0
        self.first_incarnation = 0
        self._has_workers = False
        self._tasks_observed = 0
        self._time_scale = time_scale
        self._origin_s = time.monotonic()
        self._arguments = arguments
        self._tape = tape
        self._recorder = recorder
        self._beliefs = None if beliefs is None else KeptBeliefs(beliefs, controller.incumbent, self.notice)
        self._handled_s = self._deaf_since_s = self._sent_s = self._origin_s
        self._held_runs: list[Run] = []  # until there is no trouble
        self._unsaved_ends: list[JobEnded] = []
        self._commit_at_s = float("inf")
        self._retry_at_s = float("inf")
        self._agenda = Agenda()
        self.aside = Aside(self.selector)
        self._numbers = count()
        self.hub: ControlHub | None = None
        self.sockets: ControlSockets | None = None

    # --- life ---

    def attend(self, hub: ControlHub) -> ControlSockets:
        """Let clients in."""
        self.hub = hub
        self.sockets = ControlSockets(hub, self.selector)
        return self.sockets

    def start(self) -> None:
        if self._tape is not None:
            self._tape.open(self.controller.options, self.controller.incumbent.name)
        if self._recorder is not None:
            self.controller.tell_decisions(self._recorder.decided)
        if self._beliefs is not None:
            self._beliefs.read(self.handle, self._agenda)
        self.first_incarnation = self.journal.count_start() * INCARNATIONS
        self.is_draining = self.journal.order(DRAINING) is not None
        self._resume_jobs()
        self._has_workers = True
        self.workers.start(self.selector, self)
        self.at(OBSERVE_EVERY_S, self._observe)

    def step(self) -> None:
        """Wait for something to happen, and handle it."""
        patience_s, asked_s = self._patience_s(), time.monotonic()
        ready = self.selector.select(patience_s)
        heard_s = time.monotonic()
        late_s = 0.0 if patience_s is None else max(0.0, heard_s - asked_s - patience_s)
        self._deaf_since_s += heard_s - asked_s - late_s
        for key, mask in ready:
            key.data(mask, time.monotonic())
        now_s = time.monotonic()
        self._agenda.do_until(now_s)
        self._let_time_pass(now_s)
        if self.workers.next_timer_s() <= now_s:
            self.workers.on_time(now_s)
        if self.hub is not None and self.hub.next_timer_s() <= now_s:
            self.hub.on_time(now_s)
        self._send(now_s)
        if now_s >= self._commit_at_s or now_s >= self._retry_at_s or self._unsaved_ends:
            self.save()
        if self.sockets is not None:
            self.sockets.flush()

    def _let_time_pass(self, now_s: float) -> None:
        """Before anybody's time is up, all that was said is heard, and what was sent late is known to be."""
        deaf_s, self._deaf_since_s = now_s - self._deaf_since_s, now_s
        if deaf_s > STALL_S:
            self.handle(Stalled(self.scaled_s(self._sent_s)))
        if self.controller.next_deadline_s <= self.scaled_s(now_s):
            for _ in range(FEW):
                ready = self.selector.select(0.0)
                for key, mask in ready:
                    key.data(mask, time.monotonic())
                if not ready:
                    break
        while self.controller.next_timer_s() <= self.scaled_s(now_s):
            self.handle(TimePassed())

    def _send(self, since_s: float) -> None:
        """What was decided is on its way; what was decided since then and had to wait has its full time from now."""
        self.workers.flush()
        if time.monotonic() - since_s > STALL_S:
            self.handle(Stalled(self.scaled_s(since_s)))
        self._sent_s = time.monotonic()

    def close(self) -> None:
        """Whatever fails on the way, the rest is closed too."""
        with ExitStack() as rest:
            rest.callback(self.selector.close)
            rest.callback(self.aside.close)
            if self._tape is not None:
                rest.callback(self._tape.close)
            rest.callback(self.journal.close)
            rest.callback(self._leave_workers)
            if self._beliefs is not None:
                rest.callback(self._beliefs.write)
            if self.sockets is not None:
                rest.callback(self.sockets.close)
                rest.callback(self.sockets.flush)
            rest.callback(self.save)

    def _leave_workers(self) -> None:
        if self._has_workers:
            self.workers.close()
        elif isinstance(self.workers, Connected):
            self.workers.disconnect()

    def at(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something later, on this thread."""
        self._agenda.at(delay_s, action)

    def _patience_s(self) -> float | None:
        now_s = time.monotonic()
        due_s = min(
            self._agenda.next_s,
            self._origin_s + self.controller.next_timer_s() * self._time_scale,
            self.workers.next_timer_s(),
            float("inf") if self.hub is None else self.hub.next_timer_s(),
            self._commit_at_s,
            self._retry_at_s,
        )
        return None if due_s == float("inf") else max(0.0, due_s - now_s)

    def _observe(self) -> None:
        """Tell the scheduler what was measured since the last time."""
        waited_s, tasks = self.overheads.drain("free to start"), self.tasks_finished - self._tasks_observed
        self._tasks_observed = self.tasks_finished
        executors = max(1, len(self.executors_up))
        self.controller.incumbent.observe(
            Observation(
                scheduling_overhead_s=sum(waited_s) / len(waited_s) if waited_s else None,
                utilisation=len(self.controller.busy_executors()) / executors,
                tasks_per_s=tasks / OBSERVE_EVERY_S,
            )
        )
        self.at(OBSERVE_EVERY_S, self._observe)

    # --- jobs ---

    def submit(self, spec: JobSpec, payload: Callable[[Path], None], key: str = "", **event: Any) -> int:
        """Accept a job durably; `payload` writes its payload to the path it is given."""
        self.controller.check(spec)
        if self.trouble:
            raise JournalError(f"no job is accepted now: {self.trouble}")
        submitted_s = time.time()
        job = self.journal.begin_job(spec, key, submitted_s)
        record = JobRecord(job, spec, self._job_path(job), submitted_s)
        try:
            record.directory.mkdir(parents=True, mode=0o700, exist_ok=True)
            payload(record.directory / "payload")
        except OSError as error:
            self.journal.drop_job()
            raise JournalError(f"{record.directory}: the job cannot be kept: {error.strerror}") from error
        except BaseException:
            self.journal.drop_job()
            raise
        self.journal.commit_job()
        self.jobs[job] = record
        if self._recorder is not None:
            self._recorder.arrival_s[job] = self.scaled_s(time.monotonic())
        self.handle(JobSubmitted(job, spec, **event))
        return job

    def _resume_jobs(self) -> None:
        """After a restart: everything the journal and the out files know."""
        for kept in self.journal.jobs():
            record = self.jobs[kept.job] = JobRecord.of(kept, self._job_path(kept.job))
            if record.has_ended:
                for stage, count in self.journal.counts(kept.job):
                    record.stages[stage].finished = count
            else:
                self.journal.add(record.restore(self.journal.completions(kept.job)))
        self.journal.commit()
        for record in list(self.jobs.values()):
            if not record.has_ended:
                self.handle(JobSubmitted(record.job, record.spec, record.finished_tasks()))

    def _job_path(self, job: int) -> Path:
        return self.directory / "jobs" / str(job)

    # --- events in, instructions out ---

    def scaled_s(self, now_s: float) -> float:
        return (now_s - self._origin_s) / self._time_scale

    def handle(self, event: Event) -> None:
        now_s = self._handled_s = max(self._handled_s, time.monotonic())
        if self._tape is not None:
            self._tape.add(self.scaled_s(now_s), event)
        for instruction in self.controller.handle(event, self.scaled_s(now_s)):
            if type(instruction) is Run:
                self._run(instruction)
            else:
                self._carry_out(instruction)

    def _run(self, run: Run) -> None:
        if self.trouble:
            self._held_runs.append(run)
            return
        self.sent.add(run)
        self.workers.run(run, None if self._arguments is None else self._arguments(run))

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Cancel(executor, batch):
                held = [run for run in self._held_runs if run.batch == batch]
                self._held_runs = [run for run in self._held_runs if run.batch != batch]
                for run in held:  # nobody else will say what became of it
                    ends = [TaskEnd(task, CANCELLED, 0.0) for task in run.tasks]
                    self.at(0.0, partial(self.handle, TasksEnded(executor, batch, ends)))
                if not held:
                    self.workers.cancel(executor, batch)
            case Restart(executor, why):
                self.workers.restart(executor, why)
            case Notice(kind, text):
                self.notice(kind, text)
            case JobEnded():
                self._job_ended(instruction)

    def _job_ended(self, end: JobEnded) -> None:
        record = self.jobs[end.job]
        record.state, record.ended_s = STATES[end.state], time.time()
        if self._recorder is not None:
            self._recorder.finish_s[end.job] = self.scaled_s(self._handled_s)
        if end.state == "failed":
            record.failure = TaskFailure(end.stage, end.task, end.error)
            record.failure_place = record.failures.get((end.stage, end.task)) if end.recorded else None
        self._unsaved_ends.append(end)
        self.workers.forget(end.job)

    def save(self) -> None:
        """Journal what happened, then tell those who wait."""
        self._commit_at_s = self._retry_at_s = float("inf")
        try:
            self.journal.commit()
            while self._unsaved_ends:
                self._save_end(self._unsaved_ends[0])
                self._unsaved_ends.pop(0)
        except JournalError as error:
            before, self.journal_trouble = self.trouble, str(error)
            self._hold(before, "journal")
            self._retry_at_s = time.monotonic() + RETRY_JOURNAL_S
            return
        if self.journal_trouble:
            self.journal_trouble = ""
            self.notice("journal", "the journal can be written again")
            self._go_on()

    # --- trouble ---

    @property
    def trouble(self) -> str:
        """Why nothing new is started; empty: all is well."""
        return self.journal_trouble or next(iter(self._full.values()), "")

    def _hold(self, before: str, kind: str) -> None:
        if not before:
            self.handle(Held())
            self.notice(kind, f"{self.trouble}; nothing new is started until it can be")

    def _go_on(self) -> None:
        if not self.trouble:
            held, self._held_runs = self._held_runs, []
            for run in held:
                self._run(run)
            self.handle(Resumed())

    def disk_is_full(self, executor: int, why: str) -> None:
        before, self._full[executor] = self.trouble, why
        self._hold(before, "disk")

    def disk_has_room(self, executor: int) -> None:
        if self._full.pop(executor, None) is not None and not self._full:
            self.notice("disk", "results can be written again")
            self._go_on()

    def is_unsaved(self, job: int) -> bool:
        """Whether it has ended, but only we know."""
        return any(end.job == job for end in self._unsaved_ends)

    def _save_end(self, end: JobEnded) -> None:
        record = self.jobs[end.job]
        failure: dict[str, object] | None = None
        if record.failure is not None:
            failure = {**record.failure.to_json(), "place": record.failure_place}
        assert record.ended_s is not None
        self.journal.end_job(end.job, record.state, record.ended_s, failure)
        record.release()
        if self.hub is not None:
            self.hub.job_ended(end.job)

    # --- what executors tell (`workers.Ears`) ---

    def executor_up(self, executor: int, node: str) -> None:
        self.executors_up[executor] = node
        self.handle(ExecutorUp(executor, self.workers.executor_class(executor), node))

    def executor_down(self, executor: int, why: str, blameless: bool, killed: bool = False) -> None:
        self.executors_up.pop(executor, None)
        lost = self.sent.lose(executor)
        self._held_runs = [held for held in self._held_runs if held.executor != executor]
        for run in lost:
            if run.job in self.jobs:
                self.jobs[run.job].stages[run.stage].lost += 1
        self.notice("executor", f"executor {executor} is lost: {why}")
        self.handle(ExecutorDown(executor, why, blameless, killed))
        self.disk_has_room(executor)  # as far as this one is concerned

    def tasks_ended(
        self, executor: int, incarnation: int, batch: int, entries: Sequence[Entry], leaving: bool = False
    ) -> None:
        run = self.sent.report(executor, batch, entries)
        if run is None:
            return
        record = self.jobs.get(run.job)
        if record is not None and not record.has_ended:  # what comes later changes nothing any more
            self._note_results(record, run, executor, incarnation, entries)
        scale = 1.0 / self._time_scale
        ends = [
            TaskEnd(task, how, (ended_s - started_s) * scale, error)
            for task, how, _, _, started_s, ended_s, error in entries
        ]
        if self._recorder is not None:
            self._recorder.ended(run, entries, self._origin_s, self._time_scale)
        self.sent.reporting = executor
        try:
            self.handle(TasksEnded(executor, batch, ends, leaving))
        finally:
            self.sent.reporting = -1

    def _note_results(
        self, record: JobRecord, run: Run, executor: int, incarnation: int, entries: Sequence[Entry]
    ) -> None:
        stage, completions = record.stages[run.stage], []
        for task, how, offset, length, _, _, _ in entries:
            place = (executor, incarnation, offset, length)
            if how == FINISHED:
                if stage.put(task, *place):
                    completions.append((run.job, run.stage, task, *place))
            elif how == FAILED:
                stage.failed += 1
                if offset >= 0:
                    record.failures[run.stage, task] = place
        if completions:
            self.tasks_finished += len(completions)
            self.journal.add(completions)
            if self._commit_at_s == float("inf"):
                self._commit_at_s = time.monotonic() + COMMIT_EVERY_S

    def notice(self, kind: str, text: str) -> None:
        self.notices.append((next(self._numbers), time.time(), kind, text))
        log.info("%s: %s", kind, text)

    def stage_settings(self, job: int, stage: int) -> Mapping[str, Any]:
        return self.jobs[job].stage_settings(stage, limit_memory=self._arguments is None)

    def job_directory(self, job: int) -> str:
        return str(self._job_path(job))
