"""Executors as actors in a Ray cluster, on this machine or many.

One call of an actor runs one batch.  Answers arrive on a thread of Ray's and are handed to the server's own; results
come with them and are written to out files on the server's machine before they are reported, so that a restart of the
server finds everything that was.  An actor that is lost, with its machine or alone, is replaced under the same number
with the next incarnation; what it had not answered is run again.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import selectors
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.execution.controller.messages import FAILED, Run
from dovetail.execution.engines import ray_cluster
from dovetail.execution.engines.mailbox import Mailbox
from dovetail.execution.engines.ray_actor import VALUES, Request, Seat, encode
from dovetail.execution.engines.ray_cancels import Switchboard
from dovetail.execution.engines.ray_loss import is_blameless, reason
from dovetail.execution.engines.ray_shipping import Shipment, Shipping, StageKey
from dovetail.execution.engines.ray_slot import Sent, Slot
from dovetail.execution.report import LOOK_FOR_ROOM_S, NO_RECORD
from dovetail.execution.workers import Ears

OBJECT_STORE_BYTES = 500_000_000  # of a Ray that is started here; beyond it, Ray uses the disk
QUICK_BATCH_S = 0.0005
QUICK_DEATH_S = 0.5
LONGEST_PAUSE_S = 5.0
PING_S = 1.0  # how often actors without work are asked whether they live
PATIENCE_S = 60.0  # for room in the cluster, before a person is told

HELLO, REPLY, PONG, KILLED, SHIPPED = range(5)


@dataclass(frozen=True)
class RayOptions:
    """What to ask a Ray cluster for."""

    address: str = ""  # HOST:PORT or auto; empty: a Ray that is started here
    executors: int = 0  # 0: as many as have room in the cluster
    cpus: float = 1.0  # of an executor
    memory_gb: float = 0.0  # of an executor; 0: none is reserved

    def __post_init__(self) -> None:
        if self.executors < 0 or self.cpus <= 0.0 or self.memory_gb < 0.0:
            raise ConfigError("executors and memory_gb must be 0 or more, cpus above 0")


class Heard(NamedTuple):
    kind: int
    slot: int  # -1: none
    incarnation: int
    what: Any
    at_s: float


class RayWorkers:
    """Use as: `connect()`, then as any `Workers`."""

    def __init__(self, options: RayOptions) -> None:
        self._options = options
        self._count = options.executors
        self._machine_gb = 0.0
        self._slots: list[Slot] = []
        self._shipments: dict[StageKey, Shipment | None] = {}  # None: being prepared
        self._held: dict[StageKey, list[tuple[Sent, Sequence[Any] | None]]] = {}  # until their stage is prepared
        self._careful: set[StageKey] = set()  # a task of these may have ended an actor
        self._pending: list[Slot] = []  # to be started when their time has come
        self._queued: list[Slot] = []  # for the next flush
        self._ping_at_s = self._told_at_s = self._room_at_s = float("inf")

    def connect(self) -> None:
        options = self._options
        wanted = (options.executors or os.cpu_count() or 1) * options.cpus
        self._ray, self._connected_here = ray_cluster.connect(
            options.address or None, wanted, OBJECT_STORE_BYTES, "the ray engine"
        )
        if not self._count:
            free = self._ray.available_resources().get("CPU", 0.0)
            self._count = int(free / options.cpus)
            if not self._count:
                self.disconnect()
                raise ConfigError(f"the Ray cluster has {free:g} free processors; an executor needs {options.cpus:g}")
        self._machine_gb = self._ray.cluster_resources().get("memory", 0.0) / 1e9
        self._slots = [Slot(number) for number in range(self._count)]

    def disconnect(self) -> None:
        if self._connected_here:
            self._ray.shutdown()

    def classes(self) -> tuple[ExecutorClass, ...]:
        options = self._options
        return (ExecutorClass(self._count, options.cpus, options.memory_gb or self._machine_gb / self._count),)

    def executor_class(self, executor: int) -> int:
        return 0

    @property
    def pids(self) -> dict[int, int]:
        """Of the executors that are up, by number; on their own machines."""
        return {slot.number: slot.pid for slot in self._slots if slot.is_up}

    def start(self, selector: selectors.BaseSelector, ears: Ears) -> None:
        self._selector = selector
        self._ears = ears
        self._mail: Mailbox[Heard] = Mailbox()
        selector.register(self._mail.socket, selectors.EVENT_READ, self._hear)
        self._shipping = Shipping(self._ray)
        self._shippers = ThreadPoolExecutor(1, "shipping")
        # Every executor always has one call waiting there.
        board = self._ray.remote(num_cpus=0, max_concurrency=2 * self._count + 100)(Switchboard)
        self._switchboard = board.remote()
        needs: dict[str, Any] = {"num_cpus": self._options.cpus}
        if self._options.memory_gb:
            needs["memory"] = int(self._options.memory_gb * 1e9)
        self._seat = self._ray.remote(**needs, scheduling_strategy="SPREAD")(Seat)
        for slot in self._slots:
            self._start_executor(slot)
        now_s = time.monotonic()
        self._ping_at_s, self._told_at_s = now_s + PING_S, now_s + PATIENCE_S

    # --- what the server asks for ---

    def run(self, run: Run, arguments: Sequence[Any] | None) -> None:
        slot = self._slots[run.executor]
        sent = slot.sent[run.batch] = Sent(run)
        key = (run.job, run.stage)
        if key not in self._shipments:
            self._prepare(key)
        if self._shipments[key] is None:
            self._held.setdefault(key, []).append((sent, arguments))
        elif slot.is_up:  # otherwise it has just died; its loss will be told next
            self._send(slot, sent, arguments)

    def cancel(self, executor: int, batch: int) -> None:
        slot = self._slots[executor]
        if batch in slot.sent:
            self._switchboard.cancel.remote(executor, slot.incarnation, batch)

    def restart(self, executor: int, why: str) -> None:
        slot = self._slots[executor]
        if slot.actor is not None:
            self._kill(slot)
            self._post(KILLED, slot.number, slot.incarnation, why)  # not at once: the server is in the middle of a step

    def forget(self, job: int) -> None:
        for slot in self._slots:
            if slot.forget(job) and slot.actor is not None:
                slot.actor.forget.remote(job)
        for key in [key for key in self._shipments if key[0] == job]:
            shipment = self._shipments.pop(key)
            self._held.pop(key, None)
            self._careful.discard(key)
            if shipment is not None:
                shipment.payload.close()

    def flush(self) -> None:
        """One call for all that an executor was given.  While its batches take less time than a call, it has one call
        at a time, and what it is given meanwhile goes with the next: calls are what costs then."""
        queued, self._queued = self._queued, []
        for slot in queued:
            slot.is_queued = False
            if slot.requests and not (slot.is_quick and slot.calls):
                requests, introduced = slot.requests, slot.introduced
                slot.requests, slot.introduced = [], {}
                self._call(slot, REPLY, slot.actor.run, encode(requests, [*introduced]), *introduced.values())

    def next_timer_s(self) -> float:
        return min([self._ping_at_s, self._told_at_s, self._room_at_s, *(slot.start_at_s for slot in self._pending)])

    def on_time(self, now_s: float) -> None:
        due = [slot for slot in self._pending if slot.start_at_s <= now_s]
        self._pending = [slot for slot in self._pending if slot.start_at_s > now_s]
        for slot in due:
            self._start_executor(slot)
        if now_s >= self._room_at_s:
            self._room_at_s = float("inf")
            for slot in self._slots:
                if slot.kept:
                    self._write(slot)
        if now_s >= self._ping_at_s:
            self._ping_at_s = now_s + PING_S
            for slot in self._slots:
                if slot.is_up and not slot.calls:  # the others' answers will tell
                    self._call(slot, PONG, slot.actor.ping)
        if now_s >= self._told_at_s:
            self._told_at_s = float("inf")
            waiting = sum(not slot.is_up for slot in self._slots)
            if waiting:
                text = f"{waiting} of {self._count} executors wait for room in the Ray cluster"
                self._ears.notice("executor", text)

    def close(self) -> None:
        self._shippers.shutdown(wait=True, cancel_futures=True)
        for slot in self._slots:
            if slot.actor is not None:
                self._kill(slot)
            slot.clear()
        with contextlib.suppress(Exception):
            self._ray.kill(self._switchboard)
        self._selector.unregister(self._mail.socket)
        self._mail.close()
        for shipment in self._shipments.values():
            if shipment is not None:
                shipment.payload.close()
        self._shipments = {}
        self.disconnect()

    # --- actors ---

    def _start_executor(self, slot: Slot) -> None:
        slot.incarnation = max(slot.incarnation, self._ears.first_incarnation) + 1
        slot.actor = self._seat.remote(slot.number, slot.incarnation, self._switchboard)
        self._call(slot, HELLO, slot.actor.hello)

    def _kill(self, slot: Slot) -> None:
        with contextlib.suppress(Exception):  # it may be dead
            self._ray.kill(slot.actor)

    def _call(self, slot: Slot, kind: int, method: Any, *arguments: Any) -> None:
        slot.calls += 1
        answer: Future[bytes] = method.remote(*arguments).future()
        answer.add_done_callback(partial(self._post, kind, slot.number, slot.incarnation))

    def _post(self, kind: int, slot: int, incarnation: int, what: Any) -> None:
        """Called by Ray on a thread of its own."""
        self._mail.post(Heard(kind, slot, incarnation, what, time.monotonic()))

    def _send(self, slot: Slot, sent: Sent, arguments: Sequence[Any] | None) -> None:
        run = sent.run
        key = (run.job, run.stage)
        shipment = self._shipments[key]
        assert shipment is not None
        kind, given = VALUES, arguments
        if given is None:
            kind, given = shipment.kind, shipment.arguments(run.tasks)
        slot.requests.append(Request(run.batch, *key, list(run.tasks), kind, list(given), key in self._careful))
        if key not in slot.known:
            slot.known.add(key)
            slot.introduced[key] = shipment.settings
        self._queue(slot)

    def _queue(self, slot: Slot) -> None:
        if not slot.is_queued:
            slot.is_queued = True
            self._queued.append(slot)

    # --- stages ---

    def _prepare(self, key: StageKey) -> None:
        settings = self._ears.stage_settings(*key)
        self._shipments[key] = None
        if settings["inputs"] is None:
            with contextlib.suppress(DovetailError):  # told again, and better, below
                self._shipments[key] = self._shipping.prepare(key[1], settings)
                return
        # Reading all inputs takes its time.
        prepared = self._shippers.submit(self._shipping.prepare, key[1], settings)
        prepared.add_done_callback(lambda future: self._post(SHIPPED, -1, -1, (key, future)))

    def _shipped(self, key: StageKey, future: Future[Shipment]) -> None:
        error = future.exception()
        if key not in self._shipments:  # the job has ended meanwhile
            if error is None:
                future.result().payload.close()
            return
        held = self._held.pop(key, [])
        if error is not None:
            del self._shipments[key]
        else:
            self._shipments[key] = future.result()
        for sent, arguments in held:
            run = sent.run
            slot = self._slots[run.executor]
            if slot.sent.get(run.batch) is not sent:
                continue
            if error is None:
                self._send(slot, sent, arguments)
            else:
                now_s = time.monotonic()
                why = f"{type(error).__name__}: the stage cannot be sent to executors: {error}"
                del slot.sent[run.batch]
                entries = [(task, FAILED, NO_RECORD, 0, now_s, now_s, why) for task in run.tasks]
                self._ears.tasks_ended(slot.number, slot.incarnation, run.batch, entries)

    # --- what is heard ---

    def _hear(self, mask: int, now_s: float) -> None:
        for kind, number, incarnation, what, at_s in self._mail.take():
            if kind == SHIPPED:
                self._shipped(*what)
                continue
            slot = self._slots[number]
            if slot.incarnation != incarnation or slot.actor is None:
                continue  # of one that was given up
            if kind == KILLED:
                self._lost(slot, what, blameless=True)
                continue
            slot.calls -= 1
            error = what.exception()
            if error is not None:
                self._lost(slot, reason(error), is_blameless(error) or not slot.sent)
            elif kind == HELLO:
                slot.node, slot.pid = marshal.loads(what.result())
                slot.is_up, slot.up_s = True, time.monotonic()
                self._ears.executor_up(number, slot.node)
            elif kind == REPLY:
                self._replied(slot, what.result(), at_s)
            if slot.requests:  # that may have waited for this answer
                self._queue(slot)
        self.flush()  # at once: executors wait for it

    def _replied(self, slot: Slot, reply: bytes, received_s: float) -> None:
        more, parts = marshal.loads(reply)
        for batch, ended in parts:
            sent = slot.sent.get(batch)
            if sent is None or not ended:
                continue
            sent.left.difference_update([task for task, *_ in ended])
            if not sent.left:
                del slot.sent[batch]
            slot.quick_deaths = 0
            slot.is_quick = ended[-1][4] - ended[0][3] < QUICK_BATCH_S
            slot.keep(sent, ended, received_s, self._ears.job_directory)
        self._write(slot)
        if more and not slot.calls and not slot.requests:  # any other call would do as well
            self._call(slot, REPLY, slot.actor.go_on)

    def _write(self, slot: Slot) -> None:
        """Results are told once they are written; until then they stay here."""
        try:
            for batch, entries in slot.written():
                self._ears.tasks_ended(slot.number, slot.incarnation, batch, entries)
        except OSError as error:
            self._room_at_s = time.monotonic() + LOOK_FOR_ROOM_S
            self._ears.disk_is_full(slot.number, str(error.strerror))
        else:
            self._ears.disk_has_room(slot.number)

    def _lost(self, slot: Slot, why: str, blameless: bool) -> None:
        self._kill(slot)  # it may only be out of reach
        if not blameless:
            self._careful.update((sent.run.job, sent.run.stage) for sent in slot.sent.values() if sent.is_wanted)
        was_up = slot.is_up
        slot.clear()
        self._replace(slot, was_up and time.monotonic() - slot.up_s >= QUICK_DEATH_S)
        if was_up:
            self._ears.executor_down(slot.number, why, blameless)
        else:
            self._ears.notice("executor", f"executor {slot.number} did not come up: {why}")

    def _replace(self, slot: Slot, lived: bool) -> None:
        """At once, unless it keeps dying as soon as it lives."""
        slot.quick_deaths = 0 if lived else slot.quick_deaths + 1
        pause_s = 0.0 if slot.quick_deaths < 3 else min(LONGEST_PAUSE_S, 0.05 * 2.0**slot.quick_deaths)
        slot.start_at_s = time.monotonic() + pause_s
        if pause_s:
            self._pending.append(slot)
        else:
            self._start_executor(slot)
