"""The processes that run a matrix.

The standard pools return a chunk when it is complete and cannot say which cell a dying process was at.  This
one gets every cell when it is done, and outlives a worker: the cell it died on is a failure, the rest of its
chunk goes to another worker.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from dovetail.core.errors import DovetailError
from dovetail.evaluation.matrix_cell import Failure, Row
from dovetail.evaluation.matrix_worker import READY, Chunk, work
from dovetail.evaluation.setting import Setting

# Cells run next to each other, so each keeps to one thread.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_GRACE_S = 5.0


@dataclass(eq=False)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    chunk: Chunk | None = None
    done: int = 0  # outcomes of the chunk that have come back

    @classmethod
    def start(cls, setting: Setting) -> _Worker:
        ours, theirs = get_context("spawn").Pipe()
        process = get_context("spawn").Process(target=work, args=(theirs, setting), daemon=True)
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        return cls(process, ours)

    def give(self, chunk: Chunk | None) -> None:
        self.chunk, self.done = chunk, 0
        with suppress(BrokenPipeError):  # a worker that died meanwhile is noticed when its pipe is read
            self.pipe.send(chunk)

    def receive(self) -> Row | Failure | str | None:
        """A message; None if the process has ended."""
        try:
            message: Row | Failure | str = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return None
        return message

    def autopsy(self) -> tuple[Failure, Chunk | None]:
        """The cell the worker died on, and what is left of its chunk."""
        self.process.join(_GRACE_S)
        code = self.process.exitcode
        if not self.ready or self.chunk is None:
            raise DovetailError(
                f"a worker process ended before it could do anything (exit code {code}); "
                "its message stands above; --workers 1 runs without worker processes"
            )
        guilty, rest = self.chunk.contenders[self.done], self.chunk.contenders[self.done + 1 :]
        failure = Failure(guilty, self.chunk.seed, f"the process died while running it (exit code {code})")
        return failure, self.chunk._replace(contenders=rest) if rest else None


def run_in_processes(
    setting: Setting, chunks: Sequence[Chunk], workers: int, prepare: Callable[[], None]
) -> Iterator[Row | Failure]:
    """Yield every cell's outcome.  `prepare` runs here while the workers start; they get work after it."""
    waiting = deque(chunks)
    crew: dict[Connection, _Worker] = {}

    def hire() -> None:
        with _quiet_start():
            worker = _Worker.start(setting)
        crew[worker.pipe] = worker

    try:
        for _ in range(workers):
            hire()
        prepare()
        while crew:
            for pipe in wait(list(crew)):
                assert isinstance(pipe, Connection)
                worker = crew[pipe]
                message = worker.receive()
                if message is None:
                    failure, rest = worker.autopsy()
                    _dismiss(crew.pop(pipe))
                    if rest is not None:
                        waiting.appendleft(rest)
                    if waiting:
                        hire()
                    yield failure
                    continue
                if message == READY:
                    worker.ready = True
                elif isinstance(message, Row | Failure):
                    worker.done += 1
                    yield message
                if worker.chunk is None or worker.done == len(worker.chunk.contenders):
                    if waiting:
                        worker.give(waiting.popleft())
                    else:
                        _dismiss(crew.pop(pipe))
    finally:
        for worker in crew.values():  # only after an error, or when the caller has stopped listening
            worker.process.terminate()
            _dismiss(worker)


def _dismiss(worker: _Worker) -> None:
    if worker.process.is_alive():
        worker.give(None)
    worker.process.join(_GRACE_S)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.pipe.close()


@contextmanager
def _quiet_start() -> Iterator[None]:
    """What a child inherits at its start: one thread, and no answer to Ctrl-C until it has its own."""
    before = {name: os.environ.get(name) for name in _THREADS}
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_main else None
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
