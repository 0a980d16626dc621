"""The feature set `informed-1`: `wide-1`, how work grows with parallelism, and each job's place among the others.

Durations come from `DagInfo.profiles`, at the executors that a job holds; where there is no profile (row -1, or
none at all) every wave takes the stage's mean.  A job's place is its rank by work left among the jobs that can
still use executors, and how far it is from its share of the cluster: the equal one, and the one by rank of
`dag/hesrpt`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dovetail.core.dag import Bools, Floats, Ints
from dovetail.core.errors import ConfigError
from dovetail.features.dag import WIDE, Column, FeatureSet, FlatDags, of_job

FRESH, FIRST, REST = range(3)  # the waves of a profile
FEW = 5  # executors: the parallelism at which work hardly grows
MORE = 10  # executors further on
RANK_POWER = 2.0  # of the shares by rank: jobs that speed up as the square root of their executors


def _duration_s(dags: FlatDags, wave: int, executors: NDArray[np.float64] | Ints) -> Floats:
    """(S,) mean duration in that wave if the stage's job holds so many executors (S,)."""
    mean_s = dags.columns.stage_mean_s
    if dags.profiles is None:
        return mean_s
    levels, table = dags.profiles.levels, dags.profiles.mean_s
    at = np.interp(executors, levels, np.arange(len(levels), dtype=np.float64))
    below = at.astype(np.int64)
    above = np.minimum(below + 1, len(levels) - 1)
    up = at - below
    row = dags.columns.stage_profile
    found = table[row, wave, below] * (1.0 - up) + table[row, wave, above] * up
    return np.where(row >= 0, found, mean_s)


def _held(dags: FlatDags) -> Ints:
    return of_job(dags, dags.columns.job_executors)


def _rest_s(dags: FlatDags) -> Floats:
    return dags.remember("rest_s", lambda: _duration_s(dags, REST, _held(dags)))


def _extra_s(dags: FlatDags, wave: int) -> Floats:
    return _duration_s(dags, wave, _held(dags)) - _rest_s(dags)


def _inflation(dags: FlatDags) -> Floats:
    later = _duration_s(dags, REST, _held(dags) + MORE)
    return later / np.maximum(_rest_s(dags), 1e-9) - 1.0


def _bare_work_left_s(dags: FlatDags) -> Floats:
    """(J,) work not finished if the job held few executors."""

    def measure() -> Floats:
        few = np.full(dags.num_stages, FEW)
        work_s = dags.columns.stage_left * _duration_s(dags, REST, few)
        return np.bincount(dags.stage_job, work_s, minlength=len(dags.columns.job_id)).astype(np.float64, copy=False)

    return dags.remember("bare_work_left_s", measure)


def _foremost(dags: FlatDags) -> Bools:
    """(S,) of the stages of its job that may be chosen, this one can start and has the longest path after it."""
    valid = np.flatnonzero(dags.columns.stage_valid)
    job = dags.stage_job[valid]
    order = np.lexsort((-dags.columns.stage_critical_path_s[valid], ~dags.columns.stage_ready[valid], job))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = job[order[1:]] != job[order[:-1]]
    foremost = np.zeros(dags.num_stages, dtype=np.bool_)
    foremost[valid[order[first]]] = True
    return foremost


def _sharing(dags: FlatDags) -> Ints:
    """(B,) jobs that can still use executors."""
    unsaturated = dags.columns.job_unclaimed > 0
    return dags.remember(
        "sharing", lambda: np.bincount(dags.job_world[unsaturated], minlength=dags.num_worlds).astype(np.int64)
    )


def _rank(dags: FlatDags) -> Ints:
    """(J,) 1 .. sharing, by work left, 1 = the most; 0 for jobs that can use none.  Of equal ones the first ranks
    as the smaller.
    """

    def measure() -> Ints:
        jobs = np.flatnonzero(dags.columns.job_unclaimed > 0)
        world = dags.job_world[jobs]
        order = np.lexsort((-jobs, -dags.columns.job_work_left_s[jobs], world))
        start = np.zeros(dags.num_worlds + 1, dtype=np.int64)
        np.cumsum(_sharing(dags), out=start[1:])
        rank = np.zeros(len(dags.columns.job_id), dtype=np.int64)
        rank[jobs[order]] = np.arange(1, len(jobs) + 1) - start[world[order]]
        return rank

    return dags.remember("rank", measure)


def _place(dags: FlatDags) -> Floats:
    """(S,) share of the other jobs with less work left; saturated jobs count as the last."""
    sharing = np.maximum(_sharing(dags)[dags.job_world] - 1, 1)
    place = (_sharing(dags)[dags.job_world] - _rank(dags)) / sharing
    return of_job(dags, np.clip(place, 0.0, 1.0))


def _executors(dags: FlatDags) -> int:
    if dags.num_executors < 1:
        raise ConfigError("features informed-1: the size of the cluster is not known; call flatten(view, info)")
    return dags.num_executors


def _gap_to_equal_share(dags: FlatDags) -> Floats:
    share = _executors(dags) / np.maximum(_sharing(dags), 1)
    return share[dags.stage_world] - _held(dags)


def _gap_to_share_by_rank(dags: FlatDags) -> Floats:
    sharing = np.maximum(_sharing(dags)[dags.job_world], 1)
    rank = np.maximum(_rank(dags), 1)
    share = _executors(dags) * ((rank / sharing) ** RANK_POWER - ((rank - 1) / sharing) ** RANK_POWER)
    return of_job(dags, share) - _held(dags)


INFORMED = FeatureSet(
    "informed",
    1,
    (
        *WIDE.columns,
        Column("running", "tasks of the stage running now", 20.0, lambda dags: dags.columns.stage_running),
        Column("rest_duration", "of a task on an executor that knows the stage, seconds", 2.0, _rest_s),
        Column(
            "first_extra",
            "how much longer the first task on an executor from another stage takes, seconds",
            2.0,
            lambda dags: _extra_s(dags, FIRST),
            low=-100.0,
        ),
        Column(
            "fresh_extra",
            "the same on an executor from elsewhere, seconds",
            2.0,
            lambda dags: _extra_s(dags, FRESH),
            low=-100.0,
        ),
        Column(
            "inflation",
            "how much longer tasks take if the job holds ten executors more, as a share",
            0.5,
            _inflation,
            low=-1.0,
            high=10.0,
        ),
        Column(
            "unclaimed_work",
            "tasks nobody has claimed, as long as they take now, task-seconds",
            100.0,
            lambda dags: dags.columns.stage_unclaimed * _rest_s(dags),
        ),
        Column(
            "log_job_work_left",
            "logarithm of the work left in the job with few executors, in tens of task-seconds",
            5.0,
            lambda dags: of_job(dags, np.log1p(_bare_work_left_s(dags) / 10.0)),
        ),
        Column("foremost", "1 if of its job this stage should come first", 1.0, _foremost, high=1.0),
        Column("place", "share of the other jobs that have less work left", 1.0, _place, high=1.0),
        Column(
            "equal_share_gap",
            "executors that the job lacks to an equal share",
            10.0,
            _gap_to_equal_share,
            low=-10.0,
            high=10.0,
        ),
        Column(
            "rank_share_gap",
            "executors that the job lacks to its share by rank",
            10.0,
            _gap_to_share_by_rank,
            low=-10.0,
            high=10.0,
        ),
        Column(
            "sharing_jobs",
            "jobs that can still use executors",
            20.0,
            lambda dags: _sharing(dags)[dags.stage_world],
        ),
        Column(
            "source_idle",
            "1 if the executors on offer are idle, 0 if they leave a stage",
            1.0,
            lambda dags: dags.source_idle[dags.stage_world],
            high=1.0,
        ),
    ),
)
