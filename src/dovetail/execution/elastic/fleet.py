"""Where workers and parameter servers live: what every engine offers, and what it tells.

A *role* is one worker or one parameter server: a process or an actor, by its number, which is never given again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

Kind = Literal["worker", "server"]


class Up(NamedTuple):
    """It is there and may be called."""

    role: int


class Answer(NamedTuple):
    """What a call came to.  Calls of one role are answered in order."""

    role: int
    method: str
    value: Any


class Lost(NamedTuple):
    """It is gone, and so is whatever it was called for."""

    role: int
    why: str


Event = Up | Answer | Lost


class Fleet(Protocol):
    """Nothing blocks but `open`, `poll` and `close`."""

    def open(self) -> None: ...

    def start(self, kind: Kind, host: int) -> int:
        """The number of the new role; `Up` follows, or `Lost`."""

    def call(self, role: int, method: str, *arguments: Any) -> None:
        """`Answer` follows, or `Lost`: a role that raises an error is ended."""

    def address(self, role: int) -> Any:
        """How workers reach a parameter server that is up."""

    def stop(self, role: int) -> None:
        """End it.  Nothing more is heard of it."""

    def kill(self, role: int, why: str) -> None:
        """End it because something is wrong with it; `Lost` follows."""

    def poll(self, timeout_s: float) -> Sequence[Event]:
        """What has happened; waits so long at most for something to happen."""

    def close(self) -> None:
        """End all of them, and leave nothing behind."""
