"""B dag worlds at once, stepped together to their next decision, observed in one set of flat arrays.

Training spends its time here.  Worlds are worked on by threads (the kernels hold no lock); a world whose episode is
over is handed the next episode at once, so the batch stays full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.dag import Bools, DagView, Floats, Ints
from dovetail.core.errors import InvalidDecision, StalledWorld
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag.memory import (
    allocate_buffers,
    allocate_records,
    allocate_world,
    count_stages,
    view_columns,
)
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.dag.options import DagOptions
from dovetail.sim.dag.prepare import executor_classes, prepare_table
from dovetail.sim.dag.result import DagResult
from dovetail.sim.dag.world import cluster_info, duration_key, load
from dovetail.sim.kernels.dag_batch import NO_STAGE, observe_worlds, step_worlds
from dovetail.sim.kernels.dag_entry import addresses
from dovetail.sim.kernels.dag_state import (
    COUNTS,
    DECISION,
    FINISHED,
    INVALID,
    DagMemory,
    DagOne,
)
from dovetail.workloads.dag import DagCatalogue, DagWorkload

EMPTY = -1  # status of a world that has no episode any more


class Episode(NamedTuple):
    """What a world is to go through.  Same workload and seeds, same luck: only the decisions differ."""

    workload: DagWorkload
    seeds: SeedTree
    horizon_s: float = float("inf")
    tag: int = 0


class Finished(NamedTuple):
    """An episode that is over."""

    world: int
    episode: Episode
    result: DagResult


@dataclass(frozen=True)
class DagBatchView:
    """The views of all worlds, one after the other.

    `columns` has the fields of a `DagView` over all worlds; job, stage and edge rows of world w are
    job_ptr[w] : job_ptr[w + 1] and so on.  Indices inside (`stage_job`, `edge_parent`, ...) count from the start
    of their own world; `job_stage_ptr` of world w starts at job_ptr[w] + w.
    """

    columns: DagView
    active: Bools  # (B,) worlds that wait for a decision
    job_ptr: Ints  # (B + 1,)
    stage_ptr: Ints  # (B + 1,)
    edge_ptr: Ints  # (B + 1,)
    time_s: Floats  # (B,)
    source_job: Ints  # (B,) index in the world's own jobs, or -1
    source_stage: Ints  # (B,)
    source_executors: Ints  # (B,)
    costs: Floats  # (B, 5) integrals since the start of the episode

    def world(self, w: int) -> DagView:
        """The view of one world, as a scheduler in Python would get it.  No copies."""
        c = self.columns
        jobs = slice(int(self.job_ptr[w]), int(self.job_ptr[w + 1]))
        stages = slice(int(self.stage_ptr[w]), int(self.stage_ptr[w + 1]))
        edges = slice(int(self.edge_ptr[w]), int(self.edge_ptr[w + 1]))
        classes = len(c.source_by_class) // len(self.active)
        rows = {"job": jobs, "sta": stages, "edg": edges}
        parts: dict[str, Any] = {name: getattr(c, name)[rows[name[:3]]] for name in c._fields[5:]}
        parts["job_stage_ptr"] = c.job_stage_ptr[jobs.start + w : jobs.stop + w + 1]
        return DagView(
            time_s=float(self.time_s[w]),
            source_job=int(self.source_job[w]),
            source_stage=int(self.source_stage[w]),
            source_executors=int(self.source_executors[w]),
            source_by_class=c.source_by_class[w * classes : (w + 1) * classes],
            **parts,
        )


class DagBatch:
    """B worlds of one catalogue and one cluster, fed with episodes.

    `episodes` is a stream for all worlds, or a function that says what world w plays next (None: nothing more).
    `start()` once, then `step(decisions)`; both return the view of all worlds and the episodes that ended.
    """

    def __init__(
        self,
        catalogue: DagCatalogue,
        options: DagOptions,
        episodes: Iterator[Episode] | Callable[[int], Episode | None],
        num_worlds: int,
        *,
        threads: int = 1,
    ) -> None:
        self.num_worlds = num_worlds
        self.info = cluster_info(catalogue, options)
        self._options = options
        self._next_of = episodes if callable(episodes) else lambda _: next(episodes, None)
        self._table = prepare_table(catalogue, options)
        self._classes = executor_classes(options)
        self._now_playing: list[Episode | None] = [None] * num_worlds
        self._memory: list[DagMemory | None] = [None] * num_worlds
        self._room = [(0, 0)] * num_worlds
        self._at: Any = None
        self._counts = np.zeros((num_worlds, COUNTS), dtype=np.int64)
        self._status = np.full(num_worlds, EMPTY, dtype=np.int64)
        self._fresh = np.zeros(num_worlds, dtype=np.int64)
        self._places = np.zeros((num_worlds + 1, 3), dtype=np.int64)
        self._costs = np.zeros((num_worlds, len(COSTS)))
        self._now = np.zeros(num_worlds)
        self._decisions = np.full((num_worlds, 4), NO_STAGE, dtype=np.int64)
        self._make_buffers(64 * num_worlds, 512 * num_worlds, 1024 * num_worlds)
        bounds = np.linspace(0, num_worlds, min(threads, num_worlds) + 1).astype(int).tolist()
        self._shares = list(pairwise(bounds))
        self._pool = ThreadPoolExecutor(len(self._shares)) if len(self._shares) > 1 else None

    def start(self) -> tuple[DagBatchView, list[Finished]]:
        for w in range(self.num_worlds):
            self._next_episode(w)
        return self._go_on()

    def step(
        self, stage: Ints, limit: Ints, executor_class: Ints | None = None, reason: int = 0
    ) -> tuple[DagBatchView, list[Finished]]:
        """One decision for each active world: stage by its index in that world's view (-1: decline), and limit."""
        self._decisions[:, 0] = stage
        self._decisions[:, 1] = limit
        self._decisions[:, 2] = -1 if executor_class is None else executor_class
        self._decisions[:, 3] = reason
        return self._go_on()

    def state_of(self, w: int) -> DagOne:
        """The arrays of a world that waits for a decision, for a `Fork`; not to be changed."""
        memory = self._memory[w]
        assert memory is not None
        return memory.one

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    # --- inside ------------------------------------------------------------------------------------------------

    def _next_episode(self, w: int) -> None:
        """Load the next episode into world w, or leave it empty for good."""
        episode = self._next_of(w)
        self._now_playing[w] = episode
        self._counts[w] = 0
        if episode is None:
            self._status[w] = EMPTY
            return
        work = episode.workload
        jobs, stages = len(work.job_dag), count_stages(self._table, work.job_dag)
        memory = self._memory[w]
        if memory is None or self._room[w][0] < jobs or self._room[w][1] < stages:
            memory = DagMemory(
                allocate_world(self._table, jobs, stages),
                allocate_records(0, 0),
                allocate_buffers(0, 0, 0, 0),
            )
            self._memory[w] = memory
            self._room[w] = (jobs, stages)
            self._set_address(w, addresses(memory))
        load(
            memory,
            work,
            self._classes,
            duration_key(self._options, episode.seeds),
            episode.seeds.child("failures").key(),
            episode.horizon_s,
        )
        self._fresh[w] = 1

    def _set_address(self, w: int, address: Any) -> None:
        if self._at is None:
            plain = isinstance(address, np.ndarray)
            self._at = np.zeros((self.num_worlds, len(address)), dtype=np.int64) if plain else [None] * self.num_worlds
        self._at[w] = address

    def _each_share(self, kernel: Any, *arguments: Any) -> None:
        if self._at is None:  # no world was given an episode
            return
        if self._pool is None:
            kernel(self._at, 0, self.num_worlds, *arguments)
            return
        for done in [self._pool.submit(kernel, self._at, a, b, *arguments) for a, b in self._shares]:
            done.result()

    def _go_on(self) -> tuple[DagBatchView, list[Finished]]:
        finished: list[Finished] = []
        self._run_worlds()
        while ended := np.flatnonzero((self._status != DECISION) & (self._status != EMPTY)).tolist():
            waiting = self._status == DECISION
            for w in ended:
                finished.append(self._finish(w))
                self._next_episode(w)
            self._status[waiting] = EMPTY  # they have had their turn
            self._run_worlds()
            self._status[waiting] = DECISION
        return self._look(), finished

    def _run_worlds(self) -> None:
        self._each_share(
            step_worlds,
            self._shared,
            self._decisions,
            self._counts,
            self._places,
            self._status,
            self._costs,
            self._now,
            self._fresh,
        )

    def _finish(self, w: int) -> Finished:
        episode, memory = self._now_playing[w], self._memory[w]
        assert episode is not None and memory is not None
        status = int(self._status[w])
        if status == INVALID:
            stage, limit, kind, _ = self._decisions[w].tolist()
            why = int(memory.one.world[0]["refused"])
            raise InvalidDecision(
                f"world {w}, at {self._now[w]:.3f} s: decision (stage {stage}, limit {limit}, class {kind}) was "
                f"refused (code {why}); choose a stage with stage_valid and a limit above job_executors"
            )
        if status != FINISHED:
            raise StalledWorld(f"world {w}, at {self._now[w]:.3f} s: nothing runs and the decision was to decline")
        return Finished(w, episode, DagResult.of(episode.workload, memory.one, memory.records))

    def _make_buffers(self, jobs: int, stages: int, edges: int) -> None:
        classes = len(self._table.class_order)
        self._buffers = allocate_buffers(jobs, stages, edges, classes, self.num_worlds)
        self._columns = view_columns(self._buffers)
        self._shared_memory = DagMemory(allocate_world(self._table, 1, 1), allocate_records(0, 0), self._buffers)
        self._shared = addresses(self._shared_memory)

    def _look(self) -> DagBatchView:
        sizes = np.where((self._status == DECISION)[:, None], self._counts[:, :3], 0)
        np.cumsum(sizes, axis=0, out=self._places[1:])
        jobs, stages, edges = self._places[-1].tolist()
        room = (
            self._buffers.job_ints.shape[1],
            self._buffers.stage_ints.shape[1],
            self._buffers.edge_ints.shape[1],
        )
        if jobs > room[0] or stages > room[1] or edges > room[2]:
            self._make_buffers(*(max(2 * need, have) for need, have in zip((jobs, stages, edges), room, strict=True)))
        self._each_share(observe_worlds, self._shared, self._counts, self._places, self._status)
        return DagBatchView(
            columns=self._columns,
            active=self._status == DECISION,
            job_ptr=self._places[:, 0].copy(),
            stage_ptr=self._places[:, 1].copy(),
            edge_ptr=self._places[:, 2].copy(),
            time_s=self._now.copy(),
            source_job=self._counts[:, 3].copy(),
            source_stage=self._counts[:, 4].copy(),
            source_executors=self._counts[:, 5].copy(),
            costs=self._costs.copy(),
        )
