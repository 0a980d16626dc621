"""Allocating the arrays that the stream kernels work on, writing a workload into them, and looking at them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import WEEK_S, StreamView
from dovetail.sim.kernels import stream_state as layout
from dovetail.sim.kernels.stream_state import StreamMemory
from dovetail.sim.stream.options import StreamOptions, steps_of
from dovetail.sim.stream.prepare import check_times, service_factors
from dovetail.workloads.stream import StreamWorkload

Array = np.ndarray[Any, Any]


def allocate(workload: StreamWorkload, options: StreamOptions, worlds: int, *, keeps_all: bool) -> StreamMemory:
    """Arrays for so many worlds of this size, with one more axis in front."""
    jobs, operators, edges, bins = (
        workload.num_jobs,
        workload.num_operators,
        len(workload.edge_from),
        workload.rate.shape[1],
    )
    intervals = check_times(workload, options)
    rows = snapshots(workload, options) if keeps_all else 2 * int(options.history)
    floats = {
        "times": (layout.TIMES,),
        "op_floats": (layout.OP_FLOATS, operators),
        "job_floats": (layout.JOB_FLOATS, jobs),
        "rate": (jobs, bins),
        "arrived": (jobs, bins + 1),
        "factor": (bins, operators),
        "history_ops": (layout.ROW_OPS * rows, operators),
        "history_jobs": (layout.ROW_JOBS * rows, jobs),
        "interval_ops": (layout.SPAN_OPS * (intervals - 1), operators),
        "interval_jobs": (layout.SPAN_JOBS * (intervals - 1), jobs),
        "delays": (jobs, layout.DELAY_BINS),
    }
    ints = {
        "clock": (layout.CLOCK_INTS,),
        "op_ints": (layout.OP_INTS, operators),
        "job_ints": (layout.JOB_INTS, jobs),
        "parents": (edges,),
        "children": (edges,),
        "history_parallelism": (rows, operators),
    }
    tables: dict[str, Array] = {name: np.zeros((worlds, *shape)) for name, shape in floats.items()}
    tables |= {name: np.zeros((worlds, *shape), np.int64) for name, shape in ints.items()}
    return StreamMemory(**tables)


def snapshots(workload: StreamWorkload, options: StreamOptions) -> int:
    """How many end in a run."""
    return int(check_times(workload, options) * options.interval_s / options.snapshot_s + 1e-9)


def load(
    memory: StreamMemory, workload: StreamWorkload, options: StreamOptions, seeds: SeedTree, *, keeps_all: bool
) -> None:
    """Write a workload into the arrays of one world, which have been zero until now."""
    clock, ops, jobs = memory.clock, memory.op_floats, memory.job_floats
    clock[layout.BIN_STEPS] = steps_of("bin_s", workload.bin_s, options.step_s)
    clock[layout.SNAPSHOT_STEPS] = steps_of("snapshot_s", options.snapshot_s, options.step_s)
    clock[layout.INTERVAL_STEPS] = steps_of("interval_s", options.interval_s, options.step_s)
    clock[layout.HISTORY] = options.history
    clock[layout.KEEPS_ALL] = keeps_all
    memory.times[:] = options.step_s, workload.bin_s, options.restore_mb_s
    for row, values in (
        (layout.GAIN, workload.gain),
        (layout.SERVICE_S, workload.op_service_s),
        (layout.SKEW, workload.op_skew),
        (layout.VARIABILITY, workload.op_variability),
        (layout.BUFFER, workload.op_buffer),
        (layout.STATE_MB, workload.op_state_mb),
    ):
        ops[row] = values
    numbers = np.arange(workload.num_operators)
    memory.parents[:] = workload.edge_from
    order = np.argsort(workload.edge_from, kind="stable")
    memory.children[:] = workload.edge_to[order]
    origins = workload.edge_from[order]
    memory.op_ints[layout.PARALLELISM] = workload.op_start
    memory.op_ints[layout.PARENT_FIRST] = np.searchsorted(workload.edge_to, numbers, "left")
    memory.op_ints[layout.PARENT_LAST] = np.searchsorted(workload.edge_to, numbers, "right")
    memory.op_ints[layout.CHILD_FIRST] = np.searchsorted(origins, numbers, "left")
    memory.op_ints[layout.CHILD_LAST] = np.searchsorted(origins, numbers, "right")
    memory.job_ints[layout.OP_FIRST] = np.searchsorted(workload.op_job, np.arange(workload.num_jobs), "left")
    memory.job_ints[layout.OP_LAST] = np.searchsorted(workload.op_job, np.arange(workload.num_jobs), "right")
    memory.rate[:] = workload.rate
    np.cumsum(workload.rate * workload.bin_s, axis=1, out=memory.arrived[:, 1:])
    came = memory.arrived[:, 1:] > 0.0
    memory.job_ints[layout.OLDEST_BIN] = np.where(came.any(axis=1), came.argmax(axis=1), workload.rate.shape[1] - 1)
    jobs[layout.OLDEST_S] = memory.job_ints[layout.OLDEST_BIN] * workload.bin_s
    jobs[layout.RESTART_S] = workload.job_restart_s
    jobs[layout.CHECKPOINT_S] = workload.job_checkpoint_s
    jobs[layout.DUE_S] = workload.job_checkpoint_s
    jobs[layout.RESCALED_S] = -np.inf
    memory.factor[:] = service_factors(workload, options, seeds)


class Lens:
    """The arrays of a world, or of several with one more axis in front, read-only and cut to the rows of a view."""

    def __init__(self, memory: StreamMemory, clock_s: Any, options: StreamOptions) -> None:
        self._clock_s = clock_s  # at the start: a number, or one for each world
        self._options = options
        self._parallelism = _read_only(memory.op_ints[..., layout.PARALLELISM, :])
        self._up_s = memory.job_floats[..., layout.UP_S, :]
        self._rescaled_s = _read_only(memory.job_floats[..., layout.RESCALED_S, :])
        self._ops = [_read_only(table) for table in tables(memory.history_ops, layout.ROW_OPS)]
        self._jobs = [_read_only(table) for table in tables(memory.history_jobs, layout.ROW_JOBS)]
        self._history_parallelism = _read_only(memory.history_parallelism)
        self._keeps_all = bool(memory.clock.flat[layout.KEEPS_ALL])

    def view(self, time_s: float) -> StreamView:
        """What is there now."""
        ended = int(time_s / self._options.snapshot_s + 1e-9)
        count = min(ended, int(self._options.history))
        first = ended - count if self._keeps_all else (ended - count) % int(self._options.history)
        rows = slice(first, first + count)
        ops = [table[..., rows, :] for table in self._ops]
        jobs = [table[..., rows, :] for table in self._jobs]
        down = self._up_s > time_s + layout.SLACK_S
        down.setflags(write=False)
        return StreamView(
            time_s=time_s,
            clock_s=(self._clock_s + time_s) % WEEK_S,
            parallelism=self._parallelism,
            job_down=down,
            job_rescaled_s=self._rescaled_s,
            op_input_rate=ops[layout.ROW_INPUT],
            op_rate=ops[layout.ROW_RATE],
            op_busy=ops[layout.ROW_BUSY],
            op_blocked=ops[layout.ROW_BLOCKED],
            op_queued=ops[layout.ROW_QUEUED],
            op_latency_s=ops[layout.ROW_LATENCY],
            op_parallelism=self._history_parallelism[..., rows, :],
            job_rate=jobs[layout.ROW_ARRIVALS],
            job_latency_s=jobs[layout.ROW_DELAY],
            job_lag=jobs[layout.ROW_LAG],
            job_down_share=jobs[layout.ROW_DOWN],
        )


def tables(stacked: Array, count: int) -> list[Array]:
    """The tables of a stack (..., count * rows, columns), as they are."""
    rows = stacked.shape[-2] // count
    return [stacked[..., i * rows : (i + 1) * rows, :] for i in range(count)]


def _read_only(array: Array) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
