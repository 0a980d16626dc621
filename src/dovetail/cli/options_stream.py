"""The options of the stream family: workload, rates, when decisions are taken, and what is measured."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dovetail.cli.arguments import Arguments, add_config, check_range

if TYPE_CHECKING:
    from dovetail.evaluation.contenders import Contender
    from dovetail.evaluation.setting_stream import StreamSetting


@dataclass(frozen=True)
class StreamArguments(Arguments):
    """All of a comparison, as configuration file and command line say it.  None: as the workload was made for."""

    FAMILY: ClassVar = "stream"
    EXAMPLE: ClassVar = "stream/fixed,stream/ds2"

    workload: str = "small-1"
    rates: str | None = None
    windows: str = "drawn"
    duration: float | None = None
    slots: int | None = None
    runtime: str | None = None
    interval: float | None = None
    snapshot: float = 60.0
    step: float = 1.0
    history: int = 60
    noise: float = 0.05
    weight: float = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self, ("slots", 1, 10**6), ("history", 1, 10**5))
        for name in ("duration", "interval", "snapshot", "step"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value:g}; expected seconds, more than 0")

    @staticmethod
    def add_setting(parser: argparse.ArgumentParser) -> None:
        work = parser.add_argument_group("workload")
        work.add_argument(
            "--workload", metavar="NAME|DIR", help="bundled name, with parameters, or directory (small-1)"
        )
        work.add_argument(
            "--rates", metavar="KIND|DIR", help="web, diurnal, bursty, flash-crowd, step, drift, or a directory"
        )
        work.add_argument(
            "--windows",
            metavar="HOW",
            help="of recorded rates: drawn from anywhere, or in-turn: side by side, seed 0 the first (drawn)",
        )
        work.add_argument("--duration", type=float, metavar="S", help="length of a sequence (that of the workload)")
        cluster = parser.add_argument_group("cluster")
        cluster.add_argument("--slots", type=int, metavar="N", help="instances of all operators at most")
        cluster.add_argument("--runtime", metavar="NAME", help="what a rescale starts anew: warm, cold or python")
        cluster.add_argument("--interval", type=float, metavar="S", help="between decisions (that of the workload)")
        cluster.add_argument("--snapshot", type=float, metavar="S", help="between two measurements (60)")
        cluster.add_argument("--history", type=int, metavar="N", help="measurements that a scheduler is shown (60)")
        cluster.add_argument("--step", type=float, metavar="S", help="of the simulation (1)")
        cluster.add_argument("--noise", type=float, metavar="SIGMA", help="how much service times vary (0.05)")
        cluster.add_argument("--weight", type=float, metavar="W", help="of latency in the reward, 0 to 1 (0.7)")
        add_config(parser)

    def notes(self, contenders: Collection[Contender] = ()) -> list[str]:
        """Networks that were made for something else."""
        from dovetail.evaluation.stream_networks import notes_on_times

        return notes_on_times(self.setting(), contenders)

    def setting(self) -> StreamSetting:
        """What every scheduler meets; errors of value are found here."""
        from dovetail.evaluation.setting_stream import StreamSetting
        from dovetail.sim.stream import StreamOptions

        options = StreamOptions(
            snapshot_s=self.snapshot,
            step_s=self.step,
            history=self.history,
            noise=self.noise,
            weight=self.weight,
        )
        return StreamSetting(
            workload=self.workload,
            rates=self.rates,
            windows=self.windows,
            duration_s=self.duration,
            interval_s=self.interval,
            slots=self.slots,
            runtime=self.runtime,
            options=options,
        )
