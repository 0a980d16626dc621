"""Programs for HiGHS: a knapsack, its relaxation, and what cannot be solved."""

import numpy as np
import pytest

from dovetail.schedulers.optimise.program import INFINITY, Limits, Program


def knapsack() -> Program:
    program = Program()
    columns = program.add_columns(3, cost=np.array([5.0, 4.0, 3.0]), upper=1.0, integer=True)
    row = np.zeros(3, dtype=np.int64)
    program.add_rows(1, (row, columns, np.array([2.0, 3.0, 1.0])), lower=-INFINITY, upper=4.5)
    return program


def test_whole_and_relaxed():
    whole, relaxed = knapsack().solve(), knapsack().solve(relaxed=True)
    assert whole.values is not None and whole.values.tolist() == [1.0, 0.0, 1.0]
    assert (whole.objective, whole.bound, whole.optimal) == (8.0, 8.0, True)
    assert relaxed.objective == relaxed.bound == pytest.approx(10.0)


def test_an_entry_given_twice_is_a_sum():
    program = knapsack()
    one = np.zeros(1, dtype=np.int64)
    program.add_rows(1, (one, one, 1.0), (one, one, 1.0), lower=-INFINITY, upper=1.0)  # 2 x <= 1
    assert program.solve().objective == 7.0


def test_what_has_no_solution():
    program = knapsack()
    program.add_rows(1, (np.zeros(3, dtype=np.int64), np.arange(3), 1.0), lower=4.0, upper=INFINITY)
    answer = program.solve()
    assert answer.infeasible and answer.values is None and answer.bound == -INFINITY


def test_a_start_is_there_when_the_time_is_up():
    start = np.array([0.0, 1.0, 1.0])
    answer = knapsack().solve(Limits(time_s=0.0), start=start)
    assert answer.objective >= 7.0
    assert answer.bound >= 8.0


def test_nothing_to_decide():
    assert Program().solve().objective == 0.0
