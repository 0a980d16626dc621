"""What is wrong with an answer, in words: which rule, which job, which machine, and the numbers."""

from __future__ import annotations

from dovetail.core.gpu import GpuInfo, Place, Reason
from dovetail.sim.kernels import gpu_state as layout
from dovetail.sim.kernels.gpu_state import GpuOne
from dovetail.workloads.gpu import GpuWorkload


def refusal(one: GpuOne, info: GpuInfo, workload: GpuWorkload, order: list[int], run: int) -> str:
    """The message.  `order` is the refused one, [] if the answer was refused as a whole; `run` the running job it
    would stop, -1 = none."""
    world = one.world[0]
    why = int(world["refused"])
    waiting = int(world["tail"] - world["head"])
    where = f"at {float(world['now']):.3f} s: "
    if why == layout.STALLED:
        return (
            f"{where}stalled: {waiting} jobs wait, nothing runs, nothing will arrive and all machines are up, but no "
            "job was started; expected at least one"
        )
    if why == layout.BAD_COUNT:
        return f"{where}{int(world['refused_order'])} jobs were to start; expected 0 to the {waiting} that wait"
    index, stops, reason, place, machines = order
    where += f"decision {int(world['refused_order'])} ({'stop run' if stops else 'job'} index {index}): "
    plain = {
        layout.BAD_REASON: f"reason {reason}, place {place} are unknown; expected a Reason (0 to {len(Reason) - 1}) "
        f"and a Place (0 to {len(Place) - 1})",
        layout.NO_SUCH_JOB: f"no such job: the view has waiting jobs 0 to {waiting - 1}",
        layout.NO_SUCH_RUN: f"no such run: the view has running jobs 0 to {int(world['shown']) - 1}",
        layout.NO_PREEMPTION: "running jobs may not be stopped here: preemption is off",
        layout.STOPS_AGAIN: "jobs were stopped a moment ago; when asked again at the same time none may be stopped",
    }
    if why in plain:
        return where + plain[why]
    job = run if stops else int(one.queue_ints[layout.JOB_ID, world["head"] + index])
    where += f"job {job} ({workload.job_name[job]!r}): "
    plain = {
        layout.NAMED_TWICE: "named twice in one answer",
        layout.STOP_WITH_MACHINES: f"a stop names no machines, but {machines} were given",
        layout.WRONG_NUMBER: f"machines for {machines} workers were given; the job has {workload.workers[job]}",
    }
    if why in plain:
        return where + plain[why]
    machine = int(world["refused_machine"])
    if why == layout.NO_SUCH_MACHINE:
        return f"{where}no such machine: {machine}; there are machines 0 to {len(info.machine_name) - 1}"
    return where + misfit(one, info, workload, job, machine)


def misfit(one: GpuOne, info: GpuInfo, workload: GpuWorkload, job: int, machine: int) -> str:
    """Why a worker does not fit the machine."""
    world = one.world[0]
    worker = int(world["refused_worker"])
    need, free = float(world["refused_need"]), float(world["refused_free"])
    type_name = info.type_name[int(info.machine_type[machine])]
    where = f"worker {worker} does not fit machine {machine} ({info.machine_name[machine]}): "
    kind = info.kind_name[int(one.jobs["kind"][job])]
    gpus = (
        f"it needs {need:g} whole GPUs, {free:g} are free"
        if need >= 1
        else f"it needs {need:g} of a GPU, the most that is free of one is {free:g}"
    )
    texts = {
        layout.MACHINE_IS_DOWN: "the machine is down",
        layout.WRONG_TYPE: f"it may not run on GPUs of type {type_name} (its mask is {int(workload.types[job])})",
        layout.WRONG_KIND: f"kind {kind!r} cannot run on GPUs of type {type_name}",
        layout.TOO_FEW_CPUS: f"it needs {need:g} processors, {free:g} are free",
        layout.TOO_LITTLE_MEMORY: f"it needs {need:g} GB of memory, {free:g} are free",
        layout.TOO_FEW_GPUS: gpus,
    }
    return where + texts[int(world["refused"])]
