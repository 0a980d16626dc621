"""Allocating the arrays that the gpu kernels work on, and looking at them as a view."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, Machines
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.gpu import GpuView, Ints
from dovetail.sim.gpu.options import GpuOptions
from dovetail.sim.gpu.prepare import job_table, kind_table, machine_table, settings
from dovetail.sim.kernels import gpu_state as layout
from dovetail.sim.kernels.dag_state import allocate
from dovetail.sim.kernels.gpu_state import GpuBuffers, GpuMemory, GpuOne, GpuRecords
from dovetail.workloads.gpu import GpuWorkload

RECORD_TYPES = (
    layout.SEGMENT_RECORD,
    layout.ROW_RECORD,
    layout.DECISION_RECORD,
    layout.SPEED_RECORD,
    layout.MACHINE_RECORD,
)


def allocate_world(
    workload: GpuWorkload,
    kind: Ints,
    model: SpeedModel,
    machines: Machines,
    options: GpuOptions,
    failure_key: int,
    mood_key: int,
) -> GpuOne:
    jobs, count, users = workload.num_jobs, len(machines.type), len(workload.user_name)
    workers = int(workload.workers.sum())
    devices = max(1, int(machines.gpus.max()))
    room = 2 * jobs + 1
    return GpuOne(
        settings=settings(model, options, jobs, failure_key, mood_key),
        world=allocate(1, layout.WORLD),
        kinds=kind_table(model).ravel(),
        prices=np.array([kind.usd_per_hour for kind in GPU_TYPES]),
        jobs=job_table(workload, kind),
        heap=allocate(jobs, layout.EVENT),
        rows=allocate(workers, layout.ROW),
        machines=machine_table(machines),
        machine_heap=allocate(count, layout.EVENT),
        up=np.ones(count, np.bool_),
        device_free=np.zeros((count, devices)),
        free=np.zeros((layout.FREE_FLOATS, count)),
        whole_free=np.zeros(count, np.int64),
        user_used=np.zeros((users, 3)),
        user_running=np.zeros(users, np.int64),
        pressure=np.zeros(devices * (1 + model.device_pressure.shape[1])),
        touched=np.zeros(count, np.int64),
        dirty=np.zeros(jobs, np.int64),
        racks=np.zeros(int(machines.rack.max()) + 1, np.int64),
        ops=np.zeros(jobs, np.int64),
        queue_ints=np.zeros((layout.JOB_INTS, room), np.int64),
        queue_floats=np.zeros((layout.JOB_FLOATS, room)),
    )


def allocate_buffers(jobs: int, workers: int) -> GpuBuffers:
    return GpuBuffers(
        run_ints=np.zeros((layout.RUN_INTS, jobs), np.int64),
        run_floats=np.zeros((layout.RUN_FLOATS, jobs)),
        row_ints=np.zeros((layout.ROW_INTS, workers), np.int64),
        starts=np.zeros((jobs, 3), np.int64),
        starts_machines=np.zeros(workers, np.int64),
        starts_scores=np.zeros((jobs, 2)),
        orders=np.zeros((jobs, layout.ORDER_COLUMNS), np.int64),
    )


def allocate_records(rows: int) -> GpuRecords:
    return GpuRecords(*(allocate(rows, kind) for kind in RECORD_TYPES))


def grow_records(records: GpuRecords) -> GpuRecords:
    """Twice the room, same content."""
    larger = allocate_records(2 * len(records.segments))
    for old, new in zip(records, larger, strict=True):
        new[: len(old)] = old
    return larger


class Lens:
    """The arrays of a world, read-only, cut to the sizes of a view."""

    def __init__(self, memory: GpuMemory) -> None:
        one, buffers = memory.one, memory.buffers
        self._world = one.world
        self._waiting_ints = [_read_only(row) for row in one.queue_ints]
        self._waiting_floats = [_read_only(row) for row in one.queue_floats]
        self._run_ints = [_read_only(row) for row in buffers.run_ints]
        self._run_floats = [_read_only(row) for row in buffers.run_floats]
        self._rows = [_read_only(row) for row in buffers.row_ints]
        free = [_read_only(row) for row in one.free]
        self._machines = (
            _read_only(one.up),
            _read_only(one.device_free),
            free[layout.FREE_GPUS],
            _read_only(one.whole_free),
            free[layout.FREE_CPUS],
            free[layout.FREE_MEMORY],
        )
        self._users = _read_only(one.user_used)

    def view(self, counts: Ints) -> GpuView:
        """What is there now, in so many waiting jobs, running jobs, rows and users."""
        _, runs, rows, users = counts.tolist()
        world = self._world[0]
        queue = slice(int(world["head"]), int(world["tail"]))
        wait_i = [column[queue] for column in self._waiting_ints]
        wait_f = [column[queue] for column in self._waiting_floats]
        run_i = [column[:runs] for column in self._run_ints]
        run_f = [column[:runs] for column in self._run_floats]
        places = [column[:rows] for column in self._rows]
        return GpuView(
            float(world["now"]),
            wait_i[layout.JOB_ID],
            wait_f[layout.JOB_ARRIVAL],
            wait_i[layout.JOB_USER],
            wait_i[layout.JOB_KIND],
            wait_i[layout.JOB_WORKERS],
            wait_f[layout.JOB_GPUS],
            wait_f[layout.JOB_CPUS],
            wait_f[layout.JOB_MEMORY],
            wait_i[layout.JOB_TYPES],
            wait_f[layout.JOB_LEFT],
            wait_f[layout.JOB_SERVED],
            wait_i[layout.JOB_STOPS],
            run_i[layout.RUN_ID],
            run_f[layout.RUN_ARRIVAL],
            run_f[layout.RUN_START],
            run_i[layout.RUN_USER],
            run_i[layout.RUN_KIND],
            run_i[layout.RUN_WORKERS],
            run_f[layout.RUN_GPUS],
            run_f[layout.RUN_CPUS],
            run_f[layout.RUN_MEMORY],
            run_i[layout.RUN_TYPES],
            run_f[layout.RUN_LEFT],
            run_f[layout.RUN_SERVED],
            run_f[layout.RUN_SPEED],
            places[layout.ROW_RUN],
            places[layout.ROW_MACHINE],
            places[layout.ROW_WORKERS],
            places[layout.ROW_DEVICE],
            *self._machines,
            self._users[:users],
        )


def _read_only(array: np.ndarray[Any, Any]) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
