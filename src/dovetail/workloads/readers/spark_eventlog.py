"""Jobs of Apache Spark, read from the event logs that it writes when `spark.eventLog.enabled` is set.

A path is a log, a rolling directory (`eventlog_v2_*`), or a folder of both; plain or in zstd, lz4, snappy or gzip
(`spark_files.py`, `spark_codecs.py`).  All applications are read and merged by time, or one of them.

    job        an execution of SQL, else a Spark job; or a Spark job; or an application (`spark_units.py`)
    stage      a stage that ran, and each of its tasks that succeeded once
    edges      Parent IDs, with skipped stages resolved to those that ran (`spark_units.py`)
    durations  of tasks that succeeded and were no speculative copies: from launch until the core was free again, which
               includes deserialisation and what the driver needs; by wave and executors of the job (`spark_slots.py`)
    cpu        spark.task.cpus, or what the profile of the stage asks for
    memory     the largest peak of execution memory, as a share of what the largest slot seen has; 0 where unknown
    arrival    submission of the job; the first one is at 0

Every job is a kind of its own.  With `merge_runs`, jobs of the same description and shape (`spark_runs.py`) are runs
of one kind, whose durations are put together; several shapes of one description are kinds of their own.  `samples`
thins out the durations of a stage, wave and executor count.  More than eight different executor counts are rounded.

Mended and counted: events that are not known, jobs that did not succeed or have not ended (left out), failed, killed
and speculative tasks, tasks of jobs that began before the log does, stages that were cancelled (with the tasks they
had finished), tasks that end before they begin (0 s), tasks reported twice, a last line that is not complete.
Anything else is a fault, with file and line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.core.errors import ConfigError, Fault, InvalidWorkload, UnknownName
from dovetail.workloads.build import CatalogueBuilder
from dovetail.workloads.cycles import find_cycles
from dovetail.workloads.dag import DagCatalogue, DagWorkload
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.readers.spark_events import read_log
from dovetail.workloads.readers.spark_files import find_logs
from dovetail.workloads.readers.spark_log import AppLog
from dovetail.workloads.readers.spark_notes import notes_of
from dovetail.workloads.readers.spark_runs import Run, measure_runs
from dovetail.workloads.readers.spark_units import SQL_EXECUTION, UNITS, Unit, find_units
from dovetail.workloads.source import DagSource
from dovetail.workloads.thinning import round_levels, thin


@dataclass(frozen=True)
class SparkOptions:
    """What a job is, and how much of it is kept."""

    jobs_are: str = SQL_EXECUTION  # `sql-execution`, `job` or `application`
    application: str | None = None  # read this one only
    merge_runs: bool = False
    samples: int | None = None  # at most so many durations of a stage, wave and executor count
    one_core: bool = False  # every task needs one core, whatever it asked for

    def __post_init__(self) -> None:
        if self.jobs_are not in UNITS:
            raise UnknownName("kind of job (--jobs-are)", self.jobs_are, UNITS)
        if self.samples is not None and self.samples < 1:
            raise ConfigError(f"--samples is {self.samples}; expected at least 1")


def read_spark_eventlog(path: Path, options: SparkOptions = SparkOptions()) -> Imported[DagSource]:
    """All jobs that came to their end, with the times they came at (from 0)."""
    found = find_logs(path)
    faults: list[Fault] = []
    odd: Counter[str] = Counter()
    odd["passed over"] = len(found.passed_over)
    runs: list[Run] = []
    seen: dict[str, str] = {}
    for files in found.logs:
        app = read_log(files, faults)
        if app.tasks is None or faults:
            continue
        if app.identity in seen:
            problem = f"application {app.identity} is in {seen[app.identity]}, too"
            faults.append(Fault(app.file, None, "App ID", problem, "every application once"))
        seen[app.identity] = app.file
        if options.application is None or app.identity == options.application:
            runs += _runs(app, options, odd, faults)
    if faults:
        raise InvalidWorkload(faults)
    if options.application is not None and options.application not in seen:
        raise UnknownName("application", options.application, seen)
    if not runs:
        raise InvalidWorkload([_nothing(path, odd, options)])
    odd["applications"] = len(seen) if options.application is None else 1
    runs.sort(key=lambda run: (run.arrival_ms, run.name))
    kinds = _kinds(runs, options)
    source = _source(kinds, options)
    return Imported(source, tuple(notes_of(odd, found, len(runs), len(kinds))))


def _runs(app: AppLog, options: SparkOptions, odd: Counter[str], faults: list[Fault]) -> list[Run]:
    units, oddities = find_units(app, options.jobs_are)
    cycles = [_cycle(app, unit) for unit in units]
    faults += [fault for fault in cycles if fault is not None]
    if faults:
        return []
    odd.update(app.odd)
    odd.update(oddities)
    odd["tried again"] += len(app.failed_stages)
    return measure_runs(app, units, odd)


def _cycle(app: AppLog, unit: Unit) -> Fault | None:
    place = {number: position for position, number in enumerate(unit.stages)}
    parents = np.array([place[parent] for parent, _ in unit.edges], dtype=np.int64)
    children = np.array([place[child] for _, child in unit.edges], dtype=np.int64)
    for _, cycle in find_cycles(len(place), parents, children):
        stages = " -> ".join(str(unit.stages[position]) for position in (*cycle, cycle[0]))
        problem = f"cycle of stages in {unit.name}: {stages}"
        return Fault(app.file, None, "Parent IDs", problem, "stages that do not wait for each other in a circle")
    return None


def _nothing(path: Path, odd: Counter[str], options: SparkOptions) -> Fault:
    started = odd["incomplete"] + odd["without tasks"]
    problem = f"no jobs: {started} were started, none came to its end" if started else "no jobs"
    hint = "" if options.jobs_are == UNITS[1] else "; --jobs-are job counts every Spark job"
    return Fault(str(path), None, None, problem, f"at least one job that succeeded{hint}")


def _kinds(runs: list[Run], options: SparkOptions) -> dict[str, list[Run]]:
    """Name of a kind -> its runs, by first arrival."""
    if not options.merge_runs:
        return {run.name: [run] for run in runs}
    shapes: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        shapes[run.description][run.shape].append(run)
    kinds: dict[str, list[Run]] = {}
    for description, by_shape in shapes.items():
        ordered = sorted(by_shape.values(), key=len, reverse=True)
        for position, same in enumerate(ordered):
            kinds[_unused(kinds, description, position)] = same
    return kinds


def _unused(kinds: dict[str, list[Run]], description: str, position: int) -> str:
    """`q5`, `q5 (2)`, ...: descriptions may look like that, too."""
    while True:
        name = description if position == 0 else f"{description} ({position + 1})"
        if name not in kinds:
            return name
        position += 1


def _source(kinds: dict[str, list[Run]], options: SparkOptions) -> DagSource:
    catalogue = _catalogue(kinds, options)
    jobs = [(run.arrival_ms, run.name, dag) for dag, runs in enumerate(kinds.values()) for run in runs]
    jobs.sort()
    arrival_s = np.array([arrival_ms for arrival_ms, _, _ in jobs], dtype=np.float64) / 1000.0
    workload = DagWorkload(
        catalogue=catalogue,
        job_name=tuple(name for _, name, _ in jobs),
        job_dag=np.array([dag for _, _, dag in jobs], dtype=np.int64),
        arrival_s=np.round(arrival_s - arrival_s[0], 3),
        weight=np.ones(len(jobs)),
        deadline_s=np.full(len(jobs), np.inf),
    )
    return DagSource("spark-eventlog", catalogue, workload)


def _catalogue(kinds: dict[str, list[Run]], options: SparkOptions) -> DagCatalogue:
    builder = CatalogueBuilder("spark-eventlog")
    every = [run for runs in kinds.values() for run in runs]
    levels = round_levels(executors for run in every for stage in run.stages for _, executors in stage.seconds)
    slot_bytes = max(run.slot_memory_bytes for run in every)
    memory = []
    for name, runs in kinds.items():
        builder.start_dag(name)
        for position, stage in enumerate(runs[0].stages):
            same = [run.stages[position] for run in runs]
            builder.add_stage(str(stage.number), tasks=stage.tasks, cpu=1.0 if options.one_core else stage.cpu)
            peak = max(each.memory_bytes for each in same)
            memory.append(min(peak / slot_bytes, 1.0) if slot_bytes > 0 else 0.0)
            groups: dict[tuple[int, int], list[Floats]] = defaultdict(list)
            for each in same:
                for (wave, executors), seconds in each.seconds.items():
                    groups[wave, levels[executors]].append(seconds)
            for (wave, level), parts in sorted(groups.items()):
                builder.add_durations(wave, level, thin(np.concatenate(parts), options.samples))
        parents, children = _columns(runs[0].edges)
        builder.add_edges(parents, children)
    return builder.build(memory=np.array(memory))


def _columns(edges: tuple[tuple[int, int], ...]) -> Iterator[Ints]:
    yield np.array([parent for parent, _ in edges], dtype=np.int64)
    yield np.array([child for _, child in edges], dtype=np.int64)
