"""Bytes of Spark event logs, plain or compressed in whichever of Spark's codecs, in pieces.

What a file is written in is seen from its first bytes, not from its name:

- zstd, and gzip and lz4 frames, in which logs are packed by hand: by pyarrow, as they come;
- `LZ4Block`, the framing of lz4-java that Spark writes: 8 bytes of magic, a byte of method and level, then
  compressed length, original length and a checksum (not looked at), 4 bytes each, little-endian;
- that of snappy-java: 8 bytes of magic and two of 4 for the version, then blocks with their compressed length
  before them, 4 bytes, big-endian.  Both may be there several times, one after the other.

A log that is being written, or whose application was killed, ends in the middle of a frame: everything before it
is handed out, then `CutShort` is raised.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from dovetail.core.delimited import refusal

CHUNK = 1 << 14  # of pyarrow's streams: what is lost at most where one ends too early
PLAIN_CHUNK = 1 << 20
MAX_BLOCK = 1 << 28  # no codec of Spark makes blocks of a quarter of a GB: such a length is damage

LZ4_BLOCK = b"LZ4Block"
SNAPPY = b"\x82SNAPPY\x00"
STREAMS = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x1f\x8b", "gzip"), (b"\x04\x22\x4d\x18", "lz4"))  # magic, pyarrow's name
REFUSED = (
    (b"ZV", "compressed with lzf, which cannot be read here"),
    (b"PK", "a zip archive, as a history server hands out; unpack it first"),
)
EXPECTED = "a Spark event log: plain, or in zstd, lz4, snappy or gzip"


class CutShort(Exception):
    """The file ends, or cannot be made sense of any more, in the middle."""


def read_pieces(path: Path) -> Iterator[bytes]:
    """The log as it was before it was compressed."""
    try:
        with path.open("rb") as file:
            head = file.read(len(LZ4_BLOCK))
            file.seek(0)
            yield from _pieces(path, head, file)
    except OSError as error:
        raise refusal(path, None, f"cannot be read: {error.strerror or error}", EXPECTED) from None


def _pieces(path: Path, head: bytes, file: BinaryIO) -> Iterator[bytes]:
    for magic, problem in REFUSED:
        if head.startswith(magic):
            raise refusal(path, None, problem, EXPECTED)
    for magic, codec in STREAMS:
        if head.startswith(magic):
            require_codec(path, codec)
            return _stream(file, codec)
    if head.startswith(LZ4_BLOCK):
        require_codec(path, "lz4_raw")
        return _lz4_blocks(file)
    if head.startswith(SNAPPY):
        require_codec(path, "snappy")
        return _snappy_blocks(file)
    return iter(lambda: file.read(PLAIN_CHUNK), b"")


def is_available(codec: str) -> bool:
    return bool(pa.Codec.is_available(codec))


def require_codec(path: Path, codec: str) -> None:
    if not is_available(codec):
        plain = codec.removesuffix("_raw")
        raise refusal(
            path, None, f"compressed with {plain}, which this pyarrow was built without", f"pyarrow with {plain}"
        )


def _stream(file: BinaryIO, codec: str) -> Iterator[bytes]:
    stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec)
    while True:
        try:
            piece = stream.read(CHUNK)
        except OSError as error:
            raise CutShort(str(error)) from None
        if not piece:
            return
        yield piece


def _lz4_blocks(file: BinaryIO) -> Iterator[bytes]:
    codec = pa.Codec("lz4_raw")
    while head := file.read(21):
        if len(head) < 21 or not head.startswith(LZ4_BLOCK):
            raise CutShort("no head of a block")
        method, packed, size = head[8] & 0xF0, *struct.unpack("<ii", head[9:17])
        if method not in (0x10, 0x20) or not (0 <= packed <= MAX_BLOCK and 0 <= size <= MAX_BLOCK):
            raise CutShort("no head of a block")
        if size:  # a block of nothing ends a stream; another may follow
            data = _exactly(file, packed)
            yield data if method == 0x10 else _unpacked(codec, data, size)


def _snappy_blocks(file: BinaryIO) -> Iterator[bytes]:
    codec = pa.Codec("snappy")
    _exactly(file, 16)
    while head := file.read(4):
        if head == SNAPPY[:4]:
            _exactly(file, 12)
            continue
        packed = int.from_bytes(head, "big")
        if len(head) < 4 or packed > MAX_BLOCK:
            raise CutShort("no length of a block")
        data = _exactly(file, packed)
        yield _unpacked(codec, data, _snappy_size(data))


def _snappy_size(data: bytes) -> int:
    """The original length, which a block of snappy begins with, seven bits to a byte."""
    size = 0
    for place, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * place)
        if byte < 0x80 and size <= MAX_BLOCK:
            return size
    raise CutShort("no length of a block")


def _unpacked(codec: pa.Codec, data: bytes, size: int) -> bytes:
    try:
        piece: bytes = codec.decompress(data, decompressed_size=size, asbytes=True)
    except (OSError, pa.ArrowException) as error:
        raise CutShort(str(error)) from None
    return piece


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise CutShort("the file ends within a block")
    return data
