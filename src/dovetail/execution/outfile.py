"""What an executor produced, in a file that only grows: one record for every task that came to an end.

A task counts as finished when its record is in the file.  One process writes a file, and every incarnation of an
executor has its own, so a killed writer can leave at most one torn record, at the end.

    magic u32 | crc32 u32 | task u64 | payload length u64 | started_s f64 | ended_s f64 | stage u32 | ok u8 | 3 zeros
    payload

All little endian.  The checksum covers everything after itself.  Times are `time.monotonic()`, which all processes of a
Linux machine share.  The payload is the pickled result, or a `Failure`.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from dovetail.core.errors import DovetailError

MAGIC = 0x31525644  # "DVR1"
PREFIX = struct.Struct("<II")
FIELDS = struct.Struct("<QQddIB3x")
HEADER_BYTES = PREFIX.size + FIELDS.size

FAILED, FINISHED, CANCELLED = 0, 1, 2  # `ok` of a task; a cancelled one leaves no record

GROUP_BYTES = 256 * 1024  # records are gathered up to here ...
LARGE_BYTES = 64 * 1024  # ... and a payload of this size is written straight away, without a copy
CHUNK_BYTES = 1024 * 1024


class OutFileError(DovetailError):
    """A record is missing or damaged."""


class Record(NamedTuple):
    stage: int
    task: int
    ok: int
    offset: int  # of the record in its file
    length: int  # of the payload, in bytes
    started_s: float
    ended_s: float

    @property
    def end(self) -> int:
        return self.offset + HEADER_BYTES + self.length


def out_path(directory: str, executor: int, incarnation: int) -> str:
    return os.path.join(directory, f"out-{executor}-{incarnation}")


class OutFile:
    """The writer.  `add` gathers, `flush` writes; nothing counts before it is flushed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1
        self._written = -1  # bytes of whole records in the file; -1: not looked at yet
        self._end = -1  # the same with the gathered ones
        self._parts: list[bytes] = []

    def add(self, stage: int, task: int, ok: int, payload: bytes, started_s: float, ended_s: float) -> int:
        """The offset that the record will have."""
        if self._end < 0:
            self._end = self._written = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        fields = FIELDS.pack(task, len(payload), started_s, ended_s, stage, ok)
        self._parts.append(PREFIX.pack(MAGIC, crc32(payload, crc32(fields))) + fields)
        self._parts.append(payload)
        offset = self._end
        self._end = offset + HEADER_BYTES + len(payload)
        return offset

    @property
    def unflushed_bytes(self) -> int:
        return self._end - self._written

    def flush(self) -> None:
        """Write what was gathered.  If that fails nothing of it is in the file: try again, or `drop` it."""
        if not self._parts:
            return
        parts = self._parts
        try:
            if self._fd < 0:
                self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if self._end - self._written <= GROUP_BYTES:
                self._write(b"".join(parts))
            else:
                self._write_all(parts)
        except OSError:
            # Half a record, or whole ones that will be reported as failed, must not be found by a later scan.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._written)
            self.close()
            raise
        self._parts = []
        self._written = self._end

    def drop(self) -> None:
        """Forget what was gathered."""
        self._parts = []
        self._end = self._written

    def _write(self, data: bytes) -> None:
        done = os.pwrite(self._fd, data, self._written)
        while done < len(data):
            done += os.pwrite(self._fd, data[done:], self._written + done)

    def _write_all(self, parts: list[bytes]) -> None:
        position = self._written
        for first in range(0, len(parts), 512):  # the kernel takes 1,024 at a time
            views = [memoryview(part) for part in parts[first : first + 512]]
            while views:
                sent = os.pwritev(self._fd, views, position)
                position += sent
                while views and sent >= len(views[0]):
                    sent -= len(views.pop(0))
                if sent:
                    views[0] = views[0][sent:]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def scan(path: str, offset: int = 0) -> Iterator[Record]:
    """The whole records from `offset` on.  Ends quietly at the first that is torn or damaged: what follows it does not
    count, and its tasks are run again.  A file that does not exist has no records."""
    if not os.path.exists(path):
        return
    with open(path, "rb", buffering=CHUNK_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        while offset + HEADER_BYTES <= size:
            header = file.read(HEADER_BYTES)
            if len(header) < HEADER_BYTES:
                return
            magic, checksum = PREFIX.unpack_from(header)
            task, length, started_s, ended_s, stage, ok = FIELDS.unpack_from(header, PREFIX.size)
            if magic != MAGIC or offset + HEADER_BYTES + length > size:
                return
            found, left = crc32(header[PREFIX.size :]), length
            while left:
                chunk = file.read(min(left, CHUNK_BYTES))
                if not chunk:
                    return
                found, left = crc32(chunk, found), left - len(chunk)
            if found != checksum:
                return
            record = Record(stage, task, ok, offset, length, started_s, ended_s)
            yield record
            offset = record.end


def read(path: str, offset: int, length: int) -> bytes:
    """The payload of the record at `offset`, checked."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise OutFileError(f"{path}: cannot be opened: {error.strerror}") from error
    try:
        return read_open(fd, path, offset, length)
    finally:
        os.close(fd)


def read_open(fd: int, path: str, offset: int, length: int) -> bytes:
    """`read` from a file that is open already."""
    data = os.pread(fd, HEADER_BYTES + length, offset)
    while len(data) < HEADER_BYTES + length:  # the kernel hands out at most 2 GiB at a time
        more = os.pread(fd, HEADER_BYTES + length - len(data), offset + len(data))
        if not more:
            raise OutFileError(
                f"{path}: the record at {offset} ends after {len(data)} of {HEADER_BYTES + length} bytes"
            )
        data += more
    magic, checksum = PREFIX.unpack_from(data)
    found_length = FIELDS.unpack_from(data, PREFIX.size)[1]
    if magic != MAGIC or found_length != length:
        raise OutFileError(f"{path}: no record of {length} bytes starts at {offset}")
    if crc32(memoryview(data)[PREFIX.size :]) != checksum:
        raise OutFileError(f"{path}: the record at {offset} is damaged (its checksum differs)")
    return data[HEADER_BYTES:]
