"""One gpu world in virtual time, for schedulers written in Python and for compiled ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import Floats, GpuDecision, GpuInfo, GpuKernel, GpuView, Ints
from dovetail.core.seeds import SeedTree
from dovetail.sim.gpu.memory import Lens, allocate_buffers, allocate_records, allocate_world, grow_records
from dovetail.sim.gpu.options import GpuOptions
from dovetail.sim.gpu.prepare import check_failures, check_fit, check_jobs, check_model, cluster_info, kind_rows
from dovetail.sim.gpu.refusal import refusal
from dovetail.sim.gpu.result import GpuResult
from dovetail.sim.kernels.gpu_compile import compile_kernel, episode_loop
from dovetail.sim.kernels.gpu_entry import addresses, enter_answer, enter_reset, enter_step
from dovetail.sim.kernels.gpu_state import (
    BAD_COUNT,
    COUNTS,
    DECISION,
    FINISHED,
    INVALID,
    OK,
    ORDER_COLUMNS,
    ORDER_JOB,
    ORDER_STOPS,
    RECORDS_FULL,
    RUN_ID,
    STALLED,
    GpuMemory,
)
from dovetail.workloads.gpu import GpuWorkload

GOES_ON = -1  # status between decisions
FIRST_RECORDS = 1024
NO_MACHINES = np.zeros(0, np.int64)


class GpuWorld:
    """A workload on a cluster.  `advance` and `apply` in turn, or `run_kernel` for a compiled scheduler.

    `record=True` keeps where every job ran, every decision and every change of speed.  Randomness:
    `seeds.child("failures")` and `.child("moods")`.
    """

    def __init__(
        self,
        workload: GpuWorkload,
        speed_model: SpeedModel,
        options: GpuOptions,
        seeds: SeedTree,
        *,
        record: bool = False,
    ) -> None:
        self.workload = workload
        self.speed_model = speed_model
        self.options = options
        self.seeds = seeds
        machines = options.cluster.arrays()
        check_model(speed_model)
        kind = kind_rows(workload, speed_model)
        check_jobs(workload)
        check_fit(workload, kind, speed_model, machines)
        check_failures(workload, options)
        keys = seeds.child("failures").key(), seeds.child("moods").key()
        one = allocate_world(workload, kind, speed_model, machines, options, *keys)
        buffers = allocate_buffers(workload.num_jobs, int(workload.workers.sum()))
        self._memory = GpuMemory(one, buffers, allocate_records(FIRST_RECORDS if record else 0))
        self._at = addresses(self._memory)
        self._lens = Lens(self._memory)
        self._counts = np.zeros(COUNTS, np.int64)
        self._status = GOES_ON
        self._view: GpuView | None = None
        enter_reset(self._at)
        self.info = cluster_info(workload, speed_model, machines, options)

    def info_for(self, scheduler: object) -> GpuInfo:
        """What this scheduler is told: the same as every other, nobody knows the future here."""
        return self.info

    @property
    def time_s(self) -> float:
        return float(self._memory.one.world[0]["now"])

    # --- a scheduler in Python ---------------------------------------------------------------------------------

    def advance(self) -> GpuView | None:
        """Run to the next decision.  None: all jobs are complete."""
        if self._view is not None:
            return self._view
        if self._status == GOES_ON:
            self._status = enter_step(self._at, self._counts)
            while self._status == RECORDS_FULL:
                self._grow_records()
                self._status = enter_step(self._at, self._counts)
        if self._status == FINISHED:
            return None
        self._view = self._lens.view(self._counts)
        return self._view

    def apply(self, decisions: Sequence[GpuDecision]) -> None:
        """Carry out decisions on the last view; an empty sequence starts nothing.

        If one of them is refused, none has been carried out, and the last view stays as it is.
        """
        if self._status != DECISION:
            raise InvalidDecision("there is nothing to decide: call advance() first, and stop when it returns None")
        orders, machines, scores = read_answer(decisions)
        if enter_answer(self._at, orders, len(orders), machines, scores) != OK:
            raise self._refused(orders)
        self._status = GOES_ON
        self._view = None

    def _grow_records(self) -> None:
        self._memory = self._memory._replace(records=grow_records(self._memory.records))
        self._at = addresses(self._memory)

    def _refused(self, orders: Ints) -> InvalidDecision:
        one = self._memory.one
        world = one.world[0]
        if int(world["refused"]) in (BAD_COUNT, STALLED):
            return InvalidDecision(refusal(one, self.info, self.workload, [], -1))
        order = orders[int(world["refused_order"])].tolist()
        shown = int(world["shown"])
        run = -1
        if order[ORDER_STOPS] and 0 <= order[ORDER_JOB] < shown:
            run = int(self._memory.buffers.run_ints[RUN_ID, order[ORDER_JOB]])
        return InvalidDecision(refusal(one, self.info, self.workload, order, run))

    # --- a compiled scheduler ----------------------------------------------------------------------------------

    def run_kernel(self, kernel: GpuKernel) -> None:
        """Run to the end without entering Python; a view that waits for an answer is the first it answers."""
        function = compile_kernel(kernel)
        loop = episode_loop()
        if self._status == DECISION:
            self._ask_again()
        status = RECORDS_FULL
        while status == RECORDS_FULL:
            arguments = (kernel.params, kernel.state, kernel.wants_running, self._at, self._counts)
            status = loop(function, *arguments)
            if status == RECORDS_FULL:
                self._grow_records()
        if status == INVALID:
            self._ask_again()
            raise self._refused(self._memory.buffers.orders)
        self._status = status

    def _ask_again(self) -> None:
        """The question that is open now will be put anew."""
        world = self._memory.one.world[0]
        world["changed"] = 1
        world["asked"] -= 1
        self._status = GOES_ON
        self._view = None

    def result(self) -> GpuResult:
        """What the run came to; segments, decisions, speeds and machines only if they were recorded."""
        return GpuResult.of(self.workload, self.info, self._memory.one, self._memory.records)


def read_answer(decisions: Sequence[GpuDecision]) -> tuple[Ints, Ints, Floats]:
    """(orders, machines of all, scores) as the kernels take them; only whole numbers are taken for numbers."""
    try:
        count = len(decisions)
    except TypeError:
        text = f"given {decisions!r} instead of decisions; expected a sequence of GpuDecision, empty to start nothing"
        raise InvalidDecision(text) from None
    orders = np.zeros((count, ORDER_COLUMNS), np.int64)
    scores = np.zeros((count, 2))
    places: list[Ints] = [NO_MACHINES]
    for i, decision in enumerate(decisions):
        try:
            job, machines, stops, reason, place, priority, affinity = decision
            machines = np.asarray(machines)
            if machines.ndim != 1 or (machines.size and machines.dtype.kind not in "iu"):
                raise TypeError
            integers = np.array([job, bool(stops), reason, place])
            if integers.dtype.kind != "i":
                raise TypeError
            orders[i, :-1] = integers
            orders[i, -1] = len(machines)
            scores[i] = priority, affinity
            places.append(machines.astype(np.int64))
        except (TypeError, ValueError, OverflowError):
            text = (
                f"decision {i}: given {decision!r}; expected a GpuDecision: job, machines (whole numbers), stops, "
                "reason, place, priority, affinity"
            )
            raise InvalidDecision(text) from None
    return orders, np.concatenate(places), scores
