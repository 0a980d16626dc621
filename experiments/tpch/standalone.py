"""A standalone Spark on loopback: a master and workers of one core each, ended whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

HOST = "127.0.0.1"
WAIT_S = 600.0  # a busy machine starts JVMs slowly


class Standalone:
    """`with Standalone(workers=2) as spark: ...`; `spark.url` is its master."""

    def __init__(self, workers: int, memory: str = "2g") -> None:
        self.workers = workers
        self.memory = memory
        self.folder = Path()
        self.url = ""
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Standalone:
        self.folder = Path(tempfile.mkdtemp(prefix="dovetail-spark-"))
        try:
            port = free_port()
            self.url = f"spark://{HOST}:{port}"
            deploy = "org.apache.spark.deploy"
            where = ("--host", HOST, "--webui-port", "0")
            self._start("master", f"{deploy}.master.Master", *where, "--port", str(port))
            self._wait_for("master", "I have been elected leader")
            for number in range(self.workers):
                size = ("--cores", "1", "--memory", self.memory, "--work-dir", str(self.folder / f"work-{number}"))
                self._start(f"worker-{number}", f"{deploy}.worker.Worker", *where, *size, self.url)
            for number in range(self.workers):
                self._wait_for(f"worker-{number}", "Successfully registered with master")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def run(self, words: list[str], **env: str) -> subprocess.Popen[str]:
        """Start a process that belongs to this cluster: it ends with it, with all that it started."""
        process = subprocess.Popen(
            words, env=self.env() | env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._processes.append(process)  # type: ignore[arg-type]
        return process

    def env(self) -> dict[str, str]:
        return os.environ | {
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "TMPDIR": str(self.folder),
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_NO_DAEMONIZE": "1",
        }

    def stop(self) -> None:
        """End everything: first asked to, then made to; executors are children of workers, of their group."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            for process in reversed(self._processes):
                try:
                    os.killpg(process.pid, how)
                except (ProcessLookupError, PermissionError):
                    continue
            deadline = time.monotonic() + 10
            while how == signal.SIGTERM and time.monotonic() < deadline and any(map(_has_group, self._processes)):
                time.sleep(0.1)
                for process in self._processes:
                    process.poll()
        for process in self._processes:
            process.wait()
        self._processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, name: str, *words: str) -> None:
        command = [str(spark_home() / "bin" / "spark-class"), *words]
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, env=self.env(), stdout=log, stderr=log, start_new_session=True)
        self._processes.append(process)

    def _wait_for(self, name: str, line: str) -> None:
        log, process = self.folder / f"{name}.log", self._processes[-1]
        deadline = time.monotonic() + WAIT_S
        while line not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the {name} of Spark did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _has_group(process: subprocess.Popen[bytes]) -> bool:
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
