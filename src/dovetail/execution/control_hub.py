"""The engine's side of the control protocol: bytes in, calls of a `Service`, bytes out.  No sockets, no clock.

Every connection is a small state machine.  It reads no further while a reply is on its way, so a client that sends
much, or reads nothing, or stops in the middle of a frame holds up nobody but itself.
"""

from __future__ import annotations

import hmac
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from dovetail.core.errors import DovetailError
from dovetail.core.suggest import did_you_mean
from dovetail.execution.control import MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HELLO_BYTES, Frame, FrameReader, encode
from dovetail.execution.errors import ProtocolError, RequestRefused
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import EngineStatus, JobStatus, ResultsPart

MAX_CONNECTIONS = 512
MAX_WAIT_S = 3600.0
HELLO_S = 10.0  # in which a connection must have shown the token
MAX_KEY = 200  # characters

log = logging.getLogger("dovetail.execution")


class Service(Protocol):
    """What the engine does for its clients.  A `DovetailError` is sent back; unknown jobs raise `RequestRefused`."""

    def submit(self, spec: JobSpec, payload: bytes, key: str) -> int:
        """Accept a job durably and return its number: the one it has already if `key` (not "") was seen before."""

    def status(self) -> EngineStatus: ...

    def job(self, job: int) -> JobStatus: ...

    def results(self, job: int, stage: int, start: int, count: int) -> ResultsPart:
        """Of tasks start, start + 1, ...: at most `count`, at least one, and about 64 MiB at most."""

    def cancel(self, job: int) -> bool:
        """Of a job that has ended: nothing happens.  Whether its end is kept by now; if not, `job_ended` will tell."""

    def drain(self, on: bool) -> None: ...

    def swap(self, scheduler: str, then: Callable[[str | Exception], None]) -> None:
        """`then` is told who has taken over from whom, and with what, for people; that may take a while."""

    def down(self) -> None:
        """Stop soon: the reply is still to be sent."""

    def forget(self, job: int) -> None:
        """Delete what is kept of an ended job; one that is gone already is no error, for requests are repeated."""

    def events(self, since: int) -> Mapping[str, Any]: ...


class Connection:
    """One client.  Whoever has the socket calls `feed`, and sends what is in `output`."""

    def __init__(self, hub: ControlHub, opened_s: float, *, trusted: bool) -> None:
        self.output: deque[bytes | memoryview] = deque()
        self.is_over = False  # to be closed once the output is sent
        self.opened_s = opened_s
        self.trusted = trusted  # the token was shown, or none is needed
        self.waits_for: int | None = None  # the job
        self.waits_until_s = 0.0
        self.is_waiting = False  # for something else that takes its time
        self._hub = hub
        self._reader = FrameReader(MAX_HEADER_BYTES if trusted else MAX_HELLO_BYTES, MAX_BODY_BYTES if trusted else 0)

    @property
    def wants_input(self) -> bool:
        return not self.output and not self.is_over

    def feed(self, data: bytes, now_s: float) -> None:
        if self.is_over:
            return
        try:
            frames = self._reader.feed(data)
            if len(frames) > 1 or (data and (self.waits_for is not None or self.is_waiting)):
                raise ProtocolError("a request was sent before the reply to the last one; expected one at a time")
        except ProtocolError as error:
            self.waits_for = None
            self.refuse(error, last=True)
            return
        for frame in frames:
            self._hub.handle(self, frame, now_s)

    def admit(self) -> None:
        self.trusted = True
        self._reader.max_header_bytes, self._reader.max_body_bytes = MAX_HEADER_BYTES, MAX_BODY_BYTES

    def reply(self, values: Mapping[str, Any], body: bytes = b"") -> None:
        self.output.extend(encode(Frame({"ok": True, **values}, body)))

    def refuse(self, error: Exception, *, last: bool = False) -> None:
        self.output.extend(encode(Frame({"ok": False, "error": str(error), "kind": type(error).__name__})))
        self.is_over = self.is_over or last


class ControlHub:
    """All connections.  The engine's loop also calls `job_ended`, and `on_time` when `next_timer_s` has come."""

    def __init__(self, service: Service, token: str = "") -> None:
        self._service = service
        self._token = token
        self._connections: set[Connection] = set()
        self._ops: dict[str, Callable[[Connection, Frame, float], None]] = {
            "hello": lambda connection, frame, now_s: connection.reply({}),
            "ping": lambda connection, frame, now_s: connection.reply({}),
            "submit": self._submit,
            "status": lambda connection, frame, now_s: connection.reply(service.status().to_json()),
            "job": lambda connection, frame, now_s: connection.reply(service.job(_whole(frame, "job")).to_json()),
            "wait": self._wait,
            "results": self._results,
            "cancel": self._cancel,
            "drain": self._plain(lambda frame: service.drain(_flag(frame, "on"))),
            "swap": self._swap,
            "down": self._plain(lambda frame: service.down()),
            "forget": self._plain(lambda frame: service.forget(_whole(frame, "job"))),
            "events": lambda connection, frame, now_s: connection.reply(service.events(_whole(frame, "since"))),
        }

    def open(self, now_s: float, *, trusted: bool) -> Connection:
        """`trusted`: over the Unix socket, which only its owner can open.  Others must show the token."""
        connection = Connection(self, now_s, trusted=trusted)
        if len(self._connections) >= MAX_CONNECTIONS:
            connection.refuse(RequestRefused(f"{MAX_CONNECTIONS} clients are connected; expected less"), last=True)
        else:
            self._connections.add(connection)
        return connection

    def close(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def handle(self, connection: Connection, frame: Frame, now_s: float) -> None:
        """One request, answered now, or later if it waits."""
        op = frame.header.get("op")
        if not connection.trusted:
            shown = frame.header.get("token")
            right = op == "hello" and isinstance(shown, str) and self._token
            if not right or not hmac.compare_digest(str(shown).encode(errors="replace"), self._token.encode()):
                connection.refuse(
                    RequestRefused("a wrong token, or none; expected the one in the token file"), last=True
                )
                return
            connection.admit()
        try:
            if not isinstance(op, str) or op not in self._ops:
                raise RequestRefused(f"unknown request {op!r}{did_you_mean(str(op), self._ops)}")
            if frame.body and op != "submit":
                raise RequestRefused(f"a request {op!r} with a body; expected none")
            self._ops[op](connection, frame, now_s)
        except Exception as error:
            self._refuse(connection, op, error)

    def _refuse(self, connection: Connection, op: object, error: Exception) -> None:
        if isinstance(error, DovetailError):
            connection.refuse(error)
        else:  # a bug, which shall not take down everybody's jobs
            log.error("request %r failed", op, exc_info=error)
            connection.refuse(RequestRefused(f"the engine failed at {op!r}: {type(error).__name__}: {error}"))

    def job_ended(self, job: int) -> None:
        """Tell those who wait for it."""
        for connection in [one for one in self._connections if one.waits_for == job]:
            self._answer(connection)

    def next_timer_s(self) -> float:
        """When `on_time` is to be called; inf: not at all."""
        times_s = [one.waits_until_s for one in self._connections if one.waits_for is not None]
        times_s += [one.opened_s + HELLO_S for one in self._connections if not one.trusted and not one.is_over]
        return min(times_s, default=float("inf"))

    def on_time(self, now_s: float) -> None:
        for connection in list(self._connections):
            if connection.waits_for is not None and now_s >= connection.waits_until_s:
                self._answer(connection)
            elif not connection.trusted and not connection.is_over and now_s >= connection.opened_s + HELLO_S:
                connection.refuse(RequestRefused(f"no token within {HELLO_S:g} s"), last=True)

    def _answer(self, connection: Connection) -> None:
        job, connection.waits_for = connection.waits_for, None
        assert job is not None
        try:
            connection.reply(self._service.job(job).to_json())
        except DovetailError as error:
            connection.refuse(error)

    def _plain(self, act: Callable[[Frame], None]) -> Callable[[Connection, Frame, float], None]:
        def answer(connection: Connection, frame: Frame, now_s: float) -> None:
            act(frame)
            connection.reply({})

        return answer

    def _cancel(self, connection: Connection, frame: Frame, now_s: float) -> None:
        job = _whole(frame, "job")
        if self._service.cancel(job):
            connection.reply({})
        else:  # what is acknowledged outlasts the engine
            connection.waits_for = job
            connection.waits_until_s = now_s + MAX_WAIT_S

    def _swap(self, connection: Connection, frame: Frame, now_s: float) -> None:
        def answer(outcome: str | Exception) -> None:
            connection.is_waiting = False
            if isinstance(outcome, str):
                connection.reply({"took_over": outcome})
            else:
                self._refuse(connection, "swap", outcome)

        connection.is_waiting = True
        try:
            self._service.swap(_text(frame, "scheduler"), answer)
        except BaseException:
            connection.is_waiting = False
            raise

    def _submit(self, connection: Connection, frame: Frame, now_s: float) -> None:
        key = frame.header.get("key", "")
        if not isinstance(key, str) or len(key) > MAX_KEY:
            raise RequestRefused(f"key is {str(key)[:40]!r}; expected text of {MAX_KEY} characters at most")
        spec = JobSpec.from_json(frame.header.get("spec"))
        connection.reply({"job": self._service.submit(spec, frame.body, key)})

    def _wait(self, connection: Connection, frame: Frame, now_s: float) -> None:
        status = self._service.job(_whole(frame, "job"))
        timeout_s = frame.header.get("timeout_s", 0.0)
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or timeout_s < 0:
            raise RequestRefused(f"timeout_s is {timeout_s!r}; expected a number of seconds")
        if status.has_ended or timeout_s == 0:
            connection.reply(status.to_json())
            return
        connection.waits_for = status.job
        connection.waits_until_s = now_s + min(timeout_s, MAX_WAIT_S)

    def _results(self, connection: Connection, frame: Frame, now_s: float) -> None:
        names = ("job", "stage", "start", "count")
        part = self._service.results(*(_whole(frame, name) for name in names))
        lengths = [len(payload) for payload in part.payloads]
        connection.reply({"ok_flags": list(map(int, part.ok)), "lengths": lengths}, b"".join(part.payloads))


def _whole(frame: Frame, name: str) -> int:
    value = frame.header.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise RequestRefused(f"{name} is {value!r}; expected a whole number, 0 or more")
    return value


def _flag(frame: Frame, name: str) -> bool:
    value = frame.header.get(name)
    if not isinstance(value, bool):
        raise RequestRefused(f"{name} is {value!r}; expected true or false")
    return value


def _text(frame: Frame, name: str) -> str:
    value = frame.header.get(name)
    if not isinstance(value, str):
        raise RequestRefused(f"{name} is {value!r}; expected text")
    return value
