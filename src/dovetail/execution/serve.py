"""A server in a directory: what it needs is put together here, and taken apart when it ends.

    python -m dovetail.execution.serve DIR '{"scheduler": "dag/fair-spill", "local": {"executors": 4}}'

This form is for `Engine`; people type `dovetail up`.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import selectors
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from dovetail.core.config import build
from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.execution import process_tree
from dovetail.execution.addresses import TOKEN_FILE, TcpAddress, control_socket, make_token
from dovetail.execution.control_hub import ControlHub
from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.tape import TapeWriter
from dovetail.execution.engines.local import LocalWorkers
from dovetail.execution.engines.local_options import LocalOptions
from dovetail.execution.engines.ray import RayOptions, RayWorkers
from dovetail.execution.journal import Journal, JournalError
from dovetail.execution.server import RETRY_JOURNAL_S, Server
from dovetail.execution.service import ServerService
from dovetail.execution.swaps import kept_swap
from dovetail.execution.workers import Workers
from dovetail.records.beliefs import BeliefsFile
from dovetail.schedulers import SCHEDULERS

EngineName = Literal["local", "ray"]
BATCHES_AHEAD: dict[EngineName, int] = {"local": 2, "ray": 4}  # a call of a Ray actor takes about a millisecond
GRACE_S: dict[EngineName, float] = {"local": 1.0, "ray": 5.0}  # word of a cancel takes two calls of busy Ray processes


MOST_FAILURES, FAILURES_S = 5, 60.0  # of a server within so many seconds, before it is given up

log = logging.getLogger("dovetail.execution")


@dataclass(frozen=True)
class ServerOptions:
    """An engine, as `dovetail up` and `Engine` describe it."""

    scheduler: str = "dag/fair-spill"
    fallback: str = "dag/fair-spill"
    engine: EngineName = "local"  # where executors are; the options of the other one do not matter
    local: LocalOptions = field(default_factory=LocalOptions)
    ray: RayOptions = field(default_factory=RayOptions)
    moving_delay_s: float = 0.0
    batch_s: float = 0.005
    crashes: int = 4  # executors that one task may take down before its job is given up
    kills: int = 30  # the same, of executors that somebody may have killed
    listen: str = ""  # HOST:PORT; empty: only the Unix socket
    beliefs: str = ""  # file with what the scheduler has learned, read at the start and kept up to date; empty: none
    tape: str = ""  # file for the log of events, from which the controller's every step can be replayed; empty: none


def make_controller(options: ServerOptions, classes: tuple[ExecutorClass, ...]) -> Controller:
    scheduler = SCHEDULERS.create(options.scheduler)
    SCHEDULERS.create(options.fallback)  # a wrong name must not be found out in need
    settings = ControllerOptions(
        classes,
        options.moving_delay_s,
        options.batch_s,
        grace_s=GRACE_S[options.engine],
        batches_ahead=BATCHES_AHEAD[options.engine],
        crashes=options.crashes,
        kills=options.kills,
        fallback=options.fallback,
    )
    return Controller(settings, options.scheduler, scheduler, lambda: SCHEDULERS.create(options.fallback))


def make_workers(directory: Path, options: ServerOptions, *, sweeps: bool = False) -> Workers:
    if options.engine == "local":
        return LocalWorkers(directory, options.local, sweeps=sweeps)
    workers = RayWorkers(options.ray)
    workers.connect()
    return workers


def serve(
    directory: Path,
    options: ServerOptions,
    ready: Callable[[Server, str], None] = lambda *_: None,
    parent_pid: int | None = None,
) -> None:
    """Run a server until it is told to stop, or its parent, if it is to die with it, is gone.  `ready` is called with
    the server and its TCP address, if it has one.

    Everything that matters is on the disk, so a server that fails for a reason nobody thought of is started again.
    """
    listen = TcpAddress.parse(options.listen) if options.listen else None
    if listen is not None:
        check_can_listen(listen)  # before anything is made
    directory = prepare(directory)
    with locked(directory), stop_signals() as wake, end_of(parent_pid) as orphaned:
        failed_s: list[float] = []
        was_ready = False

        def first_ready(server: Server, address: str) -> None:
            nonlocal was_ready
            was_ready = True
            ready(server, address)

        while True:
            try:
                _serve_once(directory, options, listen, wake, orphaned, first_ready)
                return
            except Exception as error:
                if isinstance(error, DovetailError) and not was_ready:
                    raise  # it could never have worked
                log.exception("the server failed, and is started again")
                now_s = time.monotonic()
                if isinstance(error, JournalError):
                    time.sleep(RETRY_JOURNAL_S)  # until there is room on the disk
                    continue
                failed_s = [*(at_s for at_s in failed_s if now_s - at_s < FAILURES_S), now_s]
                if len(failed_s) > MOST_FAILURES:
                    raise


def _serve_once(
    directory: Path,
    options: ServerOptions,
    listen: TcpAddress | None,
    wake: socket.socket,
    orphaned: int | None,
    ready: Callable[[Server, str], None],
) -> None:
    workers = make_workers(directory, options, sweeps=True)
    journal = Journal.open(directory / "journal.sqlite")
    try:
        controller = _controller(options, journal, workers.classes())
    except BaseException:
        journal.close()
        raise
    tape = TapeWriter(Path(options.tape)) if options.tape else None
    is_swapped = controller.incumbent.name != options.scheduler
    has_use = not is_swapped or controller.incumbent.beliefs() is not None
    beliefs = BeliefsFile(Path(options.beliefs)) if options.beliefs and has_use else None
    server = Server(directory, controller, workers, journal, tape=tape, beliefs=beliefs)
    server.selector.register(wake, selectors.EVENT_READ, lambda mask, now_s: _stop(server, wake))
    if orphaned is not None:
        server.selector.register(orphaned, selectors.EVENT_READ, lambda mask, now_s: _end(server))
    hub = ControlHub(ServerService(server, options.scheduler), make_token(directory / TOKEN_FILE) if listen else "")
    sockets = server.attend(hub)
    try:
        control_socket(directory).unlink(missing_ok=True)  # the directory is locked: nobody listens there
        sockets.listen_unix(control_socket(directory))
        address = "" if listen is None else str(sockets.listen_tcp(listen))
        server.start()
        ready(server, address)
        while server.is_running:
            server.step()
    finally:
        server.close()
        control_socket(directory).unlink(missing_ok=True)


def _controller(options: ServerOptions, journal: Journal, classes: tuple[ExecutorClass, ...]) -> Controller:
    """With the scheduler that was swapped in, if it can still be had."""
    name = kept_swap(journal, options.scheduler)
    try:
        return make_controller(replace(options, scheduler=name), classes)
    except DovetailError as error:
        if name == options.scheduler:
            raise
        log.warning("%s was in charge, but is not to be had: %s", name, error)
        return make_controller(options, classes)


def check_can_listen(address: TcpAddress) -> None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        raise ConfigError(f"cannot listen at {address}: {error.strerror or error}") from error


def prepare(directory: Path) -> Path:
    """The directory, made if need be, for this user alone; one that is there stays as it is, if it will do."""
    directory = directory.absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        others = stat.S_IMODE(directory.stat().st_mode) & 0o022
        if not others:
            (directory / "jobs").mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigError(f"{directory}: cannot hold an engine: {error.strerror}") from error
    if others:
        raise ConfigError(
            f"{directory}: others may write there; expected a directory that only you can write to (chmod go-w)"
        )
    return directory


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """One server per directory; the lock goes with the process, however it ends."""
    fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise ConfigError(f"{directory}: an engine is running there already; `dovetail down` ends it") from None
    try:
        yield
    finally:
        os.close(fd)


@contextmanager
def stop_signals() -> Iterator[socket.socket]:
    """A socket that becomes readable when the process is asked to stop."""
    wake, end = socket.socketpair()
    wake.setblocking(False)
    end.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    previous_fd = signal.set_wakeup_fd(end.fileno(), warn_on_full_buffer=False)
    try:
        yield wake
    finally:
        signal.set_wakeup_fd(previous_fd)
        for number, handler in before.items():
            signal.signal(number, handler)
        wake.close()
        end.close()


@contextmanager
def end_of(pid: int | None) -> Iterator[int | None]:
    """A file that becomes readable when our parent ends: the process, whichever of its threads has started us."""
    if pid is None:
        yield None
        return
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        raise ConfigError(f"process {pid}, which wanted an engine, is gone") from None
    except OSError:  # a kernel that cannot do it: the thread that started us must live as long as we are wanted
        process_tree.die_with_parent(pid)
        yield None
        return
    try:
        if os.getppid() != pid:
            raise ConfigError(f"process {pid}, which wanted an engine, is gone")
        yield fd
    finally:
        os.close(fd)


def _end(server: Server) -> None:
    server.is_running = False


def _stop(server: Server, wake: socket.socket) -> None:
    heard = wake.recv(64)
    if signal.SIGTERM in heard or signal.SIGINT in heard:
        _end(server)


def main() -> int:
    directory, text = sys.argv[1:]
    values: dict[str, Any] = json.loads(text)
    parent_pid = values.pop("parent_pid", None)
    try:
        serve(Path(directory), build(ServerOptions, values, "engine"), parent_pid=parent_pid)
    except DovetailError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
