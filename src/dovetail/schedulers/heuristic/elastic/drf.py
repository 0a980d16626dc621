"""elastic/drf: dominant resource fairness (Ghodsi et al., NSDI 2011), by progressive filling in every slot.

One more worker, with the parameter server it may need, goes to the job with the lowest dominant share, until no job
can be given another.  The share of a job is the largest of its shares of all resources of the cluster; those of worker
hosts and of server hosts count as different resources.  Ties go to the job that arrived first.  A baseline of OASiS
(INFOCOM 2018), where the division is computed anew whenever a job arrives or completes; between such moments nothing
changes here either, but that a job gets no more workers than it has worker-slots left to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dovetail.core.elastic import ElasticDecision, ElasticView, Reason
from dovetail.schedulers.heuristic.elastic.placing import PLACING_HELP, Placing, SlotRoom, dominant_shares
from dovetail.schedulers.heuristic.elastic.slot_scheduler import SlotScheduler, Waiting


class Drf(SlotScheduler):
    REASON = Reason.LOWEST_DOMINANT_SHARE
    TUNE: ClassVar = {"placing": ("round-robin", "first-fit")}

    @dataclass(frozen=True)
    class Params:
        placing: Placing = field(default="round-robin", metadata=PLACING_HELP)

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(params.placing)
        self.params = params

    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        shares = dominant_shares(self.info, view.job_worker_demand, view.job_server_demand)
        room.put_evenly(waiting.jobs, waiting.useful, *shares)
        return ()
