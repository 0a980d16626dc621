"""A small stream workload whose course is plain to see, that tests of several folders share.

Two jobs, decisions every 60 s, no chance and no waiting but for what cannot be done in time:

    job a    source -> <map> -> sink       one instance of <map> does 5 records a second
             4 records a second come for 180 s, then 8 for 120 s, then 4 for 120 s; its SLO is 2 s
    job b    only                          one instance does 10 records a second, 1 comes; its SLO is 5 s

`Scripted` lets 3 records a second pile up from 180 s on, gives <map> two more instances at 240 s, with which all is
done by 300 s, and takes one of them away at 360 s.  A rescale takes 2 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision, StreamInfo, StreamView
from dovetail.evaluation.recording_stream import record_stream_run
from dovetail.records import StreamRun
from dovetail.sim.stream import StreamOptions, StreamResult, StreamWorld, run
from dovetail.workloads.stream import StreamWorkload

OPTIONS = StreamOptions(interval_s=60.0, snapshot_s=10.0, history=12, noise=0.0)
SCRIPT = {240.0: {1: 3}, 360.0: {1: 2}}
"""Time of a decision -> operator -> its parallelism from then on."""
MAP = 1


class Scripted:
    """Does what it is told."""

    def __init__(self, script: Mapping[float, Mapping[int, int]] = SCRIPT) -> None:
        self.script = script

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        """There is nothing to forget."""

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        told = self.script.get(view.time_s, {})
        return [
            StreamDecision(operator, count, Reason.TRUE_RATE if view.time_s < 300 else Reason.IDLE, count / 2)
            for operator, count in told.items()
        ]


def toy_workload() -> StreamWorkload:
    rate = np.ones((2, 42))
    rate[0] = np.repeat([4.0, 8.0, 4.0], [18, 12, 12])
    return StreamWorkload(
        job_name=("a", "b"),
        job_slo_s=np.array([2.0, 5.0]),
        job_restart_s=np.array([2.0, 2.0]),
        job_checkpoint_s=np.array([10.0, 10.0]),
        op_name=("source", "<map>", "sink", "only"),
        op_job=np.array([0, 0, 0, 1]),
        op_service_s=np.array([0.01, 0.2, 0.01, 0.1]),
        op_selectivity=np.ones(4),
        op_source=np.array([1.0, 0.0, 0.0, 1.0]),
        op_skew=np.zeros(4),
        op_variability=np.zeros(4),
        op_buffer=np.full(4, 20.0),
        op_state_mb=np.zeros(4),
        op_max=np.array([2, 4, 2, 2]),
        op_start=np.ones(4, np.int64),
        edge_from=np.array([0, 1]),
        edge_to=np.array([1, 2]),
        edge_share=np.ones(2),
        bin_s=10.0,
        rate=rate,
        clock_s=0.0,
        slots=8,
    )


def toy_result(script: Mapping[float, Mapping[int, int]] = SCRIPT, seed: int = 0, **options: Any) -> StreamResult:
    world = StreamWorld(toy_workload(), replace(OPTIONS, **options), SeedTree(seed), record=True)
    return run(world, Scripted(script), np.random.default_rng(0))


def toy_run(script: Mapping[float, Mapping[int, int]] = SCRIPT, name: str = "stream/ds2", seed: int = 0) -> StreamRun:
    """What becomes of `toy_workload`."""
    return record_stream_run(toy_result(script, seed), name, seed)
