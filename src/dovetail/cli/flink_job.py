"""Commands about a job on Flink: which cluster, and which of its jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.execution.engines.flink.client import Cluster, FlinkClient
    from dovetail.execution.engines.flink.job import FlinkJob


def connect(url: str) -> tuple[FlinkClient, Cluster]:
    from dovetail.execution.engines.flink.client import FlinkClient

    client = FlinkClient(url)
    return client, client.check()


def choose_job(client: FlinkClient, wanted: str | None) -> FlinkJob:
    """The one of that id or name; without, the only one that runs."""
    from dovetail.execution.engines.flink.job import OVER

    alive = [job for job in client.jobs() if job.state not in OVER]
    listed = ", ".join(f"{job.name} ({job.job_id})" for job in alive)
    if not alive:
        raise ConfigError(f"no job runs on {client.url}; start one, then this")
    if wanted is None:
        if len(alive) > 1:
            raise ConfigError(f"{len(alive)} jobs run on {client.url}; name one of them with --job: {listed}")
        return client.job(alive[0].job_id)
    found = [job for job in alive if wanted in (job.job_id, job.name)]
    if not found:
        raise UnknownName("job", wanted, [name for job in alive for name in (job.name, job.job_id)])
    if len(found) > 1:
        ids = ", ".join(job.job_id for job in found)
        raise ConfigError(f"--job {wanted}: {len(found)} jobs have that name; expected the id of one: {ids}")
    return client.job(found[0].job_id)
