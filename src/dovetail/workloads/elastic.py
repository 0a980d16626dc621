"""Elastic training jobs as tables of numbers: what a job must get done, what it needs, and what it is worth when.

A job trains `epochs` times over `chunks` chunks of data, each of `batches` mini-batches.  A worker takes `batch_s` to
train one, and sends its gradients to the parameter servers and fetches the parameters, `gradient_mb` each way, over its
own bandwidth.  So the job needs

    epochs * chunks * batches * (batch_s + 2 * gradient_s)  seconds of workers,  gradient_s = 8 gradient_mb / bandwidth

which is counted in whole worker-slots (`work`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dovetail.core.elastic import BANDWIDTH, ElasticJobs, Floats, Ints

BITS_OF_A_MEGABYTE = 8e-3  # in Gbit
MAX_WORK = 10**9  # worker-slots of one job; beyond, sums over many jobs lose their meaning


@dataclass(frozen=True, eq=False)
class ElasticWorkload:
    """A job sequence of J jobs, in order of arrival, within `slots` slots of `slot_s` seconds.

    `history` are jobs of the same kind that came before the first of these; prices may be estimated from them.
    `expected_jobs` is how many of them a horizon brings; None: as many as this sequence has.
    """

    slots: int
    slot_s: float
    job_name: tuple[str, ...]  # (J,) unique
    arrival: Ints  # (J,) slot, non-decreasing
    epochs: Ints  # (J,)
    chunks: Ints  # (J,) also the largest number of workers at a time
    batches: Ints  # (J,) of one chunk
    batch_s: Floats  # (J,)
    gradient_mb: Floats  # (J,)
    worker_demand: Floats  # (J, R) of one worker; its bandwidth is `worker_demand[:, BANDWIDTH]`
    server_demand: Floats  # (J, R) of one parameter server
    utility: Floats  # (J, 3) worth, decay per slot, due in slots after arrival
    history: ElasticJobs
    expected_jobs: float | None = None

    @property
    def num_jobs(self) -> int:
        return len(self.job_name)

    @cached_property
    def work(self) -> Ints:
        """(J,) worker-slots that complete the job."""
        gradient_s = BITS_OF_A_MEGABYTE * self.gradient_mb / self.worker_demand[:, BANDWIDTH]
        batches = self.epochs.astype(np.float64) * self.chunks * self.batches
        slots = batches * (self.batch_s + 2.0 * gradient_s) / self.slot_s
        return np.maximum(np.ceil(np.minimum(slots, MAX_WORK) - 1e-9), 1).astype(np.int64)

    def jobs(self) -> ElasticJobs:
        """The same, as schedulers may know it."""
        return ElasticJobs(
            arrival=self.arrival,
            work=self.work,
            max_workers=self.chunks,
            worker_demand=self.worker_demand,
            server_demand=self.server_demand,
            utility=self.utility,
        )

    def with_history(self, history: ElasticJobs) -> ElasticWorkload:
        return replace(self, history=history)
