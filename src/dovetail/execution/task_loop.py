"""Running the tasks of a batch one after the other: what every kind of executor does, whoever tells it to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from dovetail.execution.failure import Failure, MemoryLimitError
from dovetail.execution.interrupts import Interrupts
from dovetail.execution.memory_limit import MemoryLimit, amount
from dovetail.execution.outfile import FAILED, FINISHED
from dovetail.execution.stage import Stage, pickled
from dovetail.execution.tasks import CommandFailed

Add = Callable[[int, int, bytes, float, float, str], float]
"""Takes task, how it ended, payload of its record, started_s, ended_s, error; returns when the next task begins."""


def run_tasks(
    interrupts: Interrupts, stage: Stage, argument_of: Callable[[int], Any] | None, tasks: Iterable[int], add: Add
) -> int:
    """How many tasks came to an end: all, or those before a cancel.  This loop is the price of a task."""
    limit, function, more = stage.limit, stage.function, stage.more
    monotonic = time.monotonic
    position = -1
    started_s = monotonic()
    for position, task in enumerate(tasks):
        result = failure = None
        # Two layers, because a cancel can arrive while the inner one is already dealing with an exception.
        try:
            try:
                interrupts.interruptible = True
                if interrupts.signalled:
                    interrupts.look()
                if limit is not None:
                    limit.impose()
                result = function(task if argument_of is None else argument_of(task), *more)
                if limit is not None:
                    limit.lift()
                payload = pickled(result)
                interrupts.interruptible = False
            except BaseException as error:
                interrupts.interruptible = False
                failure = _failure(error, limit)
        except BaseException as error:
            interrupts.interruptible = False
            failure = _failure(error, limit)
        if interrupts.copied:
            os._exit(1)  # the task forked, and this is its child, which has no business here
        if failure is None:
            ended_s = monotonic()
            started_s = add(task, FINISHED, payload, started_s, ended_s, "")
        elif interrupts.is_cancelled:
            return position
        else:
            started_s = add(task, FAILED, failure.to_bytes(), started_s, monotonic(), failure.line)
        payload = b""  # a large result must not stay while the next task runs
    return position + 1


def _failure(error: BaseException, limit: MemoryLimit | None) -> Failure:
    if limit is not None:
        limit.lift()
        if limit.is_cause_of(error):
            exceeded = MemoryLimitError(f"task used more than its limit of {amount(limit.limit_bytes)}")
            exceeded.__cause__ = error
            return Failure.of(exceeded)
        if isinstance(error, CommandFailed):
            limited = f"{error} (each of its processes may take {amount(limit.limit_bytes)})"
            return Failure.of(CommandFailed(limited).with_traceback(error.__traceback__), own_frames=1)
    return Failure.of(error, own_frames=1)
