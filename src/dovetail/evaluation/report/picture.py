"""What a family adds to the page: a picture of who had what when, with its scripts and data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from dovetail.records.run import Run

Shown = tuple[int, str, Run]
"""A run kept in full: its place in the table, its label, and itself."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Goes below the charts.  `scripts` are assets that run after those of the page; `data` is in their `DATA`."""

    html: str
    scripts: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


def asset(name: str) -> str:
    """A file that pages are made of."""
    return files("dovetail.evaluation.report").joinpath("assets", name).read_text(encoding="utf-8")
