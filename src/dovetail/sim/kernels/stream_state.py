"""The arrays that the stream kernels work on.  `docs/stream-model.md` says what the quantities mean.

Everything is a table of numbers: a row for each quantity, a column for each operator or job.  Progress (`PROGRESS`,
`LIMIT`, `ROOM`, ...) is counted in records of the job, not of the operator.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# clock (CLOCK_INTS,): where the world is, and how time is cut, in steps
STEP, BIN_STEPS, SNAPSHOT_STEPS, INTERVAL_STEPS = range(4)
HISTORY = 4  # rows a view has at most
KEEPS_ALL = 5  # 1: a row for every snapshot; 0: a ring of twice HISTORY rows, each written twice, so that the newest
#             HISTORY of them always lie one after the other
CLOCK_INTS = 6

# times (TIMES,)
STEP_S, BIN_S, RESTORE_MB_S = range(3)
TIMES = 3

# op_ints (OP_INTS, O).  Parents of an operator are parents[PARENT_FIRST : PARENT_LAST], its children likewise.
PARALLELISM, PARENT_FIRST, PARENT_LAST, CHILD_FIRST, CHILD_LAST = range(5)
OP_INTS = 5

# op_floats (OP_FLOATS, O)
GAIN, SERVICE_S, SKEW, VARIABILITY, BUFFER, STATE_MB = range(6)  # of the workload
PROGRESS, LIMIT = 6, 7  # through with so many; at most so far in this step
SERVERS, EXPONENT, FULL, ROOM = 8, 9, 10, 11  # by its parallelism: c, that of L, r when its buffer is full, B / gain
# For the present bin and length of step: service time, K d, c + K d, K d / gain, K d FULL / gain.
NOW_SERVICE_S, MOST, SLOPE, STRIDE, FULL_STRIDE = 12, 13, 14, 15, 16
# L(r) + K d r = y was solved here last; `stream_queue.share` goes on from it.  Then the same for L(r) = y.
AT_Y, AT_R, AT_FIRST, AT_SECOND, AT_REACH = 17, 18, 19, 20, 21
STANDING = 5  # rows further on
# Since the last time they were gathered: progress and what was available then; held up, and waiting, summed by step.
MARK_PROGRESS, MARK_AVAILABLE, HELD, WAITING = 27, 28, 29, 30
# Sums for the snapshot under way, then the same for the interval; records, and instance-seconds
SUM_INPUT, SUM_DONE, SUM_BUSY_S, SUM_BLOCKED_S, SUM_WAITING_S, SUM_OWNED_S = range(31, 37)
SUMS = 6
OP_FLOATS = SUM_INPUT + 2 * SUMS

# job_ints (JOB_INTS, J)
OP_FIRST, OP_LAST, OLDEST_BIN = range(3)  # its operators; the bin in which the oldest record waiting has arrived
JOB_INTS = 3

# job_floats (JOB_FLOATS, J)
RESTART_S, CHECKPOINT_S = range(2)  # of the workload
ARRIVED, DELIVERED, SAVED = 2, 3, 4  # N, m and q
UP_S, DUE_S, RESCALED_S = (
    5,
    6,
    7,
)  # when it came or comes up, when its next checkpoint is due, when it was last rescaled
OLDEST_S = 8  # when the oldest record waiting arrived, or the next will
LENGTH_S = 9  # of the step that rates are worked out for
# Since the last time they were gathered: what had arrived then; delivered, their delays and time down, summed by step
MARK_ARRIVED, NEW_LEFT, NEW_DELAY_S, NEW_DOWN_S = 10, 11, 12, 13
# Sums for the snapshot under way, then the same for the interval
SUM_CAME, SUM_LEFT, SUM_DELAY_S, SUM_DOWN_S = 14, 15, 16, 17
JOB_SUMS = 4
JOB_FLOATS = SUM_CAME + 2 * JOB_SUMS

# history_ops (ROW_OPS * rows, O), history_jobs (ROW_JOBS * rows, J): a table for each quantity, one after the other
ROW_INPUT, ROW_RATE, ROW_BUSY, ROW_BLOCKED, ROW_QUEUED, ROW_LATENCY = range(6)
ROW_OPS = 6
ROW_ARRIVALS, ROW_DELAY, ROW_LAG, ROW_DOWN = range(4)
ROW_JOBS = 4

# interval_ops (SPAN_OPS * I, O), interval_jobs (SPAN_JOBS * I, J), likewise
SPAN_BUSY, SPAN_BLOCKED, SPAN_RATE, SPAN_QUEUED, SPAN_PARALLELISM = range(5)
SPAN_OPS = 5
SPAN_LATENCY, SPAN_UTILISATION, SPAN_DELIVERED, SPAN_ARRIVED, SPAN_LAG, SPAN_DOWN, SPAN_RESCALED = range(7)
SPAN_JOBS = 7

# Delays fall into bins of equal ratio, and one below them; longer ones are in the last.
FIRST_DELAY_S, BINS_PER_DECADE, DECADES = 1e-3, 40, 10
DELAY_BINS = 1 + BINS_PER_DECADE * DECADES

SLACK_S = 1e-9  # times this near are the same


class StreamMemory(NamedTuple):
    """All arrays of one world."""

    clock: NDArray[np.int64]  # (CLOCK_INTS,)
    times: NDArray[np.float64]  # (TIMES,)
    op_ints: NDArray[np.int64]  # (OP_INTS, O)
    op_floats: NDArray[np.float64]  # (OP_FLOATS, O)
    job_ints: NDArray[np.int64]  # (JOB_INTS, J)
    job_floats: NDArray[np.float64]  # (JOB_FLOATS, J)
    parents: NDArray[np.int64]  # (E,)
    children: NDArray[np.int64]  # (E,)
    rate: NDArray[np.float64]  # (J, T)
    arrived: NDArray[np.float64]  # (J, T + 1) N at the start of a bin
    factor: NDArray[np.float64]  # (T, O) noise of service times
    history_ops: NDArray[np.float64]  # (ROW_OPS * rows, O)
    history_parallelism: NDArray[np.int64]  # (rows, O)
    history_jobs: NDArray[np.float64]  # (ROW_JOBS * rows, J)
    interval_ops: NDArray[np.float64]  # (SPAN_OPS * I, O)
    interval_jobs: NDArray[np.float64]  # (SPAN_JOBS * I, J)
    delays: NDArray[np.float64]  # (J, DELAY_BINS) records
