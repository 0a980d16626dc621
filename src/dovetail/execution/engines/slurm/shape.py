"""What a job of Slurm's needs, in the words of the model: so many workers of equal demands.

| the job says | it is |
|---|---|
| `-N 2 --gres=gpu:4` (or `--gpus-per-node`) | 2 workers of 4 GPUs, on two different nodes |
| `-n 4 --gpus-per-task=1 --mem-per-cpu=2G`, no number of nodes | 4 workers of 1 GPU, wherever they fit |
| anything else without a number of nodes | 1 worker: all of it on one node |
| `--gres=shard:2`, of 4 to a GPU | half a GPU |

Memory that is not asked for is what Slurm gives: all of the node, unless the site has a default.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.execution.engines.slurm.cluster import Cluster
from dovetail.execution.engines.slurm.gres import Gres, gigabytes, parse_gres
from dovetail.execution.engines.slurm.jobs import SlurmJob

ANY_TYPE = -1


class Shape(NamedTuple):
    workers: int
    gpus: float  # of one worker
    cpus: float
    memory: float  # GB
    types: int = ANY_TYPE  # bit t: may run on GPUs of type t
    spread: bool = False  # its workers stand on different nodes
    kind: int = 0


def shape_of(job: SlurmJob, cluster: Cluster, kind: int = 0) -> Shape | str:
    """Or, as text, why no view can show this job."""
    tres_nodes = max(1, int(job.tres.get("node", 1)))
    memory_mb = job.tres.get("mem", 0.0)
    if job.max_nodes and job.max_nodes != tres_nodes:
        return "may run on different numbers of nodes"
    workers, spread = job.max_nodes, True
    if not workers and job.tasks_per_node:
        workers = -(-job.tasks // job.tasks_per_node)
    if not workers:
        free = bool(job.gres_per_task) or not (job.gres_per_node or job.gres_per_job)
        workers = job.tasks if free and not job.memory_per_node else 1
        spread = False
    per_node = memory_mb / tres_nodes if job.memory_per_node else memory_mb / workers
    if job.tasks % workers and job.gres_per_task:
        return "has no equal number of tasks on each node"
    try:
        gpus, types = _gpus(job, workers, cluster)
    except _Odd as odd:
        return str(odd)
    cpus = -(-max(job.cpus, job.tasks) // workers)
    return Shape(workers, gpus, float(cpus), gigabytes(per_node), types, spread and workers > 1, kind)


class _Odd(Exception):
    """It cannot be said in the words of the model."""


def _gpus(job: SlurmJob, workers: int, cluster: Cluster) -> tuple[float, int]:
    """GPUs of one worker, and the types that will do."""
    wanted = [
        *((one, 1.0) for one in parse_gres(job.gres_per_node)),
        *((one, job.tasks / workers) for one in parse_gres(job.gres_per_task)),
        *((one, 1.0 / workers) for one in parse_gres(job.gres_per_job)),
    ]
    if not wanted:
        return 0.0, ANY_TYPE
    if len(wanted) > 1:
        raise _Odd("asks for several generic resources")
    one, times = wanted[0]
    if job.gres_per_job and workers > 1:
        raise _Odd("says how many GPUs in all, but not how many on each node")
    return _amount(one, times, cluster), _types(one, cluster)


def _amount(one: Gres, times: float, cluster: Cluster) -> float:
    count = one.amount * times
    if one.name == "gpu":
        return count
    if one.name != "shard":
        raise _Odd(f"asks for {one.name}")
    if not cluster.shards:
        raise _Odd("asks for shards of GPUs, of which nodes have different numbers or none")
    if count > cluster.shards:
        raise _Odd("asks for shards of several GPUs")
    return count / cluster.shards if count < cluster.shards else 1.0


def _types(one: Gres, cluster: Cluster) -> int:
    if not one.type:
        return ANY_TYPE
    kind = cluster.type_of(one.type)
    if kind < 0:
        raise _Odd(f"asks for GPUs of type {one.type}, which no node has")
    return 1 << kind
