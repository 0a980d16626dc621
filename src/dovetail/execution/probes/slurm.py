"""Slurm's commands, and whether its controller answers."""

from __future__ import annotations

import shutil

from dovetail.execution.engines.slurm.client import SlurmClient
from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.probes.finding import Finding

USE = "dovetail run gpu --engine slurm --partition P"
ANSWERS_WITHIN_S = 5.0


def probe() -> Finding:
    absent = [name for name in ("squeue", "scontrol") if shutil.which(name) is None]
    if absent:
        say = "(on Debian and Ubuntu: apt install slurm-client, and its configuration)"
        return Finding("slurm", missing=(f"Slurm's commands {' and '.join(absent)} {say}",), use=USE)
    try:
        return Finding("slurm", (SlurmClient(ANSWERS_WITHIN_S).check(),), use=USE)
    except SlurmError as error:
        return Finding("slurm", ("Slurm's commands",), (f"a running slurmctld: {error}",), use=USE)
