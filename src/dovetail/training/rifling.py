"""Training the table of gpu/rifling: it plays job sequences one after another, exploring less and less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting
from dovetail.schedulers.learned.gpu_baselines.rifling import Rifling, RiflingParams
from dovetail.schedulers.learned.gpu_baselines.rifling_states import STATES
from dovetail.sim.gpu import run

FIRST_TRAINING_SEED = 1_000
HOPE = 1.0  # of a state nobody has been in: as fast as alone, so that it is tried


@dataclass(frozen=True)
class RiflingPlan:
    """Sequences of these workloads in turn; rate and exploration fall from the first to the second, geometrically."""

    workloads: tuple[str, ...] = ("small", "small-mixed", "medium-mixed")
    sequences: int = 90
    rate: tuple[float, float] = (0.2, 0.01)
    explore: tuple[float, float] = (0.3, 0.01)
    discount: float = 0.8
    tidy: float = 0.5


def train_rifling(plan: RiflingPlan, seed: int, tell: Callable[[int, float, float], None]) -> Floats:
    """The table.  `tell` gets the number of the sequence, its mean completion time in seconds and its mean fee."""
    settings = [GpuSetting(name).open() for name in plan.workloads]
    table = np.full(STATES, HOPE * (1.0 + plan.discount))
    for number in range(plan.sequences):
        part = number / max(1, plan.sequences - 1)
        rate, explore = (high * (low / high) ** part for high, low in (plan.rate, plan.explore))
        setting = settings[number % len(settings)]
        seeds = SeedTree(FIRST_TRAINING_SEED + seed * plan.sequences + number)
        world = setting.world(setting.sequence(seeds.seed), seeds)
        player = Rifling(RiflingParams(rate=rate, explore=explore, discount=plan.discount, tidy=plan.tidy), table=table)
        result = run(world, player, seeds.child("scheduler").generator())
        table = player.table
        tell(number, float(result.completion_s.mean()), float(result.fee.mean()))
    return table
