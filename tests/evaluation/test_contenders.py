from __future__ import annotations

import pytest
from tests.evaluation.matrices import register_odd

from dovetail.core.errors import ConfigError, UnknownName
from dovetail.evaluation.contenders import Contender, choose
from dovetail.schedulers import SCHEDULERS


def test_params_are_what_differs_from_the_defaults() -> None:
    assert Contender.of("dag/weighted-fair:alpha=1").params == {"alpha": 1.0}
    assert Contender.of("dag/weighted-fair:alpha=-0.5").params == {}
    assert Contender.of("dag/rollout:base.alpha=1,jobs=2").params["jobs"] == 2


def test_kind_is_the_folder_and_others_may_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    register_odd(monkeypatch, "Sound", "Raises")
    kinds = {name: Contender.of(name).kind for name in ("dag/fair", "dag/rollout", "dag/sound", "dag/raises")}
    assert list(kinds.values()) == ["heuristic", "optimise", "other", "learned"]


def test_all_leaves_slow_ones_out_and_says_so() -> None:
    few, many = choose("all", jobs=20, family="dag"), choose("all", jobs=21, family="dag")
    assert {one.name for one in few.contenders} == {*SCHEDULERS.names("dag")} - {"dag/decima-search"}
    assert few.notes == ("`all` leaves out dag/decima-search, which is slow; name it to run it",)
    slow = {"dag/rollout", "dag/oracle-search", "dag/decima-search"}
    assert not slow & {one.name for one in many.contenders}
    assert len(many.notes) == 3 and all(any(name in note for note in many.notes) for name in slow)
    named = choose("all,dag/rollout,dag/weighted-fair:alpha=1", jobs=21, family="dag")
    assert [one.spec for one in named.contenders][-2:] == ["dag/rollout", "dag/weighted-fair:alpha=1"]


def test_heuristics_are_all_of_those() -> None:
    chosen = choose("heuristics,dag/weighted-fair:alpha=1", jobs=500, family="dag")
    assert {one.kind for one in chosen.contenders} == {"heuristic"} and not chosen.notes
    assert len(chosen.contenders) > 10 and chosen.contenders[-1].spec == "dag/weighted-fair:alpha=1"


def test_equal_ones_run_once() -> None:
    chosen = choose("dag/weighted-fair,dag/weighted-fair:alpha=-0.5", jobs=5, family="dag")
    assert [one.spec for one in chosen.contenders] == ["dag/weighted-fair"]
    assert "the same as" in chosen.notes[0]


@pytest.mark.parametrize("specs", ["", [], ","])
def test_none(specs: str | list[str]) -> None:
    with pytest.raises(ConfigError, match="none given"):
        choose(specs, jobs=5, family="dag")


def test_unknown() -> None:
    with pytest.raises(UnknownName, match="did you mean 'dag/fifo'"):
        choose("dag/fair,dag/fifoo", jobs=5, family="dag")
    with pytest.raises(ConfigError, match="unknown key"):
        choose("dag/weighted-fair:beta=1", jobs=5, family="dag")
