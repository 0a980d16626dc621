"""A real Flink on this machine: a job manager and a task manager from the wheel of PyFlink, on loopback only.

Everything is in one temporary directory, in the foreground, and dies with the process that started it.  The job in
`flink_job` is compiled with the compiler that is part of Debian's JRE (`jdk.compiler`); there need be no `javac`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from tests.engines.virtual_slurm import _free_ports, wait_until

from dovetail.execution.process_tree import die_with_parent

SKIP = "SKIP_FLINK"
HOME = "DOVETAIL_FLINK"  # a folder with Flink's `bin` and `lib`, instead of the wheel's
ROOT = Path(__file__).parents[2]
SOURCES = Path(__file__).parent / "flink_job"
STARTS_WITHIN_S = 300.0
KEYS = 97


def flink_home() -> Path | None:
    """Of the wheel in .venv-flink, or where the environment says."""
    if os.environ.get(HOME):
        return Path(os.environ[HOME])
    found = sorted(ROOT.glob(".venv-flink/lib/python*/site-packages/pyflink"))
    return found[0] if found else None


def why_not() -> str:
    """Why it cannot run here, or is not to; empty if it can."""
    if os.environ.get(SKIP) == "1":
        return f"{SKIP}=1 asks for it"
    if shutil.which("java") is None:
        return "there is no Java: apt-get install openjdk-17-jre-headless, which make test-engines does as root"
    home = flink_home()
    if home is None or not (home / "lib").is_dir():
        return f"apache-flink is not installed in .venv-flink, which make test-engines does (or {HOME} names a Flink)"
    if "jdk.compiler" not in _modules():
        return "this Java cannot compile (no module jdk.compiler): Debian's openjdk-17-jre-headless can"
    return ""


@functools.cache
def _modules() -> str:
    return subprocess.run(["java", "--list-modules"], capture_output=True, text=True, check=False, timeout=120).stdout


@functools.cache
def job_jar() -> bytes:
    """The job, compiled once for a process."""
    home = flink_home()
    assert home is not None
    with tempfile.TemporaryDirectory(prefix="virtual-flink-jar-") as folder:
        path = ":".join(map(str, sorted((home / "lib").glob("*.jar"))))
        words = ["java", "-Xmx256m", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-proc:none"]
        words += ["-d", folder, "-cp", path, *map(str, sorted(SOURCES.glob("*.java")))]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        jar = io.BytesIO()
        with zipfile.ZipFile(jar, "w") as file:
            file.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nMain-Class: Job\n\n")
            for one in sorted(Path(folder).glob("*.class")):
                file.write(one, one.name)
        return jar.getvalue()


class VirtualFlink:
    """`settings` change those of the cluster, such as {"jobmanager.scheduler": "default"}."""

    def __init__(self, slots: int = 8, **settings: str) -> None:
        self.slots = slots
        self.settings = {name.replace("__", "."): value for name, value in settings.items()}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    # --- from the first daemon to the last ---

    def start(self) -> None:
        home = flink_home()
        assert home is not None
        self.home = home
        self.directory = Path(tempfile.mkdtemp(prefix="virtual-flink-"))
        self.ports = _free_ports(2)
        self.url = f"http://127.0.0.1:{self.ports[0]}"
        self._write_settings()
        for name in ("jobmanager", "taskmanager"):
            self._daemon(name)
        wait_until(self._is_up, "Flink", STARTS_WITHIN_S)

    def stop(self) -> None:
        for daemon in self._daemons.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
        self._daemons.clear()
        shutil.rmtree(self.directory, ignore_errors=True)

    def stop_job_manager(self) -> None:
        """As if it had been taken away; the process stays, so that it can go on."""
        os.killpg(self._daemons["jobmanager"].pid, signal.SIGSTOP)

    def resume_job_manager(self) -> None:
        os.killpg(self._daemons["jobmanager"].pid, signal.SIGCONT)

    # --- what a user and a test do ---

    def submit(
        self,
        schedule: str,
        *,
        name: str = "rates",
        parallelism: int = 1,
        enrich_ms: int = 10,
        score_ms: int = 20,
        lead_s: float = 0.0,
    ) -> str:
        """The job's id; what it writes is in `sink(name)`.  The first record comes after `lead_s`."""
        jar = self._upload()
        start_ms = str(int(1000 * (time.time() + lead_s)))
        words = [
            name,
            start_ms,
            schedule,
            "16",
            str(parallelism),
            str(enrich_ms),
            str(score_ms),
            self.sink(name).as_uri(),
        ]
        answer = self.call("POST", f"/jars/{jar}/run", {"programArgsList": words, "entryClass": "Job"})
        job_id = str(answer["jobid"])
        wait_until(lambda: self._runs(job_id), f"job {name}")
        return job_id

    def cancel(self, job_id: str) -> None:
        self.call("PATCH", f"/jobs/{job_id}?mode=cancel")
        wait_until(lambda: self.state(job_id) in ("CANCELED", "FINISHED", "FAILED"), "the job to end")

    def state(self, job_id: str) -> str:
        return str(self.call("GET", f"/jobs/{job_id}")["state"])

    def sink(self, name: str) -> Path:
        return self.directory / "sink" / name

    def written(self, name: str) -> list[tuple[int, float, int]]:
        """Of everything that was committed: number, seconds after it was due, how many of its key came before."""
        found = []
        for path in self.sink(name).glob("part-*"):
            for line in path.read_text().splitlines():
                number, late_ms, before = line.split()
                found.append((int(number), float(late_ms) / 1000.0, int(before)))
        return found

    def call(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        for _ in range(10):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.loads(answer.read() or b"{}")
            except urllib.error.HTTPError as error:
                if error.code != 500 or method != "GET":  # which Flink answers with while a job is put away
                    raise
                time.sleep(0.5)
        raise AssertionError(f"{path}: 500 again and again")

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.out").read_text(errors="replace")

    # --- inside ---

    def _runs(self, job_id: str) -> bool:
        job = self.call("GET", f"/jobs/{job_id}")
        assert job["state"] not in ("FAILED", "CANCELED"), self.log("jobmanager")[-4000:]
        return job["state"] == "RUNNING" and all(one["status"] == "RUNNING" for one in job["vertices"])

    def _upload(self) -> str:
        mark = uuid.uuid4().hex
        head = f'--{mark}\r\nContent-Disposition: form-data; name="jarfile"; filename="job.jar"\r\n'
        head += "Content-Type: application/x-java-archive\r\n\r\n"
        body = head.encode() + job_jar() + f"\r\n--{mark}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        request = urllib.request.Request(f"{self.url}/jars/upload", data=body, method="POST", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.loads(answer.read())["filename"]).rpartition("/")[2]

    def _is_up(self) -> bool:
        for name, daemon in self._daemons.items():
            assert daemon.poll() is None, self.log(name)[-4000:]
        with contextlib.suppress(urllib.error.URLError, OSError, ValueError):
            return bool(self.call("GET", "/overview")["slots-total"] == self.slots)
        return False

    def _daemon(self, name: str) -> None:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("FLINK_", "PYTHON"))}
        env |= {"FLINK_CONF_DIR": str(self.directory / "conf"), "FLINK_LOG_DIR": str(self.directory / "log")}
        env |= {"FLINK_HOME": str(self.home)}
        with (self.directory / f"{name}.out").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                ["bash", str(self.home / "bin" / f"{name}.sh"), "start-foreground"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                preexec_fn=functools.partial(_alone, os.getpid()),
            )

    def _write_settings(self) -> None:
        """Those of the wheel, changed: `env.java.opts.all` has what Flink needs of newer Javas."""
        shutil.copytree(self.home / "conf", self.directory / "conf")
        for name in ("log", "tmp", "checkpoints", "sink", "web"):
            (self.directory / name).mkdir()
        shipped = (self.directory / "conf" / "config.yaml").read_text()
        options = re.search(r"^\s+all: (--add-exports.*)$", shipped, re.MULTILINE)
        settings = {
            **({} if options is None else {"env.java.opts.all": options[1]}),
            **SETTINGS,
            "jobmanager.rpc.port": str(self.ports[1]),
            "rest.port": str(self.ports[0]),
            "taskmanager.numberOfTaskSlots": str(self.slots),
            "execution.checkpointing.dir": (self.directory / "checkpoints").as_uri(),
            "io.tmp.dirs": str(self.directory / "tmp"),
            "web.tmpdir": str(self.directory / "web"),
            **self.settings,
        }
        text = "".join(f"{name}: {value}\n" for name, value in settings.items())
        (self.directory / "conf" / "config.yaml").write_text(text)


def lost_and_doubled(written: list[tuple[int, float, int]], total: int) -> tuple[int, int, int]:
    """How many numbers are not there, how many are there again, and how many keys lost count of what came before."""
    times = Counter(number for number, _, _ in written)
    before: dict[int, set[int]] = {}
    for number, _, count in written:
        before.setdefault(number % KEYS, set()).add(count)
    per_key = Counter(number % KEYS for number in times)
    forgot = sum(before[key] != set(range(many)) for key, many in per_key.items())
    return total - len(times), sum(times.values()) - len(times), forgot


def _alone(parent_pid: int) -> None:
    """In a group of its own, as its script may have children, and gone with its parent."""
    os.setpgid(0, 0)
    die_with_parent(parent_pid, signal.SIGKILL)


SETTINGS = {
    "jobmanager.scheduler": "adaptive",
    "jobmanager.bind-host": "127.0.0.1",
    "jobmanager.rpc.address": "127.0.0.1",
    "jobmanager.memory.process.size": "768m",
    "jobmanager.memory.jvm-metaspace.size": "192m",
    "jobmanager.memory.jvm-overhead.min": "128m",
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 ms",
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "200 ms",
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout": "200 ms",
    "web.adaptive-scheduler.rescale-history.size": "50",
    "taskmanager.bind-host": "127.0.0.1",
    "taskmanager.host": "127.0.0.1",
    "taskmanager.memory.process.size": "1536m",
    "taskmanager.memory.managed.size": "64m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
    "taskmanager.memory.segment-size": "4kb",
    "taskmanager.network.memory.buffer-debloat.enabled": "true",
    "taskmanager.registration.initial-backoff": "500ms",
    "cluster.registration.error-delay": "500ms",
    "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1",
    "rest.cache-checkpoint-statistics.timeout": "1s",
    "web.refresh-interval": "1000",
    "metrics.fetcher.update-interval": "500 ms",
    "execution.checkpointing.interval": "1s",
    "execution.checkpointing.storage": "filesystem",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "200ms",
    "pekko.ask.timeout": "60s",
    "pekko.startup-timeout": "120s",
    "heartbeat.timeout": "120000",
}


def main() -> int:
    """The last word of `make test-engines`: tests that were all skipped are no success, unless that was asked for."""
    reason = why_not()
    if not reason:
        return 0
    print(f"==> NOTHING WAS TESTED: the tests on Flink were skipped ({reason})")
    if os.environ.get(SKIP) == "1":
        return 0
    print(f"==> that is a failure; {SKIP}=1 make test-engines accepts it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
