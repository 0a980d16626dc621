"""What became of a batch's tasks, told to the server in as few messages and writes as are timely.

If the disk is full, a result waits here until there is room, and with it the executor, which tells the server: a task
that was done need not be done again because there was no place to write it down.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Sequence

from dovetail.execution.interrupts import Interrupts
from dovetail.execution.outfile import CANCELLED, FAILED, LARGE_BYTES, OutFile
from dovetail.execution.wire import send

LATEST_S = 0.02  # after this, what is known is written and sent
LONG_TASK_S = 0.001  # the record of a task that took longer is written at once: losing it would cost more than writing
LOOK_FOR_ROOM_S = 0.2
ENTRIES = 10_000  # in one message, which keeps it far below the largest frame
NO_RECORD = -1  # in place of an offset

Entry = tuple[int, int, int, int, float, float, str]  # task, ok, offset, length, started_s, ended_s, error


class Report:
    def __init__(self, sock: socket.socket, interrupts: Interrupts, batch: int, stage: int, out: OutFile) -> None:
        self._sock = sock
        self._interrupts = interrupts
        self._batch = batch
        self._stage = stage
        self._out = out
        self._gathered: list[Entry] = []  # not in the out file yet
        self._written: list[Entry] = []  # in the out file, not sent yet
        self._write_due_s = self._send_due_s = time.monotonic() + LATEST_S
        self._said_something = False

    def add(self, task: int, ok: int, payload: bytes, started_s: float, ended_s: float, error: str) -> float:
        """Returns when the next task begins."""
        length = len(payload)
        if length >= LARGE_BYTES:
            self._write()  # should this one not be written, only this one fails
        offset = self._out.add(self._stage, task, ok, payload, started_s, ended_s)
        self._gathered.append((task, ok, offset, length, started_s, ended_s, error))
        if (
            ended_s < self._write_due_s
            and ended_s - started_s < LONG_TASK_S
            and self._out.unflushed_bytes < LARGE_BYTES
        ):
            return ended_s
        self._write()
        now_s = time.monotonic()
        self._write_due_s = now_s + LATEST_S
        if now_s >= self._send_due_s:
            self._send()
            now_s = time.monotonic()
            self._send_due_s = now_s + LATEST_S
        return now_s

    def cancelled(self, tasks: Sequence[int]) -> None:
        now_s = time.monotonic()
        self._gathered += [(task, CANCELLED, NO_RECORD, 0, now_s, now_s, "") for task in tasks]

    def close(self) -> None:
        self._write()
        if self._written or not self._said_something:
            self._send()

    def _write(self) -> None:
        gathered, self._gathered = self._gathered, []
        try:
            self._flush()
        except OSError as error:
            self._out.drop()
            gathered = without_records(gathered, error, self._out.path, self._interrupts.is_cancelled)
        self._written += gathered

    def _flush(self) -> None:
        """As soon as there is room; if the batch is cancelled meanwhile, nobody wants it any more."""
        is_waiting = False
        try:
            while True:
                try:
                    self._out.flush()
                    return
                except OSError as error:
                    if not is_full(error) or self._interrupts.cancelled_meanwhile():
                        raise
                    if not is_waiting:
                        is_waiting = True
                        if self._written:
                            self._send()
                        send(self._sock, ("full", why_unwritten(error, self._out.path)))
                time.sleep(LOOK_FOR_ROOM_S)
        finally:
            if is_waiting:
                send(self._sock, ("room",))

    def _send(self) -> None:
        for first in range(0, max(len(self._written), 1), ENTRIES):
            send(self._sock, ("done", self._batch, self._written[first : first + ENTRIES]))
        self._written = []
        self._said_something = True


def without_records(entries: Sequence[Entry], error: OSError, path: str, is_cancelled: bool) -> list[Entry]:
    """Tasks whose records could not be written have failed, or are not wanted any more."""
    why = why_unwritten(error, path)
    found: list[Entry] = []
    for entry in entries:
        task, how, _, _, started_s, ended_s, said = entry
        if how == CANCELLED or is_cancelled:
            found.append((task, CANCELLED, NO_RECORD, 0, started_s, ended_s, ""))
        else:
            found.append((task, FAILED, NO_RECORD, 0, started_s, ended_s, f"{said}; {why}" if said else why))
    return found


def is_full(error: OSError) -> bool:
    """Whether waiting may help."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def why_unwritten(error: OSError, path: str) -> str:
    if is_full(error):
        return f"disk full: a result cannot be written to {path} ({error.strerror})"
    return f"the result could not be written to {path}: {error.strerror}"
