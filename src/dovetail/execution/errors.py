"""Errors of work that is really run.  All of them survive pickling: `args` are the constructor's arguments."""

from __future__ import annotations

from dovetail.core.errors import DovetailError


class InvalidJob(DovetailError):
    """A job that cannot be accepted as it is: its graph, its sizes, its functions or its arguments."""
