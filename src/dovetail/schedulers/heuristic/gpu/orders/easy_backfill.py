"""EASY backfilling (Lifka, JSSPP 1995): first come, first served, and others fill the gaps.

The first job that does not fit is the head.  It gets a reservation: the earliest time at which it would fit if running
jobs ended when they are expected to (time left by the estimates, at the speed measured now).  A job behind it starts if
it is expected to be gone by then, or if the head would still fit then with it there.  How long a job will take is
estimated from the speed of its kind on the slowest machine it gets and from how far its workers are apart.

Departures: "fits" is what the world means by it, machine by machine, rather than a number of processors; a head that
would fit at no time, because machines are down, reserves nothing.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Floats, GpuInfo, GpuView, Reason
from dovetail.schedulers.heuristic.gpu.order import Candidates, OrderPart
from dovetail.schedulers.heuristic.gpu.preemption import release
from dovetail.schedulers.heuristic.gpu.room import Gang, Need, Room
from dovetail.schedulers.kernels.gpu_codes import SLOWEST, OrderCode


class EasyBackfill(OrderPart):
    REASON = Reason.FIRST_ARRIVED
    CODE = OrderCode.EASY_BACKFILL
    WANTS_RUNNING = True

    def begin(self, view: GpuView, room: Room) -> Candidates:
        self._head: Need | None = None
        self._free_then: Room | None = None  # what is free when the head starts; None: it has no reservation
        self._start_s = np.inf
        self._new: list[tuple[float, Need, Gang]] = []  # started in this decision: expected end
        return super().begin(view, room)

    def keys(self, view: GpuView, room: Room, candidates: Candidates) -> Floats:
        return candidates.job.astype(float)

    def reason(self, job: int) -> Reason:
        return Reason.FIRST_ARRIVED if self._head is None else Reason.BACKFILLED

    def blocked(self, view: GpuView, room: Room, job: int) -> bool:
        if self._head is None:
            self._head = Need.of(view, self.info, job)
            self._reserve(view, room.copy(), self._head)
        return False

    def allows(self, view: GpuView, room: Room, job: int, gang: Gang) -> bool:
        need = Need.of(view, self.info, job)
        end_s = view.time_s + view.job_left_s[job] / expected_speed(self.info, need.kind, gang.machines)
        if self._head is None:
            self._new.append((end_s, need, gang))
            return True
        if self._free_then is None or end_s <= self._start_s:
            return True
        before = self._free_then.copy()
        for machine, devices in zip(gang.machines, gang.devices, strict=True):
            take_devices(self._free_then, machine, devices, need)
        if int(self._free_then.capacity(self._head).sum()) >= self._head.workers:
            return True
        self._free_then.become(before)
        return False

    def _reserve(self, view: GpuView, room: Room, head: Need) -> None:
        """Let jobs end one after another until the head fits."""
        ends = (view.time_s + view.run_left_s / np.maximum(view.run_speed, SLOWEST)).tolist()
        runs = len(ends)
        ends += [end_s for end_s, _, _ in self._new]
        for one in np.argsort(np.array(ends), kind="stable").tolist():
            if one < runs:
                release(view, self.info, room, one)
            else:
                _, need, gang = self._new[one - runs]
                for machine, devices in zip(gang.machines, gang.devices, strict=True):
                    room.give_back(machine, devices, need)
            if int(room.capacity(head).sum()) >= head.workers:
                self._start_s, self._free_then = ends[one], room
                return


def take_devices(room: Room, machine: int, devices: list[int], need: Need) -> None:
    """Put a worker on these devices of the machine."""
    for device in devices:
        if room.device[machine, device] >= 1.0 - 1e-9:
            room.whole[machine] -= 1
        room.device[machine, device] -= min(need.gpus, 1.0)
    room.gpus[machine] -= need.gpus
    room.cpus[machine] -= need.cpus
    room.memory[machine] -= need.memory


def expected_speed(info: GpuInfo, kind: int, machines: list[int]) -> float:
    """Of a job of that kind on these machines if nobody disturbed it: slowest type, machines and racks apart."""
    slowest = min(float(info.kind_speed[kind, info.machine_type[machine]]) for machine in machines)
    hosts, racks = len(set(machines)), len({int(info.machine_rack[machine]) for machine in machines})
    apart = (1.0 - 1.0 / hosts) + (1.0 - 1.0 / racks)
    return max(slowest / (1.0 + float(info.kind_network[kind]) * apart), SLOWEST)
