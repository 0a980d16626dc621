"""Training jobs drawn from ranges, as in the evaluation of OASiS (INFOCOM 2018).

The published ranges are the defaults of `OasisPaper`.  They leave open how values are spread over a range.  Drawn
evenly, epochs x chunks x batches x time of a batch makes a job of 11,600 worker-slots at the median: 47 % of the jobs
could not finish within 300 slots though they had 100 servers for themselves, and 300 jobs ask for 100 times the GPUs
there are.  So by default every order of magnitude is equally likely (`spread = "log"`): 960 worker-slots at the median,
92 % can finish alone, and 300 jobs ask for 16 times the GPUs.  Even so half of the jobs are worth nothing by then,
because they are due after 15 slots at the latest.  `oasis-paper:spread=even` is the other reading.

Where this differs from the publication: 300 jobs, whose arrivals have bursts of our own making instead of Google's
(`dovetail workload import arrival-counts` reads those), and hosts as in `cluster.elastic`.

`OasisSmall` is for quick comparisons: jobs with fewer epochs, chunks and batches, so that nearly all of them can finish
alone within a few dozen slots, and so many that about four times the GPUs of its 20 servers are asked for.  Everything
else is as published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np

from dovetail.core.elastic import Floats
from dovetail.workloads.elastic_jobs import ElasticTable
from dovetail.workloads.elastic_setting import MAX_SERVERS

Span = tuple[float, float]
Whole = tuple[int, int]
Spread = Literal["even", "log"]
_COUNTS = ("jobs", "slots", "history")
_WHOLE = ("epochs", "chunks", "batches")
_ABOVE_0 = ("batch_slots", "worker_gbps", "server_gbps", "worth")
_FROM_0 = (
    "gradient_mb",
    "worker_gpu",
    "worker_cpu",
    "worker_memory_gb",
    "worker_storage_gb",
    "server_cpu",
    "server_memory_gb",
    "server_storage_gb",
    "due",
    "sensitive_decay",
    "critical_decay",
)
_DRAWS = 18  # for each job
_MOST = 1e9  # of any number; beyond, work loses its meaning


@dataclass(frozen=True)
class OasisPaper:
    """What to draw.  A pair is a range, both ends included; defaults are the published ones."""

    jobs: int = field(default=300, metadata={"help": "jobs of a sequence, unless told otherwise"})
    slots: int = field(default=300, metadata={"help": "slots of the horizon, unless told otherwise"})
    slot_s: float = field(default=1200.0, metadata={"help": "length of a slot in seconds"})
    servers: int = field(default=100, metadata={"help": "hosts, half for workers and half for parameter servers"})
    arrivals: str = field(default="bursts", metadata={"help": "how jobs arrive, unless told otherwise"})
    history: int = field(default=200, metadata={"help": "earlier jobs that prices may be estimated from"})
    spread: Spread = field(default="log", metadata={"help": "over the ranges of work: evenly, or by magnitude"})
    epochs: Whole = field(default=(50, 200), metadata={"help": "times a job goes over its data"})
    chunks: Whole = field(default=(5, 100), metadata={"help": "chunks of data; so many workers at the most"})
    batches: Whole = field(default=(10, 100), metadata={"help": "mini-batches of a chunk"})
    batch_slots: Span = field(default=(0.001, 0.1), metadata={"help": "slots that a worker takes for a mini-batch"})
    gradient_mb: Span = field(default=(30, 575), metadata={"help": "size of gradients, and of parameters, in MB"})
    worker_gbps: Span = field(default=(0.1, 5), metadata={"help": "bandwidth of a worker in Gbit/s"})
    server_gbps: Span = field(default=(5, 20), metadata={"help": "of a parameter server; never below a worker's"})
    worker_gpu: Whole = field(default=(0, 4), metadata={"help": "GPUs of a worker"})
    worker_cpu: Whole = field(default=(1, 10), metadata={"help": "virtual processors of a worker"})
    worker_memory_gb: Span = field(default=(2, 32), metadata={"help": "memory of a worker in GB"})
    worker_storage_gb: Span = field(default=(5, 10), metadata={"help": "storage of a worker in GB"})
    server_cpu: Whole = field(default=(1, 10), metadata={"help": "virtual processors of a parameter server"})
    server_memory_gb: Span = field(default=(2, 32), metadata={"help": "memory of a parameter server in GB"})
    server_storage_gb: Span = field(default=(5, 10), metadata={"help": "storage of a parameter server in GB"})
    worth: Span = field(default=(1, 100), metadata={"help": "what a job is worth if it completes at once"})
    due: Span = field(default=(1, 15), metadata={"help": "slots after arrival when half of the worth is lost"})
    shares: tuple[float, float, float] = field(
        default=(0.10, 0.55, 0.35), metadata={"help": "of jobs insensitive, sensitive and critical to time"}
    )
    sensitive_decay: Span = field(default=(0.01, 1), metadata={"help": "decay per slot of jobs sensitive to time"})
    critical_decay: Span = field(default=(4, 6), metadata={"help": "decay per slot of jobs critical to time"})

    def __post_init__(self) -> None:
        for name in _COUNTS:
            if not 1 <= getattr(self, name) <= 10**6:
                raise ValueError(f"{name} must be 1 or more, 1,000,000 at most, not {getattr(self, name)}")
        if not 2 <= self.servers <= MAX_SERVERS:
            raise ValueError(f"servers must be 2 or more, {MAX_SERVERS:,} at most, not {self.servers}")
        if not 0 < self.slot_s <= _MOST:
            raise ValueError(f"slot_s must be above 0 seconds, {_MOST:g} at most, not {self.slot_s:g}")
        for names, least, words in ((_WHOLE, 1, "from 1"), (_ABOVE_0, 1e-9, "above 0"), (_FROM_0, 0, "from 0")):
            for name in names:
                low, high = getattr(self, name)
                if not least <= low <= high <= _MOST:
                    raise ValueError(f"{name} must be a range [low,high] {words} upwards, not [{low:g},{high:g}]")
        if self.worker_gbps[1] > self.server_gbps[1]:
            raise ValueError(
                f"worker_gbps reaches {self.worker_gbps[1]:g}, server_gbps only {self.server_gbps[1]:g}; a parameter "
                "server needs at least the bandwidth of a worker"
            )
        if not (all(share >= 0 for share in self.shares) and abs(sum(self.shares) - 1) < 1e-6):
            raise ValueError(f"shares must be three numbers from 0 that add up to 1, not {list(self.shares)}")

    def draw(self, num_jobs: int, rng: np.random.Generator) -> ElasticTable:
        return draw_jobs(self, num_jobs, rng)


_HELP = {each.name: each.metadata for each in fields(OasisPaper)}


@dataclass(frozen=True)
class OasisSmall(OasisPaper):
    """The same with jobs of about 150 worker-slots, on a cluster of 20 servers."""

    jobs: int = field(default=120, metadata=_HELP["jobs"])
    slots: int = field(default=100, metadata=_HELP["slots"])
    servers: int = field(default=20, metadata=_HELP["servers"])
    arrivals: str = field(default="poisson", metadata=_HELP["arrivals"])
    spread: Spread = field(default="even", metadata=_HELP["spread"])
    epochs: Whole = field(default=(10, 30), metadata=_HELP["epochs"])
    chunks: Whole = field(default=(2, 20), metadata=_HELP["chunks"])
    batches: Whole = field(default=(5, 20), metadata=_HELP["batches"])


def draw_jobs(params: OasisPaper, num_jobs: int, rng: np.random.Generator) -> ElasticTable:
    """A row of draws for each job, so the first jobs do not depend on how many follow."""
    draws = iter(rng.random((num_jobs, _DRAWS)).T)
    spread = _log if params.spread == "log" else _even
    epochs, chunks, batches = (_whole(getattr(params, name), next(draws), spread).astype(np.int64) for name in _WHOLE)
    batch_s = spread(params.batch_slots, next(draws)) * params.slot_s
    gradient_mb = _even(params.gradient_mb, next(draws))
    worker_gbps = _even(params.worker_gbps, next(draws))
    least = np.maximum(params.server_gbps[0], worker_gbps)
    server_gbps = np.maximum(least + (params.server_gbps[1] - least) * next(draws), worker_gbps)
    worker = (
        _whole(params.worker_gpu, next(draws)),
        _whole(params.worker_cpu, next(draws)),
        _even(params.worker_memory_gb, next(draws)),
        _even(params.worker_storage_gb, next(draws)),
        worker_gbps,
    )
    server = (
        np.zeros(num_jobs),
        _whole(params.server_cpu, next(draws)),
        _even(params.server_memory_gb, next(draws)),
        _even(params.server_storage_gb, next(draws)),
        server_gbps,
    )
    worth, due = _even(params.worth, next(draws)), _even(params.due, next(draws))
    decay = _decay(params, next(draws), next(draws))
    return ElasticTable(
        epochs=epochs,
        chunks=chunks,
        batches=batches,
        batch_s=batch_s,
        gradient_mb=gradient_mb,
        worker_demand=np.column_stack(worker),
        server_demand=np.column_stack(server),
        utility=np.column_stack((worth, decay, due)),
    )


def _decay(params: OasisPaper, which: Floats, where: Floats) -> Floats:
    """(J,) by the class of utility, and then by the range of that class."""
    kind = np.searchsorted(np.cumsum(params.shares)[:2], which, side="right")
    ranges = (np.zeros(which.size), _even(params.sensitive_decay, where), _even(params.critical_decay, where))
    return np.choose(kind, ranges)


def _even(limits: Span, draw: Floats) -> Floats:
    low, high = limits
    return low + (high - low) * draw


def _log(limits: Span, draw: Floats) -> Floats:
    low, high = limits
    return np.asarray(low * np.exp(np.log(high / low) * draw), dtype=np.float64)


def _whole(limits: Whole, draw: Floats, spread: Callable[[Span, Floats], Floats] = _even) -> Floats:
    low, high = limits
    return np.clip(np.floor(spread((low, high + 1), draw)), low, high)
