"""What every reader of a foreign source hands back."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.workloads.source import DagSource


@dataclass(frozen=True, eq=False)
class Imported:
    """A source, and what the person who imports it should know about it (one sentence each)."""

    source: DagSource
    notes: tuple[str, ...] = ()
