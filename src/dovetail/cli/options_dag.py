"""The options of the dag family: workload, arrivals, cluster, its troubles."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from dovetail.cli.arguments import Arguments, add_config, check_range, read_numbers
from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.setting_dag import DagSetting

COMPAT = ("idle_until_arrival", "inverted_levels", "pool_forgets", "unseeded_durations")


@dataclass(frozen=True)
class Stragglers:
    """Tasks that take longer than they should."""

    probability: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True)
class Failures:
    """Executors that fail; 0 s: never."""

    mean_time_s: float = 0.0
    repair_s: float = 30.0


def _classes(text: str) -> list[dict[str, object]]:
    from dovetail.core.dag import MAX_EXECUTORS

    found: list[dict[str, object]] = []
    for part in text.split(","):
        count, cpu, memory = read_numbers("--classes", part, "COUNT:CPU:MEMORY, such as 30:1:0.5", 3)
        if not (count.is_integer() and count <= MAX_EXECUTORS):
            raise ConfigError(
                f"--classes: a count of {count:g} in {part!r}; expected a whole number, {MAX_EXECUTORS:,} at most"
            )
        found.append({"count": int(count), "cpu": cpu, "memory": memory})
    return found


def _failures(text: str) -> dict[str, object]:
    numbers = read_numbers("--failures", text, "MTTF or MTTF:REPAIR in seconds, such as 3600:60", 1, 2)
    return dict(zip(("mean_time_s", "repair_s"), numbers, strict=False))


def _stragglers(text: str) -> dict[str, object]:
    probability, factor = read_numbers("--stragglers", text, "P:FACTOR, such as 0.05:3", 2)
    return {"probability": probability, "factor": factor}


@dataclass(frozen=True)
class DagArguments(Arguments):
    """All of a comparison, as configuration file and command line say it."""

    FAMILY: ClassVar = "dag"
    EXAMPLE: ClassVar = "dag/fair,dag/weighted-fair:alpha=-1"
    PARSERS: ClassVar[Mapping[str, Callable[[str], object]]] = {
        "classes": _classes,
        "failures": _failures,
        "stragglers": _stragglers,
        "compat": lambda text: [name.strip().replace("-", "_") for name in text.split(",") if name.strip()],
    }
    INSTEAD: ClassVar = (
        ("arrivals", "interval", "load"),
        ("interval", "load"),
        ("load", "interval"),
        ("executors", "classes"),
        ("classes", "executors"),
    )

    workload: str = "tpch-like"
    jobs: int = 20
    arrivals: str | None = None  # none: poisson if an interval or a load is given, else batch
    interval: float | None = None
    load: float | None = None
    executors: int | None = None  # none: 50, or those of the classes
    classes: tuple[ExecutorClass, ...] = ()
    moving_delay: float = 2.0
    compat: tuple[str, ...] = ()
    failures: Failures = field(default_factory=Failures)
    stragglers: Stragglers = field(default_factory=Stragglers)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, ("jobs", 1, 10**7))
        for name in self.compat:
            if name not in ("all", *COMPAT):
                raise UnknownName("compat option", name, ("all", *COMPAT))
        if self.classes and self.executors is not None:
            count = sum(kind.count for kind in self.classes)
            if count != self.executors:
                raise ValueError(f"executors is {self.executors}, but the classes have {count}; leave it out")

    @staticmethod
    def add_setting(parser: argparse.ArgumentParser) -> None:
        add_setting(parser)

    def setting(self) -> DagSetting:
        """What every scheduler meets; errors of value are found here."""
        from dovetail.evaluation.setting_dag import DagSetting
        from dovetail.sim.dag import Compat, DagOptions
        from dovetail.workloads.arrivals import Arrivals

        executors = sum(kind.count for kind in self.classes) if self.classes else self.executors
        executors = 50 if executors is None else executors
        names = COMPAT if "all" in self.compat else self.compat
        options = DagOptions(
            executors=executors,
            classes=self.classes,
            moving_delay_s=self.moving_delay,
            straggler_probability=self.stragglers.probability,
            straggler_factor=self.stragglers.factor,
            mean_time_to_failure_s=self.failures.mean_time_s,
            repair_s=self.failures.repair_s,
            compat=Compat(**dict.fromkeys(names, True)),
        )
        timed = self.interval is not None or self.load is not None
        arrivals = Arrivals(
            self.arrivals or ("poisson" if timed else "batch"),
            self.interval,
            self.load,
            executors if self.load is not None else None,
        )
        return DagSetting(self.workload, self.jobs, arrivals, options)

    def notes(self, contenders: Collection[Contender] = ()) -> list[str]:
        """What the person who chose these options and schedulers should know."""
        from dovetail.schedulers import SCHEDULERS

        found = []
        if {"all", "unseeded_durations"} & set(self.compat):
            found.append("unseeded durations: no run can be repeated, and differences are not paired")
        for contender in contenders if len(self.classes) > 1 else ():
            instead = getattr(SCHEDULERS.resolve(contender.name), "ALIKE_ONLY", None)
            if instead is not None:
                found.append(f"where executors differ, {contender.name} {instead}")
        return found


def add_setting(parser: argparse.ArgumentParser, *, positional: bool = False, executors: int = 50) -> None:
    """The options about what is simulated; `positional`: the workload must be given, without its option's name."""
    work = parser.add_argument_group("workload")
    named = ("workload",) if positional else ("--workload",)
    default = "" if positional else " (tpch-like)"
    work.add_argument(*named, metavar="NAME|DIR", help=f"bundled name, with parameters, or directory{default}")
    work.add_argument("--jobs", type=int, metavar="N", help="jobs in a sequence (20)")
    work.add_argument("--arrivals", metavar="KIND", help="batch, poisson, or trace: as recorded (batch)")
    work.add_argument("--interval", type=float, metavar="S", help="poisson: mean seconds between jobs")
    work.add_argument("--load", type=float, metavar="SHARE", help="poisson: work as a share of the cluster")
    cluster = parser.add_argument_group("cluster")
    cluster.add_argument("--executors", type=int, metavar="N", help=f"executors of one size ({executors})")
    cluster.add_argument("--classes", metavar="N:CPU:MEM,...", help="executors of several sizes instead")
    cluster.add_argument("--moving-delay", type=float, metavar="S", help="to move an executor to another job (2)")
    cluster.add_argument(
        "--failures", metavar="MTTF[:REPAIR]", help="mean seconds to a failure, and to its repair (30)"
    )
    cluster.add_argument("--stragglers", metavar="P:FACTOR", help="a share P of the tasks takes FACTOR times as long")
    cluster.add_argument(
        "--compat", metavar="NAME,...", help=f"faults of the published simulator: all, {', '.join(COMPAT)}"
    )
    add_config(parser)
