"""A workload and options, checked."""

from __future__ import annotations

import numpy as np

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import WEEK_S, Bools, Floats, StreamFuture, StreamInfo
from dovetail.sim.stream.options import StreamOptions, steps_of
from dovetail.workloads.stream import StreamWorkload


def check_workload(workload: StreamWorkload) -> None:
    """Refuse what no job can be."""
    _check_shapes(workload)
    _check_order(workload)
    for name in ("job_slo_s", "job_checkpoint_s"):
        _check_jobs(workload, _above(getattr(workload, name)), name, "above 0")
    _check_jobs(workload, _from(workload.job_restart_s), "job_restart_s", "0 or more")
    for name in ("op_service_s", "op_buffer"):
        _check_ops(workload, _above(getattr(workload, name)), name, "above 0")
    for name in ("op_selectivity", "op_source", "op_variability", "op_state_mb"):
        _check_ops(workload, _from(getattr(workload, name)), name, "0 or more")
    _check_ops(workload, (workload.op_skew >= 0) & (workload.op_skew <= 1), "op_skew", "0 to 1")
    _check_ops(workload, workload.op_max >= 1, "op_max", "1 or more")
    allowed = (workload.op_start >= 1) & (workload.op_start <= workload.op_max)
    _check_ops(workload, allowed, "op_start", "1 to op_max")
    taken = int(workload.op_start.sum())
    if taken > workload.slots:
        raise ConfigError(f"op_start takes {taken} slots, but there are {workload.slots}; expected as many at most")
    fed = np.isin(np.arange(workload.num_operators), workload.edge_to)
    _check_ops(workload, ~(fed & (workload.op_source > 0)), "op_source", "0, because others feed it")
    if not np.all(_from(workload.edge_share)):
        raise ConfigError(f"edge_share has {workload.edge_share[~_from(workload.edge_share)][0]}; expected 0 or more")
    if not np.all(_from(workload.rate)):
        job, column = np.argwhere(~_from(workload.rate))[0].tolist()
        raise ConfigError(
            f"job {workload.job_name[job]!r}: rate is {workload.rate[job, column]} in bin {column}; expected 0 or more"
        )
    if not 0 <= workload.clock_s < WEEK_S:
        raise ConfigError(f"clock_s is {workload.clock_s}; expected 0 to {WEEK_S:g}, the seconds of a week")


def check_times(workload: StreamWorkload, options: StreamOptions) -> int:
    """How many intervals there are; an error where time cannot be cut that way."""
    steps_of("bin_s of the workload", workload.bin_s, options.step_s)
    intervals = int(workload.duration_s / options.interval_s + 1e-9)
    if intervals < 2:
        raise ConfigError(
            f"the rates are {workload.duration_s:g} s long and a decision is asked for every {options.interval_s:g} s; "
            "expected two intervals at least, as the first only measures"
        )
    return intervals


def stream_info(workload: StreamWorkload, options: StreamOptions) -> StreamInfo:
    """What schedulers are told."""
    state_mb = np.bincount(workload.op_job, weights=workload.op_state_mb, minlength=workload.num_jobs)
    return StreamInfo(
        operator_name=workload.op_name,
        operator_job=workload.op_job,
        operator_max=workload.op_max,
        edge_from=workload.edge_from,
        edge_to=workload.edge_to,
        job_name=workload.job_name,
        job_slo_s=workload.job_slo_s,
        job_restart_s=workload.job_restart_s + state_mb / options.restore_mb_s,
        slots=workload.slots,
        interval_s=options.interval_s,
        snapshot_s=options.snapshot_s,
        history=int(options.history),
        weight=options.weight,
    )


def stream_future(workload: StreamWorkload) -> StreamFuture:
    """What only clairvoyant schedulers are told."""
    return StreamFuture(bin_s=workload.bin_s, rate=workload.rate, operator_load_s=workload.load_s)


def service_factors(workload: StreamWorkload, options: StreamOptions, seeds: SeedTree) -> Floats:
    """(T, O) what service times are multiplied with: lognormal, mean 1."""
    shape = (workload.rate.shape[1], workload.num_operators)
    if options.noise == 0.0:
        return np.ones(shape)
    normal = seeds.child("service").generator().standard_normal(shape)
    factors: Floats = np.exp(options.noise * normal - 0.5 * options.noise**2)
    return factors


def _above(values: Floats) -> Bools:
    good: Bools = np.isfinite(values) & (values > 0)
    return good


def _from(values: Floats) -> Bools:
    good: Bools = np.isfinite(values) & (values >= 0)
    return good


def _check_shapes(workload: StreamWorkload) -> None:
    jobs, operators, edges = workload.num_jobs, workload.num_operators, len(workload.edge_from)
    if jobs < 1 or operators < 1:
        raise ConfigError(f"there are {jobs} jobs of {operators} operators; expected at least one of each")
    sizes = {"job": jobs, "op": operators, "edge": edges}
    for name in workload.__dataclass_fields__:
        size = sizes.get(name.split("_")[0])
        if size is not None and len(getattr(workload, name)) != size:
            raise ConfigError(f"{name} has {len(getattr(workload, name))} entries; expected {size}")
    if workload.rate.ndim != 2 or len(workload.rate) != jobs:
        raise ConfigError(f"rate has the shape {workload.rate.shape}; expected a row for each of the {jobs} jobs")


def _check_order(workload: StreamWorkload) -> None:
    """Jobs and operators in order, edges within a job, upwards and sorted."""
    jobs = workload.op_job
    if jobs[0] != 0 or jobs[-1] != workload.num_jobs - 1 or not np.all(np.isin(np.diff(jobs), (0, 1))):
        raise ConfigError(
            f"op_job is {jobs.tolist()}; expected 0 to {workload.num_jobs - 1} in order, each at least once"
        )
    ends = np.stack([workload.edge_to, workload.edge_from])
    if not ends.size:
        return
    if ends.min() < 0 or ends.max() >= workload.num_operators:
        raise ConfigError(f"edges lead from or to operator {ends.max()}; there are 0 to {workload.num_operators - 1}")
    bad = (ends[1] >= ends[0]) | (jobs[ends[0]] != jobs[ends[1]])
    if bad.any():
        edge = int(bad.argmax())
        raise ConfigError(
            f"edge {edge} leads from operator {ends[1, edge]} to {ends[0, edge]}; expected one to a later operator of "
            "the same job"
        )
    places = ends[0] * workload.num_operators + ends[1]
    if np.any(np.diff(places) <= 0):
        edge = int((np.diff(places) <= 0).argmax()) + 1
        raise ConfigError(
            f"edge {edge} is out of order or there twice; expected edges sorted by edge_to, then edge_from"
        )


def _check_jobs(workload: StreamWorkload, good: Bools, name: str, expected: str) -> None:
    if not good.all():
        job = int(good.argmin())
        value = getattr(workload, name)[job]
        raise ConfigError(f"job {workload.job_name[job]!r} (number {job}): {name} is {value}; expected {expected}")


def _check_ops(workload: StreamWorkload, good: Bools, name: str, expected: str) -> None:
    if not good.all():
        op = int(good.argmin())
        value = getattr(workload, name)[op]
        raise ConfigError(f"operator {workload.op_name[op]!r} (number {op}): {name} is {value}; expected {expected}")
