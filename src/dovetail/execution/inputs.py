"""Results of parent stages, as a task sees them: read from out files when looked at, not before.

Where the results of a stage lie is told as a list of (out file, offset, length), one for each task in task order, or as
the path of an index file with the same content, which suits stages of very many tasks: it is written once
(`write_index`) and mapped by every executor.

    magic 8 bytes | tasks u64 | bytes of the names u64 | per task: file u64, offset u64, length u64 | names (marshalled)
"""

from __future__ import annotations

import marshal
import mmap
import os
import pickle
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

from dovetail.execution.outfile import OutFileError, read_open

MAGIC = b"DOVEINDX"
HEADER = struct.Struct("<8sQQ")
ENTRY = struct.Struct("<QQQ")
OPEN_FILES = 64

Place = tuple[str, int, int]  # out file, offset of the record, length of its payload


def write_index(path: str, places: Iterable[Place]) -> None:
    """Whole or not at all."""
    numbers: dict[str, int] = {}
    entries = array("Q")
    for file, offset, length in places:
        entries.extend((numbers.setdefault(file, len(numbers)), offset, length))
    names = marshal.dumps(list(numbers))
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "wb") as out:
        out.write(HEADER.pack(MAGIC, len(entries) // 3, len(names)) + entries.tobytes() + names)
    os.replace(temporary, path)


class Index(Sequence[Place]):
    """An index file, mapped."""

    def __init__(self, data: mmap.mmap, tasks: int, files: list[str]) -> None:
        self._data = data
        self._tasks = tasks
        self._files = files

    @classmethod
    def open(cls, path: str) -> Index:
        try:
            with open(path, "rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            magic, tasks, names_bytes = HEADER.unpack_from(data)
            names_at = HEADER.size + ENTRY.size * tasks
            if magic != MAGIC or names_at + names_bytes != len(data):
                raise OutFileError(f"{path}: is not an index of results, or was cut short")
            return cls(data, tasks, marshal.loads(data[names_at:]))
        except (OSError, ValueError, EOFError, struct.error) as error:
            raise OutFileError(f"{path}: cannot be read as an index of results: {error}") from error

    def __len__(self) -> int:
        return self._tasks

    @overload
    def __getitem__(self, task: int) -> Place: ...
    @overload
    def __getitem__(self, task: slice) -> list[Place]: ...
    def __getitem__(self, task: int | slice) -> Place | list[Place]:
        if isinstance(task, slice):
            return [self[number] for number in range(*task.indices(self._tasks))]
        if not 0 <= task < self._tasks:
            raise IndexError(task)
        file, offset, length = ENTRY.unpack_from(self._data, HEADER.size + ENTRY.size * task)
        return self._files[file], offset, length


class Source(Protocol):
    """Where places point to: out files here, or what was sent from them to another machine."""

    def read(self, path: str, offset: int, length: int) -> bytes: ...


class OutFiles:
    """Out files that are open for reading; the one not used for the longest time is closed first."""

    def __init__(self) -> None:
        self._fds: dict[str, int] = {}

    def read(self, path: str, offset: int, length: int) -> bytes:
        fd = self._fds.pop(path, -1)
        if fd < 0:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise OutFileError(f"{path}: cannot be opened: {error.strerror}") from error
        self._fds[path] = fd  # last in the dictionary: used last
        if len(self._fds) > OPEN_FILES:
            os.close(self._fds.pop(next(iter(self._fds))))
        return read_open(fd, path, offset, length)

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.popitem()[1])


class Results(Sequence[Any]):
    """The results of one stage in task order.  Each look reads and unpickles afresh; nothing is kept."""

    def __init__(self, places: Sequence[Place], files: Source) -> None:
        self._places = places
        self._files = files

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, task: int) -> Any: ...
    @overload
    def __getitem__(self, task: slice) -> Results: ...
    def __getitem__(self, task: int | slice) -> Any:
        if isinstance(task, slice):
            return Results(self._places[task], self._files)
        if not -len(self._places) <= task < len(self._places):
            raise IndexError(f"the stage has {len(self._places)} results, so there is no number {task}")
        return pickle.loads(self._files.read(*self._places[task % len(self._places)]))

    def __iter__(self) -> Iterator[Any]:
        for place in self._places:
            yield pickle.loads(self._files.read(*place))


class Inputs(Mapping[str, Results]):
    """Parent stage name -> its results."""

    def __init__(self, places: Mapping[str, Sequence[Place] | str], files: Source) -> None:
        self._places = places
        self._files = files
        self._opened: dict[str, Results] = {}

    def __getitem__(self, stage: str) -> Results:
        if stage not in self._opened:
            if stage not in self._places:
                raise KeyError(f"{stage!r} is no parent of this stage; its parents are {sorted(self._places)}")
            places = self._places[stage]
            self._opened[stage] = Results(Index.open(places) if isinstance(places, str) else places, self._files)
        return self._opened[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
