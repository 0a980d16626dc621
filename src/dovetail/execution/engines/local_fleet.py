"""Workers and parameter servers as processes of this machine.  Hosts are only names here."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dovetail.core.errors import DovetailError
from dovetail.execution.elastic.fleet import Answer, Event, Kind, Lost, Up
from dovetail.execution.elastic.role_process import shard_path
from dovetail.execution.wire import Frames, Message, listen

PATIENCE_S = 120.0  # for the nursery to come up: it loads torch, on a machine that may be busy
FAREWELL_S = 10.0
NO_MEMORY_LIMIT = 0


class _Peer:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.frames = Frames()
        self.role: _Role | None = None


@dataclass
class _Role:
    number: int
    kind: Kind
    pid: int = 0
    peer: _Peer | None = None
    is_stopped: bool = False
    failure: str = ""  # what it raised, as it said itself


class LocalFleet:
    """All roles are children of one nursery, which ends with this process, whatever happens."""

    def __init__(self) -> None:
        self._roles: dict[int, _Role] = {}
        self._next = 0
        self._events: list[Event] = []
        self._nursery: _Peer | None = None
        self._unborn: list[Message] = []  # for the nursery, before it is there
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def open(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dovetail-")
        self._path = os.path.join(self._folder.name, "roles.sock")
        (Path(self._folder.name) / "logs").mkdir(mode=0o700)
        self._selector = selectors.DefaultSelector()
        self._listening = listen(self._path)
        self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
        command = [sys.executable, "-m", "dovetail.execution.elastic.nursery", "--socket", self._path, "--node", "here"]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        with open(os.path.join(self._folder.name, "logs", "nursery.log"), "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **one_thread}
            )
        give_up_s = time.monotonic() + PATIENCE_S
        while self._nursery is None:
            self._look(0.1)
            if self._process.poll() is not None or time.monotonic() > give_up_s:
                raise DovetailError(f"the process that starts workers did not come up: {self._log('nursery')}")

    # --- what is asked for ---

    def start(self, kind: Kind, host: int) -> int:
        number, self._next = self._next, self._next + 1
        self._roles[number] = _Role(number, kind)
        self._tell_nursery(("start", number, 0, NO_MEMORY_LIMIT))
        return number

    def call(self, role: int, method: str, *arguments: Any) -> None:
        peer = self._roles[role].peer if role in self._roles else None
        if peer is not None:  # else it has just died, and its loss will be told next
            self._send(peer, ("call", method, arguments))

    def address(self, role: int) -> str:
        return shard_path(self._path, role)

    def stop(self, role: int) -> None:
        """Nobody needs a farewell: what counts is with the coordinator."""
        if role in self._roles:
            self._roles[role].is_stopped = True
            self._tell_nursery(("kill", role, 0, "not wanted any more"))

    def kill(self, role: int, why: str) -> None:
        self._tell_nursery(("kill", role, 0, why))

    def pid(self, role: int) -> int:
        """Of a role that is up."""
        return self._roles[role].pid

    def poll(self, timeout_s: float) -> Sequence[Event]:
        if not self._events:
            self._look(timeout_s)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        if self._process is not None:
            if self._nursery is not None:
                self._send(self._nursery, ("stop",))
            else:
                self._process.kill()  # it has not said hello yet, and has no children
            try:
                self._process.wait(FAREWELL_S)
            except subprocess.TimeoutExpired:
                self._process.kill()  # its children die with it
                self._process.wait()
            self._process = None
        if self._folder is not None:
            for key in list(self._selector.get_map().values()):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.close()
            self._selector.close()
            self._folder.cleanup()
            self._folder = None

    # --- what comes in ---

    def _look(self, timeout_s: float) -> None:
        for key, mask in self._selector.select(max(0.0, timeout_s)):
            key.data(mask)

    def _accept(self, mask: int) -> None:
        sock, _ = self._listening.accept()
        peer = _Peer(sock)
        self._selector.register(sock, selectors.EVENT_READ, partial(self._ready, peer))

    def _ready(self, peer: _Peer, mask: int) -> None:
        if mask & selectors.EVENT_READ:
            for message in peer.frames.receive(peer.sock):
                self._hear(peer, message)
        if mask & selectors.EVENT_WRITE:
            self._flush(peer)
        if peer.frames.closed:
            self._selector.unregister(peer.sock)
            peer.sock.close()
            if peer is self._nursery:
                raise DovetailError(f"the process that starts workers is gone: {self._log('nursery')}")
            if peer.role is not None:
                peer.role.peer = None

    def _hear(self, peer: _Peer, message: Message) -> None:
        name = message[0]
        if name == "node":
            self._nursery = peer
            for waiting in self._unborn:
                self._send(peer, waiting)
        elif name == "role":
            role = peer.role = self._roles.get(message[1])
            if role is not None:
                role.pid, role.peer = message[2], peer
                self._send(peer, ("be", role.kind))
        elif name == "exit":
            self._ended(message[1], f"{message[3]}: {message[4]}")
        elif peer.role is not None and not peer.role.is_stopped:
            number = peer.role.number
            if name == "ready":
                self._events.append(Up(number))
            elif name == "answer":
                self._events.append(Answer(number, message[1], message[2]))
            elif name == "failed":
                peer.role.failure = f"{message[1]}: {message[2]}"
                self.kill(number, peer.role.failure)

    def _ended(self, number: int, why: str) -> None:
        role = self._roles.get(number)
        if role is None:
            return
        if role.peer is not None and not role.peer.frames.closed:  # what it said before it ended
            for message in role.peer.frames.receive(role.peer.sock):
                self._hear(role.peer, message)
        del self._roles[number]
        if not role.is_stopped:
            self._events.append(Lost(number, role.failure or why))

    # --- what goes out ---

    def _tell_nursery(self, message: Message) -> None:
        if self._nursery is None:
            self._unborn.append(message)
        else:
            self._send(self._nursery, message)

    def _send(self, peer: _Peer, message: Message) -> None:
        peer.frames.queue(message)
        self._flush(peer)

    def _flush(self, peer: _Peer) -> None:
        if peer.frames.closed:
            return
        is_sent = peer.frames.flush(peer.sock)
        events = selectors.EVENT_READ if is_sent else selectors.EVENT_READ | selectors.EVENT_WRITE
        self._selector.modify(peer.sock, events, partial(self._ready, peer))

    def _log(self, name: str) -> str:
        assert self._folder is not None
        try:
            lines = (Path(self._folder.name) / "logs" / f"{name}.log").read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it said nothing"
