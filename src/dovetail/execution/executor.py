"""An executor: a process that runs batches of tasks, one task at a time, and says what became of them.

Forked by its node manager, it connects to the server itself.  Whatever a task does, short of ending the process, ends
as a record in the out file and an entry of a "done" message; the record is always written first.
"""

from __future__ import annotations

import faulthandler
import io
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.execution.failure import Failure, MemoryLimitError
from dovetail.execution.inbox import Inbox
from dovetail.execution.memory_limit import MemoryLimit, amount
from dovetail.execution.outfile import FAILED, FINISHED, OutFile, out_path
from dovetail.execution.report import Report
from dovetail.execution.stage import Stage, pickled
from dovetail.execution.wire import connect, send


class Executor:
    def __init__(self, socket_path: str, executor: int, incarnation: int) -> None:
        self.socket_path = socket_path
        self.executor = executor
        self.incarnation = incarnation
        self._stages: dict[tuple[int, int], Stage] = {}
        self._outs: dict[int, OutFile] = {}

    def run(self) -> int:
        """Works until told to stop, or until the server is gone; returns the exit status."""
        self._sock = connect(self.socket_path)
        self._inbox = Inbox(self._sock)
        self._inbox.attend()
        try:
            send(self._sock, ("up", self.executor, self.incarnation, os.getpid()))
            while (message := self._inbox.next()) is not None:
                name = message[0]
                if name == "run":
                    self._run(*message[1:])
                elif name == "stage":
                    self._meet(Stage(*message[1:]))
                elif name == "forget":
                    self._forget(message[1])
                elif name == "stop":
                    break
                else:
                    print(f"executor {self.executor}: unknown message {name!r} is ignored", file=sys.stderr)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server is gone, and with it whoever could tell us what to do
        return 0

    def _run(
        self, batch: int, job: int, number: int, tasks: Sequence[int], arguments: Sequence[Any] | None = None
    ) -> None:
        """`arguments`: of these tasks, in place of those in the payload."""
        stage = self._stages.get((job, number)) or Stage(job, number, None)
        stage.load()
        out = self._outs.get(job)
        if out is None:
            out = OutFile(out_path(stage.directory, self.executor, self.incarnation))
            if stage.settings:
                self._outs[job] = out
        report = Report(self._sock, batch, number, out)
        self._inbox.begin(batch)
        try:
            argument_of = stage.argument_of
            if arguments is not None:
                argument_of = dict(zip(tasks, arguments, strict=True)).__getitem__
            ran = self._run_tasks(stage, argument_of, tasks, report)
            report.cancelled(tasks[ran:])
            report.close()
        finally:
            self._inbox.end()

    def _run_tasks(
        self, stage: Stage, argument_of: Callable[[int], Any] | None, tasks: Sequence[int], report: Report
    ) -> int:
        """How many tasks came to an end: all, or those before a cancel.  This loop is the price of a task."""
        inbox, limit = self._inbox, stage.limit
        function, more = stage.function, stage.more
        add, monotonic = report.add, time.monotonic
        started_s = monotonic()
        for position, task in enumerate(tasks):
            result = failure = None
            # Two layers, because a cancel can arrive while the inner one is already dealing with an exception.
            try:
                try:
                    inbox.interruptible = True
                    if inbox.signalled:
                        inbox.look()
                    if limit is not None:
                        limit.impose()
                    result = function(task if argument_of is None else argument_of(task), *more)
                    if limit is not None:
                        limit.lift()
                    payload = pickled(result)
                    inbox.interruptible = False
                except BaseException as error:
                    inbox.interruptible = False
                    failure = self._failure(error, limit)
            except BaseException as error:
                inbox.interruptible = False
                failure = self._failure(error, limit)
            if inbox.copied:
                os._exit(1)  # the task forked, and this is its child, which has no business here
            if failure is None:
                ended_s = monotonic()
                started_s = add(task, FINISHED, payload, started_s, ended_s, "")
            elif inbox.is_cancelled:
                return position
            else:
                started_s = add(task, FAILED, failure.to_bytes(), started_s, monotonic(), failure.line)
            payload = b""  # a large result must not stay while the next task runs
        return len(tasks)

    def _failure(self, error: BaseException, limit: MemoryLimit | None) -> Failure:
        if limit is not None:
            limit.lift()
            if limit.is_cause_of(error):
                exceeded = MemoryLimitError(f"task used more than its limit of {amount(limit.limit_bytes)}")
                exceeded.__cause__ = error
                return Failure.of(exceeded)
        return Failure.of(error, own_frames=1)

    def _meet(self, stage: Stage) -> None:
        known = self._stages.pop((stage.job, stage.number), None)
        if known is not None:
            known.close()
        self._stages[stage.job, stage.number] = stage

    def _forget(self, job: int) -> None:
        for key in [key for key in self._stages if key[0] == job]:
            self._stages.pop(key).close()
        if job in self._outs:
            self._outs.pop(job).close()


def redirect_output(log_path: str) -> None:
    """What tasks print goes to a file of this executor; what they read is empty."""
    os.makedirs(os.path.dirname(log_path), mode=0o700, exist_ok=True)
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    for fd in {log, nothing} - {0, 1, 2}:
        os.close(fd)
    sys.stdout, sys.stderr = _stream(1), _stream(2)
    faulthandler.enable()  # should a task crash the interpreter, the log says where


def _stream(fd: int) -> io.TextIOWrapper:
    """Line by line, so that what a task said is there even if it ends the process."""
    return io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
