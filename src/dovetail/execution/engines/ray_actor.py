"""What runs in a Ray cluster: an executor is an actor.

A request and its reply are bytes (marshalled), which Ray passes on as they are; pickling them its own way would cost
more than a short task.  A reply is given after `LATEST_S` or `FULL_BYTES` even if there is more to do: the rest waits
here, and the next call goes on with it, so that what is finished is known, and safe, soon.
"""

from __future__ import annotations

import marshal
import os
import pickle
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dovetail.execution.engines.ray_cancels import Cancels
from dovetail.execution.failure import Failure, ResultError
from dovetail.execution.inputs import Inputs
from dovetail.execution.job_modules import JobModules
from dovetail.execution.memory_limit import amount
from dovetail.execution.outfile import CANCELLED, FAILED
from dovetail.execution.stage import Stage
from dovetail.execution.task_loop import run_tasks

LATEST_S = 0.02
FULL_BYTES = 8 * 10**6
LARGEST_RESULT_BYTES = 10**9  # marshalled and sent as a whole

NUMBERS, BLOBS, VALUES, SHARED = range(4)
"""Arguments are the tasks' numbers, pickled one by one, plain values, or one pickle that came with the stage."""

Ended = tuple[int, int, bytes, float, float, str]
"""task, how it ended, payload, started and ended in seconds before the reply (0 or less), error"""


class Request(NamedTuple):
    batch: int
    job: int
    stage: int
    tasks: Sequence[int]
    kind: int  # of arguments
    arguments: Sequence[Any]
    careful: bool  # reply after every task: one of them may end the process


def encode(requests: Sequence[Request], introduced: Sequence[tuple[int, int]]) -> bytes:
    plain: Any = ([tuple(request) for request in requests], list(introduced))
    return marshal.dumps(plain)


class Chunks:
    """Results of parent stages in Ray's object store (`inputs.Source`); the one looked at last is kept."""

    def __init__(self, references: Sequence[Any]) -> None:
        self._references = references
        self._kept = (-1, b"")

    def read(self, path: str, offset: int, length: int) -> bytes:
        number, data = self._kept
        if number != int(path):
            import ray

            self._kept = (-1, b"")  # before the next one is fetched: they may be large
            number, data = self._kept = int(path), ray.get(self._references[int(path)])
        return data[offset : offset + length]


class ShippedStage(Stage):
    """A stage whose parts came with the call; see `ray_shipping` for `settings`."""

    def _fetch(self, settings: Mapping[str, Any]) -> None:
        self.function = pickle.loads(settings["function"])
        if settings["inputs"] is not None:
            self.more = (Inputs(settings["inputs"], Chunks(settings["chunks"])),)

    def arguments(self, request: Request, tasks: Sequence[int]) -> Callable[[int], Any] | None:
        if request.kind == NUMBERS:
            return None
        if request.kind == SHARED:
            shared = self.settings["shared"]
            return lambda task: pickle.loads(shared)
        of = dict(zip(request.tasks, request.arguments, strict=True))
        return of.__getitem__ if request.kind == VALUES else lambda task: pickle.loads(of[task])


class Reply:
    def __init__(self) -> None:
        self._due_s = time.monotonic() + LATEST_S
        self._parts: list[tuple[int, list[Ended]]] = []
        self._bytes = 0
        self.is_full = False

    def begin(self, batch: int) -> None:
        self._ended: list[Ended] = []
        self._parts.append((batch, self._ended))

    def add(self, task: int, how: int, payload: bytes, started_s: float, ended_s: float, error: str) -> float:
        if len(payload) > LARGEST_RESULT_BYTES:
            most = amount(LARGEST_RESULT_BYTES)
            failure = Failure.of(ResultError(f"the result has {amount(len(payload))}; with Ray, at most {most} can be"))
            how, payload, error = FAILED, failure.to_bytes(), failure.line
        self._ended.append((task, how, payload, started_s, ended_s, error))
        self._bytes += len(payload)
        self.is_full = ended_s >= self._due_s or self._bytes >= FULL_BYTES
        return ended_s

    def timely(self, tasks: Sequence[int], careful: bool) -> Iterator[int]:
        """The tasks, until it is time to reply."""
        for task in tasks:
            yield task
            if self.is_full or careful:
                self.is_full = True
                return

    def to_bytes(self, more: bool) -> bytes:
        now_s = time.monotonic()
        parts = [
            (
                batch,
                [(task, how, data, start_s - now_s, end_s - now_s, e) for task, how, data, start_s, end_s, e in ended],
            )
            for batch, ended in self._parts
        ]
        return marshal.dumps((more, parts))


class Seat:
    """The actor that is an executor."""

    def __init__(self, executor: int, incarnation: int, switchboard: Any) -> None:
        import ray

        self._stages: dict[tuple[int, int], ShippedStage] = {}
        self._waiting: deque[tuple[Request, Sequence[int]]] = deque()  # with the tasks that are left of each
        self._modules = JobModules()
        self._cancels = Cancels()
        self._cancels.listen(lambda: ray.get(switchboard.next.remote(executor, incarnation)))

    def hello(self) -> bytes:
        """Name of the node, unique in the cluster, and process."""
        import ray

        node = f"{socket.gethostname()}-{ray.get_runtime_context().get_node_id()[:8]}"
        return marshal.dumps((node, os.getpid()))

    def run(self, data: bytes, *settings: Mapping[str, Any]) -> bytes:
        """`settings` come with the first request of a stage."""
        requests, introduced = marshal.loads(data)
        for (job, number), one in zip(introduced, settings, strict=True):
            self._stages[job, number] = ShippedStage(job, number, one)
        for request in requests:
            asked = Request(*request)
            self._waiting.append((asked, asked.tasks))
        return self.go_on()

    def go_on(self) -> bytes:
        reply = Reply()
        while self._waiting and not reply.is_full:
            self._run(reply)
        return reply.to_bytes(bool(self._waiting))

    def _run(self, reply: Reply) -> None:
        request, tasks = self._waiting[0]
        stage = self._stages.get((request.job, request.stage)) or ShippedStage(request.job, request.stage, None)
        self._modules.enter(request.job, stage.folders)
        stage.load()
        reply.begin(request.batch)
        self._cancels.begin(request.batch)
        argument_of = stage.arguments(request, tasks)
        ran = run_tasks(self._cancels, stage, argument_of, reply.timely(tasks, request.careful), reply.add)
        rest = tasks[ran:]
        if self._cancels.is_cancelled:
            now_s = time.monotonic()
            for task in rest:
                reply.add(task, CANCELLED, b"", now_s, now_s, "")
            rest = ()
        if rest:
            self._waiting[0] = (request, rest)
        else:
            self._waiting.popleft()
            self._cancels.end()

    def forget(self, job: int) -> None:
        for key in [key for key in self._stages if key[0] == job]:
            self._stages.pop(key).close()
        self._modules.forget(job)

    def ping(self) -> bytes:
        return b""
