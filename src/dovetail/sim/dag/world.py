"""One dag world in virtual time, for schedulers written in Python and for compiled ones."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail.core.dag import REASON_TEXT, DagDecision, DagInfo, DagKernel, DagView, Ints, Reason
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag.fork import Oracle
from dovetail.sim.dag.lookahead import ViewLookAhead
from dovetail.sim.dag.memory import (
    allocate_buffers,
    allocate_records,
    allocate_world,
    count_edges,
    count_stages,
    grow_records,
    parts_in_play,
    view_arrays,
    view_columns,
)
from dovetail.sim.dag.options import DagOptions
from dovetail.sim.dag.prepare import executor_classes, prepare_table, profiles_of
from dovetail.sim.dag.result import DagResult
from dovetail.sim.kernels.dag_compile import compile_kernel, episode_loop
from dovetail.sim.kernels.dag_entry import (
    addresses,
    enter_apply,
    enter_decide,
    enter_held,
    enter_reset,
    enter_step,
)
from dovetail.sim.kernels.dag_state import (
    BAD_CLASS,
    BAD_STAGE,
    CLASS_DOES_NOT_FIT,
    COUNTS,
    DECISION,
    FINISHED,
    INVALID,
    LIMIT_TOO_HIGH,
    LIMIT_TOO_LOW,
    NOT_VALID,
    RECORDS_FULL,
    DagMemory,
)
from dovetail.workloads.dag import DagCatalogue, DagWorkload

NOT_STARTED = -1
SLICES_KEPT = 512
FOUR_INTEGERS = struct.Struct("=4q")
"""What a decision comes to.  Packing refuses what int() would round, parse or let grow out of 64 bits."""


class DagWorld:
    """A workload on a cluster.  `advance` and `apply` in turn, or `run_kernel` for a compiled scheduler.

    `record=True` keeps every task and decision.  Randomness: `seeds.child("durations")` and `.child("failures")`.
    """

    def __init__(
        self,
        workload: DagWorkload,
        options: DagOptions,
        seeds: SeedTree,
        *,
        record: bool = False,
        horizon_s: float = float("inf"),
    ) -> None:
        self.workload = workload
        self.options = options
        self.seeds = seeds
        self.horizon_s = horizon_s
        table = prepare_table(workload.catalogue, options)
        classes = executor_classes(options)
        jobs = len(workload.job_dag)
        stages = count_stages(table, workload.job_dag)
        buffers = allocate_buffers(jobs, stages, count_edges(table, workload.job_dag), len(table.class_order))
        records = allocate_records(1024, 256) if record else allocate_records(0, 0)
        self._memory = DagMemory(allocate_world(table, jobs, stages), records, buffers)
        self._at = addresses(self._memory)
        self._columns = view_columns(buffers)
        self._slices: dict[tuple[int, int, int], tuple[Any, ...]] = {}  # of the columns, by size: they recur
        self._now = self._memory.one.world["now"]
        self._counts = np.zeros(COUNTS, dtype=np.int64)
        self._status = NOT_STARTED
        load(
            self._memory,
            workload,
            classes,
            duration_key(options, seeds),
            seeds.child("failures").key(),
            horizon_s,
        )
        self.info = cluster_info(workload.catalogue, options)

    def info_for(self, scheduler: object) -> DagInfo:
        """What this scheduler is told: with the future, if it says that it is `CLAIRVOYANT`."""
        if getattr(scheduler, "CLAIRVOYANT", False):
            return replace(self.info, oracle=Oracle(self._memory.one))
        return self.info

    @property
    def time_s(self) -> float:
        return float(self._now.item())

    # --- a scheduler in Python ---------------------------------------------------------------------------------

    def advance(self) -> DagView | None:
        """Run to the next decision.  None: all jobs are complete, or the horizon is reached."""
        if self._status == NOT_STARTED:
            self._step(decline=False)
        if self._status == FINISHED:
            return None
        return self._view()

    def apply(self, decisions: Sequence[DagDecision]) -> None:
        """Carry out decisions on the last view, and run on to the next; an empty sequence declines.

        If one of them is refused, none has been carried out, and the last view stays as it is.
        """
        if self._status != DECISION:
            raise InvalidDecision("there is nothing to decide: call advance() first, and stop when it returns None")
        try:
            count = len(decisions)
        except TypeError:
            text = f"given {decisions!r} instead of decisions; expected a sequence of DagDecision, empty to decline"
            raise InvalidDecision(text) from None
        if count == 1:
            (decision,) = decisions
            self._decide(decision)
        elif count == 0:
            self._step(decline=True)
        else:
            self._decide_all(decisions)

    def _decide(self, decision: DagDecision) -> None:
        """Carry out one decision and run on."""
        self._status = enter_decide(self._at, self._counts, *_integers(decision))
        if self._status == INVALID:
            self._status = DECISION  # nothing has changed
            self._refuse(int(self._memory.one.world[0]["refused"]), decision)
        if self._status != DECISION:
            self._settle()

    def _decide_all(self, decisions: Sequence[DagDecision]) -> None:
        """Carry out several decisions and run on; a refusal takes back those before it."""
        *first, last = decisions
        self._make_room(len(decisions))
        parts = parts_in_play(self._memory.one)
        before = [part.copy() for part in parts]
        try:
            for decision in first:
                given = enter_apply(self._at, self._counts, *_integers(decision))
                if given <= 0:
                    self._refuse(-given, decision)
            self._decide(last)
        except InvalidDecision:
            for part, old in zip(parts, before, strict=True):
                part[:] = old
            raise

    def _step(self, *, decline: bool) -> None:
        self._status = enter_step(self._at, decline, self._counts)
        if self._status != DECISION:
            self._settle()

    def _settle(self) -> None:
        """Whatever stopped the kernel other than a decision: make room and go on, or say what is wrong."""
        while self._status == RECORDS_FULL:
            self._grow_records()
            self._status = enter_step(self._at, False, self._counts)
        if self._status not in (FINISHED, DECISION):
            raise self._stalled()

    def _make_room(self, decisions: int) -> None:
        """The kernel sees to it that one more decision can be recorded; several need as much room."""
        recorded = int(self._memory.one.world[0]["decision_records"])
        while 0 < len(self._memory.records.decisions) < recorded + decisions:
            self._grow_records()

    def _grow_records(self) -> None:
        self._memory = self._memory._replace(records=grow_records(self._memory.records))
        self._at = addresses(self._memory)

    def _view(self) -> DagView:
        jobs, stages, edges, source_job, source_stage, on_offer = self._counts.tolist()
        size = (jobs, stages, edges)
        arrays = self._slices.get(size)
        if arrays is None:
            if len(self._slices) == SLICES_KEPT:
                self._slices.clear()
            arrays = self._slices[size] = view_arrays(self._columns, jobs, stages, edges)
        return DagView._make((self._now.item(), source_job, source_stage, on_offer, *arrays))

    # --- a compiled scheduler ----------------------------------------------------------------------------------

    def run_kernel(self, kernel: DagKernel) -> None:
        """Run to the end without entering Python."""
        function = compile_kernel(kernel)
        loop = episode_loop()
        out = np.zeros(4, dtype=np.int64)
        status = loop(function, kernel.params, kernel.state, out, self._at, self._counts)
        while status == RECORDS_FULL:
            self._grow_records()
            status = loop(function, kernel.params, kernel.state, out, self._at, self._counts)
        self._status = status
        if status == INVALID:
            self._refuse(int(self._memory.one.world[0]["refused"]), _decision(out))
        if status != FINISHED:
            raise self._stalled()

    # --- errors and results ------------------------------------------------------------------------------------

    def _stalled(self) -> StalledWorld:
        world = self._memory.one.world[0]
        return StalledWorld(
            f"at {self.time_s:.3f} s {world['in_system']} jobs are in the system and {world['total_free']} of "
            f"{self.info.num_executors} executors are free, but nothing runs, nothing will arrive, and the "
            "scheduler declines; it must start something when nothing else can happen"
        )

    def _refuse(self, why: int, decision: DagDecision) -> None:
        stage, limit, kind, _ = decision
        where = f"at {self.time_s:.3f} s: decision (stage {stage}, limit {limit}, class {kind}): "
        if why == BAD_STAGE:
            raise InvalidDecision(f"{where}the view has stages 0 to {int(self._counts[1]) - 1}")
        job = int(self._columns.job_id[self._columns.stage_job[stage]])
        name = f"stage {int(self._columns.stage_id[stage])} of job {job}"
        has = int(enter_held(self._at, job))
        texts = {
            NOT_VALID: f"{name} may not be chosen now (saturated, waiting for parents, already chosen in this round, "
            "or no executor on offer fits); choose one with stage_valid",
            LIMIT_TOO_LOW: f"the job already holds {has} executors; the limit must be above that",
            LIMIT_TOO_HIGH: f"the cluster has {self.info.num_executors} executors; the limit must not be above",
            BAD_CLASS: f"there are executor classes 0 to {len(self.info.classes) - 1} (or -1 for any)",
            CLASS_DOES_NOT_FIT: f"no executor of class {kind} is on offer, or {name} does not fit into it",
        }
        raise InvalidDecision(where + texts[why])

    def result(self) -> DagResult:
        """What the run came to; tasks and decisions only if they were recorded."""
        return DagResult.of(self.workload, self._memory.one, self._memory.records)


def _integers(decision: DagDecision) -> tuple[int, ...]:
    try:
        return FOUR_INTEGERS.unpack(FOUR_INTEGERS.pack(*decision))
    except (TypeError, struct.error):
        text = f"given {decision!r}; expected a DagDecision: stage, limit, executor class, reason, all whole numbers"
        raise InvalidDecision(text) from None


def _decision(out: Ints) -> DagDecision:
    stage, limit, kind, reason = out.tolist()
    return DagDecision(stage, limit, kind, Reason(reason) if reason in REASON_TEXT else Reason.UNSTATED)


def cluster_info(catalogue: DagCatalogue, options: DagOptions) -> DagInfo:
    """What schedulers are told of a world of these kinds of job."""
    classes = options.executor_classes()
    profiles = profiles_of(catalogue, options)
    return DagInfo(
        num_executors=sum(kind.count for kind in classes),
        classes=classes,
        moving_delay_s=options.moving_delay_s,
        look_ahead=ViewLookAhead(options, profiles),
        profiles=profiles,
    )


def duration_key(options: DagOptions, seeds: SeedTree) -> int:
    if options.compat.unseeded_durations:
        return int.from_bytes(os.urandom(8), "little")
    return seeds.child("durations").key()


def load(
    memory: DagMemory, workload: DagWorkload, classes: Ints, durations: int, failures: int, horizon_s: float
) -> None:
    """Start a world afresh with that workload."""
    enter_reset(
        addresses(memory),
        classes,
        np.ascontiguousarray(workload.job_dag, dtype=np.int64),
        np.ascontiguousarray(workload.arrival_s, dtype=np.float64),
        np.ascontiguousarray(workload.weight, dtype=np.float64),
        np.ascontiguousarray(workload.deadline_s, dtype=np.float64),
        np.uint64(durations),
        np.uint64(failures),
        float(horizon_s),
    )
