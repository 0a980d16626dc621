"""The setting a stored elastic workload was made for: what its manifest says beside its tables."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_SLOT_S = 1e9
MAX_SLOTS = 10**6
MAX_JOBS = 10**7
MAX_SERVERS = 10**5


@dataclass(frozen=True)
class ElasticSetting:
    """Defaults of commands that use the workload, and where its jobs come from if they are not recorded."""

    slots: int
    slot_s: float
    servers: int
    jobs: int
    arrivals: str = "trace"
    span: float | None = None
    generator: str | None = field(default=None, metadata={"help": "bundled workload that jobs are drawn from"})

    def __post_init__(self) -> None:
        for name, least, most in (("slots", 1, MAX_SLOTS), ("servers", 2, MAX_SERVERS), ("jobs", 1, MAX_JOBS)):
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}; expected {least} to {most:,}")
        if not 0 < self.slot_s <= MAX_SLOT_S:
            raise ValueError(f"slot_s is {self.slot_s:g}; expected seconds above 0, {MAX_SLOT_S:g} at most")
