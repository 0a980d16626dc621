"""Parameters of an order and a place, together."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from dovetail.core.config import build, describe
from dovetail.core.errors import ConfigError
from dovetail.core.spec import read_overrides
from dovetail.schedulers.heuristic.gpu.orders.fifo import Fifo
from dovetail.schedulers.heuristic.gpu.pairing import pair
from dovetail.schedulers.heuristic.gpu.places.pack import Pack


class OneOrder(Fifo):
    @dataclass(frozen=True)
    class Params:
        strict: bool = False
        weight: float = field(default=1.0, metadata={"help": "of the order"})

    TUNE = {"weight": (1.0, 2.0)}  # noqa: RUF012


class OnePlace(Pack):
    @dataclass(frozen=True)
    class Params:
        weight: float = 5.0
        depth: int = 1

        def __post_init__(self) -> None:
            if self.depth < 1:
                raise ValueError(f"depth is {self.depth}; expected 1 or more")

    TUNE = {"depth": (1, 2)}  # noqa: RUF012


BOTH = pair(OneOrder, OnePlace)


def made(**given: str) -> object:
    params = BOTH.Params
    return BOTH(build(params, read_overrides(params, given, "gpu/one+one"), "gpu/one+one"))


def test_the_same_parts_make_the_same_class() -> None:
    assert pair(OneOrder, OnePlace) is BOTH
    assert pair(Fifo, OnePlace) is not BOTH


def test_each_part_gets_its_own() -> None:
    scheduler = made(strict="true", depth="3", **{"order.weight": "7", "place.weight": "8"})
    assert scheduler.order.params == OneOrder.Params(strict=True, weight=7.0)  # type: ignore[attr-defined]
    assert scheduler.place.params == OnePlace.Params(weight=8.0, depth=3)  # type: ignore[attr-defined]


def test_defaults_are_those_of_the_parts() -> None:
    scheduler = BOTH()
    assert (scheduler.order.params, scheduler.place.params) == (OneOrder.Params(), OnePlace.Params())


def test_one_that_both_have_must_say_which() -> None:
    with pytest.raises(ConfigError, match=r"weight: unknown key; did you mean 'order\.weight' or 'place\.weight'"):
        made(weight="2")


def test_listed_as_they_are_typed() -> None:
    names = [one.name for one in describe(BOTH.Params)]
    assert names == ["strict", "order.weight", "depth", "place.weight"]
    assert {one.name: one.default for one in describe(BOTH.Params)}["place.weight"] == 5.0
    assert BOTH.TUNE == {"order.weight": (1.0, 2.0), "depth": (1, 2)}


def test_a_part_checks_its_own() -> None:
    with pytest.raises(ConfigError, match="depth is 0; expected 1 or more"):
        made(depth="0")


def test_frozen() -> None:
    with pytest.raises(AttributeError):
        BOTH.Params().strict = True
