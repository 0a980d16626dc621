"""Jobs and machines of the plain-Python gpu world, chance, and how fast a job runs where it stands."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from dovetail.cluster.gpu import GPU_TYPES, GpuCluster
from dovetail.cluster.gpu_speed import NETWORK_CARD, SpeedModel
from dovetail.sim.gpu.options import GpuOptions
from dovetail.workloads.gpu import GpuWorkload

NEVER = math.inf
SLACK = 1e-9
WORD = 2**64


class State(Enum):
    TO_COME = "to come"
    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Worker:
    """Where one worker of a running job stands."""

    machine: int
    devices: tuple[int, ...]  # several whole ones, one that is shared, or none


@dataclass(eq=False)
class Job:
    number: int
    arrival_s: float
    user: int
    kind: int  # row of the speed model
    workers: int
    gpus: float
    cpus: float
    memory: float
    types: int
    work_s: float
    estimate_s: float
    state: State = State.TO_COME
    placed: list[Worker] = field(default_factory=list)
    done_s: float = 0.0  # work done by the time it last started; nothing of a restart counts as such
    left_s: float = 0.0  # at `since_s`, what a restart costs included
    since_s: float = 0.0
    speed: float = 0.0
    start_s: float = math.nan
    first_start_s: float = math.nan
    finish_s: float = math.nan
    running_s: float = 0.0
    served_s: float = 0.0
    fee: float = 0.0
    stops: int = 0

    @property
    def machines(self) -> set[int]:
        return {worker.machine for worker in self.placed}

    def workers_on(self, machine: int) -> int:
        return sum(worker.machine == machine for worker in self.placed)

    def sharing(self, machine: int, device: int) -> int:
        """Its workers that have a share of that device."""
        if not 0 < self.gpus < 1:
            return 0
        return sum(worker.machine == machine and device in worker.devices for worker in self.placed)

    def left_at(self, now_s: float) -> float:
        return max(0.0, self.left_s - self.speed * (now_s - self.since_s))

    def done_at(self, now_s: float) -> float:
        return max(self.done_s, self.work_s - self.left_at(now_s))

    def known_left_s(self, done_s: float) -> float:
        return max(self.estimate_s - done_s, self.estimate_s / 10)


@dataclass(eq=False)
class Machine:
    number: int
    type: int
    gpus: int
    cpus: float
    memory: float
    rack: int
    up: bool = True
    next_s: float = NEVER  # goes down, or up again
    draws: int = 0


def build_jobs(workload: GpuWorkload, model: SpeedModel) -> list[Job]:
    return [
        Job(
            number=j,
            arrival_s=float(workload.arrival_s[j]),
            user=int(workload.user[j]),
            kind=model.kind_name.index(workload.kind_name[int(workload.kind[j])]),
            workers=int(workload.workers[j]),
            gpus=float(workload.gpus[j]),
            cpus=float(workload.cpus[j]),
            memory=float(workload.memory[j]),
            types=int(workload.types[j]),
            work_s=float(workload.work_s[j]),
            estimate_s=float(workload.estimate_s[j]),
        )
        for j in range(workload.num_jobs)
    ]


def build_machines(cluster: GpuCluster) -> list[Machine]:
    table = cluster.arrays()
    columns = zip(table.type, table.gpus, table.cpus, table.memory, table.rack, strict=True)
    return [
        Machine(number, int(kind), int(gpus), float(cpus), float(memory), int(rack))
        for number, (kind, gpus, cpus, memory, rack) in enumerate(columns)
    ]


# --- chance -------------------------------------------------------------------------------------------------------


def scramble(word: int) -> int:
    """splitmix64's finaliser."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


def drawn(key: int, machine: int, counter: int) -> int:
    return scramble((key + machine * 0x9E3779B97F4A7C15 + counter * 0xD1B54A32D192ED03) % WORD)


def unit(word: int) -> float:
    return (word >> 11) / 2**53


def exponential(key: int, machine: int, counter: int, mean_s: float) -> float:
    return -mean_s * math.log(1.0 - unit(drawn(key, machine, counter)))


def normal(key: int, machine: int, counter: int) -> float:
    word = drawn(key, machine, counter)
    radius = math.sqrt(-2.0 * math.log(1.0 - unit(word)))
    return radius * math.cos(2.0 * math.pi * unit(scramble((word + 1) % WORD)))


def mood(options: GpuOptions, key: int, machine: int, look: int) -> float:
    """Of a machine at look number `look`."""
    stays = math.exp(options.cluster.uneven * normal(key, machine, 2**63 - 1)) if options.cluster.uneven else 1.0
    if options.mood_sigma == 0.0:
        return stays
    time_s = look * options.mood_every_s
    before = last_multiple(time_s, options.mood_period_s)
    part = time_s / options.mood_period_s - before
    x = (1.0 - part) * normal(key, machine, before) + part * normal(key, machine, before + 1)
    return stays * math.exp(options.mood_sigma * x / math.hypot(1.0 - part, part))


def last_multiple(time_s: float, step_s: float) -> int:
    """The largest whole number of steps that is not beyond that time."""
    count = int(time_s / step_s) + 1
    while count * step_s > time_s:
        count -= 1
    return count


# --- speed --------------------------------------------------------------------------------------------------------


def apart(job: Job, machines: list[Machine], model: SpeedModel) -> float:
    racks = {machines[number].rack for number in job.machines}
    return model.machine_hop * (1 - 1 / len(job.machines)) + model.rack_hop * (1 - 1 / len(racks))


def host_slowdown(job: Job, number: int, running: list[Job], model: SpeedModel) -> float:
    total = 0.0
    for r in range(model.host_pressure.shape[1]):
        if r == NETWORK_CARD and len(job.machines) < 2:
            continue
        pressure = 0.0
        for other in running:
            if other is job or (r == NETWORK_CARD and len(other.machines) < 2):
                continue
            pressure += other.workers_on(number) * other.gpus * float(model.host_pressure[other.kind, r])
        total += float(model.host_sensitivity[job.kind, r]) * pressure
    return total


def device_slowdown(job: Job, number: int, device: int, running: list[Job], model: SpeedModel) -> float:
    total = 0.0
    for q in range(model.device_pressure.shape[1]):
        pressure = 0.0
        for other in running:
            if other is not job:
                pressure += other.sharing(number, device) * float(model.device_pressure[other.kind, q])
        total += float(model.device_sensitivity[job.kind, q]) * pressure
    return total


def speed(job: Job, running: list[Job], machines: list[Machine], moods: dict[int, float], model: SpeedModel) -> float:
    """The formula at the head of `cluster/gpu_speed.py`."""
    slowest = math.inf
    for worker in job.placed:
        m = machines[worker.machine]
        here = float(model.speed[job.kind, m.type]) * moods[m.number]
        here /= 1 + host_slowdown(job, m.number, running, model)
        if 0 < job.gpus < 1:
            here /= 1 + device_slowdown(job, m.number, worker.devices[0], running, model)
        slowest = min(slowest, here)
    return slowest / (1 + float(model.network[job.kind]) * apart(job, machines, model))


def usd_per_hour(job: Job, machines: list[Machine]) -> float:
    return sum(job.gpus * GPU_TYPES[machines[worker.machine].type].usd_per_hour for worker in job.placed)
