"""Which engines can be used on this machine: a probe for each, which looks and starts nothing.

A probe is a module with `probe() -> Finding`.  A new engine is a line here and a file beside.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from dovetail.execution.probes.finding import Finding

PROBES: dict[str, str] = {
    "local": "dovetail.execution.probes.local",
    "ray": "dovetail.execution.probes.ray",
    "slurm": "dovetail.execution.probes.slurm",
    "spark": "dovetail.execution.probes.spark",
    "flink": "dovetail.execution.probes.flink",
}
"""Engine -> module, in the order in which they are shown.  The first is the default, which needs nothing."""

DEFAULT = "local"


def probe(engine: str) -> Finding:
    """What there is of an engine.  A probe that fails says so: nothing else depends on it."""
    try:
        look: Callable[[], Finding] = import_module(PROBES[engine]).probe
        return look()
    except Exception as error:
        return Finding(engine, missing=(f"the look at it failed with {type(error).__name__}: {error}",))


__all__ = ["DEFAULT", "PROBES", "Finding", "probe"]
