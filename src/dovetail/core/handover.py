"""What one scheduler, or a part of one, remembers, and another can go on with: how a swap transfers state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

State = Mapping[str, object]
"""By what remembers it, such as `order/las`, so that only what is like it takes it over."""

BELIEFS = "beliefs"
"""The one name whose value is plain (JSON can hold it) and means something in another run, too."""


@runtime_checkable
class HasState(Protocol):
    """A scheduler, or a part of one, that remembers."""

    def export_state(self) -> State: ...

    def import_state(self, state: State) -> Sequence[str]:
        """Go on with what is understood of it, after `reset`; the names of that.  `ConfigError`: it should have been
        understood, but something is wrong with it; nothing has been taken over then."""
        ...
