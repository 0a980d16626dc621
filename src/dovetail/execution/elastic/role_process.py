"""A process that is a worker or a parameter server, as it is told in the first message.

Messages from the coordinator's side: ("be", kind), then ("call", method, arguments); answers ("answer", method, value),
or ("failed", method, text) before it ends.  Workers send parameter servers (method, *arguments) over a socket of each
server's own, and get ("ok", value) or ("error", text).
"""

from __future__ import annotations

import os
import selectors
import socket
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from dovetail.execution.elastic.shard import Shard
from dovetail.execution.elastic.trainer import ServerLost, Trainer
from dovetail.execution.wire import RECEIVE_BYTES, Frames, Message, connect, listen, send

Methods = Mapping[str, Callable[..., Any]]


class Conversation:
    """A blocking connection: what comes in, message by message."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._frames = Frames()
        self._waiting: deque[Message] = deque()

    def next(self) -> Message | None:
        """None: the other side has closed."""
        while not self._waiting:
            data = self.sock.recv(RECEIVE_BYTES)
            if not data:
                return None
            self._waiting.extend(self._frames.feed(data))
        return self._waiting.popleft()


class SocketShard:
    """A worker's way to a parameter server (`trainer.ShardClient`)."""

    def __init__(self, path: str) -> None:
        try:
            self._talk = Conversation(connect(path))
        except OSError as error:
            raise ServerLost(str(error)) from error

    def ask(self, method: str, *arguments: Any) -> None:
        try:
            send(self._talk.sock, (method, *arguments))
        except OSError as error:
            raise ServerLost(str(error)) from error

    def answer(self) -> Any:
        try:
            message = self._talk.next()
        except OSError as error:
            raise ServerLost(str(error)) from error
        if message is None:
            raise ServerLost("the parameter server has closed the connection")
        if message[0] != "ok":
            raise RuntimeError(message[1])
        return message[1]

    def close(self) -> None:
        self._talk.sock.close()


class RoleProcess:
    def __init__(self, socket_path: str, role: int) -> None:
        self.socket_path = socket_path
        self.role = role

    def run(self) -> int:
        """Until it is told to stop, or nobody is there any more to tell it; the exit status."""
        talk = Conversation(connect(self.socket_path))
        send(talk.sock, ("role", self.role, os.getpid()))
        try:
            message = talk.next()
            if message is None:
                return 0
            if message[1] == "worker":
                return self._work(talk)
            return _Serving(talk.sock, shard_path(self.socket_path, self.role)).run()
        except (BrokenPipeError, ConnectionResetError):
            return 0

    def _work(self, talk: Conversation) -> int:
        methods = Trainer(SocketShard).methods()
        send(talk.sock, ("ready",))
        while (message := talk.next()) is not None and message[0] == "call":
            if not carry_out(talk.sock, methods, message):
                return 1
        return 0


def shard_path(socket_path: str, role: int) -> str:
    """Where a parameter server listens."""
    return os.path.join(os.path.dirname(socket_path), f"shard-{role}.sock")


def carry_out(sock: socket.socket, methods: Methods, message: Message) -> bool:
    """Answer a call; false if that failed, and the reason was sent instead."""
    _, method, arguments = message
    try:
        value = methods[method](*arguments)
    except Exception as error:
        traceback.print_exc()
        send(sock, ("failed", method, f"{type(error).__name__}: {error}"))
        return False
    send(sock, ("answer", method, value))
    return True


class _Peer:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.frames = Frames()


class _Serving:
    """The loop of a parameter server: one thread, so gradients are applied one after the other."""

    def __init__(self, coordinator: socket.socket, path: str) -> None:
        self._coordinator = coordinator
        self._path = path
        self._methods = Shard().methods()

    def run(self) -> int:
        self._selector = selectors.DefaultSelector()
        self._listening = listen(self._path)
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._coordinator, selectors.EVENT_READ)
        send(self._coordinator, ("ready",))
        above = Frames()
        while True:
            for key, mask in self._selector.select():
                if key.fileobj is self._listening:
                    self._accept()
                elif key.fileobj is self._coordinator:
                    for message in above.receive(self._coordinator):
                        if message[0] != "call" or not carry_out(self._coordinator, self._methods, message):
                            return 0
                    if above.closed:
                        return 0
                else:
                    self._serve(key.data, mask)

    def _accept(self) -> None:
        sock, _ = self._listening.accept()
        self._selector.register(sock, selectors.EVENT_READ, _Peer(sock))

    def _serve(self, peer: _Peer, mask: int) -> None:
        if mask & selectors.EVENT_READ:
            for method, *arguments in peer.frames.receive(peer.sock):
                try:
                    peer.frames.queue(("ok", self._methods[method](*arguments)))
                except Exception as error:
                    peer.frames.queue(("error", f"{type(error).__name__}: {error}"))
        is_sent = peer.frames.flush(peer.sock)
        if peer.frames.closed:
            self._selector.unregister(peer.sock)
            peer.sock.close()
            return
        wanted = selectors.EVENT_READ if is_sent else selectors.EVENT_READ | selectors.EVENT_WRITE
        if self._selector.get_key(peer.sock).events != wanted:
            self._selector.modify(peer.sock, wanted, peer)
