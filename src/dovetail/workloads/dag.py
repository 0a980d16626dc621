"""Batch jobs that are DAGs of stages, in memory: kinds of job, and sequences of jobs of those kinds.

Both tables are struct-of-arrays, so that a simulator can use them without conversion.  Constructors only
store; `dovetail.workloads.check` says what makes a table valid, and readers and generators hand out valid
ones only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dovetail.core.dag import Floats, Ints

WAVES = ("fresh", "first", "rest")
"""Names of the duration classes; the position is the code.

fresh: the executor has just come to this job (warm-up included).  first: it came from another stage of the
same job.  rest: its previous task was of the same stage.
"""
FRESH, FIRST, REST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class DagCatalogue:
    """The kinds of job: D DAGs, their S stages, E edges, and N duration samples in G groups.

    Stages and edges are grouped by DAG; sample groups are sorted by (stage, wave, executors) and never empty.
    """

    name: str
    dag_name: tuple[str, ...]  # (D,) unique
    stage_ptr: Ints  # (D + 1,) stages of dag d are rows stage_ptr[d] : stage_ptr[d + 1]
    stage_name: tuple[str, ...]  # (S,) unique within a dag
    num_tasks: Ints  # (S,) at least 1
    cpu: Floats  # (S,) cores per task
    memory: Floats  # (S,) memory per task, as a share of the largest executor's, 0 .. 1
    edge_ptr: Ints  # (D + 1,) edges of dag d are rows edge_ptr[d] : edge_ptr[d + 1]
    edge_parent: Ints  # (E,) stage index within the dag
    edge_child: Ints  # (E,) stage index within the dag
    duration_stage: Ints  # (G,) stage row the samples belong to
    duration_wave: Ints  # (G,) position in WAVES
    duration_executors: Ints  # (G,) executors the job held when they were measured
    duration_ptr: Ints  # (G + 1,) samples of group g are rows duration_ptr[g] : duration_ptr[g + 1]
    duration_s: Floats  # (N,) seconds

    @property
    def num_dags(self) -> int:
        return len(self.dag_name)

    @property
    def num_stages(self) -> int:
        return len(self.stage_name)

    @cached_property
    def stage_dag(self) -> Ints:
        """(S,) the dag of each stage row."""
        return np.repeat(np.arange(self.num_dags), np.diff(self.stage_ptr))

    @cached_property
    def edge_rows(self) -> tuple[Ints, Ints]:
        """(E,), (E,) parent and child of each edge as stage rows."""
        offset = np.repeat(self.stage_ptr[:-1], np.diff(self.edge_ptr))
        return self.edge_parent + offset, self.edge_child + offset

    @cached_property
    def stage_mean_s(self) -> Floats:
        """(S,) mean of all duration samples of a stage, of whatever wave and executor count."""
        row = np.repeat(self.duration_stage, np.diff(self.duration_ptr))
        total = np.bincount(row, weights=self.duration_s, minlength=self.num_stages)
        return total / np.bincount(row, minlength=self.num_stages)

    @cached_property
    def stage_level(self) -> Ints:
        """(S,) stages on the longest chain that ends just before this one; 0 for a stage without parents."""
        parent, child = self.edge_rows
        level = np.zeros(self.num_stages, dtype=np.int64)
        for _ in range(self.num_stages):
            below = level.copy()
            np.maximum.at(below, child, level[parent] + 1)
            if np.array_equal(below, level):
                break
            level = below
        return level

    @cached_property
    def stage_critical_path_s(self) -> Floats:
        """(S,) mean duration of this stage plus the longest chain of stages after it, one task each."""
        return self.longest_chain_s(self.stage_mean_s)

    def longest_chain_s(self, stage_s: Floats) -> Floats:
        """(S,) this stage plus the longest chain of stages after it, if each takes so long (S,)."""
        parent, child = self.edge_rows
        level = self.stage_level[parent]
        path = stage_s.astype(np.float64)
        for depth in range(int(level.max(initial=-1)), -1, -1):
            here = level == depth
            longest = np.zeros(self.num_stages)
            np.maximum.at(longest, parent[here], path[child[here]])
            path += longest
        return path

    @cached_property
    def dag_stages(self) -> Ints:
        """(D,) stages of each dag."""
        return np.diff(self.stage_ptr)

    @cached_property
    def dag_tasks(self) -> Ints:
        """(D,) tasks of each dag."""
        return np.add.reduceat(self.num_tasks, self.stage_ptr[:-1]) if self.num_dags else self.num_tasks

    @cached_property
    def dag_work_s(self) -> Floats:
        """(D,) work of each dag in task-seconds: tasks times mean duration, summed over its stages."""
        work_s = np.bincount(self.stage_dag, self.num_tasks * self.stage_mean_s, self.num_dags)
        return work_s.astype(np.float64, copy=False)

    @cached_property
    def dag_depth(self) -> Ints:
        """(D,) stages on the longest chain of each dag."""
        depth = np.zeros(self.num_dags, dtype=np.int64)
        np.maximum.at(depth, self.stage_dag, self.stage_level + 1)
        return depth

    @cached_property
    def dag_critical_path_s(self) -> Floats:
        """(D,) duration of the longest chain of stages, one task each."""
        path = np.zeros(self.num_dags)
        np.maximum.at(path, self.stage_dag, self.stage_critical_path_s)
        return path

    def select(self, dags: Sequence[int] | Ints) -> DagCatalogue:
        """The catalogue of some of these dags only, in the order given."""
        chosen = np.asarray(dags, dtype=np.int64)
        stages = block_rows(self.stage_ptr, chosen)
        edges = block_rows(self.edge_ptr, chosen)
        group_ptr = np.searchsorted(self.duration_stage, np.arange(self.num_stages + 1))
        groups = block_rows(group_ptr, stages)
        samples = block_rows(self.duration_ptr, groups)
        return DagCatalogue(
            name=self.name,
            dag_name=tuple(self.dag_name[d] for d in chosen),
            stage_ptr=pointer(np.diff(self.stage_ptr)[chosen]),
            stage_name=tuple(self.stage_name[s] for s in stages),
            num_tasks=self.num_tasks[stages],
            cpu=self.cpu[stages],
            memory=self.memory[stages],
            edge_ptr=pointer(np.diff(self.edge_ptr)[chosen]),
            edge_parent=self.edge_parent[edges],
            edge_child=self.edge_child[edges],
            duration_stage=np.repeat(np.arange(stages.size), np.diff(group_ptr)[stages]),
            duration_wave=self.duration_wave[groups],
            duration_executors=self.duration_executors[groups],
            duration_ptr=pointer(np.diff(self.duration_ptr)[groups]),
            duration_s=self.duration_s[samples],
        )

    def single(self, dag: int) -> DagCatalogue:
        """The catalogue of this dag alone."""
        return self.select([dag])


@dataclass(frozen=True, eq=False)
class DagWorkload:
    """A job sequence: J jobs of the kinds in the catalogue, in order of arrival."""

    catalogue: DagCatalogue
    job_name: tuple[str, ...]  # (J,) unique
    job_dag: Ints  # (J,) dag of the catalogue
    arrival_s: Floats  # (J,) seconds from the start, non-decreasing
    weight: Floats  # (J,) above 0
    deadline_s: Floats  # (J,) absolute seconds, inf = none

    @property
    def num_jobs(self) -> int:
        return len(self.job_name)

    @cached_property
    def job_work_s(self) -> Floats:
        """(J,) work of each job in task-seconds."""
        return self.catalogue.dag_work_s[self.job_dag]

    def compact(self) -> DagWorkload:
        """The same jobs with a catalogue of only the dags that they use."""
        used, job_dag = np.unique(self.job_dag, return_inverse=True)
        return replace(self, catalogue=self.catalogue.select(used), job_dag=job_dag)


def pointer(sizes: Ints) -> Ints:
    """(n + 1,) where each of n consecutive blocks of these sizes starts, and where the last one ends."""
    ptr = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return ptr


def block_rows(ptr: Ints, chosen: Ints) -> Ints:
    """Rows of the chosen blocks, block after block."""
    size = np.diff(ptr)[chosen]
    start = np.repeat(ptr[:-1][chosen] - pointer(size)[:-1], size)
    return np.arange(size.sum()) + start
