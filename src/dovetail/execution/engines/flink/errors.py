"""Errors in talking to Flink."""

from __future__ import annotations

from dovetail.core.errors import DovetailError


class FlinkError(DovetailError):
    """Flink is out of reach, cannot do what is asked for, or said what cannot be understood."""


class FlinkUnreachable(FlinkError):
    """The job manager does not answer now; it may later."""


class FlinkRefused(FlinkError):
    """The job manager answered, and does not do it."""
