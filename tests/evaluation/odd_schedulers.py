"""Schedulers that break the rules, to be registered by tests."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from dovetail.core.dag import DagDecision, DagInfo, DagView


class Sound:
    """The first valid stage, everything on offer; no kernel, no Params."""

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self.asked = 0

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        self.asked += 1
        stage = int(view.stage_valid.nonzero()[0][0])
        held = int(view.job_executors[view.stage_job[stage]])
        return (DagDecision(stage, held + int(view.source_executors)),)


class Raises(Sound):
    KIND = "learned"

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        raise ZeroDivisionError("by design")


class Invalid(Sound):
    def decide(self, view: DagView) -> Sequence[DagDecision]:
        return (DagDecision(10**6, 1),)


class Declines(Sound):
    def decide(self, view: DagView) -> Sequence[DagDecision]:
        return ()


class Dies(Sound):
    def decide(self, view: DagView) -> Sequence[DagDecision]:
        os._exit(7)
