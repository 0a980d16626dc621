"""How long records take: by queues, or by Flink's latency markers.

By queues: Little's law at each operator, mean number at it over records processed a second, added up along the slowest
way from a source to a sink.  Markers (`metrics.latency.interval`) travel with the records, so their age at the sinks
has the time in buffers and operators.  What waits in front of a source they do not see: it comes on top, by Little's
law.  Flink tells the mean of the last 128 markers of each pair of subtasks; with few of them that is long ago.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.stream import Floats
from dovetail.execution.engines.flink.messages import Look
from dovetail.execution.engines.flink.metrics import Reading

if TYPE_CHECKING:
    from dovetail.execution.engines.flink.snapshot import Snapshot

TINY = 1e-9


def operator_latency_s(
    rate: Floats, working: Floats, queued: Floats, queued_before: Floats, last: Snapshot | None
) -> Floats:
    """(O,) where nothing was processed: what it was, or a second for each that waits in vain."""
    mean = (queued + queued_before) / 2.0
    before = np.zeros(len(rate)) if last is None else last.latency_s
    stuck = np.maximum(before, np.minimum(queued, 1.0))
    known = np.where(np.isnan(rate), 0.0, rate)
    least = np.where(np.isnan(working), 0.0, working)  # one being processed counts, whatever the buffers say
    return np.where(known > TINY, np.maximum(mean, least) / np.maximum(known, TINY), stuck)


def job_latency_s(look: Look, waited_s: Floats, how: str) -> tuple[float, bool]:
    """Of the job, and whether it is by markers."""
    job = look.job
    longest = waited_s.copy()
    for edge in job.edges:  # by target, and a target is above its origin
        longest[edge.target] = max(longest[edge.target], longest[edge.origin] + waited_s[edge.target])
    by_queues = float(longest.max())
    origins = {edge.origin for edge in job.edges}
    ends = [one.vertex_id for number, one in enumerate(job.vertices) if number not in origins]
    markers = [look.readings.get(vertex, Reading()).marker_s for vertex in ends]
    told = [value for value in markers if not math.isnan(value)]
    if how == "queues" or not told:
        return by_queues, False
    return max(told) + max(float(waited_s[number]) for number in job.sources), True
