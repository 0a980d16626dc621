"""Workers where they run: in this process, or in several of their own.  `ray_workers` has those on other machines."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

from dovetail.core.errors import DovetailError

MakeWorker = Callable[[int], Any]
"""A worker from its number: anything with methods to call."""


class Workers(Protocol):
    """Some workers, asked all at once.  One that was lost answers None, and another takes its place when it can."""

    @property
    def count(self) -> int: ...  # that the next call goes to

    @property
    def lost(self) -> int: ...  # so far

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]: ...
    def close(self) -> None: ...


class LocalWorker:
    """One worker in this process: nothing runs at the same time, so a seed decides everything."""

    count = 1
    lost = 0

    def __init__(self, make: MakeWorker) -> None:
        self._worker = make(0)

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [getattr(self._worker, method)(*arguments[0])]

    def close(self) -> None:
        pass


class ProcessWorkers:
    """One process for each worker."""

    lost = 0  # one that ends is an error

    def __init__(self, make: MakeWorker, count: int) -> None:
        self.count = count
        context = mp.get_context("spawn")
        self._ends: list[Connection] = []
        self._processes = []
        with _deaf_to_interrupts():  # they inherit it, so Ctrl-C does not reach them while they start
            for number in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(make, number, theirs), daemon=True)
                process.start()
                theirs.close()
                self._ends.append(ours)
                self._processes.append(process)

    def call(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        for end, given in zip(self._ends, arguments, strict=True):
            end.send((method, given))
        answers = []
        for number, end in enumerate(self._ends):
            try:
                fine, answer = end.recv()
            except EOFError:
                raise DovetailError(f"training: worker process {number} ended unexpectedly") from None
            if not fine:
                raise DovetailError(f"training: worker {number} failed\n{answer}")
            answers.append(answer)
        return answers

    def close(self) -> None:
        for end in self._ends:
            end.close()
        for process in self._processes:
            process.join(timeout=5)
            if process.is_alive():
                process.terminate()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only there can it be changed
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(make: MakeWorker, number: int, end: Connection) -> None:
    import traceback

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer alone answers Ctrl-C
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    worker = make(number)
    with suppress(EOFError, OSError):  # the trainer has gone
        while True:
            method, arguments = end.recv()
            try:
                answer: tuple[bool, Any] = True, getattr(worker, method)(*arguments)
            except Exception:
                answer = False, traceback.format_exc()
            end.send(answer)
