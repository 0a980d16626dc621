"""The node manager of one machine: forks executors, reports how they end, keeps them within their memory.

    python -m dovetail.execution.node_manager --socket DIR/workers.sock --node NAME

One thread, one loop, nothing polled unless an executor has a memory limit.  It lives exactly as long as its connection
to the server, and no executor outlives it, nor anything that a task has started.  What tasks print goes to
DIR/logs/executor-N.log.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass
from types import FrameType

from dovetail.execution import process_tree
from dovetail.execution.executor import Executor, redirect_output
from dovetail.execution.memory_limit import amount, resident_bytes
from dovetail.execution.wire import Frames, Message, WireError, connect, send

WATCH_S = 0.1
FAREWELL_S = 5.0
EXIT_SOFTWARE = 70  # of sysexits.h: the executor itself is at fault, not a task


@dataclass(slots=True)
class Child:
    executor: int
    incarnation: int
    memory_bytes: int  # 0: no limit
    verdict: tuple[str, str] | None = None  # why we killed it


class NodeManager:
    """`occupant` and `occupy` say what is forked; others than executors override them."""

    occupant = "executor"

    def __init__(self, socket_path: str, name: str) -> None:
        self.socket_path = socket_path
        self.name = name
        self._children: dict[int, Child] = {}  # by pid
        self._ended: set[int] = set()  # pids of executors, and so sessions, that are over
        self._stopping = False

    def run(self) -> int:
        self._server = connect(self.socket_path)
        self._frames = Frames()
        self._selector = selectors.DefaultSelector()
        self._wake, self._wake_end = socket.socketpair()
        process_tree.adopt_orphans()
        self._hear_signals()
        self._selector.register(self._server, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        gc.collect()
        gc.freeze()  # executors share these pages for as long as nobody writes to them, and collecting would
        try:
            send(self._server, ("node", self.name, os.getpid()))
            while not self._stopping and not self._frames.closed:
                self._step()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the server is gone: so are we
        finally:
            self._end_everything()
        return 0

    def _step(self) -> None:
        limited = any(child.memory_bytes for child in self._children.values())
        self._selector.select(WATCH_S if limited else None)
        with contextlib.suppress(BlockingIOError):
            self._wake.recv(4096)
        for message in self._frames.receive(self._server):
            self._obey(message)
        self._reap()
        if limited:
            self._watch_memory()

    def _obey(self, message: Message) -> None:
        if message[0] == "start":
            self._start(Child(*message[1:]))
        elif message[0] == "kill":
            executor, incarnation, why = message[1:]
            for pid, child in self._children.items():
                if (child.executor, child.incarnation) == (executor, incarnation):
                    self._kill(pid, child, "killed", why)
        elif message[0] == "stop":
            self._stopping = True
        else:
            raise WireError(f"node manager {self.name}: unknown message {message[0]!r} from the server")

    def _start(self, child: Child) -> None:
        parent = os.getpid()
        own_bytes = resident_bytes() if child.memory_bytes else 0
        try:
            pid = os.fork()
        except OSError as error:
            self._say_ended(child, "exit", f"could not be started: {error.strerror}")
            return
        if pid == 0:
            self._become_executor(child, parent)
        if child.memory_bytes:
            child.memory_bytes += own_bytes  # what an executor has before it runs anything does not count
        self._ended.discard(pid)
        self._children[pid] = child

    def occupy(self, child: Child) -> int:
        """What the forked process does; its exit status."""
        return Executor(self.socket_path, child.executor, child.incarnation).run()

    def _become_executor(self, child: Child, parent: int) -> None:
        """In the forked process; never returns."""
        status = EXIT_SOFTWARE
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            process_tree.die_with_parent(parent)
            os.setsid()  # by its session, what a task leaves running is found when the executor is gone
            for inherited in (self._server, self._wake, self._wake_end, self._selector):
                inherited.close()
            logs = os.path.join(os.path.dirname(self.socket_path), "logs")
            redirect_output(os.path.join(logs, f"{self.occupant}-{child.executor}.log"))
            status = self.occupy(child)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _kill(self, pid: int, child: Child, why: str, detail: str) -> None:
        if child.verdict is None:
            child.verdict = (why, detail)
        process_tree.kill(pid)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._children.pop(pid, None)
            if child is not None:
                self._ended.add(pid)
                self._say_ended(child, *(child.verdict or _ending(status)))
            # Killing an orphan can make orphans of its children; their parent's end brings us here again.
            for orphan in process_tree.children(os.getpid()):
                if orphan not in self._children and process_tree.session(orphan) in self._ended:
                    process_tree.kill(orphan)

    def _say_ended(self, child: Child, why: str, detail: str) -> None:
        send(self._server, ("exit", child.executor, child.incarnation, why, detail))

    def _watch_memory(self) -> None:
        for pid, child in self._children.items():
            if child.memory_bytes and (used := resident_bytes(pid)) > child.memory_bytes:
                detail = f"executor used {amount(used)}, more than its limit of {amount(child.memory_bytes)}"
                self._kill(pid, child, "memory", detail)

    def _hear_signals(self) -> None:
        self._wake.setblocking(False)
        self._wake_end.setblocking(False)
        signal.set_wakeup_fd(self._wake_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # ignoring it would keep it from the wake-up socket
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, self._on_stop)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _end_everything(self) -> None:
        """Kill all that descends from here, until nothing is left or it takes too long."""
        deadline_s = time.monotonic() + FAREWELL_S
        while time.monotonic() < deadline_s:
            for pid in {*self._children, *process_tree.children(os.getpid())}:
                process_tree.kill(pid)
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            self._children.pop(pid, None)
            if pid == 0:
                time.sleep(0.002)  # dying takes a moment; never wait for ever for a process stuck in the kernel


def _ending(status: int) -> tuple[str, str]:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return "exit", f"exit status {code}"
    try:
        return "signal", signal.Signals(-code).name
    except ValueError:
        return "signal", f"signal {-code}"


def main(kind: type[NodeManager] = NodeManager) -> int:
    parser = argparse.ArgumentParser(description="Node manager of a Dovetail engine; started by its server.")
    parser.add_argument("--socket", required=True, help="the server's socket for workers")
    parser.add_argument("--node", required=True, help="name of this machine")
    args = parser.parse_args()
    process_tree.die_with_parent(os.getppid(), signal.SIGTERM)  # which leaves us time to take everything along
    with contextlib.suppress(PermissionError):  # it leads a session already
        os.setsid()  # an interrupt at the server's terminal is the server's to handle
    try:
        return kind(os.path.abspath(args.socket), args.node).run()
    except (OSError, WireError) as error:
        print(f"node manager {args.node}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    raise SystemExit(main())
