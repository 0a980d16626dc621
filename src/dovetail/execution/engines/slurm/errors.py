"""Errors in talking to Slurm."""

from __future__ import annotations

from dovetail.core.errors import DovetailError


class SlurmError(DovetailError):
    """Slurm is missing or out of reach, or said what cannot be understood."""


class SlurmUnreachable(SlurmError):
    """The controller does not answer now; it may later."""
