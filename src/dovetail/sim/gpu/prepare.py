"""A workload, a speed model and options, checked and written into the arrays of the gpu kernels."""

from __future__ import annotations

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, Machines
from dovetail.cluster.gpu_speed import HOST_RESOURCES, SpeedModel
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.gpu import Floats, GpuInfo, Ints, Place, Reason
from dovetail.sim.gpu.options import GpuOptions
from dovetail.sim.kernels import gpu_state as layout
from dovetail.sim.kernels.dag_state import Records, allocate
from dovetail.workloads.gpu import GpuWorkload


def check_model(model: SpeedModel) -> None:
    """Refuse shapes and numbers that the formula cannot be worked out with."""
    kinds, columns = len(model.kind_name), model.device_pressure.shape[-1]
    for name, shape in (
        ("speed", (kinds, len(GPU_TYPES))),
        ("network", (kinds,)),
        ("host_pressure", (kinds, len(HOST_RESOURCES))),
        ("host_sensitivity", (kinds, len(HOST_RESOURCES))),
        ("device_pressure", (kinds, columns)),
        ("device_sensitivity", (kinds, columns)),
    ):
        table: Floats = getattr(model, name)
        if table.shape != shape:
            raise ConfigError(f"speed model: {name} has the shape {table.shape}; expected {shape}")
        bad = ~((table >= 0) & np.isfinite(table))
        if bad.any():
            raise ConfigError(f"speed model: {name} has {table[bad][0]}; expected numbers of 0 or more")


def kind_rows(workload: GpuWorkload, model: SpeedModel) -> Ints:
    """(J,) the row of the speed model for each job: kinds go by their names."""
    for name in workload.kind_name:
        if name not in model.kind_name:
            raise UnknownName("kind of training", name, model.kind_name)
    rows = np.array([model.kind_name.index(name) for name in workload.kind_name], np.int64)
    _check(workload, (workload.kind >= 0) & (workload.kind < len(rows)), "kind", f"0 to {len(rows) - 1}")
    return rows[workload.kind]


def check_jobs(workload: GpuWorkload) -> None:
    """Refuse what no job can be."""
    gpus, finite = workload.gpus, np.isfinite
    before = np.concatenate([[0.0], workload.arrival_s[:-1]])
    _check(
        workload, finite(workload.arrival_s) & (workload.arrival_s >= before), "arrival_s", "jobs by arrival, from 0"
    )
    users = len(workload.user_name)
    _check(workload, (workload.user >= 0) & (workload.user < users), "user", f"0 to {users - 1}")
    _check(workload, workload.workers >= 1, "workers", "1 or more")
    shares = (gpus >= 0) & ((gpus < 1) | (gpus == np.floor(gpus))) & finite(gpus)
    _check(workload, shares, "gpus", "0, a share below 1, or a whole number")
    for name in ("cpus", "memory"):
        values: Floats = getattr(workload, name)
        _check(workload, finite(values) & (values >= 0), name, "0 or more")
    for name in ("work_s", "estimate_s"):
        values = getattr(workload, name)
        _check(workload, finite(values) & (values > 0), name, "above 0")


def _check(workload: GpuWorkload, good: np.ndarray[tuple[int], np.dtype[np.bool_]], name: str, expected: str) -> None:
    if not good.all():
        job = int(good.argmin())
        raise ConfigError(
            f"job {workload.job_name[job]!r} (number {job}): {name} is {getattr(workload, name)[job]}; "
            f"expected {expected}"
        )


def check_fit(workload: GpuWorkload, kind: Ints, model: SpeedModel, machines: Machines) -> None:
    """Refuse jobs that would not fit if all machines were up and empty."""
    kinds, counts = np.unique(
        np.column_stack([machines.type, machines.gpus, machines.cpus, machines.memory]), axis=0, return_counts=True
    )
    room = np.zeros(workload.num_jobs)
    with np.errstate(divide="ignore", invalid="ignore"):
        for (type_, gpus, cpus, memory), count in zip(kinds, counts, strict=True):
            allowed = (workload.types == -1) | ((workload.types >> int(type_)) & 1 == 1)
            allowed &= model.speed[kind, int(type_)] > 0
            shares = gpus * np.floor((1.0 + layout.SLACK) / workload.gpus)
            whole = np.floor(gpus / workload.gpus)
            by_gpus = np.where(workload.gpus == 0, np.inf, np.where(workload.gpus < 1, shares, whole))
            by_cpus = np.where(workload.cpus == 0, np.inf, np.floor((cpus + layout.SLACK) / workload.cpus))
            by_memory = np.where(workload.memory == 0, np.inf, np.floor((memory + layout.SLACK) / workload.memory))
            fits = np.minimum(np.minimum(by_gpus, by_cpus), by_memory)
            room += np.where(allowed, count * fits, 0.0)
    if (room < workload.workers).any():
        job = int((room < workload.workers).argmax())
        raise ConfigError(
            f"job {workload.job_name[job]!r} (number {job}) can never start: of its {workload.workers[job]} workers "
            f"({workload.gpus[job]:g} GPUs, {workload.cpus[job]:g} processors, {workload.memory[job]:g} GB each; types "
            f"{_types(int(workload.types[job]))}; kind {model.kind_name[kind[job]]!r}) only {int(room[job])} fit "
            f"the {len(machines.type)} machines of this cluster when they are empty"
        )


def _types(mask: int) -> str:
    if mask == -1:
        return "any"
    return ", ".join(kind.name for bit, kind in enumerate(GPU_TYPES) if mask >> bit & 1) or "none"


def check_failures(workload: GpuWorkload, options: GpuOptions) -> None:
    """Refuse a cluster on which the largest jobs would practically never get from one checkpoint to the next."""
    mean_s = options.mean_time_to_failure_s
    if mean_s == 0.0 or workload.num_jobs == 0:
        return
    piece_s = np.minimum(workload.work_s, options.checkpoint_s) + options.restart_s
    need_s = np.minimum(workload.workers, options.cluster.machines) * piece_s / 5
    job = int(need_s.argmax())
    if need_s[job] > mean_s:
        raise ConfigError(
            f"machines fail every {mean_s:g} s on average, but job {workload.job_name[job]!r} may need "
            f"{min(int(workload.workers[job]), options.cluster.machines)} of them for {piece_s[job]:g} s to get to its "
            f"next checkpoint: it would hardly ever complete; expected a mean time to failure of {need_s[job]:.3g} s "
            "or more, or checkpoints more often"
        )


def kind_table(model: SpeedModel) -> Floats:
    """(K, width) the columns of `gpu_state.NETWORK` and so on."""
    device = (model.device_pressure, model.device_sensitivity)
    columns = [model.network[:, None], model.host_pressure, model.host_sensitivity, model.speed, *device]
    return np.ascontiguousarray(np.concatenate(columns, axis=1), np.float64)


def settings(model: SpeedModel, options: GpuOptions, jobs: int, failure_key: int, mood_key: int) -> Records:
    values = allocate(1, layout.SETTINGS)
    values["num_jobs"] = jobs
    values["num_machines"] = options.cluster.machines
    values["num_types"] = len(GPU_TYPES)
    values["num_kinds"] = len(model.kind_name)
    values["num_reasons"] = len(Reason)
    values["num_places"] = len(Place)
    values["device_columns"] = model.device_pressure.shape[1]
    values["width"] = kind_table(model).shape[1]
    values["machine_hop"] = model.machine_hop
    values["rack_hop"] = model.rack_hop
    values["failure_key"] = failure_key
    values["mood_key"] = mood_key
    values["uneven"] = options.cluster.uneven
    for name in ("preemption", "interval_s", "quantum_s", "restart_s", "checkpoint_s", "mean_time_to_failure_s"):
        values[name] = getattr(options, name)
    for name in ("repair_s", "mood_sigma", "mood_period_s", "mood_every_s"):
        values[name] = getattr(options, name)
    return values


def job_table(workload: GpuWorkload, kind: Ints) -> Records:
    jobs = allocate(workload.num_jobs, layout.JOB)
    jobs["kind"] = kind
    for name in ("user", "workers", "types", "gpus", "cpus", "memory", "arrival_s", "work_s", "estimate_s"):
        jobs[name] = getattr(workload, name)
    return jobs


def machine_table(machines: Machines) -> Records:
    table = allocate(len(machines.type), layout.MACHINE)
    for name in ("type", "gpus", "rack", "cpus", "memory"):
        table[name] = getattr(machines, name)
    return table


def cluster_info(workload: GpuWorkload, model: SpeedModel, machines: Machines, options: GpuOptions) -> GpuInfo:
    """What schedulers are told."""
    return GpuInfo(
        machine_name=machines.name,
        machine_type=machines.type,
        machine_gpus=machines.gpus,
        machine_cpus=machines.cpus,
        machine_memory=machines.memory,
        machine_rack=machines.rack,
        type_name=tuple(kind.name for kind in GPU_TYPES),
        type_price=np.array([kind.usd_per_hour for kind in GPU_TYPES]),
        kind_name=model.kind_name,
        kind_speed=model.speed,
        kind_network=model.network,
        max_users=len(workload.user_name),
        interval_s=options.interval_s,
        preemption=options.preemption,
        restart_s=options.restart_s,
    )
