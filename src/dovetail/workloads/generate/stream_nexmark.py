"""Streaming jobs after queries of Nexmark, the benchmark of an auction site: what operators they have, who feeds whom.

Three streams come in: persons, auctions and bids, 1 : 3 : 46 as Nexmark has them.  A query reads only those it needs,
and its rate counts only these.  Which operators there are and what share of the records passes follows from the queries
where these say so (named below).  Times for a record, state, skew, buffers and rates are ours: a source parses, a sink
writes, and operators that look something up take longest; all between 0.1 and 5 ms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dovetail.workloads.generate.stream_preset import StreamPreset
from dovetail.workloads.stream_alone import with_slo
from dovetail.workloads.stream_jobs import StreamBuilder, StreamJobs

PERSONS, AUCTIONS = 0.25, 0.75  # shares of these two streams where a query reads both: 1 : 3


@dataclass(frozen=True)
class Query(StreamPreset, ABC):
    """A query; `scale` multiplies the times for a record."""

    scale: float = 1.0
    buffer_s: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, most in (("scale", 1e4), ("buffer_s", 1e4)):
            if not 1e-3 <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name):g}; expected 0.001 to {most:g}")

    def jobs(self) -> StreamJobs:
        builder = StreamBuilder()
        builder.job(type(self).__name__.lower(), **self.job())
        self.add(builder)
        return with_slo(builder.build(self.slots_for(len(builder.operators))), self.slo_s)

    @abstractmethod
    def add(self, builder: StreamBuilder) -> None:
        """Adds the operators."""

    def put(self, builder: StreamBuilder, name: str, *parents: int, ms: float, **columns: float) -> int:
        """An operator that takes so many milliseconds for a record."""
        return builder.operator(
            name,
            *parents,
            service_s=ms * 1e-3 * self.scale,
            buffer_s=self.buffer_s,
            most=self.instances,
            selectivity=columns.pop("selectivity", 1.0),
            **columns,
        )


@dataclass(frozen=True)
class Query1(Query):
    """Prices of all bids in another currency: a map."""

    rate: float = 1500.0

    def add(self, builder: StreamBuilder) -> None:
        bids = self.put(builder, "bids", ms=0.4, source=1.0)
        convert = self.put(builder, "convert", bids, ms=2.4)
        self.put(builder, "sink", convert, ms=1.0)


@dataclass(frozen=True)
class Query2(Query):
    """Bids on every 123rd auction: a filter."""

    rate: float = 1800.0

    def add(self, builder: StreamBuilder) -> None:
        bids = self.put(builder, "bids", ms=0.4, source=1.0)
        keep = self.put(builder, "filter", bids, ms=1.8, selectivity=1 / 123)
        self.put(builder, "sink", keep, ms=5.0)


@dataclass(frozen=True)
class Query3(Query):
    """Who sells in some states and one category: two filters and a join that remembers all it has seen."""

    rate: float = 1600.0

    def add(self, builder: StreamBuilder) -> None:
        persons = self.put(builder, "persons", ms=1.0, source=PERSONS)
        auctions = self.put(builder, "auctions", ms=0.8, source=AUCTIONS)
        # Three states of six, and one category of five.
        states = self.put(builder, "filter-state", persons, ms=1.5, selectivity=0.5)
        category = self.put(builder, "filter-category", auctions, ms=1.2, selectivity=0.2)
        join = self.put(
            builder, "join", states, category, ms=5.0, selectivity=0.55, state_mb=120.0, skew=0.05, variability=1.2
        )
        self.put(builder, "sink", join, ms=2.0)


@dataclass(frozen=True)
class Query5(Query):
    """Auctions with the most bids in the last minutes: sliding windows by auction, then the largest of all."""

    rate: float = 1400.0

    def add(self, builder: StreamBuilder) -> None:
        bids = self.put(builder, "bids", ms=0.4, source=1.0)
        # A window holds many bids of an auction, so fewer records leave it; hot auctions are why it is skewed.
        count = self.put(
            builder, "count-window", bids, ms=2.4, selectivity=0.3, state_mb=60.0, skew=0.03, variability=1.5
        )
        largest = self.put(builder, "largest", count, ms=1.8, selectivity=0.05, state_mb=5.0, variability=1.5)
        self.put(builder, "sink", largest, ms=4.0)


@dataclass(frozen=True)
class Query8(Query):
    """Persons who have opened an auction as soon as they joined: windows of both, joined."""

    rate: float = 1600.0

    def add(self, builder: StreamBuilder) -> None:
        persons = self.put(builder, "persons", ms=1.0, source=PERSONS)
        auctions = self.put(builder, "auctions", ms=0.8, source=AUCTIONS)
        newcomers = self.put(builder, "window-persons", persons, ms=2.0, state_mb=20.0, variability=1.3)
        sellers = self.put(
            builder, "window-auctions", auctions, ms=1.6, selectivity=0.6, state_mb=40.0, skew=0.03, variability=1.3
        )
        join = self.put(
            builder, "join", newcomers, sellers, ms=2.5, selectivity=0.2, state_mb=60.0, skew=0.03, variability=1.3
        )
        self.put(builder, "sink", join, ms=2.0)


@dataclass(frozen=True)
class Query11(Query):
    """Bids of each bidder in a session: windows that end when nothing comes for a while."""

    rate: float = 1500.0

    def add(self, builder: StreamBuilder) -> None:
        bids = self.put(builder, "bids", ms=0.4, source=1.0)
        session = self.put(
            builder, "session-window", bids, ms=2.5, selectivity=0.25, state_mb=150.0, skew=0.02, variability=1.2
        )
        self.put(builder, "sink", session, ms=2.0)
