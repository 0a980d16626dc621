"""What the controller of slots is told, and what it asks for.  Plain values; times are seconds on one clock."""

from __future__ import annotations

from typing import NamedTuple

# --- events ---


class Started(NamedTuple):
    """The engine is ready."""


class Standing(NamedTuple):
    """All workers and servers of the job are where they should be."""

    job: int


class Complete(NamedTuple):
    """All mini-batches of the job are done, though the slot is not over."""

    job: int


class Halted(NamedTuple):
    """No worker of the job is at work, and so many mini-batches are done and safe."""

    job: int
    batches_done: int


class TimePassed(NamedTuple):
    """Nothing but time: sent when `SlotController.next_timer_s` has come."""


Event = Started | Standing | Complete | Halted | TimePassed

# --- instructions ---


class Stand(NamedTuple):
    """Bring the job to these workers and servers, each given by its host; `Standing` is the answer."""

    job: int
    workers: tuple[int, ...]
    servers: tuple[int, ...]


class Train(NamedTuple):
    job: int
    until_s: float


class Halt(NamedTuple):
    """`Halted` is the answer."""

    job: int


class End(NamedTuple):
    """The job needs nothing any more: it is complete, or rejected, or the last slot is over."""

    job: int


class Notice(NamedTuple):
    text: str


class Over(NamedTuple):
    """That was the last slot, or no job is left."""


Instruction = Stand | Train | Halt | End | Notice | Over
