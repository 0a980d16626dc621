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
    stage, limit, executor_class, _ = decisions[0]
    if not (0 <= stage < len(view.stage_id) and view.stage_valid[stage]):
        return f"it chose stage {stage}, which may not be chosen"
    held = view.job_executors.item(view.stage_job.item(stage))
    if not held < limit <= info.num_executors:
        return f"it gave a limit of {limit} to a job that holds {held} of {info.num_executors} executors"
    if not -1 <= executor_class < len(info.classes):
        return f"it asked for executor class {executor_class}; there are {len(info.classes)}"
    return None


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
