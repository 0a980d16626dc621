"""Elastic jobs before anybody has said which come when: a table of what they are, and a record of when they came."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dovetail.core.elastic import ElasticJobs, Floats, Ints
from dovetail.workloads.elastic import ElasticWorkload

NO_HISTORY = ElasticJobs(
    arrival=np.zeros(0, dtype=np.int64),
    work=np.zeros(0, dtype=np.int64),
    max_workers=np.zeros(0, dtype=np.int64),
    worker_demand=np.zeros((0, 5)),
    server_demand=np.zeros((0, 5)),
    utility=np.zeros((0, 3)),
)


@dataclass(frozen=True, eq=False)
class ElasticTable:
    """J jobs; the columns are those of `ElasticWorkload`, where their meaning is written."""

    epochs: Ints  # (J,)
    chunks: Ints  # (J,)
    batches: Ints  # (J,)
    batch_s: Floats  # (J,)
    gradient_mb: Floats  # (J,)
    worker_demand: Floats  # (J, R)
    server_demand: Floats  # (J, R)
    utility: Floats  # (J, 3)

    def __len__(self) -> int:
        return len(self.epochs)

    def take(self, rows: Ints | slice) -> ElasticTable:
        """These rows, in this order."""
        return ElasticTable(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, eq=False)
class ElasticRecord:
    """Jobs that came in a known order, in slots of a known length."""

    slot_s: float
    job_name: tuple[str, ...]  # (J,) unique
    arrival: Ints  # (J,) slot, non-decreasing
    jobs: ElasticTable  # (J,)

    @property
    def num_jobs(self) -> int:
        return len(self.job_name)

    def workload(self, slots: int, history: ElasticRecord | None = None) -> ElasticWorkload:
        """The same as a job sequence within so many slots."""
        columns = {field.name: getattr(self.jobs, field.name) for field in fields(self.jobs)}
        known = NO_HISTORY if history is None else history.workload(slots).jobs()
        return ElasticWorkload(
            slots=slots, slot_s=self.slot_s, job_name=self.job_name, arrival=self.arrival, history=known, **columns
        )
