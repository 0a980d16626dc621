"""An executor: a process that runs batches of tasks, one task at a time, and says what became of them.

Forked by its node manager, it connects to the server itself.  Whatever a task does, short of ending the process, ends
as a record in the out file and an entry of a "done" message; the record is always written first.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from dovetail.execution.inbox import Inbox
from dovetail.execution.job_modules import JobModules
from dovetail.execution.outfile import OutFile, out_path
from dovetail.execution.report import Report
from dovetail.execution.stage import Stage
from dovetail.execution.task_loop import run_tasks
from dovetail.execution.wire import connect, send


class Executor:
    def __init__(self, socket_path: str, executor: int, incarnation: int) -> None:
        self.socket_path = socket_path
        self.executor = executor
        self.incarnation = incarnation
        self._stages: dict[tuple[int, int], Stage] = {}
        self._outs: dict[int, OutFile] = {}
        self._modules = JobModules()

    def run(self) -> int:
        """Works until told to stop, or until the server is gone; returns the exit status."""
        self._sock = connect(self.socket_path)
        self._inbox = Inbox(self._sock)
        self._inbox.attend()
        self._streams = sys.stdout, sys.stderr
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
        self._modules.enter(job, stage.folders)
        self._mend_output()
        stage.load()
        out = self._outs.get(job)
        if out is None:
            out = OutFile(out_path(stage.directory, self.executor, self.incarnation))
            if stage.settings:
                self._outs[job] = out
        report = Report(self._sock, self._inbox, batch, number, out)
        self._inbox.begin(batch)
        try:
            argument_of = stage.argument_of
            if arguments is not None:
                argument_of = dict(zip(tasks, arguments, strict=True)).__getitem__
            ran = run_tasks(self._inbox, stage, argument_of, tasks, report.add)
            report.cancelled(tasks[ran:])
            report.close()
        finally:
            self._inbox.end()

    def _mend_output(self) -> None:
        """A task before may have closed or replaced what others print to."""
        if any(stream.closed for stream in self._streams):
            self._streams = _stream(1), _stream(2)
        sys.stdout, sys.stderr = self._streams

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
        self._modules.forget(job)


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


class _Log(io.FileIO):
    """What cannot be written, because the disk is full maybe, is lost: that is no reason for a task to fail."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            return super().write(data) or 0
        return memoryview(data).nbytes


def _stream(fd: int) -> io.TextIOWrapper:
    """Line by line, so that what a task said is there even if it ends the process."""
    return io.TextIOWrapper(_Log(fd, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
