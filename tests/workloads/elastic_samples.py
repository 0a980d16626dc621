"""Small elastic workloads for the tests."""

from __future__ import annotations

import numpy as np

from dovetail.workloads.elastic_arrivals import ElasticArrivals
from dovetail.workloads.elastic_jobs import ElasticRecord, ElasticTable
from dovetail.workloads.elastic_source import ElasticSource


def table(num: int = 4) -> ElasticTable:
    """Job i has i + 1 epochs of 2 chunks of 5 batches of 60 s, so i + 1 worker-slots of 600 s; worth 10 (i + 1)."""
    place = np.arange(num)
    return ElasticTable(
        epochs=place + 1,
        chunks=np.full(num, 2),
        batches=np.full(num, 5),
        batch_s=np.full(num, 60.0),
        gradient_mb=np.zeros(num),
        worker_demand=np.tile([1.0, 2.0, 4.0, 8.0, 1.0], (num, 1)),
        server_demand=np.tile([0.0, 2.0, 4.0, 8.0, 2.0], (num, 1)),
        utility=np.column_stack((10.0 * (place + 1), np.array([0.0, 0.5, 5.0] * num)[:num], np.full(num, 3.0))),
    )


def record(arrival: tuple[int, ...] = (0, 2, 2, 7)) -> ElasticRecord:
    names = tuple(f"r{i}" for i in range(len(arrival)))
    return ElasticRecord(600.0, names, np.array(arrival, dtype=np.int64), table(len(arrival)))


def recorded(arrival: tuple[int, ...] = (0, 2, 2, 7), earlier: ElasticRecord | None = None) -> ElasticSource:
    return ElasticSource(
        name="toy",
        jobs=len(arrival),
        slots=10,
        slot_s=600.0,
        servers=4,
        arrivals=ElasticArrivals("trace"),
        recorded=record(arrival),
        earlier=earlier,
    )
