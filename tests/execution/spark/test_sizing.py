"""How many executors are asked for, and which are given back."""

from __future__ import annotations

from dovetail.execution.engines.spark.messages import Executors, Look, Resize
from dovetail.execution.engines.spark.sizing import Sizing


def resized(sizing: Sizing, time_s: float, wanted: int, **running: int) -> Resize | None:
    look = Look(time_s, 0, False, (), (), Executors(2, tuple(running.items())))
    return next((one for one in sizing.step(look, wanted) if isinstance(one, Resize)), None)


def test_more_are_asked_for_at_once_and_within_bounds() -> None:
    sizing = Sizing((1, 4), idle_s=10.0)
    assert resized(sizing, 0.0, 2, a=2) is None
    assert resized(sizing, 1.0, 5, a=2) == Resize(3)
    assert resized(sizing, 2.0, 5, a=2) is None, "it has been asked for"
    assert resized(sizing, 3.0, 100, a=2, b=2, c=1) == Resize(4)


def test_what_nobody_wants_for_a_while_is_given_back() -> None:
    sizing = Sizing((1, 4), idle_s=10.0)
    assert resized(sizing, 0.0, 8, a=2, b=2, c=2, d=2) is None
    assert resized(sizing, 5.0, 3, a=2, b=1, c=0, d=0) is None
    assert resized(sizing, 16.0, 3, a=2, b=1, c=0, d=0) == Resize(2, ("c", "d"))
    assert resized(sizing, 17.0, 0, a=1, b=0) is None
    assert resized(sizing, 20.0, 4, a=2, b=1) is None, "wanted again meanwhile"
    assert resized(sizing, 29.0, 0, a=1, b=0) is None
    assert resized(sizing, 40.0, 0, a=1, b=0) == Resize(1, ("b",))


def test_the_last_one_stays_and_a_busy_one_is_never_taken() -> None:
    sizing = Sizing((1, 4), idle_s=0.0)
    assert resized(sizing, 0.0, 0, a=0) is None
    assert resized(sizing, 1.0, 0, a=1, b=1) is None
