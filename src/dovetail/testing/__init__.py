"""Conformance kit: slow, plain programs that say what the fast ones must do.

Public, so that a simulator, scheduler or engine written elsewhere can be held against the same reference.
Names are imported when first used: hand-made views for schedulers do not need a simulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.testing.dag_reference import ReferenceDagWorld

__all__ = ["ReferenceDagWorld"]


def __getattr__(name: str) -> object:
    if name != "ReferenceDagWorld":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dovetail.testing.dag_reference import ReferenceDagWorld

    return ReferenceDagWorld
