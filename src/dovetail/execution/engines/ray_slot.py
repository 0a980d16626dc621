"""The server's side of an executor that is a Ray actor: what it was sent, and what became of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dovetail.execution.controller.messages import Run
from dovetail.execution.engines.ray_actor import Ended, Request
from dovetail.execution.outfile import CANCELLED, OutFile, out_path
from dovetail.execution.report import NO_RECORD, is_full, why_unwritten, without_records
from dovetail.execution.workers import Entry


class Sent:
    """A batch that an actor has, or will have once its stage is prepared."""

    __slots__ = ("is_wanted", "left", "run")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.left = set(run.tasks)
        self.is_wanted = True  # its job has not ended


class Kept(NamedTuple):
    """Ends of tasks that cannot be told before their records are written; without a file there is nothing to write."""

    run: Run
    out: OutFile | None
    entries: list[Entry]


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
        self.kept: list[Kept] = []
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
        self.kept = []

    def forget(self, job: int) -> bool:
        """Whether the actor knows something of this job."""
        if job in self.outs:
            self.outs.pop(job).close()
        self.kept = [_unwanted(kept) if kept.run.job == job else kept for kept in self.kept]
        for sent in self.sent.values():
            if sent.run.job == job:
                sent.is_wanted = False
        stages = {stage for stage in self.known if stage[0] == job}
        self.known -= stages
        for stage in stages:
            self.introduced.pop(stage, None)
        return bool(stages)

    def keep(self, sent: Sent, ended: Sequence[Ended], received_s: float, directory_of: Callable[[int], str]) -> None:
        """Have results ready for the out file.  Only when they are `written` are they finished.

        Clocks of other machines mean nothing here, so times are counted back from when the reply came: they are late by
        its way, and how long a task took is exact.
        """
        run = sent.run
        if not sent.is_wanted:
            entries = [(task, CANCELLED, NO_RECORD, 0, received_s, received_s, "") for task, *_ in ended]
            self.kept.append(Kept(run, None, entries))
            return
        out = self.outs.get(run.job)
        if out is None:
            out = self.outs[run.job] = OutFile(out_path(directory_of(run.job), self.number, self.incarnation))
        entries = []
        for task, how, payload, started_s, ended_s, error in ended:
            started_s, ended_s = received_s + started_s, received_s + ended_s
            if how == CANCELLED:
                entries.append((task, how, NO_RECORD, 0, started_s, ended_s, ""))
                continue
            offset = out.add(run.stage, task, how, payload, started_s, ended_s)
            entries.append((task, how, offset, len(payload), started_s, ended_s, error))
        self.kept.append(Kept(run, out, entries))

    def written(self) -> Iterator[tuple[int, list[Entry]]]:
        """Batches with the ends of tasks that can be told now.  If the disk is full, an OSError ends it: `kept` has
        the rest."""
        while self.kept:
            run, out, entries = self.kept[0]
            if out is not None:
                try:
                    out.flush()
                except OSError as error:
                    if is_full(error):
                        raise OSError(error.errno, why_unwritten(error, out.path)) from error
                    out.drop()  # with what later batches of the job have in it
                    self.kept = [
                        Kept(one.run, None, without_records(one.entries, error, out.path, is_cancelled=False))
                        if one.out is out
                        else one
                        for one in self.kept
                    ]
                    entries = self.kept[0].entries
            self.kept.pop(0)
            yield run.batch, entries


def _unwanted(kept: Kept) -> Kept:
    cancelled = [
        (task, CANCELLED, NO_RECORD, 0, start_s, end_s, "") for task, _, _, _, start_s, end_s, _ in kept.entries
    ]
    return Kept(kept.run, None, cancelled)
