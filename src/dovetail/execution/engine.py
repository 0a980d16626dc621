"""An engine from Python: one of one's own, or one that is running already.

with Engine(executors=4, scheduler="dag/fair-spill") as engine:
    handle = engine.submit(job)
    print(handle.results(total))
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from dovetail.core.config import to_plain
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.execution import handle
from dovetail.execution.addresses import TcpAddress, control_socket, default_directory
from dovetail.execution.client import Client
from dovetail.execution.engines.local_options import LocalOptions
from dovetail.execution.engines.ray import RayOptions
from dovetail.execution.errors import EngineUnreachable
from dovetail.execution.handle import JobHandle
from dovetail.execution.job import Job
from dovetail.execution.serve import EngineName, ServerOptions
from dovetail.execution.status import EngineStatus

START_S = 60.0
STOP_S = 15.0


class EngineClient:
    """A running engine; `connect` makes one."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def submit(self, job: Job) -> JobHandle:
        return handle.submit(self.client, job)

    def run(self, job: Job, timeout_s: float | None = None) -> JobHandle:
        """Submit a job and wait for its end."""
        submitted = self.submit(job)
        submitted.wait(timeout_s)
        return submitted

    def job(self, number: int) -> JobHandle:
        """A job that was submitted earlier, or by somebody else."""
        self.client.job(number)
        return JobHandle(self.client, number)

    def status(self) -> EngineStatus:
        return self.client.status()

    def swap(self, scheduler: str) -> str:
        """Let another scheduler decide from now on; what is running goes on.  Returns who took over from whom, and with
        what of its memory."""
        return self.client.swap(scheduler)

    def close(self) -> None:
        self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class Engine(EngineClient):
    """An engine of one's own: started on entry, gone on exit, and with it everything that it runs.

    Without a `directory` its state is in a temporary one, deleted in the end.  With one, jobs and results stay, and an
    engine started there again goes on with what was not finished.
    """

    def __init__(
        self,
        executors: int = 0,
        scheduler: str = "dag/fair-spill",
        *,
        engine: EngineName = "local",
        nodes: int = 1,
        address: str = "",
        memory_gb: float = 0.0,
        directory: str | Path | None = None,
        **options: Any,
    ) -> None:
        """`executors`: 0 means one for each processor.  With `engine="ray"` they are actors in the Ray cluster at
        `address`, or in one that is started here; `nodes` are then those of the cluster.  `options` are those of
        `ServerOptions`."""
        chosen: dict[str, Any] = {"local": LocalOptions(executors, nodes, memory_gb=memory_gb)}
        if engine == "ray":
            chosen = {"ray": RayOptions(address, executors, memory_gb=memory_gb)}
        self.options = ServerOptions(scheduler=scheduler, engine=engine, **chosen, **options)
        self._given = None if directory is None else Path(directory).absolute()
        self._process: subprocess.Popen[bytes] | None = None
        self.directory = Path()

    def __enter__(self) -> Self:
        self.start()
        return self

    def start(self) -> None:
        if self._process is not None:
            raise ConfigError("the engine is started already")
        self.directory = self._given or Path(tempfile.mkdtemp(prefix="dovetail-"))
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        super().__init__(Client(control_socket(self.directory), first_patience_s=1.0))
        self.client.why_dead = self._why_dead
        self._launch()

    def restart(self) -> None:
        """Start the server again after its death; it goes on where it was."""
        if self._process is None:
            raise ConfigError("the engine was not started: there is nothing to restart")
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            raise ConfigError("the engine is alive: there is nothing to restart") from None
        self._launch()

    @property
    def pid(self) -> int:
        """Of the server."""
        assert self._process is not None
        return self._process.pid

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(DovetailError):
            self.client.down()
        self.client.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._given is None:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _why_dead(self) -> str:
        process = self._process
        if process is None or process.poll() is None:
            return ""
        return (
            f"the engine's server has ended with {process.returncode}, and what it said last is in "
            f"{self.directory / 'server.log'}; `Engine.restart` starts it again"
        )

    def _launch(self) -> None:
        # What is importable here must be importable where tasks run.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        command = [sys.executable, "-m", "dovetail.execution.serve", str(self.directory)]
        command.append(json.dumps({**to_plain(self.options), "parent_pid": os.getpid()}))
        log: IO[bytes]
        log_path = self.directory / "server.log"
        with open(os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        deadline_s = time.monotonic() + START_S
        while True:
            try:
                self.client.ping()
                return
            except EngineUnreachable:
                if self._process.poll() is not None:
                    said = log_path.read_text(errors="replace").strip().splitlines()
                    status, self._process = self._process.returncode, None
                    why = said[-1] if said else f"exit status {status}, and it said nothing"
                    raise ConfigError(f"the engine could not be started: {why}") from None
                if time.monotonic() > deadline_s:
                    self.close()
                    raise


def connect(where: str | Path | None = None, *, token: str = "", patience_s: float = 30.0) -> EngineClient:
    """An engine started by `dovetail up`: by its directory, or HOST:PORT with a token.  None: the default one."""
    address: Path | TcpAddress
    text = str(where) if where is not None else ""
    if token or (text.rpartition(":")[2].isdigit() and not Path(text).exists()):
        address = TcpAddress.parse(text)
    else:
        address = control_socket(default_directory() if where is None else where)
    client = Client(address, token=token, patience_s=patience_s)
    client.ping()
    return EngineClient(client)
