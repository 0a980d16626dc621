"""Hosts for workers and for parameter servers, of the kinds that a public cloud rents out.

The published evaluation of OASiS takes Amazon EC2's P2 and G3 for workers and C4 for parameter servers.  Devices,
processors and memory are those of the public price lists.  Two columns are ours: disks are attached as wanted, so the
capacity of storage is a round figure; and C4's network of at most 10 Gbit/s could not host one of the published
parameter servers of up to 20 Gbit/s, so hosts for those have 25 or 50 Gbit/s, as the network-optimised kinds do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.elastic import RESOURCES
from dovetail.core.errors import ConfigError, UnknownName

MAX_HOSTS = 100_000


@dataclass(frozen=True)
class HostKind:
    """A kind of machine."""

    name: str
    gpu: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0  # GB
    storage: float = 0.0  # GB
    bandwidth: float = 0.0  # Gbit/s

    @property
    def capacity(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in RESOURCES)


WORKER_KINDS = (
    HostKind("p2.8xlarge", gpu=8, cpu=32, memory=488, storage=500, bandwidth=10),
    HostKind("p2.16xlarge", gpu=16, cpu=64, memory=732, storage=1000, bandwidth=25),
    HostKind("g3.8xlarge", gpu=2, cpu=32, memory=244, storage=500, bandwidth=10),
    HostKind("g3.16xlarge", gpu=4, cpu=64, memory=488, storage=1000, bandwidth=25),
)
SERVER_KINDS = (
    HostKind("c4.4xlarge", cpu=16, memory=30, storage=500, bandwidth=25),
    HostKind("c4.8xlarge", cpu=36, memory=60, storage=1000, bandwidth=50),
)
KINDS = {kind.name: kind for kind in (*WORKER_KINDS, *SERVER_KINDS)}


@dataclass(frozen=True)
class ElasticCluster:
    """So many hosts for workers and for parameter servers, of the named kinds in turn."""

    worker_hosts: int = 50
    server_hosts: int = 50
    worker_kinds: tuple[str, ...] = tuple(kind.name for kind in WORKER_KINDS)
    server_kinds: tuple[str, ...] = tuple(kind.name for kind in SERVER_KINDS)

    def __post_init__(self) -> None:
        for name in ("worker_hosts", "server_hosts"):
            if not 1 <= getattr(self, name) <= MAX_HOSTS:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected 1 or more, {MAX_HOSTS:,} at most")
        for kind in (*self.worker_kinds, *self.server_kinds):
            if kind not in KINDS:
                raise UnknownName("kind of host", kind, KINDS)
        if not (self.worker_kinds and self.server_kinds):
            raise ConfigError("worker_kinds and server_kinds: expected at least one kind of host each")

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Kinds of the worker hosts (H,) and of the server hosts (K,)."""
        return _in_turn(self.worker_kinds, self.worker_hosts), _in_turn(self.server_kinds, self.server_hosts)

    def capacities(self) -> tuple[Floats, Floats]:
        """(H, R), (K, R)."""
        worker, server = (np.array([KINDS[kind].capacity for kind in kinds], np.float64) for kinds in self.names())
        return worker, server


def halves(servers: int) -> ElasticCluster:
    """So many hosts in all: half of them for workers, the others for parameter servers."""
    if servers < 2:
        raise ConfigError(f"servers is {servers}; expected 2 or more, half of them for workers")
    return ElasticCluster(worker_hosts=servers // 2, server_hosts=servers - servers // 2)


def _in_turn(kinds: tuple[str, ...], count: int) -> tuple[str, ...]:
    return tuple(kinds[place % len(kinds)] for place in range(count))
