"""Order parts: which job first.  Smallest key first; ties by arrival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dovetail.core.dag import DagInfo, DagView, Reason
from dovetail.core.handover import State
from dovetail.schedulers.heuristic.dag.list_rule import Order, OrderRule, StageRule


class OrderPart:
    """An order that `list_rule` can describe; one that it cannot overrides `keys`."""

    RULE: ClassVar[OrderRule]
    REASON: ClassVar[Reason]

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        """Most orders remember nothing."""

    def keys(self, view: DagView) -> Sequence[float] | None:
        """By job index; None: as the rule says."""
        return None


class Fifo(OrderPart):
    RULE = OrderRule(Order.ARRIVAL, StageRule.LOWEST_ID)
    REASON = Reason.FIRST_ARRIVED


class Drf(OrderPart):
    RULE = OrderRule(Order.DOMINANT_SHARE, StageRule.LOWEST_ID)
    REASON = Reason.BELOW_FAIR_SHARE


class FairThreads(OrderPart):
    RULE = OrderRule(Order.THREADS_USED, StageRule.LOWEST_ID)
    REASON = Reason.BELOW_FAIR_SHARE


class FairMemory(OrderPart):
    RULE = OrderRule(Order.MEMORY_USED, StageRule.LOWEST_ID)
    REASON = Reason.BELOW_FAIR_SHARE


class Sjf(OrderPart):
    RULE = OrderRule(Order.TOTAL_WORK)
    REASON = Reason.SHORTEST_JOB


class Srtf(OrderPart):
    RULE = OrderRule(Order.WORK_LEFT, StageRule.SCARCE)
    REASON = Reason.LEAST_WORK_LEFT


class CriticalPath(OrderPart):
    RULE = OrderRule(Order.NONE)
    REASON = Reason.LONGEST_CRITICAL_PATH


class LeastAttained(OrderPart):
    """Least attained service (Nuyens and Wierman, 2008; Tiresias, NSDI 2019): thread-seconds received so far.

    It remembers what each job has received, so it is the part whose state is carried over in a swap.  Of a job that it
    has not watched from the start it knows the tasks that are finished, by their estimated durations.
    """

    RULE = OrderRule(Order.ARRIVAL, StageRule.LOWEST_ID)
    REASON = Reason.LEAST_SERVICE

    def __init__(self) -> None:
        self._attained_s: dict[int, float] = {}  # by job id
        self._running: dict[int, float] = {}  # threads, since `_time_s`
        self._time_s = 0.0

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._attained_s, self._running, self._time_s = {}, {}, 0.0

    def keys(self, view: DagView) -> Sequence[float]:
        passed_s = view.time_s - self._time_s
        threads = np.bincount(view.stage_job, view.stage_running * view.stage_cpu, len(view.job_id)).tolist()
        finished_s = (view.job_work_s - view.job_work_left_s).tolist()
        attained, running = {}, {}
        for job, now, least in zip(view.job_id.tolist(), threads, finished_s, strict=True):
            known = self._attained_s.get(job)
            attained[job] = least if known is None else known + passed_s * self._running.get(job, 0.0)
            running[job] = now
        self._attained_s, self._running, self._time_s = attained, running, view.time_s
        return list(attained.values())

    def export_state(self) -> State:
        return {"attained_s": dict(self._attained_s), "running": dict(self._running), "time_s": self._time_s}

    def import_state(self, state: State) -> Sequence[str]:
        attained, running, time_s = state["attained_s"], state["running"], state["time_s"]
        assert isinstance(attained, dict) and isinstance(running, dict) and isinstance(time_s, float)
        self._attained_s, self._running, self._time_s = dict(attained), dict(running), time_s
        return tuple(state)
