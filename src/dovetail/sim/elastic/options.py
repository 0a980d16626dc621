"""What an elastic world is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from dovetail.cluster.elastic import ElasticCluster


@dataclass(frozen=True)
class ElasticOptions:
    """The cluster.  The number of slots and their length are the workload's."""

    cluster: ElasticCluster = field(default_factory=ElasticCluster)
