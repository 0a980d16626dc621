"""Checks that anybody can run on a scheduler, a world or a workload of their own.

    from dovetail.testing import check_scheduler
    check_scheduler(lambda: MyScheduler())
    check_scheduler(lambda: MyElasticScheduler(), family="elastic")

Each raises `AssertionError` with what was wrong; a scheduler that passes can be compared, recorded and explained.
What is checked is written down for each family (`conformance_dag`, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from dovetail.core.errors import UnknownName

KITS = {
    "dag": "dovetail.testing.conformance_dag",
    "elastic": "dovetail.testing.conformance_elastic",
    "gpu": "dovetail.testing.conformance_gpu",
    "stream": "dovetail.testing.conformance_stream",
}
"""Family -> the module with its checks, imported when one is wanted."""


def check_scheduler(make: Callable[[], Any], *, seed: int = 0, family: str = "dag") -> None:
    """A scheduler is valid, deterministic, leaves the view alone, and says why."""
    _kit(family).check_scheduler(make, seed=seed)


def check_world(make: Callable[..., Any], *, family: str = "dag") -> None:
    """A world offers valid read-only views, refuses what is invalid without changing, and comes to an end.

    `make(workload, options, seeds)` makes it; of `gpu`, `make(workload, speed model, options, seeds)`.
    """
    _kit(family).check_world(make)


def check_workload(source: Any, *, family: str = "dag") -> None:
    """A workload source is valid, and the same seed gives the same sequence."""
    _kit(family).check_workload(source)


def global_random_state() -> str:
    """Of the generator that nobody here may draw from."""
    return str(np.random.get_state(legacy=False))  # noqa: NPY002 - this is about the legacy state


def _kit(family: str) -> Any:
    if family not in KITS:
        raise UnknownName("family", family, KITS)
    return import_module(KITS[family])
