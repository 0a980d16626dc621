"""Conformance kit: checks for schedulers, worlds and workloads, and the slow, plain program the fast one is held to.

Public, so that what is written elsewhere can be held against the same reference.  Names are imported when first
used: hand-made views for schedulers do not need a simulator.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.testing.conformance import check_scheduler, check_workload, check_world
    from dovetail.testing.dag_reference import ReferenceDagWorld

__all__ = ["ReferenceDagWorld", "check_scheduler", "check_workload", "check_world"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "dag_reference" if name == "ReferenceDagWorld" else "conformance"
    return getattr(import_module(f"{__name__}.{module}"), name)
