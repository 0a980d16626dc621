"""Small random elastic worlds, contended enough that capacity binds."""

from __future__ import annotations

import numpy as np

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import ElasticJobs
from dovetail.core.seeds import SeedTree
from dovetail.sim.elastic import ElasticOptions, ElasticWorld
from dovetail.workloads.elastic import ElasticWorkload


def small_world(seed: int, *, jobs: int = 12, slots: int = 12, hosts: int = 2, known: bool = False) -> ElasticWorld:
    """`known`: the history is the sequence itself, so that estimates of prices are right."""
    rng = np.random.default_rng(seed)
    workload = draw(rng, jobs, slots, None)
    history = workload.jobs() if known else draw(rng, 30, slots, None).jobs()
    return ElasticWorld(
        workload.with_history(history), ElasticOptions(ElasticCluster(hosts, hosts)), SeedTree(seed), record=True
    )


def draw(rng: np.random.Generator, jobs: int, slots: int, history: ElasticJobs | None) -> ElasticWorkload:
    def whole(low: int, high: int) -> np.ndarray:
        return rng.integers(low, high + 1, jobs)

    bandwidth = rng.uniform(0.5, 4.0, jobs)
    kind = rng.random(jobs)
    decay = np.where(kind < 0.2, 0.0, np.where(kind < 0.6, rng.uniform(0.05, 1.0, jobs), rng.uniform(4.0, 6.0, jobs)))
    return ElasticWorkload(
        slots=slots,
        slot_s=600.0,
        job_name=tuple(f"j{i}" for i in range(jobs)),
        arrival=np.sort(rng.integers(0, max(slots - 3, 1), jobs)),
        epochs=whole(1, 4),
        chunks=whole(1, 8),
        batches=whole(1, 4),
        batch_s=rng.uniform(60.0, 500.0, jobs),
        gradient_mb=rng.uniform(1.0, 100.0, jobs),
        worker_demand=np.c_[whole(0, 4), whole(2, 10), whole(2, 64), whole(5, 10), bandwidth].astype(np.float64),
        server_demand=np.c_[whole(0, 0), whole(1, 10), whole(2, 20), whole(5, 10), bandwidth * 2.5].astype(np.float64),
        utility=np.c_[rng.uniform(1.0, 100.0, jobs), decay, rng.uniform(1.0, 8.0, jobs)],
        history=history,  # type: ignore[arg-type]
    )
