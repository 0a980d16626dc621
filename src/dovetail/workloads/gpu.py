"""GPU training jobs as tables of numbers: what each needs, how long it takes, and how long it was thought to."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Floats, Ints


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
