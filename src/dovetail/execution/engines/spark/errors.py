"""Errors in steering Spark."""

from __future__ import annotations

from dovetail.core.errors import DovetailError


class SparkError(DovetailError):
    """Spark, or Java, is missing, of a version that was not tested, or lacks what steering it needs."""
