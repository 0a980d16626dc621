"""Executors as long-lived processes of this machine, over Unix sockets.

One node manager per (pretended) machine forks executors and reports their end; executors speak with the server
themselves.  An executor that ends, for whatever reason, is replaced under the same number with the next incarnation.
What it had finished but not reported is read from its out files before its loss is told, so it is never run again.

A node manager that ends takes all processes of its tasks along.  For those of one that was killed itself, all of them
have a mark in their environment: by it they are found when the node is lost, or by the next server before it begins.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from dovetail.core.dag import ExecutorClass
from dovetail.execution import process_tree
from dovetail.execution.controller.messages import Run
from dovetail.execution.engines.local_options import LocalOptions
from dovetail.execution.engines.local_slot import Node, Peer, Slot
from dovetail.execution.wire import Message, WireError, listen
from dovetail.execution.workers import Ears, Entry

FAREWELL_S = 6.0
SILENCE_S = 0.5
OUT_OF_FILES_S = 0.01
ANYBODYS = {("signal", "SIGKILL"), ("signal", "SIGTERM"), ("signal", "SIGINT")}  # ends that others can cause
ENGINE, NODE = "DOVETAIL_ENGINE", "DOVETAIL_NODE"  # marks in the environment of all processes of the engine, the node
SWEEP_AFTER_S = (0.05, 0.5, 2.0)  # a node is lost: its executors are dying, and only then their commands become ours


class LocalWorkers:
    def __init__(self, directory: Path, options: LocalOptions, *, sweeps: bool = False) -> None:
        """`sweeps`: this process is nothing but a server, so whatever it inherits from a lost node may be killed."""
        self._directory = directory
        self._sweeps = sweeps
        self._options = options
        self._classes = options.executor_classes()
        self._nodes = [Node(f"node-{number}") for number in range(options.nodes)]
        self._slots: list[Slot] = []
        of_class = [c for c, kind in enumerate(self._classes) for _ in range(kind.count)]
        for number, executor_class in enumerate(of_class):
            node = self._nodes[number % options.nodes]
            self._slots.append(Slot(number, executor_class, node))
            node.slots.append(self._slots[-1])
        self._queued: list[Peer] = []
        self._pending: list[Slot] = []  # to be started when their time has come
        self._sweep_at_s: list[float] = []
        self._silent: list[tuple[float, Slot, int]] = []  # whose connection ended, but not yet the process, it seems
        self._closing = False

    def classes(self) -> tuple[ExecutorClass, ...]:
        return self._classes

    def executor_class(self, executor: int) -> int:
        return self._slots[executor].executor_class

    def start(self, selector: selectors.BaseSelector, ears: Ears) -> None:
        self._selector = selector
        self._ears = ears
        if self._sweeps:
            process_tree.adopt_orphans()
        path = self._directory / "workers.sock"
        path.unlink(missing_ok=True)  # the server holds the directory's lock: nobody else listens
        self._listening = listen(str(path))
        selector.register(self._listening, selectors.EVENT_READ, self._accept)
        (self._directory / "logs").mkdir(mode=0o700, exist_ok=True)
        self._end_predecessors()
        for slot in self._slots:
            slot.incarnation = ears.first_incarnation
        for node in self._nodes:
            self._start_node(node)

    # --- what the server asks for ---

    def run(self, run: Run, arguments: Sequence[Any] | None) -> None:
        slot = self._slots[run.executor]
        peer = slot.peer
        if peer is None:
            return  # it has just died; its loss will be told next
        if slot.sent(run):
            settings = dict(self._ears.stage_settings(run.job, run.stage))
            peer.frames.queue(("stage", run.job, run.stage, settings))
        if arguments is None:
            peer.frames.queue(("run", run.batch, run.job, run.stage, list(run.tasks)))
        else:
            peer.frames.queue(("run", run.batch, run.job, run.stage, list(run.tasks), list(arguments)))
        self._queue(peer)

    def cancel(self, executor: int, batch: int) -> None:
        slot = self._slots[executor]
        if slot.peer is not None and slot.is_up:
            slot.peer.frames.queue(("cancel", batch))
            slot.peer.frames.flush(slot.peer.sock)  # before the signal, which makes it look
            self._queue(slot.peer)
            with contextlib.suppress(ProcessLookupError):
                os.kill(slot.pid, signal.SIGUSR1)

    def restart(self, executor: int, why: str) -> None:
        slot = self._slots[executor]
        self._tell(slot.node, ("kill", slot.number, slot.incarnation, why))

    def forget(self, job: int) -> None:
        for slot in self._slots:
            stages = {stage for stage in slot.known if stage[0] == job}
            slot.out_end.pop(job, None)
            if stages and slot.peer is not None:
                slot.known -= stages
                slot.peer.frames.queue(("forget", job))
                self._queue(slot.peer)

    def flush(self) -> None:
        queued, self._queued = self._queued, []
        for peer in queued:
            peer.is_queued = False
            if peer.is_closed:
                continue
            if not peer.frames.flush(peer.sock) and not peer.frames.closed:
                mask = selectors.EVENT_READ | selectors.EVENT_WRITE
                self._selector.modify(peer.sock, mask, partial(self._ready, peer))

    def next_timer_s(self) -> float:
        due_s = [slot.start_at_s for slot in self._pending]
        return min((*due_s, *self._sweep_at_s, *(at_s for at_s, _, _ in self._silent)), default=float("inf"))

    def on_time(self, now_s: float) -> None:
        if self._sweep_at_s and self._sweep_at_s[0] <= now_s:
            self._sweep_at_s.pop(0)
            self._sweep()
        while self._silent and self._silent[0][0] <= now_s:
            _, slot, incarnation = self._silent.pop(0)
            if slot.is_up and slot.incarnation == incarnation:
                self._tell(slot.node, ("kill", slot.number, incarnation, "its connection was lost"))
        due = [slot for slot in self._pending if slot.start_at_s <= now_s]
        self._pending = [slot for slot in self._pending if slot.start_at_s > now_s]
        for slot in due:
            self._start_executor(slot)

    def close(self) -> None:
        self._closing = True
        for node in self._nodes:
            if node.peer is not None:
                self._tell(node, ("stop",))
            elif node.process is not None:
                node.process.kill()  # it has not said hello yet, and has no executors
        self.flush()
        deadline_s = time.monotonic() + FAREWELL_S
        for node in self._nodes:
            if node.process is not None:
                try:
                    node.process.wait(max(0.0, deadline_s - time.monotonic()))
                except subprocess.TimeoutExpired:
                    node.process.kill()
                    node.process.wait()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, partial) and key.data.func == self._ready:
                self._close(key.data.args[0])
        self._selector.unregister(self._listening)
        self._listening.close()
        (self._directory / "workers.sock").unlink(missing_ok=True)

    # --- processes ---

    def _start_node(self, node: Node) -> None:
        command = [sys.executable, "-m", "dovetail.execution.node_manager"]
        command += ["--socket", str(self._directory / "workers.sock"), "--node", node.name]
        log: IO[bytes]
        with open(self._directory / "logs" / f"{node.name}.log", "ab") as log:
            environment = {**os.environ, ENGINE: str(self._directory), NODE: f"{self._directory}/{node.name}"}
            node.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    def _start_executor(self, slot: Slot) -> None:
        if slot in self._pending:
            self._pending.remove(slot)
        slot.incarnation += 1
        slot.known, slot.out_end = set(), {}
        options = self._options
        limit_gb = self._classes[slot.executor_class].memory if options.classes else options.memory_gb
        limit_bytes = int(limit_gb * 1e9) if options.limit_memory else 0
        self._tell(slot.node, ("start", slot.number, slot.incarnation, limit_bytes))

    def _sweep(self) -> None:
        """Commands that tasks of a lost node had started, and that have become our children.  Dying may take them a
        while, if they are large: nobody waits for that."""
        ours = {node.process.pid for node in self._nodes if node.process is not None}
        for pid in process_tree.children(os.getpid()):
            if pid not in ours:
                process_tree.kill(pid)
                with contextlib.suppress(ChildProcessError):
                    if os.waitpid(pid, os.WNOHANG) == (0, 0) and not self._sweep_at_s:
                        self._sweep_at_s = [time.monotonic() + SWEEP_AFTER_S[-1]]

    def _end_predecessors(self) -> None:
        """Whatever an earlier server left running here must be over before anything runs again."""
        deadline_s = time.monotonic() + FAREWELL_S
        while left := process_tree.marked(ENGINE, str(self._directory)):
            if time.monotonic() > deadline_s:
                self._ears.notice("node", f"{len(left)} processes of an earlier server cannot be ended: {left}")
                return
            for pid in left:
                process_tree.kill(pid)
            time.sleep(0.005)

    def _tell(self, node: Node, message: Message) -> None:
        if node.peer is not None:  # if it is gone, so are its executors
            node.peer.frames.queue(message)
            self._queue(node.peer)

    def _queue(self, peer: Peer) -> None:
        if not peer.is_queued:
            peer.is_queued = True
            self._queued.append(peer)

    # --- what is heard ---

    def _accept(self, mask: int, now_s: float) -> None:
        try:
            sock, _ = self._listening.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(OUT_OF_FILES_S)  # it will be asked again at once, until a file is free
            return
        peer = Peer(sock)
        self._selector.register(sock, selectors.EVENT_READ, partial(self._ready, peer))

    def _ready(self, peer: Peer, mask: int, now_s: float) -> None:
        if peer.is_closed:
            return
        if mask & selectors.EVENT_WRITE and peer.frames.flush(peer.sock):
            self._selector.modify(peer.sock, selectors.EVENT_READ, partial(self._ready, peer))
        if mask & selectors.EVENT_READ:
            self._hear(peer)
            self.flush()  # at once: an executor waits for it

    def _hear(self, peer: Peer) -> None:
        try:
            for message in peer.frames.receive(peer.sock):
                self._obey(peer, message)
        except WireError as error:
            self._ears.notice("worker", f"a worker is dropped: {error}")
            peer.frames.closed = True
        if peer.frames.closed:
            self._hang_up(peer)

    def _obey(self, peer: Peer, message: Message) -> None:
        name = message[0]
        if name == "done" and peer.slot is not None:
            if peer.slot.peer is peer:
                self._done(peer.slot, message[1], message[2])
        elif name in ("full", "room") and peer.slot is not None:
            if peer.slot.peer is peer and name == "full":
                self._ears.disk_is_full(peer.slot.number, message[1])
            elif peer.slot.peer is peer:
                self._ears.disk_has_room(peer.slot.number)
        elif name == "up":
            self._executor_up(peer, *message[1:])
        elif name == "node":
            self._node_up(peer, message[1])
        elif name == "exit" and peer.node is not None:
            self._executor_ended(*message[1:])
        else:
            raise WireError(f"unexpected message {name!r}")

    def _node_up(self, peer: Peer, name: str) -> None:
        node = next((node for node in self._nodes if node.name == name), None)
        if node is None or node.peer is not None:
            raise WireError(f"a node manager calls itself {name!r}: unknown, or there already")
        node.peer, peer.node = peer, node
        for slot in node.slots:
            if not slot.is_up:
                self._start_executor(slot)

    def _executor_up(self, peer: Peer, number: int, incarnation: int, pid: int) -> None:
        slot = self._slots[number] if 0 <= number < len(self._slots) else None
        if slot is None or slot.incarnation != incarnation or slot.peer is not None:
            peer.frames.closed = True  # of a node that was given up
            return
        slot.peer, peer.slot = peer, slot
        slot.pid, slot.is_up, slot.up_s = pid, True, time.monotonic()
        self._ears.executor_up(number, slot.node.name)

    def _done(self, slot: Slot, batch: int, entries: Sequence[Entry], leaving: bool = False) -> None:
        if batch not in slot.runs or not entries:
            return
        slot.reported(batch, entries)
        self._ears.tasks_ended(slot.number, slot.incarnation, batch, entries, leaving)

    def _executor_ended(self, number: int, incarnation: int, why: str, detail: str) -> None:
        """Its node manager saw it end."""
        slot = self._slots[number]
        if slot.incarnation == incarnation:
            text = {"memory": detail, "killed": detail}.get(why, f"it ended with {detail}")
            self._lost(slot, text, blameless=why == "killed", killed=(why, detail) in ANYBODYS)
            self._replace(slot)

    def _hang_up(self, peer: Peer) -> None:
        self._close(peer)
        node, slot = peer.node, peer.slot
        if node is not None and not self._closing:
            node.peer = None
            self._ears.notice("node", f"{node.name} is lost, with {len(node.slots)} executors; it is started again")
            if node.process is not None:
                node.process.kill()
                node.process.wait()
            for pid in process_tree.marked(NODE, f"{self._directory}/{node.name}"):
                process_tree.kill(pid)
            if self._sweeps:
                self._sweep_at_s = [time.monotonic() + pause_s for pause_s in SWEEP_AFTER_S]
            for each in node.slots:
                if each.peer is None:  # the others are dying; the end of their connection will tell
                    self._lost(each, f"{node.name} was lost", blameless=True)
            self._start_node(node)
        elif slot is not None and slot.peer is peer and not self._closing:
            slot.peer = None
            if slot.node.peer is None:
                self._lost(slot, f"{slot.node.name} was lost", blameless=True)
            else:  # its end is about to be reported; should it live on without us, it must not
                self._silent.append((time.monotonic() + SILENCE_S, slot, slot.incarnation))

    def _close(self, peer: Peer) -> None:
        if not peer.is_closed:
            peer.is_closed = True
            self._selector.unregister(peer.sock)
            peer.sock.close()

    def _lost(self, slot: Slot, why: str, blameless: bool, killed: bool = False) -> None:
        """The process is dead: what did it leave behind?"""
        if slot.peer is not None:
            peer, slot.peer = slot.peer, None
            with contextlib.suppress(WireError):
                while messages := peer.frames.receive(peer.sock):
                    for message in messages:
                        if message[0] == "done":
                            self._done(slot, message[1], message[2], leaving=True)
            self._close(peer)
        was_up, slot.is_up = slot.is_up, False
        runs, slot.runs = slot.runs, {}
        for run, left in runs.values():
            entries = slot.unreported(run, left, self._ears.job_directory(run.job))
            if was_up and entries:
                self._ears.tasks_ended(slot.number, slot.incarnation, run.batch, entries, leaving=True)
        if was_up:
            # What it was given after its end never reached it, and is not to blame.
            self._ears.executor_down(slot.number, why, blameless or not runs, killed)

    def _replace(self, slot: Slot) -> None:
        now_s = time.monotonic()
        pause_s = slot.pause_s(now_s)
        slot.start_at_s = now_s + pause_s
        if pause_s:
            self._pending.append(slot)
        else:
            self._start_executor(slot)
