"""How late records of a job are where nothing goes wrong, and what its users may expect of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dovetail.core.stream import Floats
from dovetail.workloads.stream_jobs import StreamJobs

SLO_TIMES = 3.0  # a well-run job is at about a third of its SLO
LEAST_SLO_S = 2.0
LEVEL_S = 0.2
"""What minutes add to the latency of a job for each operator of its longest chain, if they vary as those of `web` do
and instances are 70 % busy in every hour; measured on the presets, where it is 0.2 to 0.25."""


def steady_latency_s(jobs: StreamJobs, utilisation: float) -> Floats:
    """(J,) mean time from arrival to the last sink, if each operator is so busy with the instances it starts with.

    An operator with c busy instances at most holds L = c r + v r ** sqrt(2 (c + 1)) / (1 - r) records, as in
    `docs/stream-model.md`, and by Little's law a record spends L S / (c r) there.  A job takes as long as its longest
    chain.
    """
    busy = 1.0 / (jobs.op_skew + (1.0 - jobs.op_skew) / jobs.op_start)
    waiting = jobs.op_variability * utilisation ** np.sqrt(2 * (busy + 1)) / (1 - utilisation)
    spent_s = jobs.op_service_s * (1 + waiting / (busy * utilisation))
    done_s = spent_s.copy()
    for origin, target in zip(jobs.edge_from, jobs.edge_to, strict=True):  # sorted by target, so origins are done
        done_s[target] = max(done_s[target], done_s[origin] + spent_s[target])
    latest = np.zeros(jobs.num_jobs)
    np.maximum.at(latest, jobs.op_job, done_s)
    return latest


def with_slo(jobs: StreamJobs, slo_s: float | None = None) -> StreamJobs:
    """With this SLO for every job, or three times its latency at a utilisation of 0.7, 2 s at least.

    That latency is the one at a steady rate, or what minutes that vary make of it where that is more.
    """
    if slo_s is not None:
        return replace(jobs, job_slo_s=np.full(jobs.num_jobs, slo_s))
    depth = np.zeros(jobs.num_jobs)
    np.maximum.at(depth, jobs.op_job, jobs.level() + 1)
    late_s = np.maximum(steady_latency_s(jobs, 0.7), LEVEL_S * depth)
    return replace(jobs, job_slo_s=np.maximum(LEAST_SLO_S, np.round(SLO_TIMES * late_s, 1)))
