"""How long a task of a stage takes, before and while it runs.

A stage that says so itself is believed.  Otherwise the mean of the stage's own finished tasks is mixed with what was
seen of stages with the same name in jobs of the same name, and that with the mean over everything seen:

    mean = (PRIOR_WEIGHT * prior + sum of own durations) / (PRIOR_WEIGHT + own tasks)

and nothing at all being known, a task is taken to last `UNKNOWN_S`.  Schedulers compare jobs with each other, so the
unit matters less than that all unknown stages are treated alike.
"""

from __future__ import annotations

import math

UNKNOWN_S = 1.0
PRIOR_WEIGHT = 5.0
MEMORY = 200.0  # tasks that count in a history: older ones fade
MOST_HISTORIES = 100_000


class History:
    """A mean that forgets slowly."""

    __slots__ = ("mean_s", "weight")

    def __init__(self) -> None:
        self.mean_s = 0.0
        self.weight = 0.0

    def add(self, total_s: float, count: int) -> None:
        kept = min(self.weight, MEMORY)
        self.mean_s = (self.mean_s * kept + total_s) / (kept + count)
        self.weight = min(kept + count, MEMORY)


class Estimate:
    """What is thought of one stage's tasks."""

    __slots__ = ("_everything", "_expected_s", "_history", "_prior_s", "count", "total_s")

    def __init__(self, expected_s: float | None, history: History, everything: History) -> None:
        self._expected_s = expected_s
        self._history = history
        self._everything = everything
        self._prior_s = history.mean_s if history.weight else everything.mean_s if everything.weight else UNKNOWN_S
        self.total_s = 0.0
        self.count = 0

    @property
    def fixed(self) -> bool:
        return self._expected_s is not None

    @property
    def mean_s(self) -> float:
        if self._expected_s is not None:
            return self._expected_s
        return (PRIOR_WEIGHT * self._prior_s + self.total_s) / (PRIOR_WEIGHT + self.count)

    @property
    def seen_s(self) -> float:
        """What tasks of this kind were seen to take; infinite if none was."""
        if self.count:
            return self.total_s / self.count
        return self._history.mean_s if self._history.weight else math.inf

    def add(self, total_s: float, count: int) -> None:
        self.total_s += total_s
        self.count += count
        self._history.add(total_s, count)
        self._everything.add(total_s, count)


class Estimates:
    """Everything seen so far, by name of job and stage."""

    def __init__(self) -> None:
        self._histories: dict[tuple[str, str], History] = {}
        self._everything = History()

    def of(self, job: str, stage: str, expected_s: float | None) -> Estimate:
        history = self._histories.pop((job, stage), None) or History()
        self._histories[job, stage] = history  # the newest last
        while len(self._histories) > MOST_HISTORIES:
            self._histories.pop(next(iter(self._histories)))
        return Estimate(expected_s, history, self._everything)
