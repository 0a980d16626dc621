"""Values as Slurm writes them: times, durations, memory and trackable resources (TRES)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from dovetail.cluster.gpu import gpu_type
from dovetail.core.errors import UnknownName
from dovetail.workloads.gpu_schema import ANY_TYPE
from dovetail.workloads.gpu_tables import mask_text

_EPOCH = datetime(1970, 1, 1)
_UNITS = {"": 1 / 1024, "K": 1 / 1024**2, "M": 1 / 1024, "G": 1.0, "T": 1024.0, "P": 1024.0**2}  # of a GB


@dataclass(frozen=True)
class Tres:
    """What a job asked for or got, of all its nodes together."""

    cpus: float = 0.0
    memory: float = 0.0  # GB
    nodes: float = 0.0
    gpus: float = 0.0
    types: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Accounted:
    """A job as Slurm remembers it."""

    line: int
    name: str
    user: str
    state: str
    submit_s: float
    elapsed_s: float
    limit_s: float | None
    tres: Tres
    nodes: int


def read_tres(text: str) -> Tres | None:
    """`billing=4,cpu=4,gres/gpu:a100=2,mem=16G,node=1`; None if it cannot be read.

    GPUs may be counted twice, in all and by type; the first counts where both are there.
    """
    cpus = memory = nodes = all_gpus = typed = 0.0
    types: list[str] = []
    if not text.strip():
        return None
    for part in text.split(","):
        name, sign, value = part.strip().partition("=")
        if not sign:
            return None
        if name == "mem":
            amount = memory_gb(value)
            if amount is None:
                return None
            memory = amount
            continue
        if name not in ("cpu", "node") and not name.startswith("gres/gpu"):
            continue
        count = _count(value)
        if count is None:
            return None
        if name == "cpu":
            cpus = count
        elif name == "node":
            nodes = count
        elif name == "gres/gpu":
            all_gpus = count
        elif name.startswith("gres/gpu:"):
            typed += count
            types.append(name.partition(":")[2])
    return Tres(cpus, memory, nodes, all_gpus or typed, tuple(types))


def types_of(tres: Tres) -> tuple[str, bool]:
    """The types as a restriction, and whether one of them is not known, which then is none."""
    mask = 0
    for name in tres.types:
        try:
            mask |= 1 << gpu_type(re.sub(r"^(nvidia|tesla)[_-]", "", name.lower()))
        except UnknownName:
            return ANY_TYPE, True
    return mask_text(mask) if mask else ANY_TYPE, False


def memory_gb(text: str) -> float | None:
    """`16G`, `4000M`, `1.5T`; a number alone is in MB.  Old versions add n or c: for each node, or each processor."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGTP]?)[nc]?", text.strip())
    return None if found is None else float(found[1]) * _UNITS[found[2]]


def elapsed_s(text: str) -> float | None:
    """Seconds, `03:04`, `02:03:04` or `1-02:03:04`; None for `UNLIMITED` and the like."""
    text = text.strip()
    if text.isdigit():
        return float(text)
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?", text)
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 86_400 * days + 3_600 * hours + 60 * minutes + seconds


def read_time(text: str) -> float | None:
    """`2024-05-01T08:00:00`, or seconds since 1970; None for `Unknown` and the like."""
    if text.isdigit():
        return float(text)
    try:
        return (datetime.fromisoformat(text).replace(tzinfo=None) - _EPOCH).total_seconds()
    except ValueError:
        return None


def _count(text: str) -> float | None:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KM]?)", text.strip())
    return None if found is None else float(found[1]) * {"": 1.0, "K": 1e3, "M": 1e6}[found[2]]
