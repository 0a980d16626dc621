"""What a stream environment is made of: everything its keyword arguments may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.core.suggest import did_you_mean
from dovetail.sim.stream import StreamOptions
from dovetail.workloads.stream import StreamWorkload
from dovetail.workloads.stream_source import StreamSource, open_stream

OVER_SLOTS = ("cut", "raise")


@dataclass(frozen=True)
class StreamSetting:
    """The jobs, what comes to them, and what an agent is shown.  None: as the workload was made for."""

    workload: str | StreamSource = "small-1"  # bundled name with parameters, or directory
    rates: str | None = None  # kind of rates, or a directory with some
    duration_s: float | None = None  # of an episode
    interval_s: float | None = None  # between decisions
    options: StreamOptions = field(default_factory=StreamOptions)  # but for `interval_s`, which stands above
    over_slots: str = (
        "cut"  # what becomes of wishes for more than there are slots: less is given, or an error ("raise")
    )

    def __post_init__(self) -> None:
        for name in ("duration_s", "interval_s"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} is {value}; expected more than 0")
        if self.rates is not None and isinstance(self.workload, StreamSource):
            raise ConfigError("rates are given, but the workload is a source, which has its own; expected one of both")
        if self.over_slots not in OVER_SLOTS:
            raise ConfigError(f"over_slots is {self.over_slots!r}; expected {' or '.join(OVER_SLOTS)}")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> StreamSetting:
        """From keyword arguments; an unknown one is an error."""
        known = [one.name for one in fields(cls)]
        for name in arguments:
            if name not in known:
                raise ConfigError(f"a stream environment has no setting {name!r}{did_you_mean(name, known)}")
        return cls(**arguments)

    def source(self) -> StreamSource:
        return self.workload if isinstance(self.workload, StreamSource) else open_stream(self.workload, self.rates)

    def world_options(self, source: StreamSource) -> StreamOptions:
        return replace(self.options, interval_s=source.interval_s if self.interval_s is None else self.interval_s)

    def sequence(self, source: StreamSource, seeds: SeedTree) -> StreamWorkload:
        """What comes in an episode: with the tree of seed k, that of seed k in a comparison."""
        return source.sequence(self.duration_s, seeds)
