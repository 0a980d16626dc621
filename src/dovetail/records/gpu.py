"""One run of the gpu family in full: its jobs, the machines, where every job ran and how fast, and every decision.

Numbers name things as the workload does: a job by its place in the job sequence (order of arrival), a machine by its
place in the cluster, a device by its place in its machine.  A *segment* is a job running from one start to its end, its
*rows* are the places in which its workers stand meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from dovetail.core.gpu import PLACE_TEXT, REASON_TEXT, Bools, Floats, Ints, Place, Reason
from dovetail.records.gpu_check import check_run
from dovetail.records.run import Run

STILL_RUNS, COMPLETED, STOPPED, MACHINE_LOST = range(4)
"""Why a segment ended."""
END_TEXT = ("still runs", "completed", "was stopped", "lost a machine")
HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class GpuJobRows:
    """The jobs; row j is job j.  Demands are those of one worker."""

    SCHEMA: ClassVar = {
        "job": "int32",
        "name": "string",
        "user": "string",
        "kind": "string",
        "arrival_s": "float64",
        "workers": "int32",
        "gpus": "float64",
        "cpus": "float64",
        "memory": "float64",
        "types": "int64",
        "work_s": "float64",
        "estimate_s": "float64",
        "start_s": "float64",
        "finish_s": "float64",
        "running_s": "float64",
        "fee": "float64",
        "stops": "int32",
        "work_run_s": "float64",
        "alone_run_s": "float64",
    }
    INDEX: ClassVar = "job"

    name: tuple[str, ...]  # (J,)
    user: tuple[str, ...]  # (J,)
    kind: tuple[str, ...]  # (J,) what is trained
    arrival_s: Floats  # (J,)
    workers: Ints  # (J,)
    gpus: Floats  # (J,) 0, a share of one device, or whole devices
    cpus: Floats  # (J,)
    memory: Floats  # (J,) GB
    types: Ints  # (J,) bit t: may run on the t-th type of `cluster.gpu.GPU_TYPES`; -1 = on any
    work_s: Floats  # (J,) at speed 1
    estimate_s: Floats  # (J,) what was known of it before
    start_s: Floats  # (J,) the first time, inf = never
    finish_s: Floats  # (J,) inf = never
    running_s: Floats  # (J,)
    fee: Floats  # (J,) USD
    stops: Ints  # (J,) how often it was stopped, or lost a machine
    work_run_s: Floats  # (J,) integral of its speed, what was lost and restarts included
    alone_run_s: Floats  # (J,) the same, had nobody else been there and no mood, nor network

    def __len__(self) -> int:
        return len(self.name)

    @property
    def job(self) -> Ints:
        return np.arange(len(self.name))

    @property
    def all_gpus(self) -> Floats:
        """(J,) of all workers together."""
        found: Floats = self.workers * self.gpus
        return found


@dataclass(frozen=True, eq=False)
class GpuMachineRows:
    """The machines; row m is machine m."""

    SCHEMA: ClassVar = {
        "machine": "int32",
        "name": "string",
        "type": "string",
        "gpus": "int32",
        "cpus": "float64",
        "memory": "float64",
        "rack": "int32",
        "price": "float64",
    }
    INDEX: ClassVar = "machine"

    name: tuple[str, ...]  # (M,)
    type: tuple[str, ...]  # (M,) of its GPUs
    gpus: Ints  # (M,) devices
    cpus: Floats  # (M,)
    memory: Floats  # (M,) GB
    rack: Ints  # (M,)
    price: Floats  # (M,) USD for a GPU and an hour

    def __len__(self) -> int:
        return len(self.name)

    @property
    def machine(self) -> Ints:
        return np.arange(len(self.name))


@dataclass(frozen=True, eq=False)
class GpuSegmentRows:
    """Jobs running, from a start to its end."""

    SCHEMA: ClassVar = {
        "segment": "int32",
        "job": "int32",
        "start_s": "float64",
        "end_s": "float64",
        "why": "int8",
        "alone": "float64",
    }
    INDEX: ClassVar = "segment"

    job: Ints  # (S,)
    start_s: Floats  # (S,) non-decreasing
    end_s: Floats  # (S,) inf = it still runs
    why: Ints  # (S,) it ended: STILL_RUNS, COMPLETED, STOPPED or MACHINE_LOST
    alone: Floats  # (S,) its speed there with nobody else, no mood, nor network

    def __len__(self) -> int:
        return len(self.job)

    @property
    def segment(self) -> Ints:
        return np.arange(len(self.job))


@dataclass(frozen=True, eq=False)
class GpuPlaceRows:
    """Where segments ran: one row for each machine, or for each device that is shared."""

    SCHEMA: ClassVar = {
        "segment": "int32",
        "machine": "int32",
        "device": "int32",
        "devices": "int64",
        "workers": "int32",
    }
    INDEX: ClassVar = None

    segment: Ints  # (P,) non-decreasing
    machine: Ints  # (P,)
    device: Ints  # (P,) the one that is shared, -1 = whole ones, or none
    devices: Ints  # (P,) bit d: device d is its own
    workers: Ints  # (P,)

    def __len__(self) -> int:
        return len(self.segment)


@dataclass(frozen=True, eq=False)
class GpuDecisionRows:
    """Every decision, in the order taken."""

    SCHEMA: ClassVar = {
        "time_s": "float64",
        "asked": "int64",
        "job": "int32",
        "stops": "bool",
        "segment": "int32",
        "waiting": "int32",
        "reason": "int32",
        "place": "int32",
        "priority": "float64",
        "affinity": "float64",
    }
    INDEX: ClassVar = None

    time_s: Floats  # (K,) non-decreasing
    asked: Ints  # (K,) number of the question it answers
    job: Ints  # (K,)
    stops: Bools  # (K,) the job is stopped; else it starts
    segment: Ints  # (K,) that begins, or ends, with it
    waiting: Ints  # (K,) jobs that waited when the scheduler was asked
    reason: Ints  # (K,) code of core.gpu.Reason
    place: Ints  # (K,) code of core.gpu.Place
    priority: Floats  # (K,) nan = not said
    affinity: Floats  # (K,) nan = not said

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, eq=False)
class GpuSpeedRows:
    """Every change of a job's speed; each holds until the next, or until the job does not run any more."""

    SCHEMA: ClassVar = {"time_s": "float64", "job": "int32", "speed": "float64"}
    INDEX: ClassVar = None

    time_s: Floats  # (V,) non-decreasing
    job: Ints  # (V,)
    speed: Floats  # (V,) 1: alone on one machine of the reference type

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, eq=False)
class GpuOutageRows:
    """Machines that went down, and that came back."""

    SCHEMA: ClassVar = {"time_s": "float64", "machine": "int32", "up": "bool"}
    INDEX: ClassVar = None

    time_s: Floats  # (L,) non-decreasing
    machine: Ints  # (L,)
    up: Bools  # (L,) from now on

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuRun(Run):
    """A scheduler's run over one job sequence."""

    FAMILY = "gpu"
    TABLES: ClassVar = {
        "jobs": GpuJobRows,
        "machines": GpuMachineRows,
        "segments": GpuSegmentRows,
        "places": GpuPlaceRows,
        "decisions": GpuDecisionRows,
        "speeds": GpuSpeedRows,
        "outages": GpuOutageRows,
    }
    FACTS: ClassVar = {}

    jobs: GpuJobRows
    machines: GpuMachineRows
    segments: GpuSegmentRows
    places: GpuPlaceRows
    decisions: GpuDecisionRows
    speeds: GpuSpeedRows
    outages: GpuOutageRows

    @property
    def job_names(self) -> tuple[str, ...]:
        return self.jobs.name

    @property
    def num_gpus(self) -> int:
        return int(self.machines.gpus.sum())

    @cached_property
    def end_s(self) -> float:
        last = (self.jobs.arrival_s, self.jobs.finish_s, self.segments.end_s, self.decisions.time_s, self.speeds.time_s)
        return max(float(column[np.isfinite(column)].max(initial=0.0)) for column in last)

    @property
    def completion_s(self) -> Floats:
        """(J,) from arrival to finish, inf = never."""
        return self.jobs.finish_s - self.jobs.arrival_s

    @cached_property
    def segment_end_s(self) -> Floats:
        """(S,) the end of the run for those that still run."""
        return np.minimum(self.segments.end_s, self.end_s)

    @cached_property
    def asked_at_once(self) -> bool:
        """The scheduler was asked whenever something happened, not at multiples of an interval only."""
        happened = np.concatenate((self.jobs.arrival_s, self.segments.end_s))
        return bool(np.isin(self.decisions.time_s, happened[happened > 0]).any())

    @cached_property
    def usd_per_hour(self) -> Floats:
        """(S,) what a job pays while the segment lasts."""
        gpus = self.jobs.gpus[self.segments.job[self.places.segment]]
        paid = self.places.workers * gpus * self.machines.price[self.places.machine]
        return np.bincount(self.places.segment, paid, minlength=len(self.segments)).astype(np.float64)

    @cached_property
    def speed_segment(self) -> Ints:
        """(V,) the segment in which each change of speed happened: the last of its job that had begun by then."""
        segments, speeds = self.segments, self.speeds
        _, rank = np.unique(np.concatenate((segments.start_s, speeds.time_s)), return_inverse=True)
        many = rank.size + 1
        begun = segments.job * many + rank[: len(segments)]
        order = np.argsort(begun, kind="stable")
        at = np.searchsorted(begun[order], speeds.job * many + rank[len(segments) :], side="right") - 1
        found: Ints = order[at]
        return found

    @cached_property
    def mean_speed(self) -> Floats:
        """(S,) over the time a segment lasts; nan for those that ended as they began."""
        order = np.argsort(self.speed_segment, kind="stable")
        segment, time_s = self.speed_segment[order], self.speeds.time_s[order]
        until = self.segment_end_s[segment]
        until[:-1] = np.where(np.diff(segment) == 0, time_s[1:], until[:-1])
        done = np.bincount(segment, self.speeds.speed[order] * (until - time_s), minlength=len(self.segments))
        lasted = self.segment_end_s - self.segments.start_s
        mean: Floats = np.divide(done, lasted, out=np.full(len(self.segments), np.nan), where=lasted > 0)
        return mean

    def check(self, directory: Path) -> None:
        check_run(directory, self)

    @property
    def trace_threads(self) -> int:
        from dovetail.records.perfetto_gpu import thread_names

        return len(thread_names(self))

    def trace(self, label: str, process: int, first_thread: int) -> Iterator[str]:
        from dovetail.records.perfetto_gpu import run_events

        return run_events(label, self, process, first_thread)


def reason_text(code: int) -> str:
    """The text of a reason; a code from a later version is shown as it is."""
    try:
        return REASON_TEXT[Reason(code)]
    except (ValueError, KeyError):
        return f"reason {code}"


def place_text(code: int) -> str:
    """The same of a place."""
    try:
        return PLACE_TEXT[Place(code)]
    except (ValueError, KeyError):
        return f"place {code}"
