"""Two kinds of places and two kinds of orders: nobody is asked for what it does not have."""

from __future__ import annotations

import pytest

from dovetail.schedulers.gpu_parts import GPU_PARTS
from dovetail.schedulers.heuristic.gpu.order import OrderPart, PreemptiveOrder
from dovetail.schedulers.heuristic.gpu.place import PlacePart, ScoringPlace

WHOLE_GANGS = {"place/topology", "place/fastest"}
PREEMPTIVE = {"order/srtf", "order/las", "order/max-min"}


@pytest.mark.parametrize("name", GPU_PARTS.names("place"))
def test_a_place_scores_machines_or_places_whole_gangs(name: str) -> None:
    place = GPU_PARTS.create(name)
    assert isinstance(place, PlacePart)
    assert isinstance(place, ScoringPlace) == (name not in WHOLE_GANGS) == hasattr(place, "scores")


@pytest.mark.parametrize("name", GPU_PARTS.names("order"))
def test_running_jobs_have_keys_where_they_may_be_stopped(name: str) -> None:
    order = GPU_PARTS.create(name)
    assert isinstance(order, OrderPart)
    assert isinstance(order, PreemptiveOrder) == (name in PREEMPTIVE) == hasattr(order, "run_keys")


def test_a_part_that_does_not_say_what_it_must_is_refused() -> None:
    for kind, missing in ((PlacePart, "gang"), (ScoringPlace, "scores"), (PreemptiveOrder, "run_keys")):
        with pytest.raises(TypeError, match=missing):
            type("Mine", (kind,), {})()
