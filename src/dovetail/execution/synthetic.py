"""Tasks that last as long as they are told, and meanwhile wait, compute, hold memory, or write and read a file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, get_args

from dovetail.core.errors import UnknownName
from dovetail.execution.tasks import Busy, Io, Memory, Sleep

Kind = Literal["sleep", "busy", "memory", "io"]
KINDS: tuple[str, ...] = get_args(Kind)
IO_BYTES = 1 << 20  # written and read at a time


@dataclass(frozen=True)
class Synthetic:
    """Called with the seconds it shall take.  `busy` counts those on a processor, the others those that pass."""

    kind: Kind = "sleep"
    memory_bytes: int = 0  # of a `memory` task

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName("kind of synthetic task", self.kind, KINDS)

    def __call__(self, lasts_s: float) -> None:
        if self.kind == "sleep":
            Sleep(lasts_s)(None)
        elif self.kind == "busy":
            Busy(lasts_s)(None)
        elif self.kind == "memory":
            Memory(self.memory_bytes, hold_s=lasts_s)(None)
        else:
            until_s = time.monotonic() + lasts_s
            while time.monotonic() < until_s:
                Io(IO_BYTES)(None)
