"""Compositions as text: `drf+equal-dominant+smallest-fit+local`, or a whole scheduler such as `dag/decima`.

Parts stand in the order of the verbs, order+size+place+dispatch, each with its parameters if it has any:
`srtf+hesrpt:speedup=0.8+smallest-fit+local`.  Later ones may be left out: they are `all`, `smallest-fit`, `central`.
"""

from __future__ import annotations

from typing import NamedTuple

from dovetail.adaptation.parts import PARTS, VERBS
from dovetail.core.errors import ConfigError
from dovetail.core.spec import parse_spec
from dovetail.schedulers import SCHEDULERS

ADAPTIVE = "dag/adaptive"


class Composition(NamedTuple):
    """A choice of parts, or one whole scheduler instead of them."""

    order: str = "fifo"
    size: str = "all"
    place: str = "smallest-fit"
    dispatch: str = "central"
    whole: str = ""  # spec of a scheduler; then the parts mean nothing

    def __str__(self) -> str:
        return self.whole or "+".join(self[: len(VERBS)])


def parse_composition(text: str) -> Composition:
    """Read it, and see that every part exists; errors say which part of which composition is wrong."""
    text = text.strip()
    if "/" in text.partition(":")[0]:
        name, _ = parse_spec(text)
        if name == ADAPTIVE:
            raise ConfigError(f"composition {text!r}: it cannot contain itself")
        SCHEDULERS.entry(name)
        return Composition(whole=text)
    parts = [part.strip() for part in text.split("+")]
    if not all(parts) or len(parts) > len(VERBS):
        raise ConfigError(
            f"composition {text!r}: expected {'+'.join(VERBS)}, such as drf+equal-dominant+smallest-fit+local, "
            "or a scheduler such as dag/decima"
        )
    for verb, part in zip(VERBS, parts, strict=False):
        PARTS.create(f"{verb}/{part}")
    return Composition(*parts)
