"""A scheduler decides once about nothing real: what it compiles or loads for that, a minute or two of it the first
time, would otherwise keep jobs waiting that were handed in for less.
"""

from __future__ import annotations

import json

import numpy as np

from dovetail.execution.engines.slurm.asking import Asking, GpuScheduler
from dovetail.execution.engines.slurm.cluster import Kinds, cluster_of
from dovetail.execution.engines.slurm.estimates import Estimates
from dovetail.execution.engines.slurm.jobs import SlurmJob, parse_jobs
from dovetail.execution.engines.slurm.nodes import SlurmNode
from dovetail.execution.engines.slurm.room import Room
from dovetail.execution.engines.slurm.shape import Shape
from dovetail.execution.engines.slurm.trace import MARKER
from dovetail.execution.engines.slurm.view import Numbers, Row, Running, Waiting

NOW_S = 100.0
_TIMES = ("submit_time", "eligible_time", "start_time", "end_time")
_COUNTS = ("priority", "restart_cnt", "nice", "cpus", "tasks", "node_count", "max_nodes", "tasks_per_node")


def rehearse(scheduler: GpuScheduler) -> None:
    """Two jobs wait, a gang and a share of a GPU, and one runs, on two nodes.  It has to be reset afterwards."""
    cluster = cluster_of([_node("a"), _node("b")], {}, Kinds(), "V100")
    room = Room.empty(cluster.info)
    gang, share = Shape(2, 1.0, 1.0, 1.0), Shape(1, 0.5, 1.0, 1.0)
    first, second, third = _jobs(3)
    room.take(gang._replace(workers=1), 0)
    scheduler.reset(cluster.info, np.random.default_rng(0))
    running = [Running(first, gang._replace(workers=1), (Row(0, 1, -1),))]
    asking = Asking(scheduler, cluster, room, running, NOW_S, Numbers(0.0), Estimates(MARKER))
    asking.starts([Waiting(second, gang), Waiting(third, share)], np.array([], np.int64))


def _jobs(many: int) -> tuple[SlurmJob, ...]:
    """Of a minute each."""
    record = {**dict.fromkeys((*_TIMES, *_COUNTS), 0), "memory_per_cpu": 0, "job_state": "PENDING", "time_limit": 1}
    return parse_jobs(json.dumps({"jobs": [{"job_id": number, **record} for number in range(many)]}))


def _node(name: str) -> SlurmNode:
    return SlurmNode(
        name=name,
        state="IDLE",
        trouble="",
        partitions=frozenset({"rehearsal"}),
        cpus=8,
        cpus_used=0,
        memory_mb=8192,
        memory_used_mb=0,
        gpus=4,
        gpu_type="V100",
        gpus_used=0,
        devices_used=(),
        shards=4,
    )
