"""Streaming jobs with the graphs of batch jobs of the Alibaba trace of 2018 (`alibaba2018`): a task is an operator.

Every record of the job enters each source, and every operator sends one record to each that it feeds for each record of
all that feed it, so it waits for all of them.  Its time for a record is in proportion to the duration of its task; the
factor is such that the operator with the most work keeps `demand` instances busy at the mean rate.  Tasks that nobody
waits for and that wait for nobody are left out.  Everything else is ours: buffers of a second of work, variability 1,
20 MB of state where several feed an operator, no skew.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.core.errors import ConfigError, DovetailError, UnknownName
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Ints
from dovetail.workloads.dag import DagCatalogue
from dovetail.workloads.readers.alibaba2018 import Alibaba2018Options, read_alibaba2018
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.stream_alone import with_slo
from dovetail.workloads.stream_jobs import CHECKPOINT_S, INSTANCES, RUNTIME_S, SLOTS, StreamBuilder
from dovetail.workloads.stream_rates import read_rates
from dovetail.workloads.stream_source import StreamSource, with_rates

_BUFFER_S, _STATE_MB = 1.0, 20.0
_MAX_JOBS = 1000


@dataclass(frozen=True)
class StreamAlibabaOptions:
    """Which jobs, and what the trace does not say."""

    jobs: str = "1"  # names between commas, or how many to draw
    operators: tuple[int, int] = (4, 40)  # of those that are drawn
    seed: int = 0  # of those that are drawn
    rate: float = 1000.0  # records a second of each job, on average
    rates: str = "web"
    demand: float = 4.5
    runtime: str = "warm"
    skip_faulty: bool = False

    def __post_init__(self) -> None:
        if self.runtime not in RUNTIME_S:
            raise UnknownName("runtime", self.runtime, RUNTIME_S)
        low, high = self.operators
        if not 2 <= low <= high:
            raise ConfigError(f"--operators is {low},{high}; expected a range from 2 on, such as 4,40")
        for name, value in (("rate", self.rate), ("demand", self.demand)):
            if not 0 < value < 1e9:
                raise ConfigError(f"--{name} is {value:g}; expected a number above 0")


def read_stream_alibaba(path: Path, options: StreamAlibabaOptions | None = None) -> Imported[StreamSource]:
    """Jobs of the trace as streaming jobs, which share slots if there are several."""
    options = options or StreamAlibabaOptions()
    rates = read_rates(options.rates)
    trace = read_alibaba2018(path, Alibaba2018Options(skip_faulty=options.skip_faulty))
    catalogue = trace.source.catalogue
    linked = _linked(catalogue)
    chosen = _chosen(catalogue, linked, options)
    builder = StreamBuilder()
    for dag in chosen:
        _add(builder, catalogue, linked, int(dag), options)
    jobs = with_slo(builder.build(min(SLOTS * chosen.size, INSTANCES * len(builder.operators))))
    alone = sum(int(catalogue.dag_stages[dag]) for dag in chosen) - len(builder.operators)
    notes = [*trace.notes, f"jobs {', '.join(jobs.job_name)}, {jobs.num_operators} operators in all"]
    if alone:
        notes.append(f"{alone} tasks of these jobs that have nothing to do with others were left out")
    source = with_rates(StreamSource("stream-alibaba", jobs, rates), rates)
    return Imported(source, tuple(notes))


def _linked(catalogue: DagCatalogue) -> Ints:
    """(S,) 1 for stages that wait for another one, or another one for them."""
    linked = np.zeros(catalogue.num_stages, dtype=np.int64)
    for ends in catalogue.edge_rows:
        linked[ends] = 1
    return linked


def _chosen(catalogue: DagCatalogue, linked: Ints, options: StreamAlibabaOptions) -> Ints:
    size = np.bincount(catalogue.stage_dag, linked, minlength=catalogue.num_dags).astype(np.int64)
    text = options.jobs.strip()
    if text.isdecimal():
        low, high = options.operators
        there = np.flatnonzero((size >= low) & (size <= high))
        count = int(text)
        if not 1 <= count <= min(there.size, _MAX_JOBS):
            raise DovetailError(
                f"--jobs {text}: {there.size:,} jobs of the trace have {low} to {high} operators; expected 1 to "
                f"{min(there.size, _MAX_JOBS):,}"
            )
        drawn = SeedTree(options.seed).child("stream", "alibaba").generator().choice(there, count, replace=False)
        return np.asarray(drawn, dtype=np.int64)
    place = {name: dag for dag, name in enumerate(catalogue.dag_name)}
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError("--jobs: none given; expected names between commas, or how many to draw")
    for name in names:
        if name not in place:
            raise UnknownName("job of the trace", name, place)
        if size[place[name]] < 2:
            raise DovetailError(f"--jobs {name}: none of its tasks waits for another one; expected a job with a graph")
        if names.count(name) > 1:
            raise ConfigError(f"--jobs: {name} is named twice")
    return np.array([place[name] for name in names], dtype=np.int64)


def _add(
    builder: StreamBuilder, catalogue: DagCatalogue, linked: Ints, dag: int, options: StreamAlibabaOptions
) -> None:
    first, last = int(catalogue.stage_ptr[dag]), int(catalogue.stage_ptr[dag + 1])
    edges = slice(int(catalogue.edge_ptr[dag]), int(catalogue.edge_ptr[dag + 1]))
    parents: dict[int, list[int]] = {stage: [] for stage in range(last - first) if linked[first + stage]}
    for parent, child in zip(catalogue.edge_parent[edges], catalogue.edge_child[edges], strict=True):
        if int(parent) not in parents[int(child)]:
            parents[int(child)].append(int(parent))
    level, mean_s = catalogue.stage_level[first:last], catalogue.stage_mean_s[first:last]
    # Everybody sends out as many records as come to the job, so an operator gets as many times that as feed it.
    work_s = {stage: mean_s[stage] * max(1, len(fed)) for stage, fed in parents.items()}
    factor = options.demand / (options.rate * max(work_s.values()))
    builder.job(
        catalogue.dag_name[dag],
        rate=options.rate,
        restart_s=RUNTIME_S[options.runtime],
        slo_s=float("nan"),
        checkpoint_s=CHECKPOINT_S,
    )
    number: dict[int, int] = {}
    for stage in sorted(parents, key=lambda stage: (level[stage], stage)):
        fed = parents[stage]
        number[stage] = builder.operator(
            catalogue.stage_name[first + stage],
            *sorted(number[parent] for parent in fed),
            service_s=float(factor * mean_s[stage]),
            selectivity=1.0 / max(1, len(fed)),
            source=0.0 if fed else 1.0,
            buffer_s=_BUFFER_S,
            state_mb=_STATE_MB if len(fed) > 1 else 0.0,
        )
