"""What an elastic environment is made of: everything its keyword arguments may say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dovetail.cluster.elastic import ElasticCluster, halves
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.core.suggest import did_you_mean
from dovetail.workloads.elastic import ElasticWorkload
from dovetail.workloads.elastic_arrivals import read_arrivals
from dovetail.workloads.elastic_source import ElasticSource, open_elastic

FACTORS = tuple(2.0**power for power in range(-4, 5))
"""What an action multiplies prices by: 1/16 to 16, the middle one changes nothing."""


@dataclass(frozen=True)
class ElasticSetting:
    """The workload, the cluster and the choices of an agent.  None: as the workload was made for."""

    workload: str | ElasticSource = "oasis-small"  # bundled name, or directory
    jobs: int | None = None  # in an episode
    arrivals: str | None = None  # poisson, uniform, batch, bursts, counts:file=FILE, trace
    slots: int | None = None  # of the horizon
    servers: int | None = None  # hosts in all, half of them for workers
    cluster: ElasticCluster | None = None  # all about the hosts, instead of `servers`
    factors: tuple[float, ...] = FACTORS  # what each action multiplies prices by

    def __post_init__(self) -> None:
        for name in ("jobs", "slots"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; expected at least 1")
        if self.servers is not None and self.cluster is not None:
            raise ConfigError("servers and cluster are both given; the cluster names the hosts, too")
        if not self.factors or not all(0 < factor < math.inf for factor in self.factors):
            raise ConfigError(f"factors are {self.factors}; expected at least one number above 0")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> ElasticSetting:
        """From keyword arguments; an unknown one is an error."""
        known = [field.name for field in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"an elastic environment has no setting {name!r}{did_you_mean(name, known)}")
        return cls(**arguments)

    def source(self) -> ElasticSource:
        return self.workload if isinstance(self.workload, ElasticSource) else open_elastic(self.workload)

    def hosts(self, source: ElasticSource) -> ElasticCluster:
        if self.cluster is not None:
            return self.cluster
        return halves(source.servers if self.servers is None else self.servers)

    def sequence(self, source: ElasticSource, seeds: SeedTree) -> ElasticWorkload:
        """The jobs of an episode: with the tree of seed k, those of seed k in a comparison."""
        jobs = source.jobs if self.jobs is None else self.jobs
        arrivals = source.arrivals if self.arrivals is None else read_arrivals(self.arrivals)
        return source.sequence(jobs, arrivals, source.slots if self.slots is None else self.slots, seeds)
