"""What the searches share: which jobs are ordered, where a search begins, and what its answer means.

At every decision the waiting jobs are ordered and placed anew; what starts at once is the decision.  A solution is
worth the mean completion time and the mean fee that a list schedule by it comes to (`kernels/gpu_lookahead`), by
estimates and without neighbours.  At most `window` jobs are ordered, half of them those that have waited longest, half
those with the least GPU-time left; others start behind them, by arrival, if they fit.  A search begins where the last
one ended; jobs that are new go to the end, as close together as possible.  Its length is a number of evaluations (fewer
where few jobs wait), not a time, so the same run gives the same answer everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuView, Ints, Place, Reason
from dovetail.schedulers.heuristic.gpu.compiled import queue_kernel_of
from dovetail.schedulers.heuristic.gpu.order import gpu_time
from dovetail.schedulers.heuristic.gpu.orders.fifo import Fifo
from dovetail.schedulers.heuristic.gpu.places.topology import Topology

EACH = 30  # evaluations for every job that is ordered, if those are fewer than were asked for


class Search(ABC):
    """A search; subclasses say how."""

    ALL_UP_TO_JOBS: ClassVar = 3_000

    def __init__(self, window: int) -> None:
        self.window = window

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        order, place = Fifo(), Topology()
        order.reset(info, rng)
        place.reset(info, rng)
        facts = queue_kernel_of(info, order, place)
        self._params, self._state = facts.params, facts.state
        there = np.unique(info.machine_type)
        masks = [1 << int(one) for one in there] if len(there) > 1 else []
        self._types = np.array([-1, *masks], np.int64)
        self._price = np.ascontiguousarray(info.type_price)
        self._key = int(rng.integers(1 << 62))
        self._asked = 0
        self._known: dict[int, tuple[float, float]] = {}  # job -> key and gene of the last solution

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        jobs = self._jobs(view)
        if not len(jobs):
            return ()
        self._asked += 1
        first = self._first(view, jobs)
        starts = np.empty(len(view.job_id), np.int64)
        machines = np.empty(int(view.job_workers.sum()), np.int64)
        scores = np.empty((len(view.job_id), 2))
        key = (self._key + self._asked * 0x9E3779B97F4A7C15) & ((1 << 62) - 1)
        count = self.search(view, jobs, first, key, starts, machines, scores)
        n = len(jobs)
        ids = view.job_id[jobs].tolist()
        self._known = dict(zip(ids, zip(first[:n].tolist(), first[n:].tolist(), strict=True), strict=True))
        found, used = [], 0
        for job, (priority, affinity) in zip(starts[:count].tolist(), scores[:count].tolist(), strict=True):
            workers = int(view.job_workers[job])
            found.append(
                GpuDecision(
                    job,
                    machines[used : used + workers].copy(),
                    reason=Reason.SEARCHED,
                    place=Place.SEARCHED,
                    priority=priority,
                    affinity=affinity,
                )
            )
            used += workers
        return found

    @abstractmethod
    def search(
        self, view: GpuView, jobs: Ints, first: Floats, key: int, starts: Ints, machines: Ints, scores: Floats
    ) -> int:
        """Improve `first`, and say who starts by the best that was found."""

    def facts(self) -> tuple[Any, ...]:
        """What every search is told beside the view: params, state; types to choose from and their prices."""
        return self._params, self._state, self._types, self._price

    def _jobs(self, view: GpuView) -> Ints:
        """Job indices, in order."""
        waiting = len(view.job_id)
        if waiting <= self.window:
            return np.arange(waiting)
        longest = self.window // 2
        left = gpu_time(view.job_left_s, view.job_workers, view.job_gpus)[longest:]
        least = np.argsort(left, kind="stable")[: self.window - longest] + longest
        return np.sort(np.concatenate([np.arange(longest), least]))

    def _first(self, view: GpuView, jobs: Ints) -> Floats:
        """Keys and genes: as they were in the last solution; the new ones last, by arrival."""
        n = len(jobs)
        first = np.zeros(2 * n)
        for i, number in enumerate(view.job_id[jobs].tolist()):
            first[i], first[n + i] = self._known.get(number, (2.0, 0.0))
        ranks = np.empty(n)
        ranks[np.argsort(first[:n], kind="stable")] = np.arange(n)
        first[:n] = (ranks + 0.5) / n
        return first


def check_search(evaluations: int, window: int, weight: float, kept: int) -> None:
    """For the parameters of all searches."""
    if not 1 <= evaluations <= 10**7:
        raise ValueError(f"evaluations is {evaluations}; expected 1 to 10,000,000")
    if not 2 <= window <= 1000:
        raise ValueError(f"window is {window}; expected 2 to 1,000 jobs")
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight is {weight}; expected 0 to 1")
    if not 1 <= kept <= 1000:
        raise ValueError(f"kept is {kept}; expected 1 to 1,000 solutions")
