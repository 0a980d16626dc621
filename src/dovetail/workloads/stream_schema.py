"""The canonical form of a stream workload on disk; `docs/workloads.md` documents it for people.

A directory holds jobs (three tables), rates (one table), or both.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.stream import WEEK_S
from dovetail.workloads.schema import EDGES, JOBS, Column, Layout

OPERATORS = "operators.parquet"
RATES = "rates.parquet"
JOB_FILES = (JOBS, OPERATORS, EDGES)
MAX_BIN_S = 86_400.0

JOB_NUMBERS = ("rate", "slo_s", "restart_s", "checkpoint_s")
OPERATOR_NUMBERS = ("service_s", "selectivity", "source", "skew", "variability", "buffer", "state_mb")
OPERATOR_INTEGERS = ("max", "start")

STREAM_LAYOUT = Layout(
    family="stream",
    tables={
        JOBS: (Column("job", "text"), *(Column(name, "number") for name in JOB_NUMBERS)),
        OPERATORS: (
            Column("job", "text"),
            Column("operator", "text"),
            *(Column(name, "number") for name in OPERATOR_NUMBERS),
            *(Column(name, "integer") for name in OPERATOR_INTEGERS),
        ),
        EDGES: (Column("job", "text"), Column("from", "text"), Column("to", "text"), Column("share", "number")),
        RATES: (Column("series", "text"), Column("rate", "number")),
    },
    required=(),
    counted={"jobs": JOBS, "operators": OPERATORS, "edges": EDGES, "rates": RATES},
)


@dataclass(frozen=True)
class StreamSetting:
    """Defaults of commands that use the workload: what its manifest says beside its tables."""

    duration_s: float
    interval_s: float = 3600.0
    jitter: float = 0.0
    slots: int | None = None  # of all jobs together; none: there are no jobs
    rates: str | None = None  # generator; none: they are stored
    bin_s: float | None = None  # of stored rates
    clock_s: float | None = None  # of stored rates: time of the week at their start

    def __post_init__(self) -> None:
        for name, least, most in (
            ("duration_s", 1, 1e9),
            ("interval_s", 1, 1e7),
            ("jitter", 0, 3),
            ("slots", 1, 10**6),
            ("bin_s", 1, MAX_BIN_S),
            ("clock_s", 0, WEEK_S),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{name} is {value:g}; expected {least:g} to {most:g}")
        if self.bin_s is not None and self.bin_s % 1:
            raise ValueError(f"bin_s is {self.bin_s:g}; expected whole seconds")
        if self.clock_s == WEEK_S:
            raise ValueError(f"clock_s is {self.clock_s:g}; expected less than a week, {WEEK_S:g}")
        if (self.bin_s is None) != (self.clock_s is None):
            raise ValueError("bin_s and clock_s belong together; expected both (with stored rates) or none")
        if (self.rates is None) == (self.bin_s is None):
            raise ValueError("expected either rates, the name of a generator, or bin_s and clock_s of stored ones")
