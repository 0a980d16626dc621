"""Who chooses for which class of work: a learner for each, or a contextual one for all, told what is known already."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dovetail.adaptation.experience import Experience
from dovetail.adaptation.learners import Learner
from dovetail.core.dag import Floats


class Learning:
    def __init__(
        self, arms: Sequence[str], make: Callable[[], Learner], experience: Experience, rng: np.random.Generator
    ) -> None:
        self._arms = {name: arm for arm, name in enumerate(arms)}
        self._names = arms
        self._make = make
        self._experience = experience
        self._rng = rng
        self._learners: dict[int, Learner] = {}

    def of(self, work: int) -> Learner:
        if work not in self._learners:
            first = next(iter(self._learners.values()), None)
            if first is not None and first.contextual:
                self._learners[work] = first
            else:
                self._learners[work] = self._informed(work)
        return self._learners[work]

    def update(self, work: int, arm: int, reward: float, context: Floats) -> None:
        self.of(work).update(arm, reward, context)
        self._experience.add(work, self._names[arm], reward)

    def forget(self, work: int) -> None:
        self._learners.pop(work, None)

    def _informed(self, work: int) -> Learner:
        """A new learner, told what is known of its class of work, or of all, from before."""
        learner = self._make()
        learner.reset(len(self._arms), self._rng)
        centres = self._experience.classes.centres
        for known in range(len(centres)) if learner.contextual else (work,):
            context = np.append(centres[known], 1.0)
            for name, reward in self._experience.told(known):
                if name in self._arms:
                    learner.update(self._arms[name], reward, context)
        return learner
