"""The client's side of the control protocol: blocking calls that survive a restart of the engine."""

from __future__ import annotations

import contextlib
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dovetail.execution.addresses import TcpAddress
from dovetail.execution.control import Frame, FrameReader, encode
from dovetail.execution.errors import EngineUnreachable, InvalidJob, ProtocolError, RequestRefused
from dovetail.execution.spec import JobSpec
from dovetail.execution.status import EngineStatus, JobStatus, ResultsPart

SILENCE_S = 60.0  # without a byte moving, a connection counts as lost
WAIT_S = 30.0  # of one request to wait; longer waits are several of them
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 1.0
DEAD_S = 3.0  # of silence, before `why_dead` is asked
_CHUNK_BYTES = 1 << 20


class Client:
    """Requests to an engine.  May be used by several threads; each request has a connection to itself.

    An engine that was reached once may be restarted meanwhile: for `patience_s` the request is repeated until it is
    answered.  One that was never reached is given `first_patience_s`, for most likely nothing runs there.
    """

    def __init__(
        self,
        address: Path | TcpAddress,
        *,
        token: str = "",
        patience_s: float = 30.0,
        first_patience_s: float = 0.0,
    ) -> None:
        self.address = address
        self.patience_s = patience_s
        self.first_patience_s = first_patience_s
        self._token = token
        self.why_dead: Callable[[], str] = lambda: ""  # for whoever knows that the engine will not come back
        self._was_reached = False
        self._idle: deque[_Line] = deque()  # connections that nobody is using just now

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def ping(self) -> None:
        self.request({"op": "ping"})

    def submit(self, spec: JobSpec, payload: bytes) -> int:
        """The number of the job.  A repeated request carries the same key, so the job is accepted once."""
        header = {"op": "submit", "spec": spec.to_json(), "key": secrets.token_hex(16)}
        job = self.request(header, payload).header.get("job")
        if not isinstance(job, int):
            raise ProtocolError(f"the engine answered a submission with job {job!r}; expected a number")
        return job

    def status(self) -> EngineStatus:
        return EngineStatus.from_json(_values(self.request({"op": "status"})))

    def job(self, job: int) -> JobStatus:
        return JobStatus.from_json(_values(self.request({"op": "job", "job": job})))

    def wait(self, job: int, timeout_s: float | None = None) -> JobStatus:
        """The job when it has ended, or as it is after `timeout_s`."""
        deadline_s = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        while True:
            slice_s = max(0.0, min(WAIT_S, deadline_s - time.monotonic()))
            status = JobStatus.from_json(_values(self.request({"op": "wait", "job": job, "timeout_s": slice_s})))
            if status.has_ended or time.monotonic() >= deadline_s:
                return status

    def results(self, job: int, stage: int, start: int, count: int) -> ResultsPart:
        """Of the first of those tasks: as many as the engine sends at a time."""
        frame = self.request({"op": "results", "job": job, "stage": stage, "start": start, "count": count})
        ok, lengths = frame.header.get("ok_flags"), frame.header.get("lengths")
        if not isinstance(ok, list) or not isinstance(lengths, list) or len(ok) != len(lengths):
            raise ProtocolError("the engine sent results without their lengths")
        if sum(lengths) != len(frame.body) or not 1 <= len(ok) <= count:
            raise ProtocolError(f"the engine sent {len(ok)} results of {len(frame.body)} bytes, which do not add up")
        payloads, at = [], 0
        for length in lengths:
            payloads.append(frame.body[at : at + length])
            at += length
        return ResultsPart(tuple(map(bool, ok)), tuple(payloads))

    def cancel(self, job: int) -> None:
        self.request({"op": "cancel", "job": job})

    def drain(self, on: bool = True) -> None:
        self.request({"op": "drain", "on": on})

    def swap(self, scheduler: str) -> str:
        return str(_values(self.request({"op": "swap", "scheduler": scheduler}))["took_over"])

    def forget(self, job: int) -> None:
        self.request({"op": "forget", "job": job})

    def events(self, since: int = 0) -> Mapping[str, Any]:
        return _values(self.request({"op": "events", "since": since}))

    def down(self) -> None:
        """Stop the engine.  One that is gone before it has answered has done what it was asked to."""
        self.close()  # so that it is asked over a fresh connection: an old one may be to an engine before this one
        patience_s, self.patience_s = self.patience_s, 0.0
        try:
            self.request({"op": "down"})
        except EngineUnreachable:
            if not self._was_reached:
                raise
        finally:
            self.patience_s = patience_s

    def request(self, header: Mapping[str, Any], body: bytes = b"") -> Frame:
        """The reply, repeated over new connections while patience lasts."""
        pieces = encode(Frame(header, body))
        lost_s: float | None = None  # since when
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                frame = self._ask(pieces)
                return _accepted(frame)
            except OSError as error:
                now_s = time.monotonic()
                lost_s = now_s if lost_s is None else lost_s
                patience_s = self.patience_s if self._was_reached else self.first_patience_s
                if now_s - lost_s >= patience_s:
                    raise self._unreachable(error, patience_s) from error
                if now_s - lost_s >= DEAD_S and (why := self.why_dead()):
                    raise EngineUnreachable(why) from error
            time.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, pause_s * 1.5)

    def _ask(self, pieces: list[bytes]) -> Frame:
        try:
            line = self._idle.pop()
        except IndexError:
            line = _Line.open(self.address)
            if isinstance(self.address, TcpAddress):
                with line.closed_on_error():
                    _accepted(line.ask(encode(Frame({"op": "hello", "token": self._token}))))
        with line.closed_on_error():
            self._was_reached = True
            frame = line.ask(pieces)
        self._idle.append(line)
        return frame

    def _unreachable(self, error: OSError, patience_s: float) -> EngineUnreachable:
        where = self.address if isinstance(self.address, TcpAddress) else self.address.parent
        tried = f" for {patience_s:g} s" if patience_s else ""
        hint = "" if self._was_reached else "; `dovetail up` starts one"
        return EngineUnreachable(f"no engine answered at {where}{tried} ({error.strerror or error}){hint}")


class _Line:
    """One connection: a request out, a reply in."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._reader = FrameReader()

    @classmethod
    def open(cls, address: Path | TcpAddress) -> _Line:
        if isinstance(address, TcpAddress):
            connected = socket.create_connection((address.host, address.port), timeout=10.0)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connected.settimeout(10.0)
                connected.connect(str(address))
            except OSError:
                connected.close()
                raise
        connected.settimeout(SILENCE_S)
        return cls(connected)

    def ask(self, pieces: list[bytes]) -> Frame:
        self._send(pieces)
        while True:
            data = self._socket.recv(_CHUNK_BYTES)
            if not data:
                raise ConnectionResetError("the engine closed the connection")
            frames = self._reader.feed(data)
            if frames:
                return frames[0]

    def _send(self, pieces: list[bytes]) -> None:
        # In chunks, because the time-out of `sendall` is that of the whole.
        for piece in pieces:
            view = memoryview(piece)
            for at in range(0, len(view), _CHUNK_BYTES):
                self._socket.sendall(view[at : at + _CHUNK_BYTES])

    @contextlib.contextmanager
    def closed_on_error(self) -> Any:
        try:
            yield
        except BaseException:  # an interrupt too: the reply to come would be taken for that of the next request
            self.close()
            raise

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


def _accepted(frame: Frame) -> Frame:
    if frame.header.get("ok") is True:
        return frame
    text = str(frame.header.get("error", "the engine gave no reason"))
    raise (InvalidJob if frame.header.get("kind") == "InvalidJob" else RequestRefused)(text)


def _values(frame: Frame) -> dict[str, Any]:
    return {name: value for name, value in frame.header.items() if name != "ok"}
