"""elastic/fifo: jobs in order of arrival, each with a fixed number of workers, as in Hadoop and Spark.

The first of the baselines that OASiS (INFOCOM 2018) is compared with.  A job starts when all its workers, and the
parameter servers whose bandwidth they need, fit at once, and keeps them until it is complete; nobody is rejected.
`strict`: a job that does not fit holds up all that came after it.  Without, they may overtake.

Departure: where the authors draw a number of workers for every job, here all have the same one, which can be tuned, or
as many as they can use or the cluster holds if that is less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dovetail.core.elastic import ElasticDecision, ElasticView, Reason
from dovetail.schedulers.heuristic.elastic.placing import PLACING_HELP, Placing, SlotRoom
from dovetail.schedulers.heuristic.elastic.slot_scheduler import FixedScheduler, Waiting

WORKERS_GRID = (1, 2, 4, 8, 12, 16, 24, 32, 64, 128)


def check_workers(workers: int) -> None:
    if workers < 1:
        raise ValueError(f"workers is {workers}; expected 1 or more")


class Fifo(FixedScheduler):
    REASON = Reason.FIRST_ARRIVED
    TUNE: ClassVar = {"workers": WORKERS_GRID, "strict": (True, False)}

    @dataclass(frozen=True)
    class Params:
        workers: int = field(default=16, metadata={"help": "workers of every job that can use so many"})
        strict: bool = field(default=True, metadata={"help": "a job that does not fit holds up those after it"})
        placing: Placing = field(default="round-robin", metadata=PLACING_HELP)

        def __post_init__(self) -> None:
            check_workers(self.workers)

    def __init__(self, params: Params = Params()) -> None:
        super().__init__(params.placing, params.workers)
        self.params = params

    def fill(self, view: ElasticView, waiting: Waiting, room: SlotRoom) -> Sequence[ElasticDecision]:
        self.keep_or_start(view, waiting, room, waiting.jobs, strict=self.params.strict)
        return ()
