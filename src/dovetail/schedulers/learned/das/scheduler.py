"""gpu/das: a learned order and a learned place that know of each other (DAS, KDD 2023).

Jobs are taken by priority; each one's workers go to the machines of highest affinity that take them; a job that does
not fit waits.  What became of earlier jobs where they were put is remembered (`history` of them) and tells how fast the
next would be on machines like those.  `forward` has the equations, `kernel` the loop.

Departures.  The published agents score everything from nothing; these correct a rule of thumb.  A job that fits may be
let wait as well: where a few long jobs fill a cluster and nobody can be stopped, the many short ones that come next
pay for it, and a gang that is torn apart runs slowly for as long as it lasts.  It waits if a weighed sum of what speaks
for starting (`features.gpu.START_COLUMNS`) and the readiness that the ordering agent gives it are below 0 together,
unless nothing runs.  What kinds of jobs do to each other on a machine is learned as well (`features.gpu_neighbours`).
A gang that one machine cannot hold is kept together: machines in the racks of those already chosen gain `place.rack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.errors import DovetailError
from dovetail.core.gpu import GpuDecision, GpuInfo, GpuKernel, GpuView, Place, Reason
from dovetail.schedulers.learned import checkpoint_files

# What is compiled is imported when it is needed: listing schedulers with their parameters does not load numba.
if TYPE_CHECKING:
    from dovetail.features.gpu_measure import Known
    from dovetail.schedulers.learned.das.forward import DasForward
    from dovetail.schedulers.learned.das.kernel import Nudge

BUNDLED = Path(__file__).parent / "checkpoints"
AUTO, ONE_TYPE, SEVERAL_TYPES = "auto", "cloud", "cloud-mixed"


def find_checkpoint(name: str) -> Path:
    """A bundled checkpoint by its name, or any by its path."""
    return checkpoint_files.find_checkpoint(name, BUNDLED)


def load_network(name: str) -> DasForward:
    from dovetail.schedulers.learned.das.checkpoint import load_checkpoint

    return load_checkpoint(find_checkpoint(name)).network


@dataclass(frozen=True)
class DasParams:
    checkpoint: str = field(
        default=AUTO, metadata={"help": "name of a bundled network, or a path; auto: the one for as many types of GPUs"}
    )


class Das:
    Params = DasParams

    def __init__(
        self, params: DasParams = DasParams(), *, network: DasForward | None = None, nudge: Nudge | None = None
    ) -> None:
        self.checkpoint = params.checkpoint
        self._network = network
        self._nudge = nudge
        if network is None and params.checkpoint != AUTO:
            self._network = load_network(params.checkpoint)
        self._known: Known | None = None

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        from dovetail.features.gpu_arrivals import Arrivals
        from dovetail.features.gpu_measure import Known
        from dovetail.schedulers.learned.das.memory import Memory

        self.network = self._network or load_network(SEVERAL_TYPES if np.ptp(info.machine_type) else ONE_TYPE)
        self._known = Known.of(info)
        self._about = self.network.neighbours(info.kind_name)
        self._memory = Memory.empty(self.network.shape.history, self.network.shape.walk_rank)
        self._arrivals = Arrivals.empty()

    def kernel(self) -> GpuKernel:
        from dovetail.schedulers.learned.das.kernel import Nudge, pack_kernel

        if self._known is None:
            raise DovetailError("Das: reset() must come before kernel(), it tells the cluster's size")
        return pack_kernel(self.network, self._known, self._about, self._nudge or Nudge.none())

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        from dovetail.schedulers.learned.das.kernel import Nudge, choose

        jobs = len(view.job_id)
        starts = np.zeros((jobs, 3), np.int64)
        machines = np.zeros(int(view.job_workers.sum()), np.int64)
        scores = np.zeros((jobs, 2))
        # Numba compiles for read-only arrays anew: this way it is the code of whole episodes.
        writable = GpuView._make([view.time_s, *(np.array(part) for part in view[1:])])
        nudge = self._nudge or Nudge.none()
        about, memory, arrivals = self._about, self._memory, self._arrivals
        count = choose(
            writable, self.network.weights, self._known, about, nudge, memory, arrivals, starts, machines, scores
        )
        decisions, first = [], 0
        for (job, reason, place), (priority, affinity) in zip(starts[:count].tolist(), scores.tolist(), strict=False):
            workers = int(view.job_workers[job])
            stand = machines[first : first + workers]
            first += workers
            decisions.append(GpuDecision(job, stand, False, Reason(reason), Place(place), priority, affinity))
        return decisions
