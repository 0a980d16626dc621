"""Where tasks run: what every engine offers the server, and what it tells it."""

from __future__ import annotations

import selectors
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from dovetail.core.dag import ExecutorClass
from dovetail.execution.controller.messages import Run

Entry = tuple[int, int, int, int, float, float, str]
"""task, how it ended, offset of its record or -1, length of its payload, started_s, ended_s, error"""


class Ears(Protocol):
    """The server, as an engine sees it.  Nothing here may be called from another thread."""

    @property
    def first_incarnation(self) -> int:
        """Incarnations are above it, and so no out file of an earlier server is written again."""

    def executor_up(self, executor: int, node: str) -> None: ...

    def executor_down(self, executor: int, why: str, blameless: bool, killed: bool = False) -> None:
        """`killed`: by a signal that anybody may have sent."""

    def tasks_ended(
        self, executor: int, incarnation: int, batch: int, entries: Sequence[Entry], leaving: bool = False
    ) -> None:
        """`leaving`: the executor is lost, which will be told next."""

    def disk_is_full(self, executor: int, why: str) -> None:
        """A result of this executor's cannot be written down; it is kept until there is room."""

    def disk_has_room(self, executor: int) -> None: ...

    def notice(self, kind: str, text: str) -> None: ...

    def stage_settings(self, job: int, stage: int) -> Mapping[str, Any]:
        """What an executor must know of a stage before its first task of it."""

    def job_directory(self, job: int) -> str: ...


@runtime_checkable
class Connected(Protocol):
    """Workers that hold on to something before they are started."""

    def disconnect(self) -> None: ...


class Workers(Protocol):
    """The executors of one engine.  Nothing blocks but `start` and `close`."""

    def classes(self) -> tuple[ExecutorClass, ...]: ...

    def executor_class(self, executor: int) -> int: ...

    def start(self, selector: selectors.BaseSelector, ears: Ears) -> None:
        """Every registration's data is a callable (mask, now_s)."""

    def run(self, run: Run, arguments: Sequence[Any] | None) -> None:
        """`arguments`: plain values in place of those that the payload has for these tasks."""

    def cancel(self, executor: int, batch: int) -> None: ...

    def restart(self, executor: int, why: str) -> None: ...

    def forget(self, job: int) -> None: ...

    def flush(self) -> None:
        """Send what was asked for since the last time."""

    def next_timer_s(self) -> float: ...

    def on_time(self, now_s: float) -> None: ...

    def close(self) -> None: ...
