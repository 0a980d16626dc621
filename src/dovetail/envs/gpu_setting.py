"""What a gpu environment is made of: everything its keyword arguments may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_clusters import read_cluster
from dovetail.cluster.gpu_speed import SpeedModel, default_speeds
from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.core.suggest import did_you_mean
from dovetail.envs.gpu_rewards import Cost, GpuReward, reward_named
from dovetail.sim.gpu import GpuOptions
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals, read_arrivals
from dovetail.workloads.gpu_source import GpuSource, open_gpu

INVALID = ("penalise", "raise")


@dataclass(frozen=True)
class GpuSetting:
    """The workload, the cluster and what an agent is shown.  None: as the workload was made for."""

    workload: str | GpuSource = "small"  # bundled name, or directory
    jobs: int | None = None  # in an episode
    arrivals: str | None = None  # poisson, diurnal, uniform, batch, trace
    load: float | None = None  # instead of the rate that the arrivals say
    cluster: str | GpuCluster | None = None  # name, file, or the cluster itself
    options: GpuOptions = field(default_factory=GpuOptions)  # but for its cluster
    speeds: SpeedModel | None = None
    waiting: int = 32  # jobs that are shown at most
    max_machines: int | None = None  # machines that there is room for; none: those of the cluster
    place: str = "topology"  # where workers stand, for an agent that only chooses jobs
    reward: str | GpuReward = field(default_factory=Cost)
    invalid: str = "penalise"  # what an invalid choice of a job gets: a penalty, or an error ("raise")
    penalty: float = 1.0  # subtracted from the reward, which is then 0 otherwise

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise ConfigError(f"jobs is {self.jobs}; expected at least 1")
        if self.waiting < 1:
            raise ConfigError(f"waiting is {self.waiting}; expected at least 1")
        if self.invalid not in INVALID:
            raise ConfigError(f"invalid is {self.invalid!r}; expected {' or '.join(INVALID)}")
        if not self.penalty >= 0:
            raise ConfigError(f"penalty is {self.penalty}; expected 0 or more")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> GpuSetting:
        """From keyword arguments; an unknown one is an error."""
        known = [one.name for one in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"a gpu environment has no setting {name!r}{did_you_mean(name, known)}")
        return cls(**arguments)

    def source(self) -> GpuSource:
        return self.workload if isinstance(self.workload, GpuSource) else open_gpu(self.workload)

    def world_options(self, source: GpuSource) -> GpuOptions:
        cluster = source.cluster if self.cluster is None else self.cluster
        return replace(self.options, cluster=read_cluster(cluster) if isinstance(cluster, str) else cluster)

    def speed_model(self) -> SpeedModel:
        return default_speeds() if self.speeds is None else self.speeds

    def reward_object(self) -> GpuReward:
        return reward_named(self.reward) if isinstance(self.reward, str) else self.reward

    def machine_rows(self, machines: int) -> int:
        """Machines that there is room for."""
        if self.max_machines is None:
            return machines
        if self.max_machines < machines:
            raise ConfigError(f"max_machines is {self.max_machines}, but the cluster has {machines} machines")
        return self.max_machines

    def sequence(self, source: GpuSource, cluster: GpuCluster, seeds: SeedTree) -> GpuWorkload:
        """The jobs of an episode: with the tree of seed k, those of seed k in a comparison."""
        jobs = source.jobs if self.jobs is None else self.jobs
        return source.sequence(jobs, self._arrivals(source.arrivals), cluster, seeds)

    def _arrivals(self, made: GpuArrivals) -> GpuArrivals:
        given = made if self.arrivals is None else read_arrivals(self.arrivals)
        if self.load is not None:
            return replace(given, load=self.load, interval_s=None)
        if given.load is None and given.interval_s is None and given.kind not in ("batch", "trace"):
            return replace(given, load=made.load, interval_s=made.interval_s)
        return given
