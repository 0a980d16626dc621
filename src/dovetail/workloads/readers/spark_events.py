"""Spark event logs, line by line: every line is one event, a JSON object whose first key is `Event`.

Only events that say something about jobs are parsed; all others, known or not, are passed over by their name, without
parsing them.  `Accumulables`, two thirds of what is said of a task, is cut out of the line before it is parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dovetail.core.errors import Fault
from dovetail.workloads.readers.spark_codecs import CutShort, read_pieces
from dovetail.workloads.readers.spark_event import FaultyEvent, boolean, integer, number, record, records, text
from dovetail.workloads.readers.spark_event_parts import MIB, bytes_of, measured_of, shuffled_of, stage_of
from dovetail.workloads.readers.spark_files import BEGINNING, LogFiles
from dovetail.workloads.readers.spark_log import NONE, AppLog, Execution, SparkExecutor, SparkJob, TaskRows

SQL = "org.apache.spark.sql.execution.ui."
MAX_FAULTS = 1000  # a file that is something else has one in every line
_NAMES = """
    LogStart TaskStart TaskGettingResult StageSubmitted SpeculativeTaskSubmitted BlockUpdated BlockManagerAdded
    BlockManagerRemoved UnpersistRDD ExecutorMetricsUpdate StageExecutorMetrics ExecutorExcluded ExecutorUnexcluded
    ExecutorExcludedForStage NodeExcluded NodeUnexcluded NodeExcludedForStage ExecutorBlacklisted
    ExecutorUnblacklisted ExecutorBlacklistedForStage NodeBlacklisted NodeUnblacklisted NodeBlacklistedForStage
    UnschedulableTaskSetAdded UnschedulableTaskSetRemoved MiscellaneousProcessAdded
"""
_NAMES_OF_SQL = "DriverAccumUpdates SQLAdaptiveExecutionUpdate SQLAdaptiveSQLMetricUpdates"
PASSED_OVER = frozenset(
    f"{where}SparkListener{name}".encode()
    for where, names in (("", _NAMES), (SQL, _NAMES_OF_SQL))
    for name in names.split()
)
"""Events that are known, and say nothing that is needed."""
_CUT = b',"Accumulables":['
_CUT_ENDS = (b']},"Task Executor Metrics"', b']},"Task Metrics"')


def read_log(files: LogFiles, faults: list[Fault]) -> AppLog:
    """Everything that the files of one application say; what is wrong with them is added to the faults."""
    reading = _Reading(AppLog(str(files.path)))
    for path in files.parts:
        is_last = path == files.parts[-1]
        row, is_empty = 0, True
        broken: Fault | None = None  # a line that is no JSON: allowed as the very last one
        try:
            for line in _lines(path):
                row += 1
                is_empty = is_empty and not line.strip()
                if broken is not None:
                    faults.append(broken)
                broken = reading.line(path, row, line, faults)
                if len(faults) >= MAX_FAULTS:
                    return reading.app
        except CutShort as error:
            broken = Fault(str(path), row or None, None, f"the compressed data break off: {error}", "a whole file")
            if row == 0:
                faults.append(broken)
                continue
        is_live = is_last and reading.app.ended_ms == NONE and (row > 1 or len(files.parts) > 1)
        if broken is not None and not is_live:
            faults.append(broken)
        elif broken is not None:
            reading.app.odd["cut"] += 1
        if is_empty:
            reading.app.odd["empty"] += 1
            if len(files.parts) == 1:
                faults.append(Fault(str(path), None, None, "empty file", "a Spark event log"))
    app = reading.app
    app.tasks = reading.rows.columns()
    app.identity = app.identity or files.path.name
    return app


def _lines(path: Path) -> Iterator[bytes]:
    """Lines that are not blank; the last one may have no end.  What came before a break is handed out first."""
    rest = b""
    pieces = read_pieces(path)
    while True:
        try:
            piece = next(pieces, None)
        except CutShort:
            if rest.strip():
                yield rest
            raise
        if piece is None:
            break
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        yield from lines
    if rest.strip():
        yield rest


class _Reading:
    """What was read so far of one application."""

    def __init__(self, app: AppLog) -> None:
        self.app = app
        self.rows = TaskRows()
        self._handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "SparkListenerApplicationStart": self._application_start,
            "SparkListenerApplicationEnd": self._application_end,
            "SparkListenerEnvironmentUpdate": self._environment,
            "SparkListenerResourceProfileAdded": self._profile,
            "SparkListenerExecutorAdded": self._executor_added,
            "SparkListenerExecutorRemoved": self._executor_removed,
            "SparkListenerJobStart": self._job_start,
            "SparkListenerJobEnd": self._job_end,
            "SparkListenerStageCompleted": self._stage_completed,
            "SparkListenerTaskEnd": self._task_end,
            SQL + "SparkListenerSQLExecutionStart": self._execution_start,
            SQL + "SparkListenerSQLExecutionEnd": self._execution_end,
        }
        self._wanted = {name.encode(): handler for name, handler in self._handlers.items()}

    def line(self, path: Path, row: int, line: bytes, faults: list[Fault]) -> Fault | None:
        """Takes one line in; a line that is no JSON is handed back."""
        if line.startswith(BEGINNING):
            end = line.find(b'"', len(BEGINNING))
            name = line[len(BEGINNING) : end]
            if end > 0 and name not in self._wanted and line[-1] in b"}\r":
                self.app.odd["unknown events"] += name not in PASSED_OVER
                return None
        elif not line.strip():
            return None
        try:
            event = _parsed(line)
        except (ValueError, RecursionError) as error:
            what = "wrong encoding" if isinstance(error, UnicodeDecodeError) else "not JSON"
            return Fault(str(path), row, None, f"{what}: {str(error)[:100]}", "an event of Spark, a JSON object")
        if not isinstance(event, dict) or not isinstance(event.get("Event"), str):
            faults.append(Fault(str(path), row, "Event", "missing", "an event of Spark, a JSON object"))
            return None
        handler = self._handlers.get(event["Event"])
        if handler is None:
            self.app.odd["unknown events"] += event["Event"].encode() not in PASSED_OVER
            return None
        try:
            handler(event)
        except FaultyEvent as fault:
            faults.append(Fault(str(path), row, fault.field, fault.problem, fault.expected))
        return None

    def _application_start(self, event: dict[str, Any]) -> None:
        app = self.app
        app.name = text(event, "App Name", "")
        attempt = text(event, "App Attempt ID", "")
        app.identity = text(event, "App ID", "") + (f"_{attempt}" if attempt else "")
        app.started_ms = self._time(event, "Timestamp")

    def _application_end(self, event: dict[str, Any]) -> None:
        self.app.ended_ms = self._time(event, "Timestamp")

    def _environment(self, event: dict[str, Any]) -> None:
        properties = record(event, "Spark Properties")
        cpus = properties.get("spark.task.cpus", "1")
        if not isinstance(cpus, str) or not cpus.isdigit() or int(cpus) < 1:
            raise FaultyEvent("spark.task.cpus", f"cannot be read: {str(cpus)[:50]!r}", "a whole number, 1 or more")
        self.app.task_cpus.setdefault(0, float(cpus))
        told = bytes_of(properties.get("spark.executor.memory", ""))
        self.app.executor_memory_bytes = told or self.app.executor_memory_bytes  # a profile may have said it before

    def _profile(self, event: dict[str, Any]) -> None:
        asked = event.get("Task Resource Requests")
        cpus = asked.get("cpus") if isinstance(asked, dict) else None
        if isinstance(cpus, dict):
            self.app.task_cpus[integer(event, "Resource Profile Id")] = max(number(cpus, "Amount"), 0.01)
        asked = event.get("Executor Resource Requests")
        memory = asked.get("memory") if isinstance(asked, dict) else None
        if isinstance(memory, dict) and self.app.executor_memory_bytes == 0:
            self.app.executor_memory_bytes = int(number(memory, "Amount") * MIB)

    def _executor_added(self, event: dict[str, Any]) -> None:
        name = text(event, "Executor ID")
        cores = integer(record(event, "Executor Info"), "Total Cores")
        self.app.executors[name] = SparkExecutor(name, self._time(event, "Timestamp"), max(cores, 1))

    def _executor_removed(self, event: dict[str, Any]) -> None:
        removed_ms = self._time(event, "Timestamp")
        executor = self.app.executors.get(text(event, "Executor ID"))
        if executor is not None:
            executor.removed_ms = removed_ms

    def _job_start(self, event: dict[str, Any]) -> None:
        job = integer(event, "Job ID")
        if job in self.app.jobs:
            raise FaultyEvent("Job ID", f"job {job} has started before", "another number; is a file there twice?")
        stages = [stage_of(job, info) for info in records(event, "Stage Infos")]
        properties = event.get("Properties")
        properties = properties if isinstance(properties, dict) else {}
        own = properties.get("spark.sql.execution.id")
        named = properties.get("spark.job.description") or properties.get("callSite.short")
        self.app.jobs[job] = SparkJob(
            number=job,
            submitted_ms=self._time(event, "Submission Time"),
            stages=tuple(stage.number for stage in stages),
            execution=int(own) if isinstance(own, str) and own.isdigit() else NONE,
            description=str(named or (stages[-1].name if stages else f"job {job}")),
        )
        for stage in stages:
            self.app.stages.setdefault(stage.number, stage)

    def _job_end(self, event: dict[str, Any]) -> None:
        ended_ms = self._time(event, "Completion Time")
        job = self.app.jobs.get(integer(event, "Job ID"))
        if job is None:
            self.app.odd["jobs without start"] += 1
            return
        job.ended_ms = ended_ms
        job.succeeded = record(event, "Job Result").get("Result") == "JobSucceeded"

    def _stage_completed(self, event: dict[str, Any]) -> None:
        info = record(event, "Stage Info")
        if info.get("Failure Reason"):
            self.app.failed_stages.add(integer(info, "Stage ID"))

    def _task_end(self, event: dict[str, Any]) -> None:
        info, odd = record(event, "Task Info"), self.app.odd
        stage = integer(event, "Stage ID")
        launch_ms, finish_ms = self._time(info, "Launch Time"), self._time(info, "Finish Time")
        fetched_ms = integer(info, "Getting Result Time", 0)
        executor = text(info, "Executor ID")
        if not self.rows.is_new(integer(info, "Task ID")):
            odd["tasks twice"] += 1
            return
        end_ms = fetched_ms if launch_ms <= fetched_ms < finish_ms else finish_ms
        if end_ms < launch_ms:
            odd["backwards"] += 1
            end_ms = launch_ms
        reason = record(event, "Task End Reason").get("Reason")
        killed = boolean(info, "Killed") or reason == "TaskKilled"
        failed = not killed and (boolean(info, "Failed") or reason != "Success")
        copy = boolean(info, "Speculative")
        odd["killed"] += killed
        odd["failed"] += failed
        odd["copies"] += copy
        metrics = event.get("Task Metrics")
        peak, read, rows = measured_of(metrics if isinstance(metrics, dict) else {})
        good = not (killed or failed)
        odd["shuffled bytes"] += shuffled_of(metrics) if good and isinstance(metrics, dict) else 0
        result = event.get("Task Type") == "ResultTask"
        self.rows.add(executor, stage, launch_ms, end_ms, good, copy, result, peak, read, rows)

    def _execution_start(self, event: dict[str, Any]) -> None:
        own = integer(event, "executionId")
        root = event.get("rootExecutionId")
        self.app.executions[own] = Execution(
            number=own,
            root=root if isinstance(root, int) and root >= 0 else own,
            description=text(event, "description", ""),
            started_ms=self._time(event, "time"),
        )

    def _execution_end(self, event: dict[str, Any]) -> None:
        ended_ms = self._time(event, "time")
        execution = self.app.executions.get(integer(event, "executionId"))
        if execution is not None:
            execution.ended_ms = ended_ms
            execution.succeeded = not event.get("errorMessage")
            execution.tells = "errorMessage" in event

    def _time(self, event: dict[str, Any], field: str) -> int:
        """Milliseconds since 1970."""
        value = integer(event, field)
        if value < 0:
            raise FaultyEvent(field, f"{value}", "milliseconds since 1970")
        self.app.last_ms = max(self.app.last_ms, value)
        return value


def _parsed(line: bytes) -> Any:
    start = line.find(_CUT)
    if start > 0:
        for mark in _CUT_ENDS:
            end = line.find(mark, start)
            if end > 0:
                try:
                    return json.loads(line[:start] + line[end + 1 :])
                except ValueError:
                    break  # not what it looked like
    return json.loads(line)
