"""What every reader of a foreign source hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from dovetail.workloads.elastic_source import ElasticSource
from dovetail.workloads.gpu_source import GpuSource
from dovetail.workloads.source import DagSource
from dovetail.workloads.stream_rates import RecordedRates
from dovetail.workloads.stream_source import StreamSource

Source = TypeVar("Source", DagSource, ElasticSource, GpuSource, StreamSource, RecordedRates)


@dataclass(frozen=True, eq=False)
class Imported(Generic[Source]):
    """A source, and what the person who imports it should know about it (one sentence each)."""

    source: Source
    notes: tuple[str, ...] = ()
