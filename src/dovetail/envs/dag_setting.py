"""What a dag environment is made of: everything its keyword arguments may say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dovetail.core.errors import ConfigError
from dovetail.core.suggest import did_you_mean
from dovetail.features import FeatureSet, feature_set
from dovetail.sim.dag.objective import Objective, objective
from dovetail.sim.dag.options import DagOptions
from dovetail.workloads.arrivals import Arrivals, Deadlines
from dovetail.workloads.source import DagSource, open_source

INVALID = ("penalise", "raise")
MOST_STAGES = 1024  # shown by default; beyond that jobs are left out


@dataclass(frozen=True)
class DagSetting:
    """The workload, the cluster, and how an agent sees and is paid.

    Options that the single and the batched environment share.  Plain values, so that an environment can be
    made by name in another process; objects are taken too.
    """

    workload: str | DagSource = "tpch-like"  # bundled name, or directory
    jobs: int = 20  # in an episode
    arrivals: str = "batch"  # or poisson, trace
    interval_s: float | None = None  # poisson: mean gap between two jobs
    load: float | None = None  # poisson: instead, the share of the cluster that the jobs keep busy
    weights: tuple[float, ...] | None = None  # each job's weight is drawn from these
    deadlines: tuple[float, float] | None = None  # factors on a job's ideal time, see `Deadlines`
    executors: int | None = None  # 50, if `options` does not say either
    options: DagOptions | None = None  # all about the cluster, instead of `executors`
    objective: str | Objective = "average-jct"
    horizon_s: float = math.inf  # an episode is cut off then
    features: str = "decima-1"
    max_stages: int | None = None  # room for stages in the action; None: all jobs of an episode, up to 1024 stages
    invalid: str = "penalise"  # what an invalid action gets: a penalty, or an error ("raise")
    penalty: float = 1.0  # subtracted from the reward, which is then 0 otherwise

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ConfigError(f"jobs is {self.jobs}; expected at least 1")
        if self.executors is not None and self.options is not None:
            raise ConfigError("executors and options are both given; the options name the executors, too")
        if not self.horizon_s > 0:
            raise ConfigError(f"horizon_s is {self.horizon_s}; expected a time above 0 s")
        if self.invalid not in INVALID:
            raise ConfigError(f"invalid is {self.invalid!r}; expected {' or '.join(INVALID)}")
        if not self.penalty >= 0:
            raise ConfigError(f"penalty is {self.penalty}; expected 0 or more")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> DagSetting:
        """From keyword arguments; an unknown one is an error."""
        known = [field.name for field in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"a dag environment has no setting {name!r}{did_you_mean(name, known)}")
        return cls(**arguments)

    def source(self) -> DagSource:
        return self.workload if isinstance(self.workload, DagSource) else open_source(self.workload)

    def cluster(self) -> DagOptions:
        return self.options or DagOptions(executors=50 if self.executors is None else self.executors)

    def num_executors(self) -> int:
        return sum(kind.count for kind in self.cluster().executor_classes())

    def arrival_process(self) -> Arrivals:
        executors = self.num_executors() if self.load is not None else None
        return Arrivals(self.arrivals, self.interval_s, self.load, executors)

    def due_dates(self) -> Deadlines | None:
        if self.deadlines is None:
            return None
        low, high = self.deadlines
        return Deadlines(low, high, self.num_executors())

    def price(self) -> Objective:
        return objective(self.objective) if isinstance(self.objective, str) else self.objective

    def feature_set(self) -> FeatureSet:
        return feature_set(self.features)

    def all_stages(self, source: DagSource) -> int:
        """No episode has more stages than this."""
        return self.jobs * int(source.catalogue.dag_stages.max())

    def room(self, source: DagSource) -> int:
        """The stages that are shown at most."""
        largest = int(source.catalogue.dag_stages.max())
        if self.max_stages is None:
            return min(self.all_stages(source), max(MOST_STAGES, largest))
        if self.max_stages < largest:
            raise ConfigError(
                f"max_stages is {self.max_stages}, but workload {source.name} has a job of {largest} stages; "
                "expected room for the largest job at least"
            )
        return self.max_stages
