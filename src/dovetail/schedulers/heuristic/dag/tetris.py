"""dag/tetris: tasks go where their demand fills the free resources best, short jobs favoured (SIGCOMM 2014).

For each valid stage v and each class c of executors on offer that fits it, with r = CPU, memory:

    packing(v, c) = sum_r demand(v, r) / size(c, r) * free(r) / total(r),
                    times 1 - remote_penalty if the executors are not at v's job
    score(v, c)   = packing(v, c) - epsilon * work left in v's job
    epsilon       = short_jobs * mean packing / mean work left, over all such pairs

`free` is what all executors on offer have together, `total` the whole cluster.  The dot product is large when
a task fills its executor and when it asks for what is plentiful.  The pair with the highest score wins, then
a stage that can start, then the longest chain of stages; the stage gets as many executors of the class as it
can use.  Epsilon by means, and a penalty for moving, are as in the paper.

Departures.  (1) An executor runs one task, so demand is measured against the executor and not against a
machine shared by many.  (2) A resource without bound is not packed: its terms are 0; if both are without
bound there is nothing to pack and every packing counts as 1: least work left first, slow to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView, Floats, Ints, Reason
from dovetail.core.errors import DovetailError

_BEST_PACKING = int(Reason.BEST_PACKING)


class Tetris:
    TUNE: ClassVar = {
        "short_jobs": (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
        "remote_penalty": (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0),
    }

    @dataclass(frozen=True)
    class Params:
        short_jobs: float = field(default=1.0, metadata={"help": "weight of little work left against packing"})

        remote_penalty: float = field(
            default=0.1, metadata={"help": "part of the packing lost when executors must move to another job"}
        )

        def __post_init__(self) -> None:
            if not 0.0 <= self.remote_penalty <= 1.0:
                raise ValueError(f"remote_penalty is {self.remote_penalty}; expected a part from 0 to 1")
            if not self.short_jobs >= 0.0:
                raise ValueError(f"short_jobs is {self.short_jobs}; expected a weight of 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: DagInfo | None = None

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._cpu = [kind.cpu for kind in info.classes]
        self._memory = [kind.memory for kind in info.classes]
        self._total_cpu = sum(kind.count * kind.cpu for kind in info.classes)
        self._total_memory = sum(kind.count * kind.memory for kind in info.classes)

    def kernel(self) -> DagKernel:
        if self._info is None:
            raise DovetailError("Tetris: reset() must come before kernel(), it tells the executor classes")
        params = [self.params.short_jobs, self.params.remote_penalty, self._total_cpu, self._total_memory]
        return DagKernel(
            _tetris_kernel, np.array([*params, *self._cpu, *self._memory], np.float64), np.zeros(1, np.int64)
        )

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        valid = view.stage_valid.nonzero()[0]
        stages = valid.tolist()
        if not stages:
            return ()
        offered = view.source_by_class.tolist()
        free_cpu, free_memory = self._free(offered)
        jobs = view.stage_job[valid].tolist()
        left = view.job_work_left_s.tolist()
        cpu, memory = view.stage_cpu[valid].tolist(), view.stage_memory[valid].tolist()
        nothing_to_pack = self._total_cpu == inf and self._total_memory == inf
        pairs = []  # (place in `stages`, class, packing)
        sum_packing = sum_left = 0.0
        for i, job in enumerate(jobs):
            for c, count in enumerate(offered):
                if count > 0 and self._cpu[c] >= cpu[i] and self._memory[c] >= memory[i]:
                    packing = cpu[i] / self._cpu[c] * free_cpu + memory[i] / self._memory[c] * free_memory
                    if nothing_to_pack:
                        packing = 1.0
                    if job != view.source_job:
                        packing *= 1.0 - self.params.remote_penalty
                    pairs.append((i, c, packing))
                    sum_packing += packing
                    sum_left += left[job]
        if not pairs:
            return ()
        mean_packing = sum_packing / len(pairs) if sum_packing > 0.0 else 1.0
        epsilon = self.params.short_jobs * mean_packing / (sum_left / len(pairs)) if sum_left > 0.0 else 0.0
        ready = view.stage_ready[valid].tolist()
        path = view.stage_critical_path_s[valid].tolist()
        i, c, _ = max(pairs, key=lambda pair: (pair[2] - epsilon * left[jobs[pair[0]]], ready[pair[0]], path[pair[0]]))
        limit = int(view.job_executors[jobs[i]]) + offered[c]
        return (DagDecision(stages[i], limit, c, Reason.BEST_PACKING),)

    def _free(self, offered: list[int]) -> tuple[float, float]:
        """What is on offer as a part of the whole cluster; 0 for a resource without bound."""
        free_cpu = free_memory = 0.0
        if self._total_cpu < inf:
            for count, cpu in zip(offered, self._cpu, strict=True):
                free_cpu += count * cpu
            free_cpu /= self._total_cpu
        if self._total_memory < inf:
            for count, memory in zip(offered, self._memory, strict=True):
                free_memory += count * memory
            free_memory /= self._total_memory
        return free_cpu, free_memory


def _tetris_kernel(view: DagView, params: Floats, state: Ints, out: Ints) -> int:
    short_jobs, remote_penalty, total_cpu, total_memory = params[0], params[1], params[2], params[3]
    classes = view.source_by_class.size
    class_cpu, class_memory = params[4 : 4 + classes], params[4 + classes : 4 + 2 * classes]
    free_cpu, free_memory = 0.0, 0.0
    for c in range(classes):
        if total_cpu < np.inf:
            free_cpu += view.source_by_class[c] * class_cpu[c]
        if total_memory < np.inf:
            free_memory += view.source_by_class[c] * class_memory[c]
    if total_cpu < np.inf:
        free_cpu /= total_cpu
    if total_memory < np.inf:
        free_memory /= total_memory

    nothing_to_pack = total_cpu == np.inf and total_memory == np.inf

    # first the means for epsilon, then the best pair
    pairs, sum_packing, sum_left, epsilon = 0, 0.0, 0.0, 0.0
    best, best_class, best_ready, best_score, best_path = -1, -1, False, 0.0, 0.0
    for choosing in range(2):
        if choosing == 1:
            if pairs == 0:
                return 0
            mean_packing = sum_packing / pairs if sum_packing > 0.0 else 1.0
            if sum_left > 0.0:
                epsilon = short_jobs * mean_packing / (sum_left / pairs)
        for v in range(view.stage_valid.size):
            if not view.stage_valid[v]:
                continue
            cpu, memory = view.stage_cpu[v], view.stage_memory[v]
            left = view.job_work_left_s[view.stage_job[v]]
            for c in range(classes):
                if view.source_by_class[c] <= 0 or class_cpu[c] < cpu or class_memory[c] < memory:
                    continue
                packing = cpu / class_cpu[c] * free_cpu + memory / class_memory[c] * free_memory
                if nothing_to_pack:
                    packing = 1.0
                if view.stage_job[v] != view.source_job:
                    packing *= 1.0 - remote_penalty
                if choosing == 0:
                    pairs += 1
                    sum_packing += packing
                    sum_left += left
                    continue
                score, path = packing - epsilon * left, view.stage_critical_path_s[v]
                ready = bool(view.stage_ready[v])
                if best >= 0:  # does it beat the best so far?
                    if score != best_score:
                        if score < best_score:
                            continue
                    elif ready != best_ready:
                        if best_ready:
                            continue
                    elif path <= best_path:
                        continue
                best, best_class, best_ready, best_score, best_path = v, c, ready, score, path
    out[0] = best
    out[1] = view.job_executors[view.stage_job[best]] + view.source_by_class[best_class]
    out[2] = best_class
    out[3] = _BEST_PACKING
    return 1
