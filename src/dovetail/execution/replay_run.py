"""Replays: a workload's jobs on real executors, in this process's own server, from the first job to the last.

The controller's clock runs in the workload's seconds, so that schedulers see the numbers that they see in the
simulator, whatever the time scale.  Moving an executor to another job takes as long as it does there.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.errors import ConfigError, DovetailError
from dovetail.execution.controller import Controller, ControllerOptions
from dovetail.execution.controller.messages import Run
from dovetail.execution.engines.local_options import LocalOptions
from dovetail.execution.engines.ray import RayOptions
from dovetail.execution.journal import Journal
from dovetail.execution.payload import Payload
from dovetail.execution.recorder import Recorder
from dovetail.execution.replay import Replay
from dovetail.execution.serve import EngineName, ServerOptions, locked, make_workers, prepare
from dovetail.execution.server import Server
from dovetail.execution.service import ServerService
from dovetail.execution.status import JobStatus, OverheadStatus
from dovetail.records.dag import DagRun
from dovetail.schedulers import SCHEDULERS

SETTLE_S = 0.2  # between the last executor's coming up and the first job's arrival
PATIENCE_S = 120.0  # for all executors to come up


@dataclass(frozen=True)
class Replayed:
    jobs: tuple[JobStatus, ...]  # in the order of the workload
    overheads: tuple[OverheadStatus, ...]
    decisions: int
    notices: tuple[str, ...]
    run: DagRun  # the record, as of a simulated run


def run_replay(
    replay: Replay,
    scheduler: str,
    *,
    params: Mapping[str, Any] | None = None,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    nodes: int = 1,
    engine: EngineName = "local",
    address: str = "",
    progress: Callable[[Server], None] = lambda server: None,
) -> Replayed:
    """Play all jobs; `progress` is called now and then.  `params` (of the scheduler) and `seed` are for the record,
    `nodes` matter to the local engine, `address` to Ray's."""
    from dovetail.sim.dag.world import cluster_info  # brings the compiler along

    executors, classes = replay.num_executors, replay.options.classes
    if classes and engine == "ray":
        raise ConfigError("executors of several sizes: only with the local engine; leave the classes out")
    with tempfile.TemporaryDirectory(prefix="dovetail-") as directory:
        place = prepare(Path(directory))
        with locked(place):
            cluster = ServerOptions(
                engine=engine,
                local=LocalOptions(executors, nodes, classes=classes, limit_memory=False),
                ray=RayOptions(address, executors),
            )
            workers = make_workers(place, cluster)
            settings = ControllerOptions(
                workers.classes(),
                replay.options.moving_delay_s,
                batch_s=0.0,
                copies=None,
                grace_s=1.0 / replay.time_scale,
            )
            made = SCHEDULERS.create(scheduler)
            info = cluster_info(replay.workload.catalogue, replay.options)
            fallback = partial(SCHEDULERS.create, settings.fallback)
            controller = Controller(settings, scheduler, made, fallback, info, rng)
            journal = Journal.open(place / "journal.sqlite")
            recorder = Recorder()
            server = Server(
                place,
                controller,
                workers,
                journal,
                time_scale=replay.time_scale,
                arguments=_Durations(replay),
                recorder=recorder,
            )
            jobs, overheads = _play(server, replay, progress)
            name = scheduler.partition(":")[0]
            return Replayed(
                jobs,
                overheads,
                controller.incumbent.decisions,
                tuple(f"{kind}: {text}" for _, _, kind, text in server.notices),
                recorder.dag_run(name, params or {}, seed, executors, list(server.jobs.values())),
            )


def _play(
    server: Server, replay: Replay, progress: Callable[[Server], None]
) -> tuple[tuple[JobStatus, ...], tuple[OverheadStatus, ...]]:
    submitted: list[int] = []
    jobs = replay.workload.num_jobs

    def submit(numbers: Sequence[int]) -> None:
        for number in numbers:
            payload = Payload.from_bytes(replay.payload(number))
            row = int(replay.workload.catalogue.stage_ptr[replay.workload.job_dag[number]])
            spec = replay.spec(number)
            more = number != numbers[-1]
            profiles = range(row, row + len(spec.stages))
            submitted.append(server.submit(spec, payload.write, more_follow=more, profiles=profiles))

    def schedule() -> None:
        """Once all executors are up; jobs that arrive together are submitted together."""
        up, wanted = len(server.executors_up), replay.num_executors
        if up < wanted:
            if time.monotonic() > give_up_s:
                why = "; ".join(text for _, _, kind, text in list(server.notices)[-3:]) or "there may be no room"
                raise DovetailError(f"{up} of {wanted} executors came up within {PATIENCE_S:g} s: {why}")
            server.at(0.01, schedule)
            return
        together: dict[float, list[int]] = {}
        for number, at_s in enumerate(replay.submit_s):
            together.setdefault(at_s, []).append(number)
        for at_s, numbers in together.items():
            server.at(SETTLE_S + at_s, lambda numbers=numbers: submit(numbers))  # type: ignore[misc]

    def tick() -> None:
        progress(server)
        server.at(0.1, tick)

    server.start()
    give_up_s = time.monotonic() + PATIENCE_S
    try:
        server.at(0.0, schedule)
        server.at(0.1, tick)
        while len(submitted) < jobs or server.controller.jobs:
            server.step()
        server.save()
        service = ServerService(server)
        return tuple(service.job(job) for job in submitted), server.overheads.status()
    finally:
        server.close()


class _Durations:
    """What each task of a replay is called with: how long it lasts, in real seconds."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def __call__(self, run: Run) -> list[float]:
        replay = self._replay
        job = run.job - 1  # the journal counts from 1
        if not 0 <= job < replay.workload.num_jobs:
            raise DovetailError(f"job {run.job} is none of the {replay.workload.num_jobs} of the replay")
        return [
            replay.durations.duration_s(job, run.stage, run.starts + at, run.wave, run.at_home) * replay.time_scale
            for at in range(len(run.tasks))
        ]
