"""One stream world in virtual time: intervals go by, and between them the scheduler is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import StreamDecision, StreamInfo, StreamView
from dovetail.sim.kernels.stream_entry import addresses, enter_advance, enter_begin, enter_rescale
from dovetail.sim.kernels.stream_state import StreamMemory
from dovetail.sim.stream.memory import Lens, allocate, load
from dovetail.sim.stream.options import StreamOptions
from dovetail.sim.stream.prepare import check_times, check_workload, stream_future, stream_info
from dovetail.sim.stream.refusal import read_answer
from dovetail.sim.stream.result import DecisionRow, StreamResult
from dovetail.workloads.stream import StreamWorkload


class StreamWorld:
    """A workload, interval by interval: `advance` and `apply` in turn.

    `record=True` keeps every snapshot.  Randomness: `seeds.child("service")`.
    """

    def __init__(
        self, workload: StreamWorkload, options: StreamOptions, seeds: SeedTree, *, record: bool = False
    ) -> None:
        check_workload(workload)
        self.workload = workload
        self.options = options
        self.seeds = seeds
        self.info = stream_info(workload, options)
        self._intervals = check_times(workload, options)
        self._memory = StreamMemory(*(table[0] for table in allocate(workload, options, 1, keeps_all=record)))
        load(self._memory, workload, options, seeds, keeps_all=record)
        self._at = addresses([self._memory])
        enter_begin(self._at, 0, 1)
        self._lens = Lens(self._memory, workload.clock_s, options)
        self._record = record
        self._view: StreamView | None = None
        self._ended = 0  # intervals
        self._decision_rows: list[DecisionRow] = []

    def info_for(self, scheduler: object) -> StreamInfo:
        """What this scheduler is told: with the future, if it says that it is `CLAIRVOYANT`."""
        if getattr(scheduler, "CLAIRVOYANT", False):
            return replace(self.info, future=stream_future(self.workload))
        return self.info

    @property
    def time_s(self) -> float:
        return self._ended * self.options.interval_s

    def advance(self) -> StreamView | None:
        """Let the next interval pass.  None: it was the last."""
        if self._view is None and self._ended < self._intervals:
            enter_advance(self._at, 0, 1)
            self._ended += 1
            if self._ended < self._intervals:
                self._view = self._lens.view(self.time_s)
        return self._view

    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        """Carry out the decisions, all together.

        If one of them is refused, none has been carried out, and the last view stays as it is.
        """
        view = self._view
        if view is None:
            raise InvalidDecision("there is nothing to decide: call advance() first, and stop when it returns None")
        wanted = read_answer(decisions, self.info, view.parallelism, self.time_s)
        interval = self._ended - 1
        self._decision_rows += [
            DecisionRow(interval, int(operator), before, int(after), int(reason), float(demand))
            for operator, after, reason, demand in decisions
            if (before := int(view.parallelism[operator])) != after
        ]
        if decisions:
            enter_rescale(self._at, 0, 1, wanted[None])
        self._view = None

    def result(self) -> StreamResult:
        """What the run came to; snapshots only if they were recorded."""
        snapshots = self._recorded() if self._record else None
        return StreamResult.of(self.workload, self.options, self._memory, self._decision_rows, snapshots)

    def _recorded(self) -> StreamView:
        """All snapshots so far."""
        everything = replace(self.options, history=max(1, self._memory.history_parallelism.shape[0]))
        return Lens(self._memory, self.workload.clock_s, everything).view(self.time_s)
