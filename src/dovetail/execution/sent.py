"""The batches that executors have, and how long executors that were free had to wait for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail.execution.controller.messages import Run
from dovetail.execution.overheads import Overheads
from dovetail.execution.workers import Entry


class Sent:
    """A batch that an executor has."""

    __slots__ = ("left", "prompt", "run")

    def __init__(self, run: Run, prompt: bool) -> None:
        self.run = run
        self.left = len(run.tasks)
        self.prompt = prompt  # it was sent as soon as the executor was free, or earlier


class SentBatches:
    def __init__(self, overheads: Overheads) -> None:
        self._overheads = overheads
        self._by_executor: dict[int, dict[int, Sent]] = {}  # by executor, by batch
        self._last_end_s: dict[int, float] = {}  # of a task, by executor
        self.reporting = -1  # the executor whose report is being handled

    def add(self, run: Run) -> None:
        batches = self._by_executor.setdefault(run.executor, {})
        batches[run.batch] = Sent(run, bool(batches) or self.reporting == run.executor)

    def report(self, executor: int, batch: int, entries: Sequence[Entry]) -> Run | None:
        """Some tasks of a batch are over.  None: the executor does not have it."""
        batches = self._by_executor.get(executor, {})
        sent = batches.get(batch)
        if sent is None:
            return None
        if sent.prompt:
            sent.prompt = False
            self._overheads.add("free to start", entries[0][4] - self._last_end_s[executor])
        self._last_end_s[executor] = entries[-1][5]
        sent.left -= len(entries)
        if sent.left <= 0:
            del batches[batch]
        return sent.run

    def lose(self, executor: int) -> list[Run]:
        """The executor is gone: what it had."""
        return [sent.run for sent in self._by_executor.pop(executor, {}).values()]

    def running(self) -> Iterator[Run]:
        """Those that executors are at work on; of each, its first."""
        for batches in self._by_executor.values():
            for sent in batches.values():
                yield sent.run
                break
