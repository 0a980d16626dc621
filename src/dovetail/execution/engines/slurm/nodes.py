"""What `scontrol -o -d show node` says about nodes, and `scontrol show topology` about the switches they hang on.

Text, because this is the same in all versions: `scontrol` has `--json` only since 23.02, and the JSON of `sinfo` is
another one in every version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dovetail.execution.engines.slurm.errors import SlurmError
from dovetail.execution.engines.slurm.gres import counted, parse_gres
from dovetail.execution.engines.slurm.hostlist import expand

_FIELD = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z:/]*)=(.*?)(?=\s+[A-Z][A-Za-z:/]*=|\s*$)")
USABLE = frozenset({"IDLE", "MIXED", "ALLOCATED"})
HARMLESS = frozenset({"CLOUD", "COMPLETING", "PLANNED", "DYNAMIC_NORM", "DYNAMIC_FUTURE"})


@dataclass(frozen=True)
class SlurmNode:
    name: str
    state: str  # as Slurm writes it
    trouble: str  # why nothing new may go there; empty: it may
    partitions: frozenset[str]
    cpus: int
    cpus_used: int
    memory_mb: int
    memory_used_mb: int
    gpus: int
    gpu_type: str  # empty: not said
    gpus_used: int
    devices_used: tuple[int, ...]  # wholly, where Slurm says which
    shards: int  # into how many each GPU may be cut; 0: not at all


def parse_nodes(text: str) -> tuple[SlurmNode, ...]:
    """One node in each line, in the order in which they stand there."""
    return tuple(_node(line) for line in text.splitlines() if line.strip())


def _node(line: str) -> SlurmNode:
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(line):
        fields.setdefault(name, value)  # reasons and comments come last, and may say anything
    if "NodeName" not in fields:
        raise SlurmError(
            f"scontrol show node: {line[:60]!r} has no NodeName; expected lines of `scontrol -o show node`"
        )
    name = fields["NodeName"]
    try:
        gres, used = parse_gres(fields.get("Gres", "")), parse_gres(fields.get("GresUsed", ""))
        types = {one.type for one in gres if one.name == "gpu"}
        gpus, shards = counted(gres, "gpu"), counted(gres, "shard")
        taken = [one for one in used if one.name == "gpu"]
        return SlurmNode(
            name=name,
            state=_text(fields, "State"),
            trouble="has GPUs of several types" if len(types) > 1 else _trouble(_text(fields, "State")),
            partitions=frozenset(filter(None, fields.get("Partitions", "").split(","))),
            cpus=_count(fields, "CPUEfctv" if "CPUEfctv" in fields else "CPUTot"),
            cpus_used=_count(fields, "CPUAlloc"),
            memory_mb=_count(fields, "RealMemory")
            - (_count(fields, "MemSpecLimit") if "MemSpecLimit" in fields else 0),
            memory_used_mb=_count(fields, "AllocMem"),
            gpus=gpus,
            gpu_type=min(types, default=""),
            gpus_used=sum(one.amount for one in taken),
            devices_used=tuple(device for one in taken for device in one.devices),
            shards=shards // gpus if gpus else 0,
        )
    except SlurmError as error:
        raise SlurmError(f"scontrol show node, {name}: {error}") from error


def _text(fields: dict[str, str], name: str) -> str:
    if not fields.get(name):
        raise SlurmError(f"{name} is missing")
    return fields[name]


def _count(fields: dict[str, str], name: str) -> int:
    text = _text(fields, name)
    if not text.isdecimal():
        raise SlurmError(f"{name}={text}; expected a number")
    return int(text)


def _trouble(state: str) -> str:
    """Why nothing new may go there: `MIXED+DRAIN`, `DOWN*`, `IDLE+PLANNED` are such words."""
    base, *flags = state.split("+")
    odd = [flag for flag in flags if flag not in HARMLESS]
    if base in USABLE and not odd:
        return ""
    return f"is {state.lower()}"


def parse_racks(text: str) -> dict[str, int]:
    """Nodes by the switch they hang on, numbered as they come; only the lowest level counts."""
    racks: dict[str, int] = {}
    number = 0
    for line in text.splitlines():
        fields = dict(_FIELD.findall(line.strip()))
        if fields.get("Level") != "0":
            continue
        for node in expand(fields.get("Nodes", "")):
            racks.setdefault(node, number)
        number += 1
    return racks
