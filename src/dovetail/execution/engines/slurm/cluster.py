"""Slurm's nodes as the machines that schedulers know, told once (`GpuInfo`)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, MAX_DEVICES, gpu_type
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.errors import UnknownName
from dovetail.core.gpu import Floats, GpuInfo
from dovetail.execution.engines.slurm.gres import gigabytes
from dovetail.execution.engines.slurm.nodes import SlurmNode

OTHER = "other"
MAX_USERS = 1024  # whoever comes later shares the last number


class Kinds(NamedTuple):
    """Kinds of training that are known, on the types of `GPU_TYPES`.  All else is `other`: on each type as fast as the
    known ones are on average (geometrically), or 1 where none is known."""

    name: tuple[str, ...] = ()
    speed: Floats = np.zeros((0, len(GPU_TYPES)))
    network: Floats = np.zeros(0)

    @classmethod
    def of(cls, model: SpeedModel) -> Kinds:
        return cls(model.kind_name, model.speed, model.network)

    @property
    def other(self) -> Floats:
        if not self.name:
            return np.ones(len(GPU_TYPES))
        found: Floats = np.exp(np.log(np.maximum(self.speed, 0.01)).mean(axis=0))
        return found


@dataclass(frozen=True, eq=False)
class Cluster:
    info: GpuInfo
    machine: Mapping[str, int]  # by the node's name
    shards: int  # into how many a GPU may be cut, the same on all nodes; 0: not at all, or not the same
    notices: tuple[str, ...]

    def type_of(self, name: str) -> int:
        """The index of a type as Slurm calls it, -1 if no node has it."""
        names = self.info.type_name
        known = _known(name)
        return names.index(known) if known in names else -1

    def kind_of(self, name: str) -> int:
        """The index of a kind of training by name; what nobody knows is `other`."""
        names = self.info.kind_name
        return names.index(name) if name in names else len(names) - 1


def cluster_of(nodes: Sequence[SlurmNode], racks: Mapping[str, int], kinds: Kinds, untyped: str) -> Cluster:
    """`untyped`: the type of GPUs of which Slurm only knows the number."""
    types = [kind.name for kind in GPU_TYPES]
    prices = [kind.usd_per_hour for kind in GPU_TYPES]
    notices: list[str] = []
    machine_type = []
    for node in nodes:
        name = _known(node.gpu_type or untyped)
        if name not in types:
            types.append(name)
            prices.append(0.0)
            notices.append(f"no price and no speeds are known of the GPU type {name}: 0 USD, speed 1")
        machine_type.append(types.index(name))
    shards = {node.shards for node in nodes if node.gpus}
    if len(shards) > 1:
        notices.append(
            "GPUs are cut into different numbers of shards on different nodes: jobs that ask for shards are Slurm's"
        )
    more = [node.name for node in nodes if node.gpus > MAX_DEVICES]
    if more:
        notices.append(f"more than {MAX_DEVICES} GPUs on {', '.join(more)}: only so many are used")
    speed = np.ones((len(kinds.name) + 1, len(types)))
    speed[:-1, : len(GPU_TYPES)] = kinds.speed
    speed[-1, : len(GPU_TYPES)] = kinds.other
    info = GpuInfo(
        machine_name=tuple(node.name for node in nodes),
        machine_type=np.array(machine_type, np.int64),
        machine_gpus=np.array([min(node.gpus, MAX_DEVICES) for node in nodes], np.int64),
        machine_cpus=np.array([node.cpus for node in nodes], np.float64),
        machine_memory=np.array([gigabytes(node.memory_mb) for node in nodes], np.float64),
        machine_rack=np.array([racks.get(node.name, 0) for node in nodes], np.int64),
        type_name=tuple(types),
        type_price=np.array(prices),
        kind_name=(*kinds.name, OTHER),
        kind_speed=speed,
        kind_network=np.append(kinds.network, kinds.network.mean() if kinds.name else 0.0),
        max_users=MAX_USERS,
        speed_is_measured=False,
    )
    machine = {node.name: place for place, node in enumerate(nodes)}
    return Cluster(info, machine, shards.pop() if len(shards) == 1 else 0, tuple(notices))


def is_same(cluster: Cluster, other: Cluster) -> bool:
    """The same machines, whatever is going on with them."""
    one, two = cluster.info, other.info
    return (
        one.machine_name == two.machine_name
        and one.type_name == two.type_name
        and cluster.shards == other.shards
        and all(
            np.array_equal(getattr(one, field), getattr(two, field))
            for field in ("machine_type", "machine_gpus", "machine_cpus", "machine_memory", "machine_rack")
        )
    )


def known_type(name: str) -> str:
    """`nvidia_a100-sxm4-80gb` is an A100."""
    for word in (name, *re.split(r"[^A-Za-z0-9]+", name)):
        with contextlib.suppress(UnknownName):
            return GPU_TYPES[gpu_type(word)].name
    return GPU_TYPES[gpu_type(name)].name


def _known(name: str) -> str:
    """One that nobody knows stays as it is."""
    try:
        return known_type(name)
    except UnknownName:
        return name
