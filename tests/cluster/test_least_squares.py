import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.cluster.least_squares import non_negative


def by_trying_all(matrix, target):
    """The least residual over all sets of coefficients that are not zero."""
    best = np.linalg.norm(target)
    for size in range(1, matrix.shape[1] + 1):
        for columns in itertools.combinations(range(matrix.shape[1]), size):
            x = np.linalg.lstsq(matrix[:, columns], target, rcond=None)[0]
            if (x >= 0).all():
                best = min(best, np.linalg.norm(matrix[:, columns] @ x - target))
    return best


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 12))
def test_no_other_set_of_coefficients_is_better(seed, columns, rows):
    rng = np.random.default_rng(seed)
    matrix, target = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    found = non_negative(matrix, target)
    assert (found >= 0).all()
    assert np.linalg.norm(matrix @ found - target) <= by_trying_all(matrix, target) + 1e-7


def test_coefficients_above_0_are_found_exactly():
    matrix = np.random.default_rng(0).random((20, 3))
    assert non_negative(matrix, matrix @ [1.0, 0.0, 2.0]) == pytest.approx([1, 0, 2], abs=1e-9)


def test_columns_of_very_different_size():
    matrix = np.random.default_rng(0).random((20, 2)) * [1e-9, 1e9]
    assert non_negative(matrix, matrix @ [3e9, 2e-9]) == pytest.approx([3e9, 2e-9])


def test_a_column_of_zeros_is_refused():
    with pytest.raises(ValueError, match="column"):
        non_negative(np.zeros((3, 1)), np.ones(3))
