"""Dovetail: schedulers that fit a workload, proven in a fast simulator, run on a real engine.

The names below are the public interface; each is imported when first used, so that
`import dovetail` stays instant and loads none of the heavy libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.core.errors import DovetailError as DovetailError
    from dovetail.core.seeds import SeedTree as SeedTree
    from dovetail.schedulers import SCHEDULERS as SCHEDULERS

__version__ = "0.1.0"

_EXPORTS = {
    "SCHEDULERS": "dovetail.schedulers",
    "DovetailError": "dovetail.core.errors",
    "SeedTree": "dovetail.core.seeds",
}

__all__ = ["SCHEDULERS", "DovetailError", "SeedTree", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_EXPORTS[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
