"""The server's side of an executor that is a Ray actor: what it was sent, and what became of its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.execution.controller.messages import Run
from dovetail.execution.engines.ray_actor import Ended, Request
from dovetail.execution.outfile import CANCELLED, FAILED, LARGE_BYTES, OutFile, out_path
from dovetail.execution.report import NO_RECORD, why_unwritten
from dovetail.execution.workers import Entry


class Sent:
    """A batch that an actor has, or will have once its stage is prepared."""

    __slots__ = ("is_wanted", "left", "run")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.left = set(run.tasks)
        self.is_wanted = True  # its job has not ended


class Slot:
    """A place for an executor; its occupants have the same number and different incarnations."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.incarnation = 0
        self.actor: Any = None
        self.is_up = False
        self.node = ""
        self.pid = 0
        self.sent: dict[int, Sent] = {}  # by batch
        self.known: set[tuple[int, int]] = set()  # stages that the actor was told of
        self.calls = 0  # that it has not answered
        self.requests: list[Request] = []  # for the next call
        self.introduced: dict[tuple[int, int], Any] = {}  # settings of stages that come up in them first
        self.is_quick = False  # its last batch took less time than a call
        self.is_queued = False  # for the next flush
        self.outs: dict[int, OutFile] = {}  # by job
        self.up_s = 0.0
        self.quick_deaths = 0
        self.start_at_s = 0.0  # not earlier

    def clear(self) -> None:
        """The actor is gone."""
        self.actor = None
        self.is_up = False
        self.sent, self.known, self.calls = {}, set(), 0
        self.requests, self.introduced, self.is_quick = [], {}, False
        for out in self.outs.values():
            out.close()
        self.outs = {}

    def forget(self, job: int) -> bool:
        """Whether the actor knows something of this job."""
        if job in self.outs:
            self.outs.pop(job).close()
        for sent in self.sent.values():
            if sent.run.job == job:
                sent.is_wanted = False
        stages = {stage for stage in self.known if stage[0] == job}
        self.known -= stages
        for stage in stages:
            self.introduced.pop(stage, None)
        return bool(stages)

    def keep(
        self, sent: Sent, ended: Sequence[Ended], received_s: float, directory_of: Callable[[int], str]
    ) -> list[Entry]:
        """Write results to the out file.  Only then are they finished.

        Clocks of other machines mean nothing here, so times are counted back from when the reply came: they are late by
        its way, and how long a task took is exact.
        """
        run = sent.run
        if not sent.is_wanted:
            return [(task, CANCELLED, NO_RECORD, 0, received_s, received_s, "") for task, *_ in ended]
        out = self.outs.get(run.job)
        if out is None:
            out = self.outs[run.job] = OutFile(out_path(directory_of(run.job), self.number, self.incarnation))
        entries: list[Entry] = []
        gathered: list[Entry] = []
        for task, how, payload, started_s, ended_s, error in ended:
            length, started_s, ended_s = len(payload), received_s + started_s, received_s + ended_s
            if how == CANCELLED:
                gathered.append((task, how, NO_RECORD, 0, started_s, ended_s, ""))
                continue
            if length >= LARGE_BYTES:  # should there be no room for this one, only this one fails
                entries += _written(out, gathered)
                gathered = []
            offset = out.add(run.stage, task, how, payload, started_s, ended_s)
            gathered.append((task, how, offset, length, started_s, ended_s, error))
        return entries + _written(out, gathered)


def _written(out: OutFile, gathered: list[Entry]) -> list[Entry]:
    try:
        out.flush()
    except OSError as error:
        why = why_unwritten(error, out.path)
        return [
            entry if entry[1] == CANCELLED else (entry[0], FAILED, NO_RECORD, 0, entry[4], entry[5], why)
            for entry in gathered
        ]
    return gathered
