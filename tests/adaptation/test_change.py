from __future__ import annotations

import numpy as np

from dovetail.adaptation.change import Classes, PageHinkley


def first_alarm(values: np.ndarray) -> int:
    test = PageHinkley(delta=0.5, threshold=4.0)
    return next((i for i, value in enumerate(values) if test.update(value)), -1)


def test_a_shift_is_noticed_soon_and_noise_is_not() -> None:
    rng = np.random.default_rng(0)
    steady = rng.normal(0.0, 0.4, (2000, 3))
    assert first_alarm(steady) == -1
    shifted = steady[:200].copy()
    shifted[100:, 1] += 2.0
    assert 100 <= first_alarm(shifted) <= 106
    falling = steady[:200].copy()
    falling[100:, 2] -= 2.0
    assert 100 <= first_alarm(falling) <= 106


def test_after_an_alarm_everything_before_is_forgotten() -> None:
    test = PageHinkley(delta=0.5, threshold=4.0)
    values = [np.zeros(1)] * 20 + [np.full(1, 5.0)] * 40
    assert sum(test.update(value) for value in values) == 1


def test_classes_come_back() -> None:
    classes = Classes(radius=0.5, most=2)
    a, b = np.array([0.0, 0.0]), np.array([2.0, 0.0])
    assert classes.known(a) == -1
    assert [classes.of(a), classes.of(b), classes.of(a + 0.1)] == [0, 1, 0]
    assert classes.known(np.array([1.2, 0.0])) == 1, "there is no room for a third, so the nearest"
    classes.move(0, a + 0.4)
    assert np.allclose(classes.centres[0], [0.2, 0.2])
