"""What an adaptive scheduler does, shown as it happens: which composition runs, why, and what each is worth.

It is fed events (`adaptation.events`), from wherever they come: a simulation now, a live engine later.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from types import TracebackType
from typing import TYPE_CHECKING

from dovetail.adaptation.perception import FEATURES

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from dovetail.adaptation.events import Event


class AdaptDisplay:
    """A table that changes on a terminal; elsewhere a line for each event."""

    def __init__(self, compositions: Sequence[str], *, live: bool) -> None:
        self._compositions = compositions
        self._live: Live | None = None
        self._wanted = live

    def __enter__(self) -> AdaptDisplay:
        if self._wanted:
            from rich.live import Live

            self._live = Live(auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, event: Event) -> None:
        if self._live is None:
            print(line_of(event), flush=True)
        else:
            self._live.update(beliefs_table(event, self._compositions), refresh=True)


def line_of(event: Event) -> str:
    cost = "" if event.cost is None else f" cost {event.cost:.3g}"
    told = f"; {event.ended}{cost}" if event.ended else ""
    mark = "tries" if event.explores else "runs "
    return f"{event.time_s:>10.1f} s  work {event.work}  {mark} {event.composition}  ({event.why}{told})"


def beliefs_table(event: Event, compositions: Sequence[str]) -> RenderableType:
    from rich.table import Table

    work = ", ".join(f"{name} {value:.2f}" for name, value in zip(FEATURES, event.features, strict=False))
    table = Table(
        title=f"{event.time_s:,.0f} s: {event.why}",
        caption=f"work of class {event.work}: {work}",
        title_justify="left",
        caption_justify="left",
    )
    for head in ("", "composition", "believed worth", "±", "windows"):
        table.add_column(head, justify="left" if head in ("", "composition") else "right")
    for name, belief in zip(compositions, event.beliefs, strict=False):
        width = f"{belief.width:.2f}" if isfinite(belief.width) else "?"
        known = (f"{belief.mean:.2f}", width, f"{belief.pulls:.0f}") if belief.pulls else ("?", "", "0")
        if name == event.composition:
            table.add_row("tries" if event.explores else "runs", name, *known, style="bold")
        else:
            table.add_row("", name, *known)
    return table
