"""Tables and settings for the dag kernels, from a workload's kinds of job and the options of the world."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dovetail.core.dag import DurationProfiles, ExecutorClass, Ints
from dovetail.core.errors import ConfigError
from dovetail.sim.dag.options import DagOptions
from dovetail.sim.kernels import dag_state as layout
from dovetail.sim.kernels.dag_state import DagTable, Records, allocate
from dovetail.workloads.dag import DagCatalogue
from dovetail.workloads.durations import SampleTable, fill_samples


@lru_cache(maxsize=4)
def prepare_table(catalogue: DagCatalogue, options: DagOptions) -> DagTable:
    """Everything the kernels need to know about the kinds of job and the cluster, in flat arrays.

    Kernels only read it, so worlds of the same catalogue (the same object) and options share it.
    """
    classes = options.executor_classes()
    check_failures(catalogue, options)
    samples = fill_samples(catalogue, options.warm_up_s)
    rows, children = stage_rows(catalogue)
    dags = allocate(catalogue.num_dags + 1, layout.DAG)
    dags["stage_ptr"] = catalogue.stage_ptr
    dags["edge_ptr"] = catalogue.edge_ptr
    dags["work_s"][:-1] = catalogue.dag_work_s
    edges = allocate(len(catalogue.edge_parent), layout.EDGE)
    edges["parent"] = catalogue.edge_parent
    edges["child"] = catalogue.edge_child
    return DagTable(
        settings=settings(len(samples.levels), options),
        levels=level_choice(samples.levels, sum(kind.count for kind in classes), options),
        class_order=class_order(classes),
        dags=dags,
        rows=rows,
        edges=edges,
        children=children,
        fits=fitting(catalogue, classes),
        slots=sample_slots(samples),
        samples_s=samples.samples_s,
    )


def check_failures(catalogue: DagCatalogue, options: DagOptions) -> None:
    """Refuse a cluster on which the longest tasks would practically never finish."""
    longest_s = float(catalogue.stage_mean_s.max()) * options.straggler_factor
    mean_s = options.mean_time_to_failure_s
    if 0.0 < mean_s < longest_s / 5:
        raise ConfigError(
            f"executors fail every {mean_s:g} s on average, but tasks take up to {longest_s:.3g} s: they would hardly "
            f"ever finish; expected a mean time to failure of {longest_s / 5:.3g} s or more"
        )


def settings(num_levels: int, options: DagOptions) -> Records:
    values = plain_settings(num_levels, options)
    for name in ("idle_until_arrival", "pool_forgets"):
        values[name] = getattr(options.compat, name)
    for name in ("straggler_probability", "straggler_factor", "mean_time_to_failure_s", "repair_s"):
        values[name] = getattr(options, name)
    return values


def plain_settings(num_levels: int, options: DagOptions) -> Records:
    """The cluster as it is meant to be: nothing fails, no published fault."""
    classes = options.executor_classes()
    values = allocate(1, layout.SETTINGS)
    values["num_executors"] = sum(kind.count for kind in classes)
    values["num_classes"] = len(classes)
    values["num_levels"] = num_levels
    values["moving_delay_s"] = options.moving_delay_s
    return values


def class_order(classes: tuple[ExecutorClass, ...]) -> Ints:
    """(C,) class numbers, smallest memory first, then smallest cpu, then lowest number."""
    return np.lexsort(([kind.cpu for kind in classes], [kind.memory for kind in classes])).astype(np.int64)


def executor_classes(options: DagOptions) -> Ints:
    """(num_executors,) the class of each executor: numbered class by class."""
    counts = [kind.count for kind in options.executor_classes()]
    return np.repeat(np.arange(len(counts)), counts)


def stage_rows(catalogue: DagCatalogue) -> tuple[Records, Ints]:
    """The stages of all DAGs, and their children (stages within the DAG), stage by stage."""
    stages = catalogue.num_stages
    parent, child = catalogue.edge_rows
    rows = allocate(stages + 1, layout.ROW)
    rows["tasks"][:-1] = catalogue.num_tasks
    rows["num_parents"][:-1] = np.bincount(child, minlength=stages)
    rows["child_ptr"][1:] = np.cumsum(np.bincount(parent, minlength=stages))
    rows["profile"][:-1] = np.arange(stages)
    rows["mean_s"][:-1] = catalogue.stage_mean_s
    rows["critical_path_s"][:-1] = catalogue.stage_critical_path_s
    rows["cpu"][:-1] = catalogue.cpu
    rows["memory"][:-1] = catalogue.memory
    children = np.asarray(catalogue.edge_child, dtype=np.int64)[np.argsort(parent, kind="stable")]
    return rows, np.ascontiguousarray(children)


def fitting(catalogue: DagCatalogue, classes: tuple[ExecutorClass, ...]) -> Ints:
    """(S * C,) 1 where executors of the class can run the stage; a stage that fits nowhere is an error."""
    cpu = np.array([kind.cpu for kind in classes])
    memory = np.array([kind.memory for kind in classes])
    fits = (catalogue.cpu[:, None] <= cpu) & (catalogue.memory[:, None] <= memory)
    homeless = np.flatnonzero(~fits.any(axis=1))
    if len(homeless):
        row = int(homeless[0])
        raise ConfigError(
            f"{len(homeless)} stages fit no executor class; the first is {catalogue.stage_name[row]!r} of "
            f"{catalogue.dag_name[int(catalogue.stage_dag[row])]!r}, which needs cpu {catalogue.cpu[row]:g} and memory "
            f"{catalogue.memory[row]:g}; the largest class has cpu {cpu.max():g} and memory {memory.max():g}"
        )
    return fits.astype(np.int64).ravel()


def sample_slots(samples: SampleTable) -> Records:
    """(S * 3 * L,) where the samples of each (stage, wave, level) are."""
    slots = allocate(samples.start.size, layout.SLOT)
    slots["start"] = samples.start.ravel()
    slots["count"] = samples.count.ravel()
    return slots


def profiles_of(catalogue: DagCatalogue, options: DagOptions) -> DurationProfiles:
    """What a scheduler is told about durations: one profile for each stage of the catalogue."""
    samples = fill_samples(catalogue, options.warm_up_s)
    return DurationProfiles(samples.levels, samples.mean_s)


def level_choice(levels: Ints, num_executors: int, options: DagOptions) -> Records:
    """(num_executors + 1,) for n executors at home: the level below, and the probability of the next one instead."""
    executors = np.arange(num_executors + 1)
    below = np.clip(np.searchsorted(levels, executors, side="right") - 1, 0, len(levels) - 1)
    above = np.minimum(below + 1, len(levels) - 1)
    between = (executors > levels[below]) & (above > below)
    up = (executors - levels[below]) / np.maximum(levels[above] - levels[below], 1)
    choice = allocate(num_executors + 1, layout.LEVEL)
    choice["below"] = below
    choice["up"] = np.where(between, 1.0 - up if options.compat.inverted_levels else up, 0.0)
    return choice
