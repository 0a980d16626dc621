"""How long a rescale took, from Flink's own times; never from when a cached answer changed.

Flink 2.3 keeps a history of rescales if `web.adaptive-scheduler.rescale-history.size` is above 0: when the job left the
state `Executing` is when it stopped.  Without, the job's timeline has that time while it is being taken down, if
somebody looks just then; otherwise only the time between being asked and running is known, which is longer: Flink waits
for the next checkpoint first.  When it was up again is when the last of its subtasks began to run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dovetail.execution.engines.flink.errors import FlinkError

HISTORY, TIMELINE, ASKED = "history", "timeline", "asked"
FROM_TEXT = {
    HISTORY: "Flink's history of rescales",
    TIMELINE: "the job's timeline",
    ASKED: "when it was asked for: an upper bound",
}


class Rescale(NamedTuple):
    """The newest of the history."""

    uuid: str
    began_ms: float
    stopped_ms: float  # nan: it is not told
    state: str  # COMPLETED, FAILED, IGNORED; empty: it is under way
    cause: str


def parse_newest(history: Any) -> str | None:
    """The name of the newest rescale of `/jobs/:id/rescales/history`; None: there was none."""
    try:
        newest = max(history, key=lambda one: float(one["startTimestampInMillis"]), default=None)
        return None if newest is None else str(newest["rescaleUuid"])
    except (KeyError, TypeError, ValueError) as error:
        raise FlinkError("the history of rescales is not what Flink 2.3 answers") from error


def parse_rescale(answer: Mapping[str, Any]) -> Rescale:
    """`/jobs/:id/rescales/details/:uuid`."""
    try:
        states = answer["schedulerStates"]
        left = [float(one["leaveTimestampInMillis"]) for one in states if one["state"] == "Executing"]
        return Rescale(
            uuid=str(answer["rescaleUuid"]),
            began_ms=float(answer["startTimestampInMillis"]),
            stopped_ms=left[0] if len(states) > 1 and left else math.nan,
            state=str(answer.get("terminalState") or ""),
            cause=str(answer.get("triggerCause") or ""),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FlinkError("a rescale is not what Flink 2.3 answers") from error


def running_since_ms(vertices: Iterable[Mapping[str, Any]]) -> float:
    """When the last subtask began to run, by `/jobs/:id/vertices/:vertex` of each; nan while one does not."""
    found = -math.inf
    for vertex in vertices:
        try:
            for subtask in vertex["subtasks"]:
                if subtask["status"] not in ("RUNNING", "FINISHED"):
                    return math.nan
                spent = subtask.get("status-duration", {})
                began = float(subtask["start-time"])
                found = max(found, began + float(spent.get("DEPLOYING", 0)) + float(spent.get("INITIALIZING", 0)))
        except (KeyError, TypeError, ValueError) as error:
            raise FlinkError("a vertex is not what Flink answers") from error
    return found if math.isfinite(found) else math.nan
