"""What a run can be judged by: how a metric is called, shown and read.  Every family has its own."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Metric(NamedTuple):
    """How a metric is called, shown and read."""

    title: str
    unit: str
    higher_is_better: bool
    meaning: str
    form: Literal["number", "percent", "ratio", "signed"] = "number"  # how a value is written

    @property
    def signed(self) -> bool:
        """Values lie on both sides of 0, so a difference in percent means nothing: it is told in the metric's unit."""
        return self.form == "signed"
