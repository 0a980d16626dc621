"""Messages between the server, node managers and executors: marshalled tuples, each behind its length.

A frame is the length as a little-endian u32, then `marshal.dumps(message)`; a message is a tuple whose first item is
its name.  Marshal is by far the fastest encoding of plain values in the standard library; it trusts its input, which is
right here because the socket belongs to one user (mode 0600) and both ends run the same Python.
"""

from __future__ import annotations

import marshal
import os
import socket
import struct
from typing import Any

from dovetail.core.errors import DovetailError

LENGTH = struct.Struct("<I")
MAX_FRAME_BYTES = 64 * 1024 * 1024
RECEIVE_BYTES = 64 * 1024  # at a time: for more, the C library asks the kernel for memory anew at every call
SOCKET_PATH_BYTES = 107  # what fits into the kernel's sockaddr_un, without its closing zero

Message = tuple[Any, ...]


class WireError(DovetailError):
    """A peer sent something that is no message; the connection cannot be used any further."""


def encode(message: Message) -> bytes:
    body = marshal.dumps(message)
    if len(body) > MAX_FRAME_BYTES:
        raise WireError(f"message {message[0]!r} has {len(body)} bytes, the largest frame has {MAX_FRAME_BYTES}")
    return LENGTH.pack(len(body)) + body


def decode(body: bytes | bytearray | memoryview) -> Message:
    try:
        message = marshal.loads(body)
    except (EOFError, ValueError, TypeError) as error:
        raise WireError(f"a frame of {len(body)} bytes is not a marshalled message: {error}") from error
    if not isinstance(message, tuple) or not message or not isinstance(message[0], str):
        raise WireError(f"a frame holds {type(message).__name__}, expected a tuple that starts with its name")
    return message


class Frames:
    """Both directions of one connection, for a loop that must not block.  Knows no socket of its own."""

    def __init__(self) -> None:
        self.closed = False  # the peer will send nothing more
        self._in = bytearray()
        self._out = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """The messages that these bytes complete."""
        buffer = self._in
        buffer += data
        messages: list[Message] = []
        position, available = 0, len(buffer)
        while available - position >= LENGTH.size:
            (length,) = LENGTH.unpack_from(buffer, position)
            if length > MAX_FRAME_BYTES:
                raise WireError(f"a frame announces {length} bytes, the largest has {MAX_FRAME_BYTES}")
            start = position + LENGTH.size
            if available - start < length:
                break
            messages.append(decode(bytes(buffer[start : start + length])))
            position = start + length
        if position:
            del buffer[:position]
        return messages

    def receive(self, sock: socket.socket) -> list[Message]:
        """What can be had now without waiting; sets `closed` when the peer has closed its end."""
        try:
            data = sock.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except ConnectionError:
            data = b""
        if not data:
            self.closed = True
            return []
        return self.feed(data)

    def queue(self, message: Message) -> None:
        self._out += encode(message)

    def flush(self, sock: socket.socket) -> bool:
        """Send what the socket takes now; true when nothing is left."""
        while self._out:
            try:
                sent = sock.send(self._out, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return False
            except ConnectionError:
                self.closed = True
                self._out.clear()
                return True
            del self._out[:sent]
        return True

    @property
    def unsent_bytes(self) -> int:
        return len(self._out)


def send(sock: socket.socket, message: Message) -> None:
    """Blocks until the whole message is with the kernel."""
    sock.sendall(encode(message))


def connect(path: str) -> socket.socket:
    """A blocking connection to the Unix socket at a path of any length."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _at(path, sock.connect)
    except OSError:
        sock.close()
        raise
    return sock


def listen(path: str, backlog: int = 512) -> socket.socket:
    """A listening, non-blocking Unix socket, open to this user alone."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(sock.fileno(), 0o600)  # before bind: the file is created with this mode, so there is no open moment
        _at(path, sock.bind)
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _at(path: str, act: Any) -> None:
    """Call `act` with a name for `path` that fits into a socket address."""
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
        act(path)
        return
    directory, name = os.path.split(path)
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        act(f"/proc/self/fd/{folder}/{name}")
    finally:
        os.close(folder)
