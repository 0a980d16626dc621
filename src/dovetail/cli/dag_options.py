"""The options that `compare`, `simulate`, `tune` and `demo` share: workload, arrivals, cluster, its troubles.

Every option is also a key of the configuration file, under the same name with underscores.  The file's values
are laid over the defaults, the command line's over the file's.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.core.config import build, read_toml
from dovetail.core.dag import ExecutorClass
from dovetail.core.errors import ConfigError, UnknownName
from dovetail.core.spec import split_specs

if TYPE_CHECKING:
    from dovetail.evaluation.matrix_cell import DagSetting

FAMILIES = ("dag",)
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


@dataclass(frozen=True)
class DagArguments:
    """All of a comparison, as configuration file and command line say it."""

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
    seeds: int = 20
    seed: int = 0
    schedulers: tuple[str, ...] = ("all",)

    def __post_init__(self) -> None:
        for name, low, high in (("jobs", 1, 10**7), ("seeds", 1, 10**6), ("seed", 0, 2**62)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is {getattr(self, name)}; expected {low} or more, {high} at most")
        for name in self.compat:
            if name not in ("all", *COMPAT):
                raise UnknownName("compat option", name, ("all", *COMPAT))
        if self.classes and self.executors is not None:
            count = sum(kind.count for kind in self.classes)
            if count != self.executors:
                raise ValueError(f"executors is {self.executors}, but the classes have {count}; leave it out")

    @property
    def seed_range(self) -> tuple[int, ...]:
        return tuple(range(self.seed, self.seed + self.seeds))

    def setting(self) -> DagSetting:
        """What every scheduler meets; errors of value are found here."""
        from dovetail.evaluation.matrix_cell import DagSetting
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

    def notes(self) -> list[str]:
        """What the person who chose these options should know."""
        if {"all", "unseeded_durations"} & set(self.compat):
            return ["unseeded durations: no run can be repeated, and differences are not paired"]
        return []

    def command(self, verb: str, **changed: Any) -> str:
        """What to type to make this again: the options that differ from the defaults."""
        words = ["dovetail", *verb.split()]
        for item in fields(self):
            value = changed.get(item.name, getattr(self, item.name))
            default = item.default if item.default_factory is MISSING else item.default_factory()
            if value is not None and value != default:
                words += [f"--{item.name.replace('_', '-')}", _written(value)]
        return shlex.join(words)


def add_family(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("family", metavar="FAMILY", help="kind of work: dag")


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
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with these options as keys")


def add_matrix(parser: argparse.ArgumentParser, *, seed: int = 0) -> None:
    """The options about seeds and processes."""
    parser.add_argument("--seeds", type=int, metavar="N", help="job sequences (20)")
    parser.add_argument("--seed", type=int, metavar="K", help=f"seed of the first of them ({seed})")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one per processor if worth it)")


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="keep records there; what is there already is not run again"
    )
    parser.add_argument("--force", action="store_true", help="replace records of something else there")


def read_arguments(
    args: argparse.Namespace, *, not_from_file: Collection[str] = (), **defaults: object
) -> DagArguments:
    """Defaults, then the file but for some keys, then the command line."""
    if "family" in args and args.family not in FAMILIES:
        raise UnknownName("family", args.family, FAMILIES)
    given: dict[str, object] = {}
    for item in fields(DagArguments):
        value = getattr(args, item.name, None)
        if value is not None:
            given[item.name] = _PARSERS[item.name](value) if item.name in _PARSERS else value
    if args.config is None:
        return build(DagArguments, {**defaults, **given}, "options")
    filed = read_toml(args.config)
    # Checked alone first, so that an error names the place where it stands.
    build(DagArguments, {**defaults, **filed}, str(args.config))
    filed = {key: value for key, value in filed.items() if key not in not_from_file}
    for one, *others in _INSTEAD:
        if one in given:
            filed = {key: value for key, value in filed.items() if key not in others}
    return build(DagArguments, {**defaults, **filed, **given}, f"options over {args.config}")


# What is said on the command line takes the place of these keys of the file.
_INSTEAD = (
    ("arrivals", "interval", "load"),
    ("interval", "load"),
    ("load", "interval"),
    ("executors", "classes"),
    ("classes", "executors"),
)


def _classes(text: str) -> list[dict[str, object]]:
    from dovetail.core.dag import MAX_EXECUTORS

    found: list[dict[str, object]] = []
    for part in text.split(","):
        count, cpu, memory = _numbers("--classes", part, "COUNT:CPU:MEMORY, such as 30:1:0.5", 3)
        if not (count.is_integer() and count <= MAX_EXECUTORS):
            raise ConfigError(
                f"--classes: a count of {count:g} in {part!r}; expected a whole number, {MAX_EXECUTORS:,} at most"
            )
        found.append({"count": int(count), "cpu": cpu, "memory": memory})
    return found


def _failures(text: str) -> dict[str, object]:
    numbers = _numbers("--failures", text, "MTTF or MTTF:REPAIR in seconds, such as 3600:60", 1, 2)
    return dict(zip(("mean_time_s", "repair_s"), numbers, strict=False))


def _stragglers(text: str) -> dict[str, object]:
    probability, factor = _numbers("--stragglers", text, "P:FACTOR, such as 0.05:3", 2)
    return {"probability": probability, "factor": factor}


def _numbers(option: str, text: str, expected: str, *counts: int) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) not in counts or any(number != number for number in numbers):
        raise ConfigError(f"{option}: cannot read {text!r}; expected {expected}")
    return numbers


_PARSERS: dict[str, Callable[[str], object]] = {
    "classes": _classes,
    "failures": _failures,
    "stragglers": _stragglers,
    "compat": lambda text: [name.strip().replace("-", "_") for name in text.split(",") if name.strip()],
    "schedulers": split_specs,
}


def _written(value: object) -> str:
    """A value as the command line takes it."""
    if isinstance(value, tuple):
        return ",".join(map(_written, value))
    if is_dataclass(value):
        return ":".join(_written(getattr(value, item.name)) for item in fields(value))
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)
