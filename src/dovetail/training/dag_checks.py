"""What would make a training run worthless, found out before it starts."""

from __future__ import annotations

import numpy as np

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.training.dag_trainer import FIRST_VALIDATION_SEED
from dovetail.training.dag_worker import Setting
from dovetail.workloads.source import open_source


def check_objective(setting: Setting) -> None:
    """An objective that looks at weights or deadlines needs jobs that have them."""
    jobs = open_source(setting.workload).sequence(100, setting.arrivals, SeedTree(FIRST_VALIDATION_SEED))
    name = setting.objective.name
    if setting.objective.late > 0.0 and not np.isfinite(jobs.deadline_s).any():
        raise ConfigError(f"objective {name}: these jobs have no deadlines; a trace can have them (--arrivals trace)")
    if setting.objective.weight > 0.0 and np.ptp(jobs.weight) == 0.0:
        raise ConfigError(f"objective {name}: these jobs all weigh the same; a trace can have weights")
