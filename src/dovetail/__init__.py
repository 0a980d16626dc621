"""Dovetail: schedulers that fit a workload, proven in a fast simulator, run on a real engine.

The names below are the public interface; each is imported when first used, so that
`import dovetail` stays instant and loads none of the heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.core.lazy import lazy_exports

if TYPE_CHECKING:
    from dovetail.core.dag import DagDecision as DagDecision
    from dovetail.core.dag import DagInfo as DagInfo
    from dovetail.core.dag import DagView as DagView
    from dovetail.core.dag import Reason as Reason
    from dovetail.core.errors import DovetailError as DovetailError
    from dovetail.core.seeds import SeedTree as SeedTree
    from dovetail.execution.engines.spark.steering import steer_spark as steer_spark
    from dovetail.schedulers import SCHEDULERS as SCHEDULERS
    from dovetail.sim.dag import DagOptions as DagOptions
    from dovetail.sim.dag import DagWorld as DagWorld
    from dovetail.sim.dag import run as run
    from dovetail.workloads.arrivals import Arrivals as Arrivals
    from dovetail.workloads.source import open_source as open_source

__version__ = "0.1.0"

_EXPORTS = {
    "SCHEDULERS": "dovetail.schedulers",
    "Arrivals": "dovetail.workloads.arrivals",
    "DagDecision": "dovetail.core.dag",
    "DagInfo": "dovetail.core.dag",
    "DagOptions": "dovetail.sim.dag",
    "DagView": "dovetail.core.dag",
    "DagWorld": "dovetail.sim.dag",
    "DovetailError": "dovetail.core.errors",
    "Reason": "dovetail.core.dag",
    "SeedTree": "dovetail.core.seeds",
    "open_source": "dovetail.workloads.source",
    "run": "dovetail.sim.dag",
    "steer_spark": "dovetail.execution.engines.spark.steering",
}

__all__ = [
    "SCHEDULERS",
    "Arrivals",
    "DagDecision",
    "DagInfo",
    "DagOptions",
    "DagView",
    "DagWorld",
    "DovetailError",
    "Reason",
    "SeedTree",
    "__version__",
    "open_source",
    "run",
    "steer_spark",
]

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
