"""Carries bytes between control sockets and the hub, driven by the engine's selector.

Every registration's `data` is a callable (mask, now_s), so the engine's loop needs to know nothing else:

    for key, mask in selector.select(timeout_s):
        key.data(mask, now_s)
    sockets.flush()
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import socket
import time
from functools import partial
from pathlib import Path

from dovetail.core.errors import ConfigError
from dovetail.execution.addresses import TcpAddress
from dovetail.execution.control_hub import Connection, ControlHub

_RECEIVE_BYTES = 1 << 18
OUT_OF_FILES_S = 0.01


class ControlSockets:
    """Listening sockets and the clients they brought."""

    def __init__(self, hub: ControlHub, selector: selectors.BaseSelector) -> None:
        self._hub = hub
        self._selector = selector
        self._clients: dict[socket.socket, Connection] = {}
        self._listening: list[socket.socket] = []

    def listen_unix(self, path: Path) -> None:
        """Only the owner can connect: the socket is made with mode 0600, not changed to it afterwards."""
        _remove_stale(path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        except OSError as error:
            listening.close()
            raise ConfigError(f"{path}: no socket can be made there: {error.strerror}") from error
        finally:
            os.umask(before)
        self._listen(listening, trusted=True)

    def listen_tcp(self, address: TcpAddress) -> TcpAddress:
        """Clients must show the token.  Returns where it listens, which tells the port if any was asked for."""
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        try:
            listening = socket.create_server((address.host, address.port), family=family)
        except OSError as error:
            raise ConfigError(f"cannot listen at {address}: {error.strerror or error}") from error
        self._listen(listening, trusted=False)
        return TcpAddress(address.host, listening.getsockname()[1])

    def flush(self) -> None:
        """Send replies that came up outside of a request: at the end of a job, at a timeout."""
        for client, connection in list(self._clients.items()):
            if connection.output or connection.is_over:
                self._send(client, connection)

    def close(self) -> None:
        for listening in self._listening:
            self._selector.unregister(listening)
            listening.close()
        self._listening.clear()
        for client in list(self._clients):
            self._drop(client)

    def _listen(self, listening: socket.socket, *, trusted: bool) -> None:
        listening.listen(128)
        listening.setblocking(False)
        self._listening.append(listening)
        self._selector.register(listening, selectors.EVENT_READ, partial(self._accept, listening, trusted))

    def _accept(self, listening: socket.socket, trusted: bool, mask: int, now_s: float) -> None:
        try:
            client, _ = listening.accept()
        except OSError as error:  # gone again, or no more file handles: the next one may have more luck
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(OUT_OF_FILES_S)
            return
        client.setblocking(False)
        if client.family != socket.AF_UNIX:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection = self._hub.open(now_s, trusted=trusted)
        self._clients[client] = connection
        self._selector.register(client, selectors.EVENT_READ, partial(self._ready, client))
        if connection.output:
            self._send(client, connection)

    def _ready(self, client: socket.socket, mask: int, now_s: float) -> None:
        connection = self._clients.get(client)
        if connection is None:  # dropped earlier in the same turn of the loop
            return
        if mask & selectors.EVENT_READ:
            try:
                data = client.recv(_RECEIVE_BYTES)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data = b""
            if not data:
                self._drop(client)
                return
            connection.feed(data, now_s)
        self._send(client, connection)

    def _send(self, client: socket.socket, connection: Connection) -> None:
        output = connection.output
        try:
            while output:
                sent = client.send(output[0])
                if sent == len(output[0]):
                    output.popleft()
                else:
                    output[0] = memoryview(output[0])[sent:]  # a slice of bytes would copy what may be large
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._drop(client)
            return
        if connection.is_over and not output:
            self._drop(client)
            return
        wanted = selectors.EVENT_READ if connection.wants_input else selectors.EVENT_WRITE
        if self._selector.get_key(client).events != wanted:
            self._selector.modify(client, wanted, partial(self._ready, client))

    def _drop(self, client: socket.socket) -> None:
        self._hub.close(self._clients.pop(client))
        self._selector.unregister(client)
        with contextlib.suppress(OSError):
            client.close()


def _remove_stale(path: Path) -> None:
    """A socket that nobody listens at is what a killed engine leaves behind."""
    if not path.is_socket():
        if path.exists():
            raise ConfigError(f"{path}: exists and is no socket; expected a directory of an engine")
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise ConfigError(f"{path.parent}: an engine is running there already; `dovetail down` ends it")
