"""What a learned price looks at: for every slot from the present one on, what is booked and what is still to come.

Who may yet want a slot are the jobs that arrive until then; how many that will be is known from the history's slots of
arrival and from how many jobs a horizon brings.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.elastic import BANDWIDTH, ElasticInfo, ElasticView, Floats, Ints

NAME = "slots-1"
COLUMNS = (
    "soon",  # falls from 1 for the present slot to 0 for those far away, over 3 slots
    "in_a_while",  # the same over 15 slots
    "coming_late",  # work expected to arrive in the 5 slots before it and not yet here, in slots of the whole cluster
    "coming",  # the same, in the 20 slots before it
    "coming_all",  # the same, since now
    "workers_booked",  # share of the scarcest resource of worker hosts that is booked
    "servers_booked",  # share of the scarcest resource of server hosts that is booked
    "waiting",  # work of those who were promised nothing, in slots of the whole cluster
    "waiting_jobs",  # their number, as a share of all that a horizon brings
    "horizon",  # share of the horizon that is left after it
)

BANDS = (0, 1, 3, 7, 15, 31)
"""Slots from now on in which a band begins; it ends where the next one begins, the last one with the horizon."""


class SlotFeatures:
    """Features of views of one world."""

    def __init__(self, info: ElasticInfo) -> None:
        jobs = info.history
        self._slots = info.slots
        self._expected = info.expected_jobs
        self._total = (info.worker_capacity.sum(axis=0), info.server_capacity.sum(axis=0))
        need = self._cluster_slots(jobs.work, jobs.worker_demand, jobs.server_demand)
        arriving = np.bincount(np.minimum(jobs.arrival, info.slots - 1), need, minlength=info.slots)
        # (slots + 1,) work that has arrived before each slot, in slots of the whole cluster
        self._arrived = np.r_[0.0, np.cumsum(arriving)] * (info.expected_jobs / len(jobs))

    def of(self, view: ElasticView) -> Floats:
        """(S, F) a row for each slot from the present one on."""
        slot = np.arange(view.slot, self._slots)
        away = (slot - view.slot).astype(np.float64)
        here = self._arrived[view.slot + 1]  # this slot's jobs are here already
        until = self._arrived[slot + 1]
        waiting = view.job_promise < 0
        work = self._cluster_slots(
            view.job_work_left[waiting], view.job_worker_demand[waiting], view.job_server_demand[waiting]
        ).sum()
        ones = np.ones(len(slot))
        columns = (
            np.exp(-away / 3.0),
            np.exp(-away / 15.0),
            np.log1p(until - np.maximum(self._arrived[np.maximum(slot - 4, 0)], here).clip(max=until)),
            np.log1p(until - np.maximum(self._arrived[np.maximum(slot - 19, 0)], here).clip(max=until)),
            np.log1p(until - here),
            self._booked(view.worker_free, 0),
            self._booked(view.server_free, 1),
            ones * np.log1p(work),
            ones * (float(waiting.sum()) / self._expected),
            (self._slots - 1.0 - slot) / self._slots,
        )
        return np.stack(columns, axis=1)

    def in_bands(self, view: ElasticView) -> Floats:
        """(len(BANDS), F) their means over bands of slots, of which there are as many in every view.

        A band that begins after the horizon is 0.
        """
        rows = self.of(view)
        found = np.zeros((len(BANDS), len(COLUMNS)))
        for place, (start, end) in enumerate(zip(BANDS, (*BANDS[1:], len(rows)), strict=True)):
            if start < len(rows):
                found[place] = rows[start : max(end, start + 1)].mean(axis=0)
        return found

    def _booked(self, free: Floats, role: int) -> Floats:
        """(S,) share of the scarcest resource."""
        has = self._total[role] > 0
        share: Floats = 1.0 - (free.sum(axis=1)[:, has] / self._total[role][has]).min(axis=1)
        return share

    def _cluster_slots(self, work: Ints, worker_demand: Floats, server_demand: Floats) -> Floats:
        """(J,) slots for which each job would need the whole cluster, by its scarcest resource."""
        if not len(work):
            return np.zeros(0)
        shares = []
        per_worker = worker_demand[:, BANDWIDTH] / server_demand[:, BANDWIDTH]
        for demand, total, units in (
            (worker_demand, self._total[0], work),
            (server_demand, self._total[1], work * per_worker),
        ):
            has = total > 0
            shares.append((units[:, None] * demand[:, has] / total[has]).max(axis=1))
        found: Floats = np.maximum(*shares)
        return found
