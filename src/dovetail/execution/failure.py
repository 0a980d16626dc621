"""A task that failed, told so that it can be understood far away from where it happened."""

from __future__ import annotations

import marshal
import pickle
import traceback
from dataclasses import dataclass

from dovetail.core.errors import DovetailError

LINE_CHARACTERS = 300


class FunctionError(DovetailError):
    """A stage's function or inputs cannot be loaded where the task should run."""


class ResultError(DovetailError):
    """A task's result cannot be pickled, so nobody else can have it."""


class MemoryLimitError(DovetailError):
    """A task wanted more memory than its stage was given."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The payload of a failed task's record."""

    kind: str  # name of the exception's type
    message: str
    traceback: str  # as Python prints it
    pickled: bytes | None  # the exception, if it survives pickling

    @classmethod
    def of(cls, error: BaseException, own_frames: int = 0) -> Failure:
        """`own_frames`: how many frames from the outside are ours and would only distract."""
        frames = error.__traceback__
        for _ in range(own_frames):
            frames = frames.tb_next if frames is not None and frames.tb_next is not None else frames
        try:
            text = "".join(traceback.format_exception(type(error), error, frames))
        except BaseException as broken:  # an exception may do anything when asked for its text
            text = f"{type(error).__name__} (its traceback cannot be shown: {type(broken).__name__})\n"
        return cls(type(error).__name__, _message(error), text, _pickled(error))

    @classmethod
    def from_bytes(cls, data: bytes) -> Failure:
        return cls(*marshal.loads(data))

    def to_bytes(self) -> bytes:
        return marshal.dumps((self.kind, self.message, self.traceback, self.pickled))

    @property
    def line(self) -> str:
        """The failure in one line of bounded length."""
        text = " ".join(self.message.split())
        line = f"{self.kind}: {text}" if text else self.kind
        return line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 3] + "..."

    def exception(self) -> BaseException | None:
        """The original, if it can be had in this process."""
        if self.pickled is None:
            return None
        try:
            error = pickle.loads(self.pickled)
        except Exception:  # its module may be missing here
            return None
        return error if isinstance(error, BaseException) else None


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as broken:
        return f"(its message cannot be shown: {type(broken).__name__})"


def _pickled(error: BaseException) -> bytes | None:
    # Many exceptions are pickled without complaint and fail only when loaded, so both are tried here.
    try:
        data = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        pickle.loads(data)
    except BaseException:
        return _cloudpickled(error)
    return data


def _cloudpickled(error: BaseException) -> bytes | None:
    """Exceptions that the job's own script defines travel with their class."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(error)
        pickle.loads(data)
    except BaseException:
        return None
    return data
