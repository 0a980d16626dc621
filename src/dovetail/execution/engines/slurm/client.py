"""Slurm's commands, run and understood.  Nothing here decides anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence

from dovetail.execution.engines.slurm.errors import SlurmError, SlurmUnreachable
from dovetail.execution.engines.slurm.jobs import SlurmJob, parse_jobs
from dovetail.execution.engines.slurm.nodes import SlurmNode, parse_nodes, parse_racks

TIMEOUT_S = 30.0
_ABOUT_JOB = re.compile(r"(.*) for job (\d+)")
_UNREACHABLE = re.compile(
    r"unable to contact|connection refused|timed out|connection failure|connect failure|zero bytes|in standby"
    r"|configuration source",
    re.I,
)
_SPEAKER = re.compile(r"^\w+: (error|fatal): ")
_NO_JSON = re.compile(r"unrecognized option.*json|unable to find plugin.*serializer|serializer", re.I)


class SlurmClient:
    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    def check(self) -> str:
        """The version; an error if the commands are missing or nobody answers."""
        for command in ("squeue", "scontrol"):
            if shutil.which(command) is None:
                raise SlurmError(
                    f"{command} is not installed; it comes with Slurm's commands (on Debian: apt install slurm-client)"
                )
        try:
            answer = self._run(["scontrol", "--version"])  # without a configuration, even that fails
            self._run(["scontrol", "ping"])
        except SlurmError as error:
            raise SlurmUnreachable(
                f"no Slurm can be reached from here ({error}); expected a running slurmctld and the cluster's "
                "slurm.conf, in /etc/slurm or where SLURM_CONF says; once `scontrol ping` says UP, so does this"
            ) from error
        return answer.strip()

    def jobs(self) -> tuple[SlurmJob, ...]:
        """All that Slurm still remembers, ended ones too."""
        return parse_jobs(self._run(["squeue", "--json", "--all", "--states=all"]))

    def nodes(self) -> tuple[SlurmNode, ...]:
        return parse_nodes(self._run(["scontrol", "--all", "-o", "-d", "show", "node"]))

    def racks(self) -> dict[str, int]:
        """By node; none where the cluster has no topology."""
        try:
            return parse_racks(self._run(["scontrol", "-o", "show", "topology"]))
        except SlurmUnreachable:
            raise
        except SlurmError as error:
            if "topology" in str(error).lower():
                return {}
            raise

    def history(self, days: int) -> str | None:
        """Completed jobs by `sacct`, a line each: seconds|user|name; None where there is no accounting."""
        if shutil.which("sacct") is None:
            return None
        words = [
            "sacct",
            "-a",
            "-X",
            "-P",
            "-n",
            "-s",
            "CD",
            "-S",
            f"now-{days}days",
            "-o",
            "ElapsedRaw,User,JobName%200",
        ]
        try:
            return self._run(words)
        except SlurmUnreachable:
            raise
        except SlurmError as error:
            if "accounting storage is disabled" in str(error):
                return None
            raise

    def update(self, jobs: Iterable[int], **settings: str) -> dict[int, str]:
        """Change jobs; what Slurm says about those that it did not change."""
        numbers = list(jobs)
        words = [f"JobId={','.join(map(str, numbers))}", *(f"{name}={value}" for name, value in settings.items())]
        return self._about(["scontrol", "update", *words], numbers)

    def release(self, jobs: Iterable[int]) -> dict[int, str]:
        """Lift the hold of jobs."""
        numbers = list(jobs)
        return self._about(["scontrol", "release", ",".join(map(str, numbers))], numbers)

    def _about(self, words: Sequence[str], jobs: Sequence[int]) -> dict[int, str]:
        try:
            self._run(words)
        except SlurmUnreachable:
            raise
        except SlurmError as error:
            lines = [_ABOUT_JOB.fullmatch(line.strip()) for line in str(error).splitlines()]
            refused = {int(line[2]): line[1] for line in lines if line is not None}
            return refused or dict.fromkeys(jobs, str(error))
        return {}

    def _run(self, words: Sequence[str]) -> str:
        """Standard output; in a session of its own, so that Ctrl-C does not stop it half-way."""
        try:
            done = subprocess.run(
                words,
                capture_output=True,
                timeout=self._timeout_s,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise SlurmError(f"{words[0]} is not installed; it comes with Slurm's commands") from error
        except subprocess.TimeoutExpired as error:
            raise SlurmUnreachable(f"{words[0]} did not answer within {self._timeout_s:g} s") from error
        output, complaint = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        if done.returncode == 0 and not (words[1:2] == ["ping"] and "DOWN" in output):
            return output
        complaint = complaint.strip() or output.strip() or f"exit code {done.returncode}"
        if _UNREACHABLE.search(complaint) or words[1:2] == ["ping"]:
            raise SlurmUnreachable(f"{words[0]}: {_gist(complaint)}")
        if "--json" in words and _NO_JSON.search(complaint):
            raise SlurmError(f"{words[0]} --json: {complaint}; expected Slurm 21.08 or later, built with JSON")
        raise SlurmError(complaint if words[0] == "scontrol" else f"{words[0]}: {complaint}")


def _gist(complaint: str) -> str:
    """The last of its lines, which says what came of the others, without who says it."""
    return _SPEAKER.sub("", complaint.splitlines()[-1].strip())
