"""What was learned of each class of work, as plain values: to go on with after a swap, or in the next run.

Kept is not what a learner believes but what it was told: rewards, in order.  So another learner, or one that chooses
among other compositions, can go on with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from dovetail.adaptation.change import Classes
from dovetail.adaptation.perception import FEATURES, Objective
from dovetail.adaptation.reward import Rewards
from dovetail.core.errors import ConfigError

SCHEMA = 1
LATEST = 500  # rewards of a class of work that are kept
MOST_CLASSES = 16


class Experience:
    def __init__(self, objective: Objective, radius: float) -> None:
        self._objective = objective
        self.classes = Classes(radius, MOST_CLASSES)
        self.rewards = Rewards()
        self._told: dict[int, deque[tuple[str, float]]] = {}

    def add(self, work: int, composition: str, reward: float) -> None:
        self._told.setdefault(work, deque(maxlen=LATEST)).append((composition, reward))

    def told(self, work: int) -> Iterable[tuple[str, float]]:
        """(composition, reward) of the windows of this class, in order."""
        return tuple(self._told.get(work, ()))

    def drop_last(self) -> None:
        """The class founded last was none of its own."""
        work = len(self.classes.centres) - 1
        self.classes.drop_last()
        self._told.pop(work, None)
        for crowded in (False, True):
            self.rewards.unit_cost.pop((work, crowded), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "objective": self._objective,
            "features": list(FEATURES),
            "classes": [
                {
                    "centre": centre.tolist(),
                    "seen": self.classes.seen[work],
                    "cost": self.rewards.unit_cost.get((work, False)),
                    "crowded_cost": self.rewards.unit_cost.get((work, True)),
                    "rewards": [list(told) for told in self.told(work)],
                }
                for work, centre in enumerate(self.classes.centres)
            ],
        }

    def read(self, document: object) -> None:
        """Take over what `as_json` gave; nothing if something is wrong with it."""
        found = checked(document, self._objective)
        for one in found:
            work = self.classes.add(np.array(one["centre"], np.float64), one["seen"])
            for crowded, name in ((False, "cost"), (True, "crowded_cost")):
                if one[name] is not None:
                    self.rewards.unit_cost[work, crowded] = float(one[name])
            for composition, reward in one["rewards"]:
                self.add(work, composition, float(reward))


def checked(document: object, objective: Objective) -> list[dict[str, Any]]:
    """The classes of work in it, known to be well-formed; `ConfigError` says what is wrong."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise ConfigError(f"beliefs: expected an object with schema {SCHEMA}, as dag/adaptive leaves it")
    if document.get("features") != list(FEATURES):
        raise ConfigError(f"beliefs: features are {document.get('features')}; expected {list(FEATURES)}")
    if document.get("objective") != objective:
        raise ConfigError(f"beliefs: learned for {document.get('objective')!r}; expected the objective {objective!r}")
    classes = document.get("classes")
    if not isinstance(classes, list) or len(classes) > MOST_CLASSES:
        raise ConfigError(f"beliefs: expected a list of at most {MOST_CLASSES} classes")
    for number, one in enumerate(classes):
        problem = _problem(one)
        if problem:
            raise ConfigError(f"beliefs: class {number}: {problem}")
    return classes


def _problem(one: object) -> str:
    """What is wrong with a class of work; empty if nothing is."""
    fields = {"centre", "seen", "cost", "crowded_cost", "rewards"}
    if not isinstance(one, Mapping) or set(one) != fields:
        return f"expected an object with {', '.join(sorted(fields))}"
    centre, seen, rewards = one["centre"], one["seen"], one["rewards"]
    if not (isinstance(centre, list) and len(centre) == len(FEATURES) and all(map(_is_number, centre))):
        return f"centre is {centre}; expected {len(FEATURES)} numbers"
    if not (isinstance(seen, int) and seen >= 0):
        return f"seen is {seen!r}; expected a whole number of 0 or more"
    for name in ("cost", "crowded_cost"):
        if one[name] is not None and not (_is_number(one[name]) and one[name] > 0.0):
            return f"{name} is {one[name]!r}; expected a number above 0, or null"
    if not isinstance(rewards, list):
        return "rewards: expected a list"
    for told in rewards:
        pair = isinstance(told, list | tuple) and len(told) == 2
        if not (pair and isinstance(told[0], str) and _is_number(told[1]) and 0.0 <= told[1] <= 1.0):
            return f"reward {told}; expected a composition and a number from 0 to 1"
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
