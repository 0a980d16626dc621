"""What is free on the machines, device by device, and what fits there: the rules of `docs/gpu-model.md`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.gpu import Bools, Floats, GpuInfo, Ints
from dovetail.execution.engines.slurm.cluster import Cluster
from dovetail.execution.engines.slurm.gres import gigabytes, parse_gres
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.nodes import SlurmNode
from dovetail.execution.engines.slurm.shape import ANY_TYPE, Shape

EPSILON = 1e-9


class Room:
    """Mutable; a copy is as free as the original."""

    def __init__(self, info: GpuInfo, up: Bools, devices: Floats, cpus: Floats, memory: Floats) -> None:
        self.info = info
        self.up = up  # (M,)
        self.devices = devices  # (M, D) share of each that is free
        self.cpus = cpus  # (M,)
        self.memory = memory  # (M,)

    @classmethod
    def empty(cls, info: GpuInfo) -> Room:
        """All machines up, and nobody there."""
        width = int(info.machine_gpus.max(initial=0))
        devices = (np.arange(width) < info.machine_gpus[:, None]).astype(np.float64)
        up = np.ones(len(info.machine_name), np.bool_)
        return cls(info, up, devices, info.machine_cpus.copy(), info.machine_memory.copy())

    @classmethod
    def of(cls, cluster: Cluster, nodes: Sequence[SlurmNode], jobs: Sequence[SlurmJob]) -> Room:
        """By what Slurm says its nodes have given away; shares of devices by what it says of the jobs."""
        room = cls.empty(cluster.info)
        for node in nodes:
            machine = cluster.machine[node.name]
            room.cpus[machine] = max(0, node.cpus - node.cpus_used)
            room.memory[machine] = max(0.0, gigabytes(node.memory_mb) - gigabytes(node.memory_used_mb))
            used = [device for device in node.devices_used if device < room.devices.shape[1]]
            room.devices[machine, used] = 0.0
            unnamed = node.gpus_used - len(node.devices_used)
            if unnamed > 0:
                room.devices[machine, np.flatnonzero(room.devices[machine] >= 1.0)[:unnamed]] = 0.0
        for job in jobs:
            if job.holds_nodes and cluster.shards:
                room._take_shards(job, cluster)
        down = [cluster.machine[node.name] for node in nodes if node.trouble]
        room.close(np.array(down, np.int64))
        return room

    def copy(self) -> Room:
        return Room(self.info, self.up.copy(), self.devices.copy(), self.cpus.copy(), self.memory.copy())

    def close(self, machines: Ints) -> None:
        """Nothing may go there."""
        self.up[machines] = False
        self.devices[machines] = 0.0
        self.cpus[machines] = 0.0
        self.memory[machines] = 0.0

    @property
    def whole(self) -> Ints:
        """(M,) devices of which nothing is taken."""
        found: Ints = (self.devices >= 1.0 - EPSILON).sum(axis=1)
        return found

    def places(self, shape: Shape) -> Ints:
        """(M,) how many workers of this shape fit on each machine."""
        info = self.info
        many = np.full(len(info.machine_name), shape.workers, np.int64)
        if shape.cpus > 0:
            many = np.minimum(many, np.floor(self.cpus / shape.cpus + EPSILON).astype(np.int64))
        if shape.memory > 0:
            many = np.minimum(many, np.floor(self.memory / shape.memory + EPSILON).astype(np.int64))
        if 0 < shape.gpus < 1:
            many = np.minimum(many, np.floor(self.devices / shape.gpus + EPSILON).sum(axis=1).astype(np.int64))
        elif shape.gpus >= 1:
            many = np.minimum(many, self.whole // round(shape.gpus))
        fine = self.up & (info.kind_speed[shape.kind, info.machine_type] > 0)
        if shape.types != ANY_TYPE:
            fine &= (shape.types >> info.machine_type) & 1 == 1
        return np.where(fine, np.minimum(many, 1 if shape.spread else shape.workers), 0)

    def fits(self, shape: Shape) -> bool:
        """All of it, somewhere."""
        return int(self.places(shape).sum()) >= shape.workers

    def take(self, shape: Shape, machine: int) -> bool:
        """One worker; False, and nothing is taken, if it does not fit."""
        if self.places(shape._replace(workers=1))[machine] < 1:
            return False
        self.cpus[machine] -= shape.cpus
        self.memory[machine] -= shape.memory
        free = self.devices[machine]
        if 0 < shape.gpus < 1:
            enough = np.flatnonzero(free >= shape.gpus - EPSILON)
            free[enough[free[enough].argmin()]] -= shape.gpus
        elif shape.gpus >= 1:
            free[np.flatnonzero(free >= 1.0 - EPSILON)[: round(shape.gpus)]] = 0.0
        return True

    def _take_shards(self, job: SlurmJob, cluster: Cluster) -> None:
        for node, text in zip(job.nodes, job.gres_held, strict=False):
            machine = cluster.machine.get(node)
            if machine is None:
                continue
            for one in parse_gres(text):
                if one.name != "shard" or not one.amount:
                    continue
                devices = [device for device in one.devices if device < self.devices.shape[1]] or [0]
                share = one.amount / cluster.shards / len(devices)
                self.devices[machine, devices] = np.maximum(self.devices[machine, devices] - share, 0.0)
