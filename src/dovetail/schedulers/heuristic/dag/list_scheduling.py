"""List schedulers in Python: what `list_rule` describes.  `list_kernel` is the compiled twin."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import cast

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, Ints, Reason
from dovetail.core.errors import DovetailError
from dovetail.schedulers.heuristic.dag.list_kernel import MOST_MARKS, NO_SHARE, ROUND_OFF, list_kernel
from dovetail.schedulers.heuristic.dag.list_rule import Equal, Keep, ListRule, Order, StageRule
from dovetail.schedulers.heuristic.dag.resource_use import cluster_totals, needed_share, used_share
from dovetail.schedulers.heuristic.dag.troublesome import executors_that_fit, leads_to_trouble

MANY = 50  # stages to choose from, beyond which arrays are faster
_EQUAL_OF = {
    Order.THREADS_USED: Equal.THREADS,
    Order.MEMORY_USED: Equal.MEMORY,
    Order.DOMINANT_SHARE: Equal.DOMINANT,
}


class ListScheduler:
    """Interprets a `ListRule`.  The named list schedulers only choose the rule."""

    def __init__(self, rule: ListRule) -> None:
        self.rule = rule
        self._info: DagInfo | None = None
        self._totals = (1.0, 1.0)
        self._params = np.zeros(0)

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        order, size = self.rule.order, self.rule.size
        self._info = info
        self._totals = cluster_totals(info)
        self._params = np.array(
            [
                float(order.jobs),
                float(order.stages),
                float(order.ready_first),
                float(size.capped),
                size.alpha,
                float(size.keep),
                float(size.spill),
                float(info.num_executors),
                float(self.rule.reason),
                order.long_threshold,
                order.fit_threshold,
                size.speedup,
                float(size.equal),
                *self._totals,
                *(float(kind.count) for kind in info.classes),
                *(kind.cpu for kind in info.classes),
                *(kind.memory for kind in info.classes),
            ]
        )

    def kernel(self) -> DagKernel:
        if self._info is None:
            raise DovetailError(
                f"{type(self).__name__}: reset() must come before kernel(), it tells the cluster's size"
            )
        marks = MOST_MARKS if self.rule.order.stages == StageRule.TROUBLESOME else 1
        return DagKernel(list_kernel, self._params.copy(), np.zeros(marks, np.int64))

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        valid = view.stage_valid.nonzero()[0]
        stages, jobs = valid.tolist(), view.stage_job[valid].tolist()
        if not stages:
            return ()
        held = view.job_executors.tolist()
        size = self.rule.size
        caps = self._caps(view) if size.capped else None
        tier, leaders = self._foremost_jobs(view, jobs, held, caps)
        if not leaders:
            return ()
        first = leaders if len(leaders) == 1 else set(leaders)  # with no order among jobs there are many
        stage, troublesome = self._first_stage(
            view, [stage for stage, job in zip(stages, jobs, strict=True) if job in first]
        )
        job = view.stage_job.item(stage)
        if caps is not None and (tier == 1 or (tier == 0 and size.keep == Keep.BELOW_CAP)):
            limit = caps[job]
        else:
            limit = held[job] + int(view.source_executors)
        reason = self.rule.reason
        if tier != 1:
            reason = Reason.SPILL_OVER if tier == 2 else Reason.KEEP_IN_JOB
        elif troublesome:
            reason = Reason.TROUBLESOME_FIRST
        return (DagDecision(stage, limit, -1, reason),)

    def _foremost_jobs(
        self, view: DagView, jobs: list[int], held: list[int], caps: list[int] | None
    ) -> tuple[int, list[int]]:
        """The best tier, and the jobs in it that no other precedes (several only if their keys are equal)."""
        source_job, keep = view.source_job, self.rule.size.keep
        beyond = 2 if self.rule.size.spill else NO_SHARE
        keys = self._job_keys(view)
        leaders: list[int] = []
        best_tier, best_key = NO_SHARE, 0.0
        for job in dict.fromkeys(jobs):
            tier = 1 if caps is None or held[job] < caps[job] else beyond
            if job == source_job and (keep == Keep.ALWAYS or (keep == Keep.BELOW_CAP and tier == 1)):
                return 0, [job]
            if tier == NO_SHARE or tier > best_tier:
                continue
            key = keys[job] if keys else 0.0
            if tier < best_tier or key < best_key:
                best_tier, best_key, leaders = tier, key, [job]
            elif key == best_key:
                leaders.append(job)
        return best_tier, leaders

    def _job_keys(self, view: DagView) -> Sequence[float]:
        """By job index; empty: all equal."""
        order = self.rule.order.jobs
        if order == Order.WORK_LEFT:
            return cast(list[float], view.job_work_left_s.tolist())
        if order == Order.TOTAL_WORK:
            return cast(list[float], view.job_work_s.tolist())
        if order >= Order.THREADS_USED:
            return used_share(view, _EQUAL_OF[order], self._totals)
        return range(len(view.job_id)) if order == Order.ARRIVAL else ()

    def _first_stage(self, view: DagView, stages: list[int]) -> tuple[int, bool]:
        """The stage that comes first, and whether it does so as a troublesome one."""
        order = self.rule.order
        in_group = None
        if order.stages == StageRule.TROUBLESOME:
            assert self._info is not None
            in_group = leads_to_trouble(view, stages, self._info, order.long_threshold, order.fit_threshold)
        elif len(stages) == 1:
            return stages[0], False
        by_path = order.stages != StageRule.LOWEST_ID
        fitting = [0] * len(stages)
        if order.stages == StageRule.SCARCE:
            assert self._info is not None
            fitting = executors_that_fit(view, np.array(stages), self._info).tolist()
        if len(stages) > MANY:
            chosen = self._first_of_many(view, np.array(stages), in_group, np.array(fitting), by_path)
            return stages[chosen], in_group is not None and in_group[chosen]
        ready, path_s = view.stage_ready.item, view.stage_critical_path_s.item
        best = None
        chosen = 0
        for i, stage in enumerate(stages):
            rank = (
                order.ready_first and not ready(stage),
                in_group is not None and not in_group[i],
                fitting[i],
                -path_s(stage) if by_path else 0.0,
            )
            if best is None or rank < best:
                best, chosen = rank, i
        return stages[chosen], in_group is not None and in_group[chosen]

    def _first_of_many(
        self, view: DagView, stages: Ints, in_group: Sequence[bool] | None, fitting: Ints, by_path: bool
    ) -> int:
        """The same by arrays: by each key in turn, those that come first by it remain."""
        keys: list[np.ndarray] = [fitting]
        if in_group is not None:
            keys.insert(0, ~np.array(in_group, np.bool_))
        if self.rule.order.ready_first:
            keys.insert(0, ~view.stage_ready[stages])
        if by_path:
            keys.append(-view.stage_critical_path_s[stages])
        left = np.arange(len(stages))
        for key in keys:
            of_left = key[left]
            left = left[of_left == of_left.min()]
        return int(left[0])

    def _caps(self, view: DagView) -> list[int]:
        """By job index; those of saturated jobs mean nothing."""
        assert self._info is not None
        executors, alpha = self._info.num_executors, self.rule.size.alpha
        unclaimed = view.job_unclaimed.tolist()
        if self.rule.size.speedup > 0.0:
            return self._caps_by_rank(view, unclaimed, executors)
        if self.rule.size.equal != Equal.EXECUTORS:
            needed = needed_share(view, self.rule.size.equal, self._totals)
            return self._caps_by_weight([1.0 / need for need in needed], unclaimed, executors)
        if alpha == 0.0:
            sharing = len(unclaimed) - unclaimed.count(0)
            return [-(-executors // max(1, sharing))] * len(unclaimed)
        return self._caps_by_weight(
            [max(work, 1e-6) ** alpha for work in view.job_work_s.tolist()], unclaimed, executors
        )

    def _caps_by_weight(self, weights: list[float], unclaimed: list[int], executors: int) -> list[int]:
        total = 0.0
        for weight, tasks in zip(weights, unclaimed, strict=True):
            if tasks > 0:
                total += weight
        return [max(1, ceil(executors * (weight / total) - ROUND_OFF)) for weight in weights]

    def _caps_by_rank(self, view: DagView, unclaimed: list[int], executors: int) -> list[int]:
        left = view.job_work_left_s.tolist()
        sharing = [job for job, tasks in enumerate(unclaimed) if tasks > 0]
        power = 1.0 / (1.0 - self.rule.size.speedup)
        caps = [0] * len(unclaimed)
        for rank, job in enumerate(sorted(sharing, key=lambda job: (-left[job], -job)), start=1):
            share = (rank / len(sharing)) ** power - ((rank - 1) / len(sharing)) ** power
            caps[job] = max(1, ceil(executors * share - ROUND_OFF))
        return caps
