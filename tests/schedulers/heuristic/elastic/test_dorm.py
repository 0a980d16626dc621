"""elastic/dorm on toys, and its program against trying everything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedulers.heuristic.elastic.dividing import contended_division, random_division, value_of
from tests.schedulers.heuristic.elastic.playing import play, workers_in

from dovetail.core.elastic import Reason
from dovetail.schedulers.heuristic.elastic.division import Division
from dovetail.schedulers.heuristic.elastic.dorm import Dorm
from dovetail.schedulers.optimise.program import Limits, Program
from dovetail.testing.elastic_tiny import TinyJob

SMALL, LARGE = TinyJob(8), TinyJob(8, cpu=15.0)  # two GPUs; of the second's workers processors are used too


def test_utilisation_decides_where_fairness_does_not():
    result = play(Dorm(Dorm.Params(fairness=1.0)), [SMALL, LARGE], slots=1)
    assert workers_in(result, 0) == [0, 2]
    assert {row.reason for row in result.decision_log} == {Reason.MAXIMAL_UTILISATION}


def test_with_no_loss_of_fairness_it_is_drf():
    result = play(Dorm(Dorm.Params(fairness=0.0)), [SMALL, LARGE], slots=1)
    assert workers_in(result, 0) == [1, 1]


def test_change_is_bounded():
    """The newcomer is due a GPU; with no change allowed the first keeps both, with change it gives one up."""
    jobs = [SMALL, TinyJob(8, arrival=1)]
    kept = play(Dorm(Dorm.Params(fairness=0.0, change=0.0)), jobs, slots=2)
    assert [workers_in(kept, slot) for slot in (0, 1)] == [[2, 0], [2, 0]]
    changed = play(Dorm(Dorm.Params(fairness=0.0, change=1.0)), jobs, slots=2)
    assert [workers_in(changed, slot) for slot in (0, 1)] == [[2, 0], [1, 1]]


def test_between_arrivals_and_completions_everybody_keeps_what_he_has():
    result = play(Dorm(), [SMALL, LARGE], slots=2)
    reasons = {row.slot: row.reason for row in result.decision_log}
    assert reasons == {0: Reason.MAXIMAL_UTILISATION, 1: Reason.LAST_DIVISION}
    assert workers_in(result, 0) == workers_in(result, 1)


def test_without_a_division_in_time_everybody_keeps_what_he_has(monkeypatch: pytest.MonkeyPatch):
    solve, calls = Division.solve, []

    def only_once(self: Division, limits: Limits):
        calls.append(limits)
        return solve(self, limits) if len(calls) == 1 else None

    monkeypatch.setattr(Division, "solve", only_once)
    result = play(Dorm(Dorm.Params(fairness=0.0, change=1.0)), [SMALL, TinyJob(8, arrival=1)], slots=3)
    assert [workers_in(result, slot) for slot in range(3)] == [[2, 0]] * 3
    assert result.decision_log[-1].reason == Reason.LAST_DIVISION
    assert len(calls) == 2


def test_a_least_number_of_workers_or_none():
    jobs = [TinyJob(8, gpu=1), TinyJob(8, gpu=1)]
    result = play(Dorm(Dorm.Params(least=2, fairness=0.0)), jobs, slots=1)
    assert sorted(workers_in(result, 0)) == [0, 2]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [({"fairness": 2.0}, "from 0 to 1"), ({"least": 0}, "1 or more"), ({"time_s": 0.0}, "more than 0")],
)
def test_parameters_have_ranges(wrong: dict[str, float], text: str):
    with pytest.raises(ValueError, match=text):
        Dorm.Params(**wrong)


# --- the program -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_program_equals_trying_everything(seed: int):
    division, best = random_division(seed)
    answer = division.answer(Limits())
    assert answer.optimal
    assert answer.objective == pytest.approx(best, abs=1e-5)
    found = division.solve(Limits())
    assert found is not None
    assert value_of(division, *found) == pytest.approx(best, abs=1e-5) or any(
        found[1].sum(axis=1) > found[0].sum(axis=1)
    )


def test_a_division_within_the_gap_needs_no_search_of_the_whole(monkeypatch: pytest.MonkeyPatch):
    """What exchanges found is taken; only if that is not good enough is there a search, which begins with it."""
    solve, searched = Program.solve, []

    def noted(self: Program, limits: Limits, **how: object):
        searched.append("relaxed" if how.get("relaxed") else "from there" if how.get("start") is not None else "whole")
        return solve(self, limits, **how)

    monkeypatch.setattr(Program, "solve", noted)
    division = contended_division()
    roughly = division.answer(Limits(nodes=1, gap=0.2))
    assert searched == ["relaxed"]
    assert roughly.optimal and roughly.objective >= roughly.bound - 0.2 * roughly.objective
    found = division.solve(Limits(nodes=1, gap=0.2))
    assert found is not None
    changed = (found[0] != division.worker_before).any(axis=1) & division.running
    assert 0 < changed.sum() <= division.changes
    searched.clear()
    exactly = division.answer(Limits(nodes=50, gap=0.0))
    assert searched == ["relaxed", "from there"]
    assert roughly.objective <= exactly.objective + 1e-6 and exactly.objective <= roughly.bound + 1e-6
