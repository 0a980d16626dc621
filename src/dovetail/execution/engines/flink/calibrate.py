"""A stream workload that is like a job: its operators, who feeds whom, what came, and what a rescale costs.

    service time   = time its instances were busy / records they processed
    selectivity    = records that came to those it feeds / records it processed
    share of edge  = that child's part of them; a child that several feed has its records from each in proportion to
                     what each of them processed
    skew           = (b - 1 / p) / (1 - 1 / p), where the busiest of p instances got a share b of the records
    restart        = median of the stops that were seen, or of those in Flink's history of rescales
    state          = size of the newest checkpoint, by operator; checkpoints as often as the job takes them

What cannot be seen from outside is assumed: arrivals and services vary as in M/M/c queues (`variability` 1), and a
second of work fits in front of an instance before those who feed it are held up (`buffer`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.errors import ConfigError
from dovetail.core.stream import WEEK_S, Floats, Ints, StreamInfo
from dovetail.execution.engines.flink.messages import Look
from dovetail.execution.engines.flink.snapshot import Snapshot
from dovetail.workloads.stream_jobs import CHECKPOINT_S, RUNTIME_S, StreamJobs
from dovetail.workloads.stream_rates import RateSeries, RecordedRates
from dovetail.workloads.stream_source import StreamSource

LEAST_SERVICE_S = 1e-7
MB = 1e6
LEAST_SNAPSHOTS = 3


class Fitted(NamedTuple):
    source: StreamSource
    notes: tuple[str, ...]  # what was assumed, and why


def fit(
    name: str,
    info: StreamInfo,
    rows: Sequence[Snapshot],
    look: Look,
    stops_s: Sequence[float],
    checkpoint_s: float,
    state_bytes: Mapping[str, float],
) -> Fitted:
    """`rows` are all that was measured, `look` the newest; `stops_s` how long each rescale seen took."""
    if len(rows) < LEAST_SNAPSHOTS:
        raise ConfigError(f"{len(rows)} snapshots of the job; expected {LEAST_SNAPSHOTS} at least: a longer --for")
    notes: list[str] = []
    processed = np.nansum([row.rate for row in rows], axis=0)
    spent = np.nansum([row.busy * row.parallelism for row in rows], axis=0)
    idle = processed <= 0.0
    if idle.any():
        names = ", ".join(info.operator_name[i] for i in np.flatnonzero(idle).tolist())
        notes.append(f"no records came to {names} meanwhile: they are taken to cost next to nothing")
    service_s = np.maximum(spent / np.where(idle, 1.0, processed), LEAST_SERVICE_S)
    sources = np.array([i in look.job.sources for i in range(len(service_s))])
    entered = float(processed[sources].sum())
    if not entered > 0.0:
        raise ConfigError("no records came to the job meanwhile, so nothing can be fitted; expected a job with work")
    selectivity, share = _flow(info, processed)
    rate = np.array([row.job_rate for row in rows])
    restart_s = float(np.median(stops_s)) if stops_s else RUNTIME_S["warm"]
    if not stops_s:
        notes.append(
            f"no rescale was seen: it is taken to take {restart_s:g} s, as on a warm JVM (--rescales measures it)"
        )
    if checkpoint_s <= 0.0:
        notes.append(f"the job takes no checkpoints: they are taken to come every {CHECKPOINT_S:g} s")
    if not state_bytes:
        notes.append("no checkpoint was found: operators are taken to have no state")
    notes.append("variability is taken to be 1, and a second of work to fit into the buffers of an instance")
    parallelism = rows[-1].parallelism
    most = np.maximum(info.operator_max, parallelism)
    table = StreamJobs(
        job_name=(look.job.name,),
        job_rate=np.array([rate.mean()]),
        job_slo_s=info.job_slo_s.copy(),
        job_restart_s=np.array([restart_s]),
        job_checkpoint_s=np.array([checkpoint_s if checkpoint_s > 0.0 else CHECKPOINT_S]),
        op_name=info.operator_name,
        op_job=info.operator_job,
        op_service_s=service_s,
        op_selectivity=selectivity,
        op_source=np.where(sources, np.maximum(processed / entered, 1e-9), 0.0),
        op_skew=_skew(look, parallelism),
        op_variability=np.ones(len(service_s)),
        op_buffer=np.maximum(1.0, np.round(1.0 / service_s)).clip(max=1e6),
        op_state_mb=np.array([state_bytes.get(one.vertex_id, 0.0) / MB for one in look.job.vertices]),
        op_max=most,
        op_start=parallelism.copy(),
        edge_from=info.edge_from,
        edge_to=info.edge_to,
        edge_share=share,
        slots=int(most.sum()),
    )
    bin_s = float(max(1, round(info.snapshot_s)))
    series = RateSeries((look.job.name,), bin_s, math.floor(rows[0].clock_s) % WEEK_S, np.maximum(rate, 0.0)[None, :])
    recorded = RecordedRates(name, series)
    return Fitted(
        StreamSource(name, table, recorded, recorded.duration_s, min(info.interval_s, recorded.duration_s)),
        tuple(notes),
    )


def _flow(info: StreamInfo, processed: Floats) -> tuple[Floats, Floats]:
    """(O,) selectivity and (E,) share of each edge."""
    feeding = np.bincount(info.edge_to, weights=processed[info.edge_from], minlength=len(processed))
    carried = np.zeros(len(info.edge_from))
    part = processed[info.edge_from]
    np.divide(part * processed[info.edge_to], feeding[info.edge_to], out=carried, where=feeding[info.edge_to] > 0.0)
    sent = np.bincount(info.edge_from, weights=carried, minlength=len(processed))
    selectivity = np.divide(sent, processed, out=np.zeros(len(processed)), where=processed > 0.0)
    share = np.divide(carried, sent[info.edge_from], out=np.zeros(len(carried)), where=sent[info.edge_from] > 0.0)
    return selectivity, np.clip(share, 0.0, 1.0)


def _skew(look: Look, parallelism: Ints) -> Any:
    found = np.zeros(len(parallelism))
    for number, vertex in enumerate(look.job.vertices):
        reading, many = look.readings.get(vertex.vertex_id), int(parallelism[number])
        if reading is not None and many > 1 and reading.busiest_share > 0.0:
            found[number] = np.clip((reading.busiest_share - 1.0 / many) / (1.0 - 1.0 / many), 0.0, 1.0)
    return found
