"""A scheduler of the registry as a teacher: what it decides, said as the network would have to say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.dag import DagView
from dovetail.features import FeatureSet
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.decima.forward import Choices
from dovetail.schedulers.learned.decima.inputs import DecimaInput, class_sizes, decima_input
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.training.dag_rollout import Step
from dovetail.workloads.dag import DagCatalogue


def teacher_steps(
    catalogue: DagCatalogue, options: DagOptions, features: FeatureSet, teacher: str, episodes: Sequence[Episode]
) -> list[Step]:
    """Episodes played by the teacher, as the network would have seen them."""
    worlds = len(episodes)
    waiting = dict(enumerate(episodes))
    batch = DagBatch(catalogue, options, lambda w: waiting.pop(w, None), worlds)
    sizes = class_sizes(batch.info)
    schedulers = [SCHEDULERS.create(teacher) for _ in episodes]
    for number, scheduler in enumerate(schedulers):
        scheduler.reset(batch.info, np.random.default_rng(number))
    steps: list[Step] = []
    views, _ = batch.start()
    while views.active.any():
        given = decima_input(views, batch.info, features, classes=sizes)
        chosen = np.full((worlds, 3), -1, dtype=np.int64)
        for w in np.flatnonzero(views.active).tolist():
            chosen[w] = teacher_choice(schedulers[w], views.world(w), given, w)
        stage = np.where(chosen[:, 0] >= 0, given.stage[chosen[:, 0]], -1)
        choices = Choices(chosen[:, 0], chosen[:, 1], chosen[:, 2], np.zeros(worlds))
        steps.append(Step(given, choices, views.time_s, views.costs))
        views, _ = batch.step(stage, chosen[:, 2], chosen[:, 1])
    batch.close()
    return steps


def teacher_choice(scheduler: Any, view: DagView, given: DecimaInput, w: int) -> tuple[int, int, int]:
    """(node row, class, limit): with a limit that can be reached; node -1 where the teacher declines."""
    decisions = scheduler.decide(view)
    if not decisions:
        return -1, -1, 0
    stage, limit, kind, _ = decisions[0]
    rows = np.arange(given.node_ptr[w], given.node_ptr[w + 1])
    node = int(rows[given.stage[rows] == stage][0])
    fitting = given.offered[w] * given.fits[node]
    room = min(int(fitting.sum() if kind == -1 else fitting[kind]), int(given.unclaimed[node]))
    return node, kind, min(limit, int(given.held[node]) + room)
