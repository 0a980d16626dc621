"""The control protocol: frames between a client and the engine, the same in both directions.

    u32 length of the header, u64 length of the body (little endian), header (a JSON object, UTF-8), body (raw bytes)

A client sends one request, {"op": name, ...}, and reads one reply before it sends the next one: {"ok": true, ...}, or
{"ok": false, "error": text, "kind": class of the error}.  Over TCP its first request is {"op": "hello", "token": text}.

Only a submission has a body on the way in, so a stranger cannot make the engine hold much of anything.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from dovetail.execution.errors import ProtocolError

MAX_HEADER_BYTES = 16 * 2**20  # a job of 10,000 stages takes about 2
MAX_BODY_BYTES = 2 * 2**30 + 2**28  # the largest arguments and functions of a job, and the tables of where they lie
MAX_HELLO_BYTES = 4096  # of a header from somebody who has not shown the token yet
_LENGTHS = struct.Struct("<IQ")


@dataclass(frozen=True)
class Frame:
    """One request or one reply."""

    header: Mapping[str, Any]
    body: bytes = b""


def encode(frame: Frame) -> list[bytes]:
    """The bytes of a frame, in pieces, so that a large body is not copied."""
    header = json.dumps(frame.header, separators=(",", ":"), allow_nan=False).encode()
    if len(header) > MAX_HEADER_BYTES:
        raise ProtocolError(f"a header of {len(header):,} bytes; expected {MAX_HEADER_BYTES:,} at most")
    if len(frame.body) > MAX_BODY_BYTES:
        raise ProtocolError(f"a body of {len(frame.body):,} bytes; expected {MAX_BODY_BYTES:,} at most")
    start = _LENGTHS.pack(len(header), len(frame.body)) + header
    return [start, frame.body] if frame.body else [start]


class FrameReader:
    """Makes frames of bytes as they come, in pieces of any size.  After an error it is of no further use."""

    def __init__(self, max_header_bytes: int = MAX_HEADER_BYTES, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.max_header_bytes = max_header_bytes
        self.max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        self._lengths: tuple[int, int] | None = None

    @property
    def is_between_frames(self) -> bool:
        return not self._buffer and self._lengths is None

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """All frames that are complete with these bytes."""
        self._buffer += data
        found: list[Frame] = []
        while (frame := self._next()) is not None:
            found.append(frame)
        return found

    def _next(self) -> Frame | None:
        if self._lengths is None:
            if len(self._buffer) < _LENGTHS.size:
                return None
            # Checked before anything is kept: memory grows with what was sent, never with what was announced.
            self._lengths = _LENGTHS.unpack_from(self._buffer)
            for what, length, most in zip(
                ("header", "body"), self._lengths, (self.max_header_bytes, self.max_body_bytes), strict=True
            ):
                if length > most:
                    raise ProtocolError(f"a {what} of {length:,} bytes is announced; expected {most:,} at most")
            del self._buffer[: _LENGTHS.size]
        header_bytes, body_bytes = self._lengths
        if len(self._buffer) < header_bytes + body_bytes:
            return None
        header = _read_header(self._buffer[:header_bytes])
        with memoryview(self._buffer) as view:
            body = bytes(view[header_bytes : header_bytes + body_bytes])
        del self._buffer[: header_bytes + body_bytes]
        self._lengths = None
        return Frame(header, body)


def _read_header(data: bytearray) -> Mapping[str, Any]:
    try:
        header = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a header that is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise ProtocolError(f"a header that is {type(header).__name__}; expected a JSON object")
    return header


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")
