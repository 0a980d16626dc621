"""A server for tests: real sockets and real processes, but it does only what the test says."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import cloudpickle

from dovetail.execution.outfile import out_path, read
from dovetail.execution.payload import Payload, StagePayload, encode
from dovetail.execution.wire import Frames, Message, listen

PATIENCE_S = 30.0  # far more than anything takes, even on a busy machine


def wait_for(what: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    end_s = time.monotonic() + patience_s
    while time.monotonic() < end_s:
        if found := what():
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited {patience_s} s in vain for {what}")


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Peer:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.frames = Frames()

    def send(self, *message: Any) -> None:
        self.frames.queue(message)
        while not self.frames.flush(self.sock):
            time.sleep(0.001)


class FakeServer:
    """Use as a context manager: everything that was started is gone afterwards, and that is asserted."""

    def __enter__(self) -> FakeServer:
        self.directory = tempfile.mkdtemp(prefix="dvt-", dir="/tmp")  # short: socket paths are limited
        self.socket_path = os.path.join(self.directory, "workers.sock")
        self.listener = listen(self.socket_path)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.peers: list[Peer] = []
        self.managers: list[subprocess.Popen[bytes]] = []
        self.pids: list[int] = []  # of executors that said they are up
        self.log: list[tuple[Peer, Message]] = []
        self.batch = 0
        self.job = 0
        return self

    def __exit__(self, *_: object) -> None:
        for peer in self.peers:
            peer.sock.close()
        self.listener.close()
        self.selector.close()
        for manager in self.managers:
            manager.wait(PATIENCE_S)
        wait_for(lambda: not any(is_alive(pid) for pid in self.pids))
        shutil.rmtree(self.directory)

    def start_manager(self, name: str = "here") -> Peer:
        command = [sys.executable, "-m", "dovetail.execution.node_manager", "--socket", self.socket_path]
        environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
        self.managers.append(subprocess.Popen([*command, "--node", name], env=environment))
        peer, message = self.expect("node")
        assert message[1:] == (name, self.managers[-1].pid)
        return peer

    def start_executor(self, manager: Peer, executor: int = 0, incarnation: int = 0, memory_bytes: int = 0) -> Peer:
        manager.send("start", executor, incarnation, memory_bytes)
        peer, message = self.expect("up")
        assert message[1:3] == (executor, incarnation)
        self.pids.append(message[3])
        return peer

    def expect(self, name: str) -> tuple[Peer, Message]:
        """The next message of this name, from whomever; others are kept for later."""
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s:
            for position, (_, message) in enumerate(self.log):
                if message[0] == name:
                    return self.log.pop(position)
            self._listen(0.5)
        raise AssertionError(f"waited in vain for {name!r}; there is {self.log}")

    def _listen(self, timeout_s: float) -> None:
        for key, _ in self.selector.select(timeout_s):
            if key.data is None:
                peer = Peer(self.listener.accept()[0])
                self.peers.append(peer)
                self.selector.register(peer.sock, selectors.EVENT_READ, peer)
                continue
            peer = key.data
            self.log += [(peer, message) for message in peer.frames.receive(peer.sock)]
            if peer.frames.closed:
                self.selector.unregister(peer.sock)

    def write_job(self, *stages: StagePayload) -> tuple[int, dict[str, Any]]:
        """A new job's number and the settings of its stages."""
        self.job += 1
        directory = os.path.join(self.directory, "jobs", str(self.job))
        os.makedirs(directory)
        path = os.path.join(directory, "payload")
        Payload.from_bytes(encode(stages)).write(path)
        return self.job, {"payload": path, "directory": directory, "inputs": None, "cpus": 1, "memory_bytes": 0}

    def run(
        self, peer: Peer, function: Any, tasks: int = 1, arguments: list[Any] | None = None, **more: Any
    ) -> list[tuple[Any, ...]]:
        """Entries of one batch that runs all tasks of a new job of one stage."""
        job, settings = self.write_job(stage_of(function, tasks, arguments))
        peer.send("stage", job, 0, settings | more)
        return self.done(self.send_batch(peer, job, 0, range(tasks)), tasks)

    def send_batch(self, peer: Peer, job: int, stage: int, tasks: Any) -> int:
        self.batch += 1
        peer.send("run", self.batch, job, stage, list(tasks))
        return self.batch

    def done(self, batch: int, tasks: int) -> list[tuple[Any, ...]]:
        entries: list[tuple[Any, ...]] = []
        while len(entries) < tasks:
            message = self.expect("done")[1]
            assert message[1] == batch
            entries += message[2]
        assert len({entry[0] for entry in entries}) == len(entries) == tasks
        return entries

    def payload(self, entry: tuple[Any, ...], executor: int = 0, incarnation: int = 0, job: int | None = None) -> bytes:
        directory = os.path.join(self.directory, "jobs", str(job or self.job))
        return read(out_path(directory, executor, incarnation), entry[2], entry[3])

    def cancel(self, peer: Peer, batch: int, pid: int) -> None:
        peer.send("cancel", batch)
        os.kill(pid, signal.SIGUSR1)


def stage_of(function: Any, tasks: int = 1, arguments: list[Any] | None = None) -> StagePayload:
    blob = function if isinstance(function, bytes) else cloudpickle.dumps(function)
    return StagePayload(blob, tasks, None if arguments is None else [cloudpickle.dumps(each) for each in arguments])
