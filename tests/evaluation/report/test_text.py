"""Numbers as text."""

from __future__ import annotations

import pytest

from dovetail.evaluation.report.text import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2.0, "2 s"),
        (1e-3, "1 ms"),
        (0.9996e-3, "1 ms"),
        (0.9994e-3, "999 µs"),
        (5.5e-7, "550 ns"),
        (float("nan"), "–"),
    ],
)
def test_durations_have_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
