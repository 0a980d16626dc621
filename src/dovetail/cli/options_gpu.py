"""The options of the gpu family: workload, arrivals, machines, when decisions are taken, and the cluster's troubles."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.cli.arguments import Arguments, add_config, check_range, read_numbers
from dovetail.core.errors import ConfigError

if TYPE_CHECKING:
    from dovetail.evaluation.setting_gpu import GpuSetting


@dataclass(frozen=True)
class Failures:
    """Machines that fail; 0 s: never."""

    mean_time_s: float = 0.0
    repair_s: float = 3600.0


@dataclass(frozen=True)
class Moods:
    """Machines that are now faster, now slower; a sigma of 0: never."""

    sigma: float = 0.1
    period_s: float = 7200.0
    every_s: float = 600.0


OPTION_OF = {
    "interval_s": "--interval",
    "quantum_s": "--quantum",
    "restart_s": "--restart",
    "checkpoint_s": "--checkpoint",
    "mean_time_to_failure_s": "--failures: the mean time to one",
    "repair_s": "--failures: the time of a repair",
    "mood_sigma": "--moods: sigma",
    "mood_period_s": "--moods: the period",
    "mood_every_s": "--moods: the time between two changes",
}
"""What a person types for a field of the world's options."""


def _failures(text: str) -> dict[str, object]:
    numbers = read_numbers("--failures", text, "MTTF or MTTF:REPAIR in seconds, such as 1e6:3600", 1, 2)
    return dict(zip(("mean_time_s", "repair_s"), numbers, strict=False))


def _moods(text: str) -> dict[str, object]:
    numbers = read_numbers("--moods", text, "SIGMA, SIGMA:PERIOD or SIGMA:PERIOD:EVERY, such as 0.1:7200", 1, 2, 3)
    return dict(zip(("sigma", "period_s", "every_s"), numbers, strict=False))


@dataclass(frozen=True)
class GpuArguments(Arguments):
    """All of a comparison, as configuration file and command line say it.  None: as the workload was made for."""

    FAMILY: ClassVar = "gpu"
    EXAMPLE: ClassVar = "gpu/fifo+first-fit,gpu/srtf+topology"
    PARSERS: ClassVar[Mapping[str, Callable[[str], object]]] = {
        "kinds": lambda text: [name.strip() for name in text.split(",") if name.strip()],
        "failures": _failures,
        "moods": _moods,
    }
    INSTEAD: ClassVar = (("cluster", "machines", "kinds", "rack"), ("arrivals", "load"))

    workload: str = "small"
    jobs: int | None = None
    arrivals: str | None = None
    load: float | None = None
    cluster: str | None = None
    machines: int | None = None
    kinds: tuple[str, ...] | None = None
    rack: int | None = None
    speeds: str | None = None
    interval: float = 0.0
    preemption: bool = False
    quantum: float = 300.0
    restart: float = 60.0
    checkpoint: float = 1800.0
    failures: Failures = field(default_factory=Failures)
    moods: Moods = field(default_factory=Moods)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, ("jobs", 1, 10**7), ("machines", 1, 10**5), ("rack", 1, 10**5))
        if self.load is not None and not 0 < self.load <= 100:
            raise ValueError(f"load is {self.load:g}; expected a share of the cluster above 0, such as 0.9")
        if self.kinds is not None and not self.kinds:
            raise ValueError("kinds: none given; expected kinds of machines, such as v100x4,t4x4")

    @staticmethod
    def add_setting(parser: argparse.ArgumentParser) -> None:
        work = parser.add_argument_group("workload")
        work.add_argument("--workload", metavar="NAME|DIR", help="bundled name, with parameters, or directory (small)")
        work.add_argument("--jobs", type=int, metavar="N", help="jobs in a sequence (that of the workload)")
        work.add_argument(
            "--arrivals",
            metavar="KIND",
            help="poisson, diurnal, uniform, batch, or trace: as recorded (that of the workload)",
        )
        work.add_argument("--load", type=float, metavar="SHARE", help="work that arrives, as a share of the cluster's")
        work.add_argument("--speeds", metavar="FILE", help="how fast kinds of training are (those that are shipped)")
        cluster = parser.add_argument_group("cluster")
        cluster.add_argument(
            "--cluster", metavar="NAME|FILE", help="bundled name, or a list of machines (that of the workload)"
        )
        cluster.add_argument("--machines", type=int, metavar="N", help="machines, instead of as many as it has")
        cluster.add_argument("--kinds", metavar="KIND,...", help="kinds of machines in turn, such as v100x4,t4x4")
        cluster.add_argument("--rack", type=int, metavar="N", help="machines in a rack")
        cluster.add_argument(
            "--interval", type=float, metavar="S", help="decide every so many seconds (0: whenever something changes)"
        )
        cluster.add_argument(
            "--preemption", action=argparse.BooleanOptionalAction, default=None, help="running jobs may be stopped"
        )
        cluster.add_argument("--quantum", type=float, metavar="S", help="preemption: ask at least this often (300)")
        cluster.add_argument("--restart", type=float, metavar="S", help="what it costs to start again (60)")
        cluster.add_argument("--checkpoint", type=float, metavar="S", help="work between two checkpoints (1800)")
        cluster.add_argument(
            "--failures", metavar="MTTF[:REPAIR]", help="mean seconds to a failure, and to its repair (3600)"
        )
        cluster.add_argument(
            "--moods",
            metavar="SIGMA[:PERIOD[:EVERY]]",
            help="how much machines vary, over how long, and seconds between changes (0.1:7200:600)",
        )
        add_config(parser)

    def setting(self) -> GpuSetting:
        """What every scheduler meets; errors of value are found here."""
        from dovetail.cluster.gpu_clusters import read_cluster
        from dovetail.evaluation.setting_gpu import GpuSetting
        from dovetail.sim.gpu import GpuOptions
        from dovetail.workloads.gpu_arrivals import read_arrivals

        fields: dict[str, Any] = {
            "interval_s": self.interval,
            "preemption": self.preemption,
            "quantum_s": self.quantum,
            "restart_s": self.restart,
            "checkpoint_s": self.checkpoint,
            "mean_time_to_failure_s": self.failures.mean_time_s,
            "repair_s": self.failures.repair_s,
            "mood_sigma": self.moods.sigma,
            "mood_period_s": self.moods.period_s,
            "mood_every_s": self.moods.every_s,
        }
        try:
            options = GpuOptions(**fields)
        except ConfigError as error:
            field, _, rest = str(error).partition(" ")
            raise ConfigError(f"{OPTION_OF.get(field, field)} {rest}") from error
        return GpuSetting(
            workload=self.workload,
            jobs=self.jobs,
            arrivals=None if self.arrivals is None else read_arrivals(self.arrivals),
            load=self.load,
            cluster=None if self.cluster is None else read_cluster(self.cluster),
            machines=self.machines,
            kinds=self.kinds,
            rack=self.rack,
            speeds=self.speeds,
            options=options,
        )
