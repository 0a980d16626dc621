"""The compiled files of this folder depend on those of the features: see `core.stale_code`."""

from __future__ import annotations

from pathlib import Path

from dovetail import features
from dovetail.core.stale_code import forget_stale_code
from dovetail.features.gpu_measure import OPTIONS

forget_stale_code(Path(__file__).parent, Path(features.__file__).parent)

__all__ = ["OPTIONS"]
