"""Settings of the stream family: long-running jobs of operators, and what comes to them over time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.metrics_stream import stream_metrics
from dovetail.evaluation.recording_stream import record_stream_run
from dovetail.evaluation.setting import Measured, OpenSetting, Setting
from dovetail.records.stream import StreamRun
from dovetail.sim.stream import StreamOptions, StreamResult, StreamScheduler, StreamWorld, run
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_jobs import RUNTIME_S
from dovetail.workloads.stream_source import StreamSource, open_stream

REHEARSED_INTERVALS = 3  # that are run to have everything compiled
DRAWN, IN_TURN = WINDOWS = ("drawn", "in-turn")
CONTENT_SEED = 0  # of the sequence that a workload's fingerprint is taken from


@dataclass(frozen=True)
class StreamSetting(Setting):
    """What every scheduler of a comparison meets.  None: as the workload was made for."""

    FAMILY: ClassVar = "stream"
    INLINE_JOBS: ClassVar = 10

    workload: str = "small-1"  # bundled name, or directory
    rates: str | None = None  # kind of rates, or a directory with some
    duration_s: float | None = None
    interval_s: float | None = None  # between decisions
    slots: int | None = None
    runtime: str | None = None  # what jobs run on, which says how long a rescale takes
    windows: str = DRAWN  # of recorded rates: from anywhere, or seed k is the k-th of those side by side
    options: StreamOptions = field(default_factory=StreamOptions)  # but for `interval_s`, which stands above

    def __post_init__(self) -> None:
        for name, value in (("duration_s", self.duration_s), ("interval_s", self.interval_s), ("slots", self.slots)):
            if value is not None and not value > 0:
                raise ConfigError(f"{name} is {value}; expected more than 0")
        if self.windows not in WINDOWS:
            raise UnknownName("way to choose windows", self.windows, WINDOWS)
        if self.runtime is not None and self.runtime not in RUNTIME_S:
            raise UnknownName("runtime", self.runtime, RUNTIME_S)

    def open(self) -> OpenStreamSetting:
        source = open_stream(self.workload, self.rates)
        table = source.table
        if self.runtime is not None:
            table = replace(table, job_restart_s=np.full(table.num_jobs, RUNTIME_S[self.runtime]))
        if self.slots is not None:
            table = replace(table, slots=self.slots)
        if table.op_start.sum() > table.slots:
            needed = int(table.op_start.sum())
            raise ConfigError(f"{table.slots} slots, but {self.workload} starts with {needed} instances; expected more")
        return OpenStreamSetting(
            setting=self,
            source=replace(source, table=table),
            duration_s=source.duration_s if self.duration_s is None else self.duration_s,
            interval_s=source.interval_s if self.interval_s is None else self.interval_s,
        )


@dataclass(frozen=True, eq=False)
class OpenStreamSetting(OpenSetting):
    """A setting with its workload in memory, and everything in it decided."""

    setting: StreamSetting
    source: StreamSource
    duration_s: float
    interval_s: float

    @property
    def jobs(self) -> int:
        return self.source.jobs

    @cached_property
    def options(self) -> StreamOptions:
        return replace(self.setting.options, interval_s=self.interval_s)

    def sequence(self, seed: int) -> StreamWorkload:
        window = seed if self.setting.windows == IN_TURN else None
        return self.source.sequence(self.duration_s, SeedTree(seed), window)

    def check(self, seed: int) -> None:
        """Find now whatever would fail for every scheduler alike, such as rates that end before the first decision."""
        try:
            self.world(self.sequence(seed), SeedTree(seed))
        except MemoryError as error:
            raise ConfigError(f"{self.duration_s:,.0f} s of {self.jobs:,} jobs do not fit into memory") from error

    def facts(self) -> dict[str, Any]:
        table = self.source.table
        return {
            "name": self.source.name,
            "jobs": self.jobs,
            "operators": table.num_operators,
            "slots": table.slots,
            "rates": self.source.rates.name,
            "duration_s": self.duration_s,
            **({} if self.setting.windows == DRAWN else {"windows": self.setting.windows}),
            **({} if self.setting.runtime is None else {"runtime": self.setting.runtime}),
            "content": self._digest(),
        }

    def notes(self) -> list[str]:
        recorded_s = self.source.rates.duration_s
        if recorded_s is not None and recorded_s <= self.duration_s and not self.source.jitter:
            return ["the whole record of rates is one sequence, the same for every seed: only service times vary"]
        return []

    def world(self, sequence: StreamWorkload, seeds: SeedTree, *, record: bool = False) -> StreamWorld:
        return StreamWorld(sequence, self.options, seeds, record=record)

    def run(self, world: StreamWorld, scheduler: StreamScheduler, rng: np.random.Generator) -> StreamResult:
        return run(world, scheduler, rng)

    def measure(self, result: StreamResult) -> Measured:
        """Events are the steps of all operators."""
        steps = result.reward.shape[0] * round(self.interval_s / self.options.step_s)
        return Measured(result_metrics(result), steps * result.workload.num_operators, result.decisions)

    def record_run(self, result: StreamResult, contender: Contender, seed: int) -> StreamRun:
        return record_stream_run(result, contender.name, seed, contender.params)

    def rehearse(self, scheduler: StreamScheduler, ready: set[object]) -> None:
        seeds = SeedTree(0).child("warm-up")
        sequence = self.source.sequence(self.duration_s, seeds)
        bins = int(np.ceil(REHEARSED_INTERVALS * self.interval_s / sequence.bin_s))
        short = replace(sequence, rate=sequence.rate[:, :bins])
        self.run(self.world(short, seeds, record=True), scheduler, seeds.generator())

    def _digest(self) -> str:
        """A fingerprint of everything the simulator reads of a drawn sequence."""
        sequence = self.sequence(CONTENT_SEED)
        digest = blake2b(repr((sequence.job_name, sequence.op_name, sequence.bin_s)).encode(), digest_size=8)
        for name, value in sorted(vars(sequence).items()):
            if isinstance(value, np.ndarray) and name in type(sequence).__dataclass_fields__:
                digest.update(f"{name} {value.dtype} {value.shape} ".encode())
                digest.update(np.ascontiguousarray(value).tobytes())
        return digest.hexdigest()


def result_metrics(result: StreamResult) -> dict[str, float]:
    """The metrics of a run."""
    return stream_metrics(
        interval_s=result.options.interval_s,
        slo_s=result.workload.job_slo_s,
        latency_s=result.latency_s,
        utilisation=result.utilisation,
        reward=result.reward,
        arrived=result.arrived,
        delivered=result.delivered,
        lag=result.lag,
        down_s=result.down_s,
        rescaled=result.rescaled,
        parallelism=result.parallelism,
        delay_from_s=result.delay_edges_s[:-1],
        delay_to_s=result.delay_edges_s[1:],
        delay_records=result.delay_weight.sum(axis=0),
    )
