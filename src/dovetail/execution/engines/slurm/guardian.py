"""A small process beside the loop, which gives every job back to Slurm when the loop is no more, however it ended.

It waits on a pipe whose other end only the loop has: when the loop dies, even by SIGKILL, the pipe closes.  It then
finds our jobs by their traces, so that it needs to know nothing.  A job that runs where it was told to is still tied to
its nodes, which Slurm does not allow to be changed; requeued after one of them is lost, it would wait for that one.  So
the guardian stays, and unties such jobs, until the last of them has ended or a new loop has taken over.

    python -m dovetail.execution.engines.slurm.guardian OWNER PARTITION MARKER
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from dovetail.execution.engines.slurm.acts import let_go
from dovetail.execution.engines.slurm.candidates import handed_in, in_scope
from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.messages import LetGo, SlurmOptions
from dovetail.execution.engines.slurm.trace import BACK, FREE, TAKING, TOLD, Trace, trace_of, traced

LOOK_S = 5.0
PATIENCE_S = 86_400.0  # with a Slurm that does not answer


class Guardian:
    """The process, as the loop sees it."""

    def __init__(self, owner: str, options: SlurmOptions, log: Path | None = None) -> None:
        self._owner = owner
        self._options = options
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the guardian is not there"
        return self._process.pid

    @property
    def is_there(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """In a session of its own: what ends the loop's terminal or group does not end it."""
        options = self._options
        words = [sys.executable, "-m", __name__, self._owner, options.partition or "", options.marker]
        with contextlib.ExitStack() as stack:
            log = subprocess.DEVNULL if self._log is None else stack.enter_context(self._log.open("ab"))
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, env=_environment()
            )
        assert self._process.stdout is None

    def end(self, wait_s: float = 2.0) -> bool:
        """The loop has given everything back itself; True if the guardian stays all the same."""
        if self._process is None:
            return False
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self._process.returncode = 0  # it is on its own from here: nobody waits for it, and nothing warns
            return True
        return False


def _environment() -> dict[str, str]:
    """It finds this very Dovetail, also where it is not installed."""
    source = str(Path(__file__).parents[4])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH", ""))))}


def give_back(client: SlurmClient, is_ours: Callable[[str], bool]) -> tuple[int, int]:
    """All that waits under traces of such owners; how many were given back, and how many are left (they run)."""
    given = left = 0
    for job in client.jobs():
        trace = trace_of(job)
        if trace is None or not is_ours(trace.owner) or not is_looked_after(job, trace):
            continue
        if not job.is_pending:
            left += trace.state == TOLD
            continue
        told = trace.state == TOLD
        nice = trace.nice if told and trace.nice != job.nice else None
        if let_go(client, LetGo(job.job_id, traced(job, Trace(trace.owner, FREE)), told, nice)) is not None:
            left += 1  # it began, or Slurm is busy: look again
            continue
        if trace.state == TAKING and job.is_held:
            client.release([job.job_id])
        given += 1
    return given, left


def is_looked_after(job: SlurmJob, trace: Trace) -> bool:
    """By whoever left the trace, if he is alive."""
    return trace.state not in (FREE, BACK) and not job.is_ended


def release_handed_in(client: SlurmClient, options: SlurmOptions) -> None:
    """Jobs that were submitted held, for us, and that we did not come to."""
    now_s = time.time()
    for job in client.jobs():
        if _is_abandoned(job, options, now_s):
            client.release([job.job_id])
            print(f"job {job.job_id} is released", flush=True)


def _is_abandoned(job: SlurmJob, options: SlurmOptions, now_s: float) -> bool:
    return job.is_pending and job.is_held and in_scope(job, options) and handed_in(job, options, now_s)


def main(arguments: list[str]) -> int:
    owner, partition, marker = arguments
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while sys.stdin.buffer.read(4096):
        pass
    client, options = SlurmClient(), SlurmOptions(partition or None, marker)
    give_up_s = time.monotonic() + PATIENCE_S
    has_released = False
    while time.monotonic() < give_up_s:
        try:
            if not has_released:
                release_handed_in(client, options)
                has_released = True
            given, left = give_back(client, lambda other: other == owner)
            print(f"{given} jobs were given back to Slurm, {left} are looked after", flush=True)
            if not left:
                return 0
            give_up_s = time.monotonic() + PATIENCE_S
        except SlurmError as error:
            print(error, flush=True)
        time.sleep(LOOK_S)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
