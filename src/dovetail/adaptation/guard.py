"""Guard rails: what no learner may do, however promising it looks.

- A composition that raises, gives a decision the world would refuse, or leaves a cluster idle that has work, is
  replaced by the fallback at once and never chosen again; one that exceeds its decision budget likewise.
- No more than a set share of the windows explores.
- An exploring window is cut short when it turns out far worse than what the best composition is believed to cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail.core.dag import DagDecision, DagInfo, DagView

Timer = Callable[[], float]


def fault_of(decisions: Sequence[DagDecision], view: DagView, info: DagInfo) -> str | None:
    """What is wrong with the answer, as far as the view tells; None if nothing is."""
    if not decisions:
        if view.stage_running.any() or view.job_executors.any():
            return None
        return "it declined although nothing runs"
    draft = _Draft(view, info)
    for decision in decisions:
        fault = draft.fault_of(decision)
        if fault is not None:
            return fault
    return None


class _Draft:
    """The view as it would be after the decisions looked at so far, which are carried out one after the other.

    One thing no view tells: of which class the one executor is that is free already when those of a stage are on offer.
    It is given away first, so later decisions of the same answer may find other classes left than is assumed here.
    """

    def __init__(self, view: DagView, info: DagInfo) -> None:
        self._view = view
        self._info = info
        self._on_offer: list[int] = view.source_by_class.tolist()
        self._claimed: dict[int, int] = {}  # tasks by stage
        self._gained: dict[int, int] = {}  # executors by job

    def fault_of(self, decision: DagDecision) -> str | None:
        """What is wrong with one decision; if nothing is, it is carried out here."""
        view, info = self._view, self._info
        stage, limit, executor_class, _ = decision
        if not (0 <= stage < len(view.stage_id) and self._may_be_chosen(stage)):
            return f"it chose stage {stage}, which may not be chosen"
        job = view.stage_job.item(stage)
        held = view.job_executors.item(job) + self._gained.get(job, 0)
        if not held < limit <= info.num_executors:
            return f"it gave a limit of {limit} to a job that holds {held} of {info.num_executors} executors"
        if not -1 <= executor_class < len(info.classes):
            return f"it asked for executor class {executor_class}; there are {len(info.classes)}"
        cpu, memory = view.stage_cpu.item(stage), view.stage_memory.item(stage)
        fitting = [
            c
            for c, kind in enumerate(info.classes)
            if self._on_offer[c] and executor_class in (-1, c) and kind.cpu >= cpu and kind.memory >= memory
        ]
        if not fitting:
            return f"it chose stage {stage}, and no executor on offer that it asked for is large enough"
        wanted = min(limit - held, view.stage_unclaimed.item(stage))
        given = 0
        for c in sorted(fitting, key=lambda c: (info.classes[c].memory, info.classes[c].cpu, c)):
            taken = min(wanted - given, self._on_offer[c])
            self._on_offer[c] -= taken
            given += taken
        self._claimed[stage] = given
        self._gained[job] = self._gained.get(job, 0) + given
        return None

    def _may_be_chosen(self, stage: int) -> bool:
        """As the view says; but once is enough, and what was claimed before may have made way for its children."""
        view = self._view
        if stage in self._claimed:
            return False
        if view.stage_valid[stage] or not self._claimed:
            return bool(view.stage_valid[stage])
        parents = view.edge_parent[view.edge_child == stage].tolist()
        left = (view.stage_unclaimed.item(parent) - self._claimed.get(parent, 0) for parent in parents)
        return view.stage_unclaimed.item(stage) > 0 and all(tasks <= 0 for tasks in left)


class ExplorationQuota:
    """Counts windows; exploring is allowed while its share stays within bounds."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.windows = 0
        self.explored = 0

    def allows(self) -> bool:
        return self.explored + 1 <= self.share * (self.windows + 1)

    def count(self, *, explored: bool) -> None:
        self.windows += 1
        self.explored += explored
