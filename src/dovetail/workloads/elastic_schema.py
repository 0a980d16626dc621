"""The canonical form of an elastic workload on disk; `docs/workloads.md` documents it for people."""

from __future__ import annotations

from dovetail.core.elastic import RESOURCES
from dovetail.workloads.schema import JOBS, Column, Layout

HISTORY = "history.parquet"  # jobs before those of `jobs.parquet`
KINDS = "kinds.parquet"  # kinds of job that a distribution draws from
COUNTS = "arrivals.parquet"  # arrivals per slot

WORKER_DEMAND = tuple(f"worker_{name}" for name in RESOURCES)
SERVER_DEMAND = tuple(f"server_{name}" for name in RESOURCES)
UTILITY = ("worth", "decay", "due")
INTEGERS = ("arrival", "epochs", "chunks", "batches")
NUMBERS = ("batch_s", "gradient_mb", *WORKER_DEMAND, *SERVER_DEMAND, *UTILITY)

JOB_COLUMNS = (
    Column("job", "text"),
    *(Column(name, "integer") for name in INTEGERS),
    *(Column(name, "number") for name in NUMBERS),
)
ELASTIC_LAYOUT = Layout(
    family="elastic",
    tables={
        JOBS: JOB_COLUMNS,
        HISTORY: JOB_COLUMNS,
        KINDS: (Column("kind", "text"), Column("batch_s", "number"), Column("gradient_mb", "number")),
        COUNTS: (Column("count", "number"),),
    },
    required=(),
    counted={"jobs": JOBS, "history": HISTORY, "kinds": KINDS, "arrival_slots": COUNTS},
)
