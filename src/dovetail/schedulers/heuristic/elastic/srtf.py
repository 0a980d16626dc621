"""elastic/srtf: the job with the least work left first, with as many workers as fit and it can use, then the next.

Work is counted in worker-slots, so a job counts as short whatever its workers need.  The division is made anew in every
slot, and whoever stood in the last one has no right to stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticView, Reason
from dovetail.schedulers.heuristic.elastic.placing import PLACING_HELP, Placing, SlotRoom
from dovetail.schedulers.heuristic.elastic.slot_scheduler import SlotScheduler, Waiting


class Srtf(SlotScheduler):
    REASON = Reason.LEAST_WORK_LEFT
    TUNE: ClassVar = {"placing": ("round-robin", "first-fit")}

    @dataclass(frozen=True)
    class Params:
        placing: Placing = field(default="first-fit", metadata=PLACING_HELP)

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(params.placing)
        self.params = params

    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        order = waiting.jobs[np.argsort(view.job_work_left[waiting.jobs], kind="stable")]
        room.put_in_order(order, waiting.useful, np.ones_like(waiting.useful))
        return ()
