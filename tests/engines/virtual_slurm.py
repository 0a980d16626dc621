"""A real Slurm of several virtual nodes on this machine: munged, slurmctld and a slurmd for each node, all on loopback.

Everything is in one temporary directory, in the foreground, and dies with the process that started it.  Nodes `n1`,
`n2`, ... have 4 faked GPUs each (links to /dev/null), of two types in turn.  Without a database there is no `sacct`;
completed jobs are in the file of jobcomp/filetxt.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.execution.process_tree import die_with_parent, kill

DAEMONS = ("munged", "slurmctld", "slurmd")
USER = "nobody"
PATIENCE_S = 60.0
SKIP = "SKIP_SLURM"
GPUS = 4
TYPES = ("V100", "A100")


def why_not() -> str:
    """Why it cannot run here, or is not to; empty if it can."""
    if os.environ.get(SKIP) == "1":
        return f"{SKIP}=1 asks for it"
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [name for name in (*DAEMONS, "sbatch", "squeue", "scontrol") if shutil.which(name, path=path) is None]
    if missing:
        return f"{', '.join(missing)} not installed: apt-get install slurm-wlm munge, which make test-engines does"
    if os.geteuid() != 0:
        return "slurmd starts jobs of several users, which only root may do: run as root"
    if not _has_user("munge"):
        return "there is no user munge: apt-get install munge makes one"
    return ""


def _has_user(name: str) -> bool:
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


class VirtualSlurm:
    """`settings`: more lines for slurm.conf; `files` stand beside it."""

    def __init__(self, nodes: int = 3, settings: str = "", files: Sequence[Path] = ()) -> None:
        self.settings = settings
        self.files = files
        self.names = tuple(f"n{number + 1}" for number in range(nodes))
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    # --- from the first daemon to the last ---

    def start(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="virtual-slurm-"))
        self.directory.chmod(0o755)  # jobs of other users need the socket and the settings
        self.env = {
            **os.environ,
            "SLURM_CONF": str(self.directory / "slurm.conf"),
            "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
            "VIRTUAL_SLURM": str(self.directory),
        }
        self._write_settings()
        munge = self.directory / "munge"
        self._daemon(
            "munged",
            [
                "munged",
                "-F",
                f"--socket={munge}/socket",
                *(f"--{name}-file={munge}/{name}" for name in ("key", "pid", "seed", "log")),
            ],
            user="munge",
        )
        wait_until(lambda: (munge / "socket").exists(), "munged")
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        wait_until(lambda: all(self.node_state(name) == "IDLE" for name in self.names), "the nodes")

    def stop(self) -> None:
        """Also what jobs, and whoever was started with these settings, left running."""
        for pid in self._ours():
            kill(pid)
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        for pid in self._ours():
            kill(pid)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start_controller(self) -> None:
        self._daemon("slurmctld", ["slurmctld", "-D", "-f", self.env["SLURM_CONF"]])
        wait_until(lambda: "UP" in self.run(["scontrol", "ping"], check=False), "slurmctld")

    def stop_controller(self) -> None:
        """In an orderly way, so that it writes its jobs down."""
        self._daemons["slurmctld"].terminate()
        self._daemons["slurmctld"].wait()

    def start_node(self, name: str) -> None:
        self._daemon(name, ["slurmd", "-D", "-N", name, "-f", self.env["SLURM_CONF"]])

    def kill_node(self, name: str) -> None:
        """As if its power had gone: slurmd, the keepers of its jobs, and the jobs."""
        self._daemons[name].kill()
        self._daemons[name].wait()
        for pid in self._ours():
            if f"SLURMD_NODENAME={name}" in _environ(pid) or f"VIRTUAL_NODE={name}" in _environ(pid):
                kill(pid)

    # --- what a user and a test do ---

    def run(self, words: Sequence[str], *, check: bool = True, user: str | None = None) -> str:
        done = subprocess.run(
            words, env=self.env, capture_output=True, text=True, timeout=60, cwd="/", check=False, user=user
        )
        assert not check or done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout + done.stderr

    def submit(self, *options: str, lasts_s: float = 3.0, user: str = USER) -> int:
        """A job that notes where it ran, and sleeps."""
        script = f"echo $SLURM_JOB_ID $SLURM_RESTART_COUNT $SLURM_JOB_NODELIST >> {self.ran}; sleep {lasts_s:g}"
        words = ["sbatch", "--parsable", "--output=/dev/null", "--time=10", *options, "--wrap", script]
        return int(self.run(words, user=user))

    @property
    def ran(self) -> Path:
        return self.directory / "ran.txt"

    def jobs(self) -> dict[int, dict[str, Any]]:
        answer = json.loads(self.run(["squeue", "--json", "--states=all"]))
        return {job["job_id"]: job for job in answer["jobs"]}

    def states(self, jobs: Sequence[int]) -> list[str]:
        known = self.jobs()
        return [known[job]["job_state"] for job in jobs]

    def node_state(self, name: str) -> str:
        text = self.run(["scontrol", "-o", "show", "node", name], check=False)
        return text.partition(" State=")[2].partition(" ")[0]

    def processes(self, name: str) -> list[int]:
        """Those with such a command line that were started with these settings."""
        return [pid for pid in self._ours() if name in _read(pid, "cmdline")]

    # --- inside ---

    def _daemon(self, name: str, words: Sequence[str], user: str | None = None) -> None:
        env = {**self.env, "VIRTUAL_NODE": name}
        log = (self.directory / f"{name}.out").open("ab")
        with log:
            self._daemons[name] = subprocess.Popen(
                words,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                user=user,
                group=user,
                preexec_fn=functools.partial(die_with_parent, os.getpid(), signal.SIGKILL),
            )

    def _ours(self) -> list[int]:
        mark = f"SLURM_CONF={self.env['SLURM_CONF']}"
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in pids if pid != os.getpid() and mark in _environ(pid)]

    def _write_settings(self) -> None:
        munge = self.directory / "munge"
        munge.mkdir()
        key = munge / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        for path in (munge, key):
            shutil.chown(path, "munge", "munge")
        for folder in ("state", "spool", "dev"):
            (self.directory / folder).mkdir()
        for device in range(GPUS):
            (self.directory / "dev" / f"gpu{device}").symlink_to("/dev/null")
        self.ran.touch()
        self.ran.chmod(0o666)
        ports = _free_ports(len(self.names) + 1)
        host = socket.gethostname().partition(".")[0]
        nodes = "".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=16 RealMemory=32000 "
            f"Gres=gpu:{self.type_of(name)}:{GPUS},shard:{self.type_of(name)}:{4 * GPUS} State=UNKNOWN\n"
            for name, port in zip(self.names, ports[1:], strict=True)
        )
        everything = ",".join(self.names)
        (self.directory / "slurm.conf").write_text(
            SETTINGS.format(directory=self.directory, host=host, port=ports[0])
            + self.settings
            + nodes
            + f"PartitionName=gpu Nodes={everything} Default=YES MaxTime=INFINITE State=UP\n"
            + f"PartitionName=other Nodes={everything} MaxTime=INFINITE State=UP\n"
        )
        for path in self.files:
            shutil.copy(path, self.directory)
        (self.directory / "gres.conf").write_text(
            "".join(
                f"NodeName={name} Name=gpu Type={self.type_of(name)} File={self.directory}/dev/gpu[0-{GPUS - 1}]\n"
                f"NodeName={name} Name=shard Type={self.type_of(name)} Count={4 * GPUS}\n"
                for name in self.names
            )
        )

    def type_of(self, name: str) -> str:
        return TYPES[self.names.index(name) % len(TYPES)]


SETTINGS = """\
ClusterName=virtual
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=cred_expire=5,socket={directory}/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0
SlurmctldTimeout=30
SlurmdTimeout=6
ReturnToService=2
GresTypes=gpu,shard
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={directory}/completed.txt
InactiveLimit=0
KillWait=2
MinJobAge=600
"""


def wait_until(condition: Any, what: str, patience_s: float = PATIENCE_S) -> None:
    give_up_s = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < give_up_s, f"waited {patience_s:g} s for {what}"
        time.sleep(0.2)


def _free_ports(many: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(many)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _environ(pid: int) -> list[str]:
    return _read(pid, "environ").split("\0")


def _read(pid: int, what: str) -> str:
    try:
        with open(f"/proc/{pid}/{what}", "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def main() -> int:
    """The last word of `make test-engines`: tests that were all skipped are no success, unless that was asked for."""
    reason = why_not()
    if not reason:
        return 0
    print(f"==> NOTHING WAS TESTED: the tests on Slurm were skipped ({reason})")
    if os.environ.get(SKIP) == "1":
        return 0
    print(f"==> that is a failure; {SKIP}=1 make test-engines accepts it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
