"""The arrays that the gpu kernels work on.  `docs/gpu-model.md` is the specification.

Things are records, so that a function gets a handful of arrays instead of a hundred.  All integers are int64,
-1 = none.  What a view shows of machines, users and waiting jobs is the state itself: nothing is copied for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.sim.kernels.dag_state import Records, record_type

SLACK = 1e-9
"""Comparisons of what is needed with what is free allow for this."""

# states of a job; the last two only while an answer is being looked at
TO_COME, WAITING, RUNNING, COMPLETE, STARTING, STOPPING = range(6)

# event kinds, in the order in which events of one moment are handled
COMPLETION, DOWN, UP, ARRIVAL, MOOD, QUANTUM, ASKING, NOTHING = range(8)

# what `advance` reports
FINISHED, DECISION, RECORDS_FULL, INVALID = range(4)

# why a segment ended
STILL_RUNS, COMPLETED, STOPPED, MACHINE_LOST = range(4)

# why an answer was refused
(
    OK,
    BAD_COUNT,
    BAD_REASON,
    NO_SUCH_JOB,
    NAMED_TWICE,
    NO_SUCH_RUN,
    NO_PREEMPTION,
    STOPS_AGAIN,
    STOP_WITH_MACHINES,
    WRONG_NUMBER,
    NO_SUCH_MACHINE,
    MACHINE_IS_DOWN,
    WRONG_TYPE,
    WRONG_KIND,
    TOO_FEW_CPUS,
    TOO_LITTLE_MEMORY,
    TOO_FEW_GPUS,
    STALLED,
) = range(18)


SETTINGS = record_type(
    "num_jobs num_machines num_types num_kinds num_reasons num_places device_columns width preemption",
    "interval_s quantum_s restart_s checkpoint_s mean_time_to_failure_s repair_s mood_sigma mood_period_s mood_every_s "
    "uneven machine_hop rack_hop",
    "failure_key mood_key",
)
"""width: numbers for each kind in `kinds`, see `kind_columns`; device_columns: Q of the speed model."""

WORLD = record_type(
    "next_arrival head tail running complete heap_size machine_heap_size first_run last_run free_row touched dirty "
    "stamp changed asked again look quantum users down mood_due waiting_workers shown events decisions ops "
    "refused refused_order refused_worker refused_machine "
    "segment_records row_records decision_records speed_records machine_records",
    "now weight_0 weight_1 refused_need refused_free",
)
"""Scalars of a world.

head, tail: the queue within its columns.  touched: machines whose rows have changed since speeds were worked out.
changed: since the scheduler was asked last.  again: 1 while it is asked a second time.  look: number of the last look
at moods, whose weights on the two normal numbers are weight_0 and weight_1.  quantum: number of the next multiple of
quantum_s.  shown: running jobs in the last view.  ops: jobs started and stopped so far by the answer looked at.
"""

JOB = record_type(
    "state kind workers first_row heap_place machines mark types user stops previous next last_row segment",
    "gpus cpus memory arrival_s work_s estimate_s done_s left_s since_s speed apart start_s finish_s first_start_s "
    "running_s served_s fee fee_rate alone alone_s speed_s",
)
"""done_s: work done when it last started, or when it was stopped; left_s: work left at since_s, with what a restart
costs; apart: what the network leaves of its speed; alone: its speed with nobody else there; alone_s, speed_s: integrals
of alone and speed over its running time; previous, next: running jobs in order of start."""
ROW = record_type("job machine workers gpu mask previous next next_of_job", "pace")
"""gpu: the device that is shared, -1 = none; mask: whole devices, a bit each; previous, next: rows of the machine, the
newest first, those of one job in a block; pace: the speed here but for the mood."""
MACHINE = record_type("type gpus rack first_row mark look period draws seen", "cpus memory mood lasting z_0 z_1")
"""look, mood: the last look at its mood, lasting: what of it stays; period, z_0, z_1: normal numbers at a multiple of
the period and at the next; draws: times drawn so far; seen: stamp for counting machines of a job."""
EVENT = record_type("id", "time")

SEGMENT_RECORD = record_type("job why first_row rows", "start_s end_s")
ROW_RECORD = record_type("segment machine gpu workers mask")
ROW_TABLE = record_type("segment machine device workers mask")
"""The same under the name that others know it by; kernels in plain Python cannot set `device`, which is numpy's."""
DECISION_RECORD = record_type("asked job stops reason place segment waiting", "time_s priority affinity")
SPEED_RECORD = record_type("job", "time_s speed")
MACHINE_RECORD = record_type("machine up", "time_s")

# columns of the queue
JOB_ID, JOB_USER, JOB_KIND, JOB_WORKERS, JOB_TYPES, JOB_STOPS, JOB_INTS = range(7)
JOB_ARRIVAL, JOB_GPUS, JOB_CPUS, JOB_MEMORY, JOB_LEFT, JOB_SERVED, JOB_FLOATS = range(7)
# columns for running jobs and their rows
RUN_ID, RUN_USER, RUN_KIND, RUN_WORKERS, RUN_TYPES, RUN_INTS = range(6)
RUN_ARRIVAL, RUN_START, RUN_GPUS, RUN_CPUS, RUN_MEMORY, RUN_LEFT, RUN_SERVED, RUN_SPEED, RUN_FLOATS = range(9)
ROW_RUN, ROW_MACHINE, ROW_WORKERS, ROW_DEVICE, ROW_INTS = range(5)
# columns of what machines have free
FREE_GPUS, FREE_CPUS, FREE_MEMORY, FREE_FLOATS = range(4)
# columns of `kinds`: numbers of a kind of training; the speeds on each type come next, then devices
NETWORK, HOST_PRESSURE, HOST_SENSITIVITY, SPEED = 0, 1, 4, 7
# columns of an answer
ORDER_JOB, ORDER_STOPS, ORDER_REASON, ORDER_PLACE, ORDER_MACHINES, ORDER_COLUMNS = range(6)

# what `observe` counts
WAIT, RUN, ROWS, USERS, COUNTS = range(5)


class GpuOne(NamedTuple):
    """One world: J jobs, M machines with up to D devices, U users, P rows at most, in a queue with room for C."""

    settings: Records  # (1,)
    world: Records  # (1,)
    kinds: NDArray[np.float64]  # (K * width,)
    prices: NDArray[np.float64]  # (T,)
    jobs: Records  # (J,)
    heap: Records  # (J,) completions
    rows: Records  # (P,)
    machines: Records  # (M,)
    machine_heap: Records  # (M,) the next time each goes down or up
    up: NDArray[np.bool_]  # (M,)
    device_free: NDArray[np.float64]  # (M, D)
    free: NDArray[np.float64]  # (FREE_FLOATS, M)
    whole_free: NDArray[np.int64]  # (M,)
    user_used: NDArray[np.float64]  # (U, 3)
    user_running: NDArray[np.int64]  # (U,)
    pressure: NDArray[np.float64]  # (D * (1 + Q),) of one machine's devices: taken, then pressure; to work in
    touched: NDArray[np.int64]  # (M,)
    dirty: NDArray[np.int64]  # (J,) jobs whose speed may have changed
    racks: NDArray[np.int64]  # (racks,) stamps for counting racks of a job
    ops: NDArray[np.int64]  # (J,) jobs of the answer that is looked at
    queue_ints: NDArray[np.int64]  # (JOB_INTS, C)
    queue_floats: NDArray[np.float64]  # (JOB_FLOATS, C)


class GpuBuffers(NamedTuple):
    """Room for what is written only when it is looked at: running jobs, their rows; and for a kernel's answer."""

    run_ints: NDArray[np.int64]  # (RUN_INTS, J)
    run_floats: NDArray[np.float64]  # (RUN_FLOATS, J)
    row_ints: NDArray[np.int64]  # (ROW_INTS, P)
    starts: NDArray[np.int64]  # (J, 3)
    starts_machines: NDArray[np.int64]  # (P,)
    starts_scores: NDArray[np.float64]  # (J, 2)
    orders: NDArray[np.int64]  # (J, ORDER_COLUMNS)


class GpuRecords(NamedTuple):
    """Room for what a recorded run leaves behind; capacity 0 = not recorded.  Rows are written in order."""

    segments: Records
    rows: Records
    decisions: Records
    speeds: Records
    machines: Records


class GpuMemory(NamedTuple):
    """All arrays of one world."""

    one: GpuOne
    buffers: GpuBuffers
    records: GpuRecords
