"""The arrays that the dag kernels work on.  `docs/dag-model.md` is the specification.

Things are records (one cache line or two each), so that a function gets a handful of arrays instead of fifty: that
halves compile time and makes calls cheap.  All integers are int64, -1 = none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Records = NDArray[Any]

# executor states
FREE, BUSY, MOVING, PARKED, AWAY = 0, 1, 2, 3, 4

# event kinds, in the order in which events of one moment are handled (job arrivals, kind 0, have their own queue)
TASK_END, EXECUTOR_ARRIVAL, TASK_LOST, EXECUTOR_BACK = 1, 2, 3, 4
KIND_SHIFT = 40
EXECUTOR_MASK = (1 << KIND_SHIFT) - 1

# what `advance` reports
FINISHED, DECISION, RECORDS_FULL, STALLED, INVALID = 0, 1, 2, 3, 4

# rounds
NO_ROUND, GROUP_ROUND, STAGE_ROUND = 0, 1, 2

# why a decision was refused
OK, BAD_STAGE, NOT_VALID, LIMIT_TOO_LOW, LIMIT_TOO_HIGH, BAD_CLASS, CLASS_DOES_NOT_FIT = 0, 1, 2, 3, 4, 5, 6


def record_type(ints: str = "", floats: str = "", unsigned: str = "") -> np.dtype[np.void]:
    """A record of numbers of 8 bytes with these names."""
    fields = [(name, "i8") for name in ints.split()] + [(name, "f8") for name in floats.split()]
    return np.dtype(fields + [(name, "u8") for name in unsigned.split()], align=True)


SETTINGS = record_type(
    "num_executors num_classes num_levels idle_until_arrival pool_forgets",
    "moving_delay_s straggler_probability straggler_factor mean_time_to_failure_s repair_s",
)
LEVEL = record_type("below", "up")  # for n executors at home: level index, probability of the next one instead
DAG = record_type("stage_ptr edge_ptr", "work_s")  # one row more than DAGs
ROW = record_type("tasks num_parents child_ptr profile", "mean_s critical_path_s cpu memory")  # one more than stages
EDGE = record_type("parent child")  # stages within the DAG
SLOT = record_type("start count")  # samples of (stage, wave, level)

WORLD = record_type(
    "num_jobs next_arrival in_system first_active last_active unsaturated_jobs heap_size version checked event_job "
    "total_free round_kind round_source round_job round_executor round_left round_id free_commitment events decisions "
    "task_records decision_records at_work refused",
    "now horizon cost_time cost_jobs cost_weight cost_late cost_executors active_weight busy_s",
    "duration_key failure_key",
)
"""Scalars of a world.

version: counts changes that matter to idle executors; checked: the version at which no free group needed a round.
event_job: of the event just handled.  round_source: group (job + 1) or stage; round_executor: the free one of a
stage's round, -1 once given away; round_left: executors on offer.  at_work: executors outside the common pool and not
away.
"""
JOB = record_type(
    "dag first_stage stages_left unsaturated home incoming outgoing next prev",
    "arrival_s weight deadline_s finish_s",
)
"""unsaturated: number of such stages; home: executors there; incoming, outgoing: moving or
committed to it from elsewhere; committed from it to another job."""
STAGE = record_type(
    "job row unstarted left running reserved parents_left parents_unsaturated chosen_round offered starts commit_head "
    "commit_tail"
)
"""chosen_round: the last in which it was chosen; offered: version at which its executors were; starts: tasks begun."""
EXECUTOR = record_type("state home stage last_stage wave kind next failures", "start_s failure_s")
"""stage: works on, moves to, or parked for; last_stage: of its last task at this home, -1 = fresh; kind: its class."""
COMMITMENT = record_type("target kind count next")
EVENT = record_type("key", "time")
GROUP = record_type(
    "total offered"
)  # free executors with one home, by home + 1; version when last offered, -1 = not offered
QUEUE = record_type(
    "free_head free_tail free_count park_head park_tail"
)  # idle executors, by (home + 1) * classes + class

TASK_RECORD = record_type("executor job stage wave lost", "start_s end_s")
DECISION_RECORD = record_type("source_job source_stage on_offer job stage limit given executor_class reason", "time_s")


def allocate(shape: int | tuple[int, ...], layout: np.dtype[np.void]) -> Records:
    """Zeroed records.  With the JIT switched off kernels are plain Python, which needs record arrays for `a[i].x`."""
    records = np.zeros(shape, dtype=layout)
    return records.view(np.recarray) if numba.config.DISABLE_JIT else records


class DagTable(NamedTuple):
    """What all worlds share: the kinds of job and the settings."""

    settings: Records  # (1,)
    levels: Records  # (num_executors + 1,)
    class_order: NDArray[np.int64]  # (C,) smallest first
    dags: Records  # (D + 1,)
    rows: Records  # (S + 1,) stages of all DAGs
    edges: Records  # (E,)
    children: NDArray[np.int64]  # (E,) stage within the DAG
    fits: NDArray[np.int64]  # (S * C,) 1 if executors of the class can run the stage
    slots: Records  # (S * 3 * L,)
    samples_s: NDArray[np.float64]  # (N,)


class DagOne(NamedTuple):
    """One world, with room for J jobs, V stages, N executors and C classes, and the table."""

    world: Records  # (1,)
    jobs: Records  # (J,)
    stages: Records  # (V,)
    stage_executors: NDArray[np.int64]  # (V * C,)
    executors: Records  # (N,)
    commitments: Records  # (N,)
    heap: Records  # (N,)
    groups: Records  # (J + 1,)
    queues: Records  # ((J + 1) * C,)
    on_offer: NDArray[np.int64]  # (C,)
    settings: Records
    levels: Records
    class_order: NDArray[np.int64]
    dags: Records
    rows: Records
    edges: Records
    children: NDArray[np.int64]
    fits: NDArray[np.int64]
    slots: Records
    samples_s: NDArray[np.float64]


class DagRecords(NamedTuple):
    """Room for what a recorded run leaves behind; capacity 0 = not recorded.  Rows are written in order."""

    tasks: Records
    decisions: Records


class DagBuffers(NamedTuple):
    """Room for observations, one row per field; the arrays of a `DagView` are slices of these rows."""

    job_ints: NDArray[np.int64]  # (JOB_INTS, J)
    job_ptr: NDArray[np.int64]  # (J + worlds,)
    job_floats: NDArray[np.float64]  # (JOB_FLOATS, J)
    stage_ints: NDArray[np.int64]  # (STAGE_INTS, V)
    stage_floats: NDArray[np.float64]  # (STAGE_FLOATS, V)
    stage_flags: NDArray[np.bool_]  # (STAGE_FLAGS, V)
    edge_ints: NDArray[np.int64]  # (EDGE_INTS, E)
    by_class: NDArray[np.int64]  # (worlds * C,)


# rows of the buffers
JOB_ID, JOB_EXECUTORS, JOB_UNCLAIMED, JOB_INTS = range(4)
JOB_ARRIVAL, JOB_WEIGHT, JOB_DEADLINE, JOB_WORK, JOB_WORK_LEFT, JOB_FLOATS = range(6)
STAGE_ID, STAGE_JOB, STAGE_TASKS, STAGE_LEFT, STAGE_RUNNING, STAGE_UNCLAIMED, STAGE_PROFILE, STAGE_INTS = range(8)
STAGE_MEAN, STAGE_CRITICAL_PATH, STAGE_CPU, STAGE_MEMORY, STAGE_FLOATS = range(5)
STAGE_READY, STAGE_VALID, STAGE_FLAGS = range(3)
EDGE_PARENT, EDGE_CHILD, EDGE_INTS = range(3)

# what `observe` counts
JOBS, STAGES, EDGES, SOURCE_JOB, SOURCE_STAGE, ON_OFFER, COUNTS = range(7)


class DagMemory(NamedTuple):
    """All arrays of one world."""

    one: DagOne
    records: DagRecords
    buffers: DagBuffers
