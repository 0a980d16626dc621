"""elastic/edf: the job that is due first, with as many workers as fit and it can use, then the next.

A job is due `due` slots after its arrival, where its sigmoid has lost half of its worth.  The division is made anew in
every slot.  `late_last`: jobs that would be late even with all the workers they may have are served after all others,
because most of what they were worth is lost; earliest-due-first is known to collapse under overload for want of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.elastic import ElasticDecision, ElasticView, Reason
from dovetail.schedulers.heuristic.elastic.placing import PLACING_HELP, Placing, SlotRoom
from dovetail.schedulers.heuristic.elastic.slot_scheduler import SlotScheduler, Waiting


class Edf(SlotScheduler):
    REASON = Reason.EARLIEST_DUE
    TUNE: ClassVar = {"late_last": (False, True), "placing": ("round-robin", "first-fit")}

    @dataclass(frozen=True)
    class Params:
        late_last: bool = field(default=False, metadata={"help": "jobs that cannot be in time come after the others"})
        placing: Placing = field(default="first-fit", metadata=PLACING_HELP)

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(params.placing)
        self.params = params

    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        jobs = waiting.jobs
        due = view.job_arrival[jobs] + view.job_utility[jobs, 2]
        late = np.zeros(len(jobs), dtype=np.bool_)
        if self.params.late_last:
            earliest = view.slot - 1 + np.ceil(view.job_work_left[jobs] / waiting.fit[jobs])  # slot of completion
            late = earliest > due
        room.put_in_order(jobs[np.lexsort((due, late))], waiting.useful, np.ones_like(waiting.useful))
        return ()
