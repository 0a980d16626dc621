"""One observation of Slurm, as far as it is about machines: what fits where, what is free, who runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dovetail.core.gpu import Ints
from dovetail.execution.engines.slurm.candidates import described, kind_of
from dovetail.execution.engines.slurm.cluster import Cluster
from dovetail.execution.engines.slurm.jobs import SlurmJob
from dovetail.execution.engines.slurm.messages import Observation, SlurmOptions
from dovetail.execution.engines.slurm.room import Room
from dovetail.execution.engines.slurm.shape import Shape
from dovetail.execution.engines.slurm.view import Running, running_of


class Site:
    def __init__(self, cluster: Cluster, seen: Observation, options: SlurmOptions) -> None:
        self.cluster = cluster
        self.seen = seen
        self._options = options
        self._closed: dict[str, Ints] = {}
        self._empties: dict[str, Room] = {}

    def shape(self, job: SlurmJob) -> Shape | str:
        """What it needs; or why it is Slurm's business."""
        found = described(job, self.cluster, self._options)
        if isinstance(found, str):
            return found
        if not self._empty(job.partition).fits(found):
            return f"needs more than the partition {job.partition} has, even if all of it were free"
        return found

    def _empty(self, partition: str) -> Room:
        if partition not in self._empties:
            self._empties[partition] = Room.empty(self.cluster.info)
            self._empties[partition].close(self.closed(partition))
        return self._empties[partition]

    def room(self, told: Iterable[tuple[Shape, Sequence[str]]]) -> Room:
        """What Slurm has not given away, but for what jobs will take that were told to begin somewhere."""
        room = Room.of(self.cluster, self.seen.nodes, self.seen.jobs)
        for shape, nodes in told:
            for name in nodes:
                if name in self.cluster.machine:
                    room.take(shape._replace(workers=1), self.cluster.machine[name])
        return room

    def closed(self, partition: str) -> Ints:
        """Machines that are not of the partition."""
        if partition not in self._closed:
            nodes = self.seen.nodes
            found = [self.cluster.machine[node.name] for node in nodes if partition not in node.partitions]
            self._closed[partition] = np.array(found, np.int64)
        return self._closed[partition]

    def others(self, names: Sequence[str], job: SlurmJob) -> tuple[str, ...]:
        """The rest of the job's partition."""
        return tuple(
            node.name for node in self.seen.nodes if job.partition in node.partitions and node.name not in names
        )

    def lost(self, names: Sequence[str]) -> list[str]:
        """Those of the nodes where nothing can begin now."""
        fine = {node.name for node in self.seen.nodes if not node.trouble}
        return [name for name in dict.fromkeys(names) if name not in fine]

    def running(self, job: SlurmJob, shape: Shape | None) -> Running | None:
        return running_of(job, self.cluster, kind_of(job, self.cluster, self._options), shape)
