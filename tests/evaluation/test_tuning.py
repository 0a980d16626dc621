from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from dovetail.core.dag import Floats
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.spec import parse_spec
from dovetail.evaluation.contenders import Contender
from dovetail.evaluation.tuning import Measure, Space, search, tunable
from dovetail.records.summary import Entry
from dovetail.schedulers import SCHEDULERS


def measured(cost: Callable[[dict[str, float]], float | None], log: list[str]) -> Measure:
    """A made-up landscape over the parameters that differ from the defaults."""

    def measure(contenders: Sequence[Contender]) -> Mapping[Entry, Floats]:
        found = {}
        for one in contenders:
            log.append(one.spec)
            value = cost({key: float(text) for key, text in parse_spec(one.spec)[1].items()})
            if value is not None:
                found[one.entry] = np.array([value, value + 1.0])
        return found

    return measure


def test_the_whole_line_is_tried_once() -> None:
    log: list[str] = []
    tuned = search(
        Space.of("dag/weighted-fair"),
        "avg_jct_s",
        measured(lambda p: (p.get("alpha", -0.5) + 1.2) ** 2, log),
    )
    assert len(log) == len(set(log)) == 41
    assert [point.values["alpha"] for point in tuned.points] == [i / 10 for i in range(-20, 21)]
    assert tuned.best.contender.spec == "dag/weighted-fair:alpha=-1.2"
    assert tuned.start.contender.spec == "dag/weighted-fair"
    assert tuned.gain.mean < 0 and tuned.at_edge() == []


def test_more_may_be_better() -> None:
    tuned = search(Space.of("dag/weighted-fair"), "utilisation", measured(lambda p: p.get("alpha", -0.5) + 9, []))
    assert tuned.best.values == {"alpha": 2.0} and tuned.at_edge() == ["alpha"]


def test_without_effect_nothing_changes() -> None:
    tuned = search(Space.of("dag/graphene"), "avg_jct_s", measured(lambda p: 5.0, []))
    assert tuned.best is tuned.start and tuned.best.contender.spec == "dag/graphene"


def test_large_grids_go_a_parameter_at_a_time() -> None:
    def cost(p: dict[str, float]) -> float:
        return (p.get("alpha", -0.5) - 0.3) ** 2 + (p.get("long_threshold", 0.8) - 1.0) ** 2 + 1

    log: list[str] = []
    tuned = search(Space.of("dag/graphene"), "avg_jct_s", measured(cost, log))
    assert tuned.best.contender.spec == "dag/graphene:alpha=0.3,long_threshold=1.0"
    assert len(log) < 120 < tuned.space.size


def test_small_grids_are_searched_in_full() -> None:
    log: list[str] = []
    space = Space.of("dag/graphene:alpha=1")
    tuned = search(space, "avg_jct_s", measured(lambda p: 3.0 - p.get("fit_threshold", 0.3), log))
    assert len(log) == space.size == 42 and all("alpha=1" in spec for spec in log)
    assert tuned.best.contender.spec == "dag/graphene:alpha=1,fit_threshold=0.5"


def test_candidates_that_fail_are_left_out() -> None:
    def cost(p: dict[str, float]) -> float | None:
        return None if p.get("alpha", -0.5) < -1 else p.get("alpha", -0.5) + 5

    tuned = search(Space.of("dag/weighted-fair"), "avg_jct_s", measured(cost, []))
    assert tuned.best.values == {"alpha": -1.0} and len(tuned.points) == 31
    with pytest.raises(DovetailError, match="failed, so nothing can be tuned"):
        search(Space.of("dag/weighted-fair"), "avg_jct_s", measured(lambda p: None, []))


def test_what_cannot_be_tuned() -> None:
    with pytest.raises(ConfigError, match=r"declares nothing to tune; these do: .*dag/weighted-fair"):
        Space.of("dag/fifo")
    with pytest.raises(ConfigError, match="given already"):
        Space.of("dag/weighted-fair:alpha=1")


@pytest.mark.parametrize("name", tunable())
def test_every_declared_value_is_valid(name: str) -> None:
    space = Space.of(name)
    for key, values in space.grid.items():
        assert space.start[key] in values, f"{name}: the default of {key} should be among the values tried"
        for value in values:
            params: dict[str, Any] = {key: value}
            SCHEDULERS.create(name, params)
