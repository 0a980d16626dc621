"""What really would have happened: a copy of a world goes on after another decision, with the same luck and arrivals.

That is more than a scheduler may know.  It serves the oracle, which shows what knowing the future would be worth, and
training, where what is learned from many such futures is their average.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.dag import DagDecision, DagKernel, DagView, Floats
from dovetail.core.errors import InvalidDecision
from dovetail.sim.dag.left_over import still_to_pay
from dovetail.sim.dag.memory import allocate_buffers, allocate_records, allocate_world
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.kernels.dag_compile import compile_kernel, episode_loop
from dovetail.sim.kernels.dag_entry import addresses, enter_apply_to
from dovetail.sim.kernels.dag_state import COUNTS, FINISHED, INVALID, DagMemory, DagOne, DagTable

MUTABLE = len(DagOne._fields) - len(DagTable._fields)  # the arrays of a world that change; the rest is the table


class Fork:
    """Room for copies of one world at a time."""

    def __init__(self) -> None:
        self._memory: DagMemory | None = None
        self._of: DagOne | None = None
        self._counts = np.zeros(COUNTS, dtype=np.int64)
        self._out = np.zeros(4, dtype=np.int64)

    def costs(
        self,
        one: DagOne,
        decisions: Sequence[tuple[int, int, int, int]],
        kernel: DagKernel,
        *,
        luck: int | None = None,
        span_s: float = float("inf"),
    ) -> Floats:
        """(decisions, 5) what every objective has paid at the end after each (job, stage in it, limit, class).

        `one` waits for a decision and stays as it is.  `luck` gives the tasks still to start other durations.  The
        end is that of the episode, or `span_s` from now; what the jobs that are there then would cost is estimated.
        """
        memory = self._room_for(one)
        function, run_on = compile_kernel(kernel), episode_loop()
        found = np.empty((len(decisions), len(COSTS)))
        world = memory.one.world[0]
        for i, (job, stage, limit, kind) in enumerate(decisions):
            for ours, theirs in zip(memory.one[:MUTABLE], one[:MUTABLE], strict=True):
                ours[:] = theirs
            if luck is not None:
                world["duration_key"] = np.uint64(luck)
            world["horizon"] = min(world["horizon"], world["now"] + span_s)
            status = INVALID
            if enter_apply_to(self._at, job, stage, limit, kind) > 0:
                status = run_on(function, kernel.params, kernel.state, self._out, self._at, self._counts)
            if status != FINISHED:
                raise InvalidDecision(
                    f"stage {stage} of job {job}, limit {limit}: cannot be tried in a copy of the world"
                )
            found[i] = [world[f"cost_{name}"] for name in COSTS]
            if span_s != float("inf"):
                found[i] += still_to_pay(memory.one)
        return found

    @property
    def copy(self) -> DagOne:
        """The copy that was tried last, as it ended."""
        assert self._memory is not None, "nothing was tried yet"
        return self._memory.one

    def _room_for(self, one: DagOne) -> DagMemory:
        if self._memory is None or self._of is not one:
            jobs, stages = len(one.jobs), len(one.stages)
            table = DagTable(*(getattr(one, name) for name in DagTable._fields))
            edges = int((table.dags["edge_ptr"][1:] - table.dags["edge_ptr"][:-1]).max(initial=0)) * jobs
            buffers = allocate_buffers(jobs, stages, edges, len(table.class_order))
            self._memory = DagMemory(allocate_world(table, jobs, stages), allocate_records(0, 0), buffers)
            self._of = one
            self._at = addresses(self._memory)
        return self._memory


class Oracle:
    """`LookAhead` into the true future of a world that waits for a decision."""

    def __init__(self, one: DagOne) -> None:
        self._one = one
        self._fork = Fork()

    def costs(
        self,
        view: DagView,
        candidates: Sequence[DagDecision],
        kernel: DagKernel,
        horizon_s: float = float("inf"),
    ) -> Floats:
        """Job-seconds from now to the horizon after each candidate."""
        tries = [
            (int(view.job_id[view.stage_job[stage]]), int(view.stage_id[stage]), limit, kind)
            for stage, limit, kind, _ in candidates
        ]
        now = float(self._one.world["cost_jobs"][0])
        return self._fork.costs(self._one, tries, kernel, span_s=horizon_s)[:, COSTS.index("jobs")] - now
