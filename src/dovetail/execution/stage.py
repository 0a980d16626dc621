"""One stage at an executor: its function, where its arguments come from, what its tasks may use."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from dovetail.execution.failure import FunctionError, ResultError
from dovetail.execution.inputs import Inputs, OutFiles
from dovetail.execution.memory_limit import MemoryLimit
from dovetail.execution.payload import Payload

# What numerical libraries look at when they are loaded.  Without it, each of many executors starts a thread per core.
THREADS = "OMP_NUM_THREADS"

PROTOCOL = pickle.HIGHEST_PROTOCOL


class Stage:
    """`settings` come with the server's "stage" message; None when there was no such message.

    "payload": path; "directory": of the job's out files; "inputs": None, or where the parents' results lie; "cpus";
    "memory_bytes": limit of a task, 0 for none; "sys_path": optional, folders where the function's modules may lie:
    whoever runs the stage sees to it that they are found (`job_modules`).
    """

    _threads: ClassVar[str | None] = None  # what we set; None: nothing yet

    def __init__(self, job: int, number: int, settings: Mapping[str, Any] | None) -> None:
        self.job = job
        self.number = number
        self.settings = settings if settings is not None else {}
        self.directory: str = self.settings.get("directory", os.devnull)
        self.folders: Sequence[str] = self.settings.get("sys_path", ())
        self.limit: MemoryLimit | None = None
        self.function: Callable[..., Any] = self._unloaded
        self.argument_of: Callable[[int], Any] | None = None
        self.more: tuple[Inputs, ...] = ()  # what a task is called with after its argument
        self._payload: Payload | None = None
        self._files = OutFiles()
        self._loaded = False

    def load(self) -> None:
        """Fetch the function, once.  If that fails, every task will raise why."""
        if self._loaded:
            return
        self._loaded = True
        try:
            self._load()
        except BaseException as error:  # importing a module may do anything, even exit
            where = f"stage {self.number} of job {self.job}"
            why = FunctionError(f"the function of {where} cannot be loaded here: {type(error).__name__}: {error}")
            why.__cause__ = error
            self.function, self.argument_of, self.more = _Raise(why), None, ()

    def _load(self) -> None:
        settings = self.settings
        if not settings:
            raise LookupError("the server did not introduce the stage")
        if os.environ.get(THREADS) == Stage._threads:  # otherwise whoever started the engine has decided
            Stage._threads = os.environ[THREADS] = str(max(1, int(settings.get("cpus") or 1)))
        self._fetch(settings)
        if settings.get("memory_bytes"):
            self.limit = MemoryLimit(settings["memory_bytes"])

    def _fetch(self, settings: Mapping[str, Any]) -> None:
        """Function, arguments and inputs, from files that the server wrote."""
        self._payload = Payload.open(settings["payload"], only=self.number)
        self.function = pickle.loads(self._payload.function(self.number))
        self.argument_of = self._payload.argument_reader(self.number)
        if settings.get("inputs") is not None:
            self.more = (Inputs(settings["inputs"], self._files),)

    def close(self) -> None:
        self.function, self.argument_of = self._unloaded, None
        self._files.close()
        if self._payload is not None:
            self._payload.close()
        if self.limit is not None:
            self.limit.close()

    def _unloaded(self, argument: Any) -> Any:
        raise FunctionError(f"stage {self.number} of job {self.job} is not loaded")


class _Raise:
    """A function that only tells why it is not the right one."""

    def __init__(self, why: FunctionError) -> None:
        self._why = why

    def __call__(self, argument: Any) -> Any:
        raise self._why.with_traceback(None)


def pickled(result: Any) -> bytes:
    try:
        return pickle.dumps(result, PROTOCOL)
    except Exception:
        return _cloudpickled(result)


def _cloudpickled(result: Any) -> bytes:
    """Objects whose class the job's own script defines travel with their class."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(result)
    except Exception as error:
        raise ResultError(
            f"the result, of type {type(result).__name__}, cannot be pickled: {type(error).__name__}: {error}"
        ) from error
    return data
