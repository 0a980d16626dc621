"""Resources as Slurm writes them: `gpu:V100:2(IDX:0,2-3)`, `cpu=4,mem=62.50G,node=2`."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from dovetail.execution.engines.slurm.errors import SlurmError

MB_PER_GB = 1024.0
_ITEM = re.compile(
    r"(?:gres[:/])?(?P<name>[A-Za-z_]\w*)"
    r"(?::(?P<type>[A-Za-z_][^:,()=]*|\d[^:,()=]*(?=:\d)))?"
    r"(?:[:=](?P<count>\d+))?"
    r"(?:\((?P<note>(?:[^()]|\([^()]*\))*)\))?"
)
_DEVICE = re.compile(r"(\d+)(?:-(\d+))?(?:\([^()]*\))?")
_TRES = re.compile(r"([A-Za-z][\w/:.-]*)=(\d+(?:\.\d+)?)([KMGTP]?)")
_MB = {"": 1.0, "K": 1 / 1024.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


class Gres(NamedTuple):
    """So many of a generic resource, and which of the node's devices they are, where Slurm says so."""

    name: str
    type: str  # empty: not said
    amount: int
    devices: tuple[int, ...] = ()


def parse_gres(text: str) -> tuple[Gres, ...]:
    """What a node has or uses, or what a job wants or holds."""
    if not text or text in ("(null)", "N/A"):
        return ()
    found: list[Gres] = []
    position = 0
    while position < len(text):
        match = _ITEM.match(text, position)
        end = match.end() if match is not None else position
        if match is None or (end < len(text) and text[end] != ","):
            raise SlurmError(f"generic resources {text!r}: expected such as gpu:V100:4 or gpu:2(IDX:0-1)")
        note = match["note"] or ""
        count = 1 if match["count"] is None else int(match["count"])
        found.append(Gres(match["name"], match["type"] or "", count, _devices(note, text)))
        position = end + 1
    return tuple(found)


def _devices(note: str, text: str) -> tuple[int, ...]:
    """The numbers of `IDX:0,2-3`, also where how full each is stands behind it: `IDX:0(2/4),1(1/4)`."""
    if not note.startswith("IDX:") or note == "IDX:N/A":
        return ()
    devices: list[int] = []
    for part in note.removeprefix("IDX:").split(","):
        match = _DEVICE.fullmatch(part)
        if match is None:
            raise SlurmError(f"generic resources {text!r}: {part!r} is no device")
        devices += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(devices)


def parse_tres(text: str) -> dict[str, float]:
    """Numbers by name; memory in MB."""
    found: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        match = _TRES.fullmatch(part)
        if match is None:
            raise SlurmError(f"resources {text!r}: {part!r} is no name=number")
        number = float(match[2])
        found[match[1]] = number * _MB[match[3]] if match[1] == "mem" else number
    return found


def counted(gres: tuple[Gres, ...], name: str) -> int:
    return sum(one.amount for one in gres if one.name == name)


def gigabytes(megabytes: float) -> float:
    """Rounded up a little, so that what Slurm rounds does not seem to fit where it does not."""
    return math.ceil(megabytes) / MB_PER_GB
