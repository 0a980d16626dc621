"""Which of Flink's metrics say what a vertex does, and what they add up to over its subtasks.

Counters (time spent busy, idle and held up; records) are taken where there are any, not Flink's rates a second: those
lag by up to five seconds, and after a restart say nothing for as long.  How much time lies between two readings is what
the three times grew by, however old the job manager's copy of them was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dovetail.execution.engines.flink.errors import FlinkError

BUSY, IDLE, BLOCKED = "accumulateBusyTimeMs", "accumulateIdleTimeMs", "accumulateBackPressuredTimeMs"
RECORDS_IN, RECORDS_OUT, BYTES_IN = "numRecordsIn", "numRecordsOut", "numBytesIn"
INPUT_QUEUE = "Shuffle.Netty.Input.Buffers.inputQueueSize"
OUTPUT_QUEUE = "Shuffle.Netty.Output.Buffers.outputQueueSize"
PENDING = ".pendingRecords"  # after the name of a source operator
_PLAIN = (BUSY, IDLE, BLOCKED, RECORDS_IN, RECORDS_OUT, BYTES_IN, INPUT_QUEUE, OUTPUT_QUEUE)
_MARKER = "latency."


class Reading(NamedTuple):
    """Of a vertex, summed over its subtasks; nan: it is not told."""

    busy_s: float = math.nan  # since the subtasks began
    idle_s: float = math.nan
    blocked_s: float = math.nan
    records_in: float = math.nan
    records_out: float = math.nan
    bytes_in: float = math.nan
    input_queue_bytes: float = math.nan  # waiting in front of it
    output_queue_bytes: float = math.nan  # waiting behind it
    pending: float = math.nan  # records that a source has not fetched yet
    busiest_share: float = math.nan  # of the records, that went to the subtask that got most
    marker_s: float = math.nan  # age of latency markers, mean

    @property
    def lived_s(self) -> float:
        """Subtask-seconds since they began."""
        return self.busy_s + self.idle_s + self.blocked_s

    @property
    def missing(self) -> tuple[str, ...]:
        """Without which nothing can be decided by true rates."""
        told = {"busy time": self.lived_s, "records": self.records_in}
        return tuple(name for name, value in told.items() if math.isnan(value))


def wanted_names(known: Iterable[str], source: bool) -> list[str]:
    """Of the metrics that a vertex has, those to ask for: Flink tells nothing at all if one of them is not there."""
    names = set(known)
    found = [name for name in _PLAIN if name in names]
    if source:
        found += sorted(name for name in names if name.endswith(PENDING))
    return found + sorted(name for name in names if name.startswith(_MARKER) and name.endswith(".latency_mean"))


def parse_names(answer: Any) -> list[str]:
    try:
        return [str(one["id"]) for one in answer]
    except (KeyError, TypeError) as error:
        raise FlinkError("the list of metrics is not what Flink answers") from error


def parse_reading(answer: Any, source: bool) -> Reading:
    """Metrics aggregated over subtasks, as Flink answers with them."""
    try:
        sums = {str(one["id"]): float(one["sum"]) for one in answer}
        most = {str(one["id"]): float(one.get("max", math.nan)) for one in answer}
    except (KeyError, TypeError, ValueError) as error:
        raise FlinkError(f"metrics are not what Flink answers: {str(answer)[:80]}") from error
    pending = [value for name, value in sums.items() if name.endswith(PENDING)]
    markers = [value for name, value in sums.items() if name.startswith(_MARKER) and not math.isnan(value)]
    records = sums.get(RECORDS_IN, math.nan)
    if source and not records > 0.0:  # sources of old do not count what they read, only what they hand on
        records = sums.get(RECORDS_OUT, math.nan)
    share = most.get(RECORDS_IN, math.nan) / records if records > 0.0 else math.nan
    return Reading(
        busy_s=sums.get(BUSY, math.nan) / 1000.0,
        idle_s=sums.get(IDLE, math.nan) / 1000.0,
        blocked_s=sums.get(BLOCKED, math.nan) / 1000.0,
        records_in=records,
        records_out=sums.get(RECORDS_OUT, math.nan),
        bytes_in=sums.get(BYTES_IN, math.nan),
        input_queue_bytes=_least_0(sums.get(INPUT_QUEUE, math.nan)),
        output_queue_bytes=_least_0(sums.get(OUTPUT_QUEUE, math.nan)),
        pending=_least_0(_sum(pending)),
        busiest_share=share,
        marker_s=_sum(markers) / len(markers) / 1000.0 if markers else math.nan,
    )


def _least_0(value: float) -> float:
    """Flink counts what comes to a queue and what leaves it one after the other, and may tell of less than none."""
    return value if math.isnan(value) else max(value, 0.0)


def _sum(values: Sequence[float]) -> float:
    return sum(values) if values else math.nan
