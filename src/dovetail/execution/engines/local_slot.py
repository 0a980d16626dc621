"""Where executors live on this machine: slots on nodes, and the connections of those who live there."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence

from dovetail.execution.controller.messages import FAILED, FINISHED, Run
from dovetail.execution.failure import Failure
from dovetail.execution.outfile import HEADER_BYTES, out_path, read, scan
from dovetail.execution.wire import Frames
from dovetail.execution.workers import Entry

QUICK_DEATH_S = 0.5
LONGEST_PAUSE_S = 5.0


class Peer:
    """One connection: a node manager's, an executor's, or one that has not said who it is."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.frames = Frames()
        self.node: Node | None = None
        self.slot: Slot | None = None
        self.is_queued = False  # for the next flush
        self.is_closed = False  # earlier in the same turn of the loop, maybe


class Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.process: subprocess.Popen[bytes] | None = None
        self.peer: Peer | None = None
        self.slots: list[Slot] = []


class Slot:
    """A place for an executor; its occupants have the same number and different incarnations."""

    def __init__(self, number: int, executor_class: int, node: Node) -> None:
        self.number = number
        self.executor_class = executor_class
        self.node = node
        self.incarnation = 0
        self.peer: Peer | None = None
        self.pid = 0
        self.is_up = False
        self.runs: dict[int, tuple[Run, set[int]]] = {}  # by batch, with the tasks that are not over
        self.known: set[tuple[int, int]] = set()  # stages that the executor was told of
        self.out_end: dict[int, int] = {}  # by job: how far its out file was reported
        self.up_s = 0.0
        self.quick_deaths = 0
        self.start_at_s = 0.0  # not earlier

    def sent(self, run: Run) -> bool:
        """Whether its stage is new to the executor."""
        self.runs[run.batch] = (run, set(run.tasks))
        stage = (run.job, run.stage)
        is_new = stage not in self.known
        self.known.add(stage)
        return is_new

    def reported(self, batch: int, entries: Sequence[Entry]) -> None:
        run, left = self.runs[batch]
        last = next((entry for entry in reversed(entries) if entry[2] >= 0), None)  # cancelled tasks leave no record
        if last is not None:
            self.out_end[run.job] = last[2] + HEADER_BYTES + last[3]
        left.difference_update([entry[0] for entry in entries])
        if not left:
            del self.runs[batch]
        self.quick_deaths = 0

    def unreported(self, run: Run, left: set[int], directory: str) -> list[Entry]:
        """What the executor finished of a batch before its death, by its out file, and could not tell."""
        path = out_path(directory, self.number, self.incarnation)
        entries: list[Entry] = []
        for record in scan(path, self.out_end.get(run.job, 0)):
            if record.stage == run.stage and record.task in left:
                error = ""
                if record.ok != FINISHED:
                    error = Failure.from_bytes(read(path, record.offset, record.length)).line
                how = FINISHED if record.ok == FINISHED else FAILED
                entries.append(
                    (record.task, how, record.offset, record.length, record.started_s, record.ended_s, error)
                )
                left.discard(record.task)
        return entries

    def pause_s(self, now_s: float) -> float:
        """Before it is replaced: none, unless it keeps dying as soon as it lives."""
        self.quick_deaths = self.quick_deaths + 1 if now_s - self.up_s < QUICK_DEATH_S else 0
        return 0.0 if self.quick_deaths < 3 else min(LONGEST_PAUSE_S, 0.05 * 2.0**self.quick_deaths)
