"""GPU training jobs as tables of numbers: what each needs, how long it takes, and how long it was thought to."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from dovetail.core.dag import Floats, Ints


@dataclass(frozen=True, eq=False)
class GpuTable:
    """J jobs; the columns are those of `GpuWorkload`, where their meaning is written."""

    user: Ints  # (J,)
    kind: Ints  # (J,)
    workers: Ints  # (J,)
    gpus: Floats  # (J,)
    cpus: Floats  # (J,)
    memory: Floats  # (J,)
    types: Ints  # (J,)
    work_s: Floats  # (J,)
    estimate_s: Floats  # (J,)

    def __len__(self) -> int:
        return len(self.user)

    def take(self, rows: Ints | slice) -> GpuTable:
        """These rows, in this order."""
        return GpuTable(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True, eq=False)
class GpuWorkload:
    """A job sequence of J jobs, in order of arrival.

    `work_s` is the time a job takes at speed 1 (see `cluster/gpu_speed.py`), `estimate_s` what is known of it before.
    """

    job_name: tuple[str, ...]  # (J,) unique
    arrival_s: Floats  # (J,) non-decreasing, 0 or more
    user: Ints  # (J,) 0 .. users - 1
    kind: Ints  # (J,) 0 .. kinds - 1
    workers: Ints  # (J,) 1 or more
    gpus: Floats  # (J,) of one worker: 0, above 0 and below 1, or whole
    cpus: Floats  # (J,) of one worker
    memory: Floats  # (J,) GB of one worker
    types: Ints  # (J,) bit t: may run on GPU_TYPES[t]; -1 = on any
    work_s: Floats  # (J,) above 0
    estimate_s: Floats  # (J,) above 0
    user_name: tuple[str, ...]
    kind_name: tuple[str, ...]  # kinds of training, as in a `SpeedModel`

    @property
    def num_jobs(self) -> int:
        return len(self.job_name)

    @property
    def gpu_seconds(self) -> Floats:
        """(J,) seconds of GPUs at speed 1."""
        return np.asarray(self.workers * self.gpus * self.work_s, dtype=np.float64)

    def table(self) -> GpuTable:
        """The jobs without names and times of arrival."""
        return GpuTable(**{field.name: getattr(self, field.name) for field in fields(GpuTable)})

    def take(self, rows: Ints | slice) -> GpuWorkload:
        """These jobs, which must be in order of arrival; users and kinds keep their numbers."""
        table = self.table().take(rows)
        columns = {field.name: getattr(table, field.name) for field in fields(GpuTable)}
        places = np.arange(self.num_jobs)[rows]
        return replace(
            self, job_name=tuple(self.job_name[i] for i in places), arrival_s=self.arrival_s[rows], **columns
        )


def workload_of(
    table: GpuTable,
    job_name: tuple[str, ...],
    arrival_s: Floats,
    user_name: tuple[str, ...],
    kind_name: tuple[str, ...],
) -> GpuWorkload:
    """A table of jobs with names and times of arrival."""
    columns = {field.name: getattr(table, field.name) for field in fields(GpuTable)}
    return GpuWorkload(job_name=job_name, arrival_s=arrival_s, user_name=user_name, kind_name=kind_name, **columns)
