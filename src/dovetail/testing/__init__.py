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
    from dovetail.testing.gpu_reference import ReferenceGpuWorld
    from dovetail.testing.stream_reference import ReferenceStreamWorld

__all__ = [
    "ReferenceDagWorld",
    "ReferenceGpuWorld",
    "ReferenceStreamWorld",
    "check_scheduler",
    "check_workload",
    "check_world",
]
_HOMES = {  # others: conformance
    "ReferenceDagWorld": "dag_reference",
    "ReferenceGpuWorld": "gpu_reference",
    "ReferenceStreamWorld": "stream_reference",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'conformance')}"), name)
