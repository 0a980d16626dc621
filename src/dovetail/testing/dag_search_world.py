"""A dag world that can go back to any earlier state, and tells whether two states are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dovetail.core.dag import Ints
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag import memory
from dovetail.sim.dag.options import Compat, DagOptions
from dovetail.sim.dag.prepare import executor_classes, prepare_table
from dovetail.sim.dag.world import duration_key, load
from dovetail.sim.kernels.dag_entry import addresses, enter_apply_to, enter_step
from dovetail.sim.kernels.dag_state import COUNTS, DECISION, FINISHED, ON_OFFER, STAGES, DagMemory, DagOne, DagTable
from dovetail.testing.dag_lower_bound import DagLowerBound
from dovetail.workloads.dag import DagWorkload

MUTABLE = DagOne._fields[: len(DagOne._fields) - len(DagTable._fields)]
KEPT = {
    "world": "next_arrival event_job round_kind round_source round_job round_executor round_left",
    "jobs": "stages_left home incoming outgoing",
    "stages": "unstarted left running reserved parents_left parents_unsaturated starts",
    "executors": "state home stage last_stage",
}
"""Fields that must be equal in equal states; `DagSearchWorld.state` adds lists, events and what was offered.

Left out are the clock and the costs (a world goes on alike at any time), records, what follows from the fields kept,
and counters whose value means nothing by itself.
"""


class Choice(NamedTuple):
    """A decision, as the workload names job and stage."""

    job: int
    stage: int  # of the job
    limit: int


DECLINE = Choice(-1, -1, -1)


class DagSearchWorld:
    """Waits for a decision until the run is over.  One class of executor, no failures, no compat."""

    def __init__(self, workload: DagWorkload, options: DagOptions, seeds: SeedTree) -> None:
        if options.classes or options.mean_time_to_failure_s > 0 or options.compat != Compat():
            raise ConfigError("the search takes clusters without executor classes, failures and compat only")
        table = prepare_table(workload.catalogue, options)
        jobs, stages = len(workload.job_dag), memory.count_stages(table, workload.job_dag)
        buffers = memory.allocate_buffers(jobs, stages, memory.count_edges(table, workload.job_dag), 1)
        self._one, self._block = _in_one_block(memory.allocate_world(table, jobs, stages))
        self._memory = DagMemory(self._one, memory.allocate_records(0, 0), buffers)
        self._at = addresses(self._memory)
        self._view = memory.view_columns(buffers)
        self._counts = np.zeros(COUNTS, dtype=np.int64)
        load(self._memory, workload, executor_classes(options), duration_key(options, seeds), 0, float("inf"))
        self._kept = _kept_places(self._one)
        self._lower_bound = DagLowerBound(workload, options)
        self._status = enter_step(self._at, False, self._counts)

    @property
    def complete(self) -> bool:
        """All jobs are complete.  A run can also be over because nothing will ever happen again."""
        return bool(self._status == FINISHED)

    @property
    def cost(self) -> float:
        """Job-seconds until now; of a complete run, the sum of all completion times."""
        return float(self._one.world["cost_jobs"][0])

    def choices(self) -> list[Choice]:
        """Everything a scheduler may say now; of limits that give the same executors, the lowest."""
        view, on_offer = self._view, int(self._counts[ON_OFFER])
        found = []
        for v in np.flatnonzero(view.stage_valid[: self._counts[STAGES]]).tolist():
            job = int(view.stage_job[v])
            held = int(view.job_executors[job])
            most = min(on_offer, int(view.stage_unclaimed[v]), len(self._one.executors) - held)
            name = int(view.job_id[job]), int(view.stage_id[v])
            found += [Choice(*name, held + given) for given in range(1, most + 1)]
        return [*found, DECLINE]

    def step(self, choice: Choice) -> bool:
        """Carry it out and run on; whether there is another decision."""
        if choice != DECLINE:
            given = enter_apply_to(self._at, *choice, -1)
            assert given > 0, choice
        self._status = enter_step(self._at, choice == DECLINE, self._counts)
        return bool(self._status == DECISION)

    def save(self) -> Ints:
        return self._block.copy()

    def restore(self, saved: Ints) -> None:
        self._block[:] = saved

    def bound(self) -> float:
        """No run that goes on from here costs less."""
        return self._lower_bound.least_cost(self._one)

    def state(self) -> tuple[object, ...]:
        """Equal for two states only if the same decisions have the same consequences from there on."""
        one, world = self._one, self._one.world
        version, now = world["version"], world["now"].item()
        size, next_arrival = world["heap_size"].item(), world["next_arrival"].item()
        return (
            self._block[self._kept].tobytes(),
            (one.stages["chosen_round"] == world["round_id"]).tobytes(),
            (one.stages["offered"] == version).tobytes(),
            (one.groups["offered"] == version).tobytes(),
            world["checked"].item() == version.item(),
            tuple(sorted((time_s - now, key) for key, time_s in one.heap[:size].tolist())),
            tuple(time_s - now for time_s in one.jobs["arrival_s"][next_arrival:].tolist()),
            tuple(self._lists()),
        )

    def _lists(self) -> Iterator[int]:
        """Free executors, parked executors and commitments; each list in its order, -1 between them."""
        one = self._one
        following = one.executors["next"].tolist()
        for e in (*one.queues["free_head"].tolist(), *one.queues["park_head"].tolist()):
            while e != -1:
                yield e
                e = following[e]
            yield -1
        for commitment in one.stages["commit_head"].tolist():
            while commitment != -1:
                target, _, count, commitment = one.commitments[commitment].tolist()
                yield from (target, count)
            yield -1


def _in_one_block(one: DagOne) -> tuple[DagOne, Ints]:
    """The same arrays, those that change next to each other in memory: one copy saves them all."""
    parts = [getattr(one, name) for name in MUTABLE]
    ends = np.cumsum([part.nbytes // 8 for part in parts]).tolist()
    block = np.zeros(ends[-1], dtype=np.int64)
    moved = {
        name: block[end - part.nbytes // 8 : end].view(part.dtype).view(type(part))
        for name, part, end in zip(MUTABLE, parts, ends, strict=True)
    }
    return one._replace(**moved), block


def _kept_places(one: DagOne) -> Ints:
    """Where in the block the fields of `KEPT` are."""
    marked, block = _in_one_block(one)
    for part, names in KEPT.items():
        for name in names.split():
            getattr(marked, part)[name] = 1
    return np.flatnonzero(block)
