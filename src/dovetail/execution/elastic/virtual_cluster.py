"""Hosts that are only declared: so many places on each, all on this machine or on the nodes of a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.elastic import ElasticCluster, HostKind
from dovetail.core.elastic import Floats
from dovetail.core.errors import ConfigError

WORKER_PLACE = HostKind("worker place", gpu=1, cpu=4, memory=16, storage=50, bandwidth=1)
SERVER_PLACE = HostKind("server place", cpu=2, memory=8, storage=50, bandwidth=2)
MAX_PLACES = 256  # each may become a process


@dataclass(frozen=True)
class VirtualCluster(ElasticCluster):
    """Places by host.  A place is what the smallest worker or parameter server takes."""

    worker_places: tuple[int, ...] = (4, 4)
    server_places: tuple[int, ...] = (2, 2)

    def __post_init__(self) -> None:
        for name in ("worker_places", "server_places"):
            places = getattr(self, name)
            if not places or min(places) < 1 or sum(places) > MAX_PLACES:
                text = ",".join(map(str, places)) or "empty"
                raise ConfigError(f"{name} is {text}; expected 1 or more for each host, {MAX_PLACES} at most in all")
        object.__setattr__(self, "worker_hosts", len(self.worker_places))
        object.__setattr__(self, "server_hosts", len(self.server_places))
        for name, kinds in zip(("worker_kinds", "server_kinds"), self.names(), strict=True):
            object.__setattr__(self, name, kinds)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (
            tuple(f"virtual, {places} places" for places in self.worker_places),
            tuple(f"virtual, {places} places" for places in self.server_places),
        )

    def capacities(self) -> tuple[Floats, Floats]:
        worker, server = (
            np.outer(np.array(places, np.float64), np.array(kind.capacity, np.float64))
            for places, kind in ((self.worker_places, WORKER_PLACE), (self.server_places, SERVER_PLACE))
        )
        return worker, server
