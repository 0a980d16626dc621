"""How many instances of each operator the records that come would keep busy, from what was measured.

As DS2 does it (Kalavri et al., OSDI 2018): what a record costs is the time instances were busy over the records they
processed; what comes to an operator is what arrives at the job, times the records that came to it for each record that
those who feed it processed.  Neither depends on who was short of instances while it was measured.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.stream import Floats, StreamInfo, StreamView
from dovetail.features.stream import TINY, cost_s


class Demand:
    """For one job set."""

    def __init__(self, info: StreamInfo) -> None:
        self._info = info
        count = len(info.operator_job)
        self._feeds: list[list[int]] = [[] for _ in range(count)]
        for origin, target in zip(info.edge_from, info.edge_to, strict=True):
            self._feeds[int(target)].append(int(origin))

    def of(self, view: StreamView) -> Floats:
        """(O,) instances: for what arrived in the last interval, and to work off in one interval what waits now."""
        info = self._info
        service_s = cost_s(view)
        recent = view.job_rate[-info.snapshots :].mean(axis=0)
        waiting = view.op_queued[-1] / info.interval_s
        return (self.rates(view, recent) + waiting) * service_s

    def rates(self, view: StreamView, job_rate: Floats) -> Floats:
        """(O,) records a second that come to each operator where (J,) arrive at the jobs."""
        came, done = view.op_input_rate.sum(axis=0), view.op_rate.sum(axis=0)
        arrived = view.job_rate.sum(axis=0)
        found = np.zeros(len(came))
        for operator, feeding in enumerate(self._feeds):
            job = self._info.operator_job[operator]
            passed, coming = (done[feeding].sum(), found[feeding].sum()) if feeding else (arrived[job], job_rate[job])
            found[operator] = coming * came[operator] / max(passed, TINY)
        return found
