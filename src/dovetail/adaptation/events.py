"""What an adaptive scheduler did and why, as plain data that displays, records and reports can show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf, isfinite
from typing import Any, Literal

from dovetail.adaptation.learners import Belief

EventKind = Literal["start", "window", "guard"]


@dataclass(frozen=True)
class Event:
    """`composition` is what decides from `time_s` on."""

    time_s: float
    kind: EventKind
    composition: str
    why: str
    work: int = -1  # class of work, -1: not known yet
    features: tuple[float, ...] = ()
    explores: bool = False
    ended: str = ""  # the composition whose window has ended
    cost: float | None = None  # of that window; None: nothing to judge it by
    reward: float | None = None
    beliefs: tuple[Belief, ...] = field(default=())  # by composition, for this class of work

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Event:
        """The inverse of `as_json`, for whoever watches from another process."""
        values = dict(document)
        values["features"] = tuple(values["features"])
        values["beliefs"] = tuple(
            Belief(b["mean"], inf if b["width"] is None else b["width"], b["windows"]) for b in values["beliefs"]
        )
        return cls(**values)

    def as_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["beliefs"] = [
            {"mean": b.mean, "width": b.width if isfinite(b.width) else None, "windows": b.pulls} for b in self.beliefs
        ]
        return document
