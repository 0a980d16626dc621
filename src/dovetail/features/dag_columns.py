"""What can be shown of a stage, and the feature sets that show some of it.

A feature set is a name, a version and its columns.  What a trained model was trained on is its full name; a change
that moves any number is a new version.  `decima-1` has the node features and the scales of Decima (SIGCOMM 2019,
section 5.1 and public code); `wide-1` adds what a network without message passing cannot work out for itself, and
what the weighted and the deadline objectives depend on; `informed-2` has how work grows with parallelism and each
job's place among the others as well, and looks only at jobs that can still use executors; `informed-3` has the same
with large numbers on a logarithmic scale, for traces in which jobs differ a thousandfold; `classes-1` adds which
executors a stage can run on, for clusters with several classes of them.

Durations come from `DagInfo.profiles`, at the executors that a job holds; where there is no profile (row -1, or none
at all) every wave takes the stage's mean.  A job's place is its rank by work left among the jobs that can still use
executors, and how far it is from its share of the cluster: the equal one, and the one by rank of `dag/hesrpt`.
"""

from __future__ import annotations

from dataclasses import dataclass

LARGE = 1e4  # counts and times are cut off here, in scaled units, so that spaces can have bounds
FEW = 5  # executors: the parallelism at which work hardly grows
MORE = 10  # executors further on
RANK_POWER = 2.0  # of the shares by rank: jobs that speed up as the square root of their executors


@dataclass(frozen=True)
class Column:
    """One number about each stage, divided by `scale`, cut off at `low` and `high` (scaled)."""

    name: str
    meaning: str
    scale: float
    low: float = 0.0
    high: float = LARGE


COLUMNS = (
    Column("tasks_left", "tasks of the stage not started", 200.0),
    Column("work_left", "tasks not started times their mean duration, seconds", 100.0),
    Column("job_executors", "executors that the stage's job holds, those on offer not counted", 20.0),
    Column("source_executors", "executors on offer", 20.0),
    Column("local", "+2 if they are at the stage's job, else -2", 0.5, low=-2.0, high=2.0),
    Column("unclaimed", "tasks neither started nor promised", 200.0),
    Column("mean_duration", "of one task, seconds", 10.0),
    Column("critical_path", "the stage and the longest chain after it, one task each, seconds", 100.0),
    Column("ready", "1 if all parents are complete", 1.0, high=1.0),
    Column("job_work_left", "work of the job not finished, task-seconds", 1000.0),
    Column("job_unclaimed", "tasks of the job nobody has claimed", 200.0),
    Column("job_age", "time since the job arrived, seconds", 100.0),
    Column("job_weight", "weight of the job", 1.0),
    Column(
        "job_time_to_deadline",
        "time until the job is due, seconds; -10 or less, 10 or more (and no deadline) look the same",
        100.0,
        low=-10.0,
        high=10.0,
    ),
    Column("system_jobs", "jobs in the system", 20.0),
    Column("system_work_left", "work of all of them not finished, task-seconds", 10_000.0),
    Column("running", "tasks of the stage running now", 20.0),
    Column("rest_duration", "of a task on an executor that knows the stage, seconds", 2.0),
    Column(
        "first_extra",
        "how much longer the first task on an executor from another stage takes, seconds",
        2.0,
        low=-100.0,
    ),
    Column("fresh_extra", "the same on an executor from elsewhere, seconds", 2.0, low=-100.0),
    Column(
        "inflation",
        "how much longer tasks take if the job holds ten executors more, as a share",
        0.5,
        low=-1.0,
        high=10.0,
    ),
    Column("unclaimed_work", "tasks nobody has claimed, as long as they take now, task-seconds", 100.0),
    Column(
        "log_job_work_left", "logarithm of the work left in the job with few executors, in tens of task-seconds", 5.0
    ),
    Column("foremost", "1 if of its job this stage should come first", 1.0, high=1.0),
    Column("place", "share of the other jobs that have less work left", 1.0, high=1.0),
    Column("equal_share_gap", "executors that the job lacks to an equal share", 10.0, low=-10.0, high=10.0),
    Column("rank_share_gap", "executors that the job lacks to its share by rank", 10.0, low=-10.0, high=10.0),
    Column("sharing_jobs", "jobs that can still use executors", 20.0),
    Column(
        "source_idle", "0 if the executors on offer leave a stage of a job that can use more, else 1", 1.0, high=1.0
    ),
    Column("log_backlog", "logarithm of the work left in those jobs, in seconds of the whole cluster", 5.0),
    Column("held_of_share", "executors that the job holds, in equal shares", 1.0, high=10.0),
    Column("offered_of_cluster", "executors on offer, as a share of the cluster", 1.0, high=1.0),
    Column("log_equal_share", "logarithm of an equal share, in executors", 3.0),
    Column("memory", "memory that a task needs, as a share of what the largest executor has", 1.0, high=1.0),
    Column("fitting_offered", "executors on offer that a task of the stage fits on", 20.0),
    Column("fitting_of_cluster", "executors that it fits on, as a share of the cluster", 1.0, high=1.0),
    Column("log_pressure", "logarithm of the unclaimed work that needs such executors, in seconds of them all", 5.0),
    Column(
        "scarcest",
        "1 if of its job this stage should come first, those that fit on few executors before others",
        1.0,
        high=1.0,
    ),
    Column("excess_pressure", "the same less that of the whole cluster", 1.0, low=-10.0, high=10.0),
)
"""In the order in which `dag_measure` writes them."""

_NAMES = tuple(column.name for column in COLUMNS)
_WIDE = _NAMES.index("system_work_left") + 1
_INFORMED = _NAMES.index("log_equal_share") + 1

OF_ALL_JOBS = frozenset(("system_jobs", "system_work_left"))
"""What counts jobs as well that can use no more executors."""

PICKED = {
    "decima-1": _NAMES[:5],
    "wide-1": _NAMES[:_WIDE],
    "informed-2": tuple(name for name in _NAMES[:_INFORMED] if name not in OF_ALL_JOBS),
    "informed-3": tuple(name for name in _NAMES[:_INFORMED] if name not in OF_ALL_JOBS),
    "classes-1": tuple(name for name in _NAMES if name not in OF_ALL_JOBS),
}
"""The columns of each feature set."""

COMPRESSED = frozenset(("informed-3", "classes-1"))
"""Sets whose numbers x, scaled and cut off, are shown as 4 + 4 ln(x / 4) where they are above 4; below -4 likewise."""
COMPRESSED_FROM = 4.0

NEEDS_CLUSTER = frozenset(_NAMES[_WIDE:])
"""What cannot be measured without knowing the cluster."""
