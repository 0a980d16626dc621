"""Swaps outlast the server: one that is started again goes on with the scheduler that was put in charge last.

Only if it is started with the same scheduler as before, that is: whoever names another one wants that one.
"""

from __future__ import annotations

import json

from dovetail.execution.journal import Journal

SWAP = "swap"


def keep_swap(journal: Journal, asked_for: str, name: str) -> None:
    """`asked_for` when the engine was started; `name` is in charge now."""
    journal.set_order(SWAP, None if name == asked_for else json.dumps([asked_for, name]))


def kept_swap(journal: Journal, asked_for: str) -> str:
    """The scheduler to start with."""
    kept = journal.order(SWAP)
    if kept is None:
        return asked_for
    before, name = json.loads(kept)
    if before == asked_for:
        return str(name)
    journal.set_order(SWAP, None)
    return asked_for
