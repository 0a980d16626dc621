"""Functions and arguments of a job, in one file that every executor maps into memory.

    magic 8 bytes | version u32 | stages u32 | length of everything u64
    per stage: function offset u64 | function bytes u64 | tasks u64 | kind u64 | offset of the argument table u64
    argument tables (u64 each, n + 1 offsets of n blobs), functions and blobs, in any order

All little endian, offsets from the beginning.  A stage's kind says where arguments come from: EACH task has a blob, the
argument is the task's number (RANGE), or all tasks share ONE blob.  Opening looks at stages only, never at tasks.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.core.errors import DovetailError

MAGIC = b"DOVETAIL"
VERSION = 1
HEADER = struct.Struct("<8sIIQ")
STAGE = struct.Struct("<QQQQQ")
OFFSETS = struct.Struct("<QQ")
EACH, RANGE, ONE = 0, 1, 2


class PayloadError(DovetailError):
    """A payload is damaged, cut short, or no payload at all."""


@dataclass(frozen=True, slots=True)
class StagePayload:
    """What one stage runs.  All blobs are pickles."""

    function: bytes
    tasks: int
    arguments: Sequence[bytes] | None = None  # one for each task; None: the argument is the task's number

    def __post_init__(self) -> None:
        if self.tasks < 1:
            raise PayloadError(f"a stage has {self.tasks} tasks, expected at least 1")
        if self.arguments is not None and len(self.arguments) != self.tasks:
            raise PayloadError(f"a stage of {self.tasks} tasks has {len(self.arguments)} arguments")


def encode(stages: Sequence[StagePayload]) -> bytes:
    """The bytes of a payload file."""
    position = HEADER.size + STAGE.size * len(stages)
    table: list[bytes] = []
    parts: list[bytes] = []
    for stage in stages:
        kind, blobs = _kind(stage)
        offsets_at = position
        if kind != RANGE:
            position += 8 * (len(blobs) + 1)
            offsets = array("Q", [position])
            for blob in blobs:
                position += len(blob)
                offsets.append(position)
            if sys.byteorder != "little":
                offsets.byteswap()
            parts.append(offsets.tobytes())
            parts += blobs
        table.append(STAGE.pack(position, len(stage.function), stage.tasks, kind, offsets_at))
        padding = -(position + len(stage.function)) % 8  # the next table stays aligned, for readers with numpy
        parts += (stage.function, bytes(padding))
        position += len(stage.function) + padding
    return b"".join((HEADER.pack(MAGIC, VERSION, len(stages), position), *table, *parts))


def _kind(stage: StagePayload) -> tuple[int, Sequence[bytes]]:
    if stage.arguments is None:
        return RANGE, ()
    first = stage.arguments[0]
    if all(blob == first for blob in stage.arguments):
        return ONE, (first,)
    return EACH, stage.arguments


class Payload:
    """A payload for reading: `Payload.open(path)` or `Payload.from_bytes(data)`."""

    def __init__(self, data: memoryview, name: str, stages: int, mapped: mmap.mmap | None = None) -> None:
        self.name = name  # for messages
        self.stages = stages
        self._data = data
        self._mapped = mapped

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, name: str = "payload") -> Payload:
        view = memoryview(data)
        return cls(view, name, _checked_stages(view, name))

    @classmethod
    def open(cls, path: str | os.PathLike[str], only: int | None = None) -> Payload:
        """`only`: the stage that is wanted; of the others nothing is looked at, for there may be very many."""
        name = os.fspath(path)
        try:
            with open(path, "rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise PayloadError(f"{name}: cannot be opened: {error.strerror}") from error
        except ValueError as error:  # mmap's answer to an empty file
            raise PayloadError(f"{name}: is empty, expected a payload") from error
        view = memoryview(mapped)
        try:
            return cls(view, name, _checked_stages(view, name, only), mapped)
        except PayloadError:
            view.release()
            mapped.close()
            raise

    def to_bytes(self) -> bytes:
        return bytes(self._data)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Whole or not at all: under another name first."""
        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            with open(temporary, "wb") as file:
                file.write(self._data)
            os.replace(temporary, path)
        except OSError:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    def tasks(self, stage: int) -> int:
        return self._stage(stage)[2]

    def function(self, stage: int) -> bytes:
        start, length = self._stage(stage)[:2]
        return bytes(self._data[start : start + length])

    def argument_kind(self, stage: int) -> int:
        """EACH, RANGE or ONE."""
        return self._stage(stage)[3]

    def argument_blob(self, stage: int, task: int) -> memoryview | None:
        """The pickled argument; None when it is the task's number."""
        tasks, kind, offsets_at = self._stage(stage)[2:]
        if not 0 <= task < tasks:
            raise PayloadError(f"{self.name}: stage {stage} has {tasks} tasks, so none has number {task}")
        return None if kind == RANGE else self._blob(offsets_at + (8 * task if kind == EACH else 0))

    def argument_reader(self, stage: int) -> Callable[[int], Any] | None:
        """A function from a task's number to its argument, made once for many tasks; None: it is the number itself."""
        tasks, kind, offsets_at = self._stage(stage)[2:]
        if kind == RANGE:
            return None
        width = 8 if kind == EACH else 0

        def argument(task: int) -> Any:
            if not 0 <= task < tasks:
                raise PayloadError(f"{self.name}: stage {stage} has {tasks} tasks, so none has number {task}")
            return pickle.loads(self._blob(offsets_at + width * task))

        return argument

    def close(self) -> None:
        self._data.release()
        if self._mapped is not None:
            with contextlib.suppress(BufferError):  # somebody still holds an argument; then it goes with the last
                self._mapped.close()

    def _blob(self, at: int) -> memoryview:
        start, end = OFFSETS.unpack_from(self._data, at)
        if not start <= end <= len(self._data):
            raise PayloadError(f"{self.name}: an argument lies at {start} to {end}, outside the file")
        return self._data[start:end]

    def _stage(self, stage: int) -> tuple[int, int, int, int, int]:
        if not 0 <= stage < self.stages:
            raise PayloadError(f"{self.name}: has {self.stages} stages, so none has number {stage}")
        fields: tuple[int, int, int, int, int] = STAGE.unpack_from(self._data, HEADER.size + STAGE.size * stage)
        return fields


def _checked_stages(data: memoryview, name: str, only: int | None = None) -> int:
    """The number of stages, if everything that an executor relies on lies within the file."""
    size = len(data)
    if size < HEADER.size or data[: len(MAGIC)] != MAGIC:
        raise PayloadError(f"{name}: is not a payload (it does not begin with {MAGIC.decode()})")
    _, version, stages, total = HEADER.unpack_from(data)
    if version != VERSION:
        raise PayloadError(f"{name}: has version {version}, this Dovetail reads version {VERSION}")
    if total != size:
        raise PayloadError(f"{name}: has {size} bytes, but says it should have {total}: cut short or damaged")
    if HEADER.size + STAGE.size * stages > size:
        raise PayloadError(f"{name}: is too short for its {stages} stages")
    first, last = (0, stages) if only is None else (only, min(only + 1, stages))
    entries = STAGE.iter_unpack(data[HEADER.size + STAGE.size * first : HEADER.size + STAGE.size * last])
    for stage, fields in enumerate(entries, first):
        function_at, function_bytes, tasks, kind, offsets_at = fields
        offsets = 0 if kind == RANGE else 2 if kind == ONE else tasks + 1
        if kind > ONE or tasks < 1 or function_at + function_bytes > size or offsets_at + 8 * offsets > size:
            raise PayloadError(f"{name}: the entry of stage {stage} is damaged")
    return int(stages)
