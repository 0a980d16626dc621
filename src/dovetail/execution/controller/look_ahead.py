"""What-if questions about a live state: the simulator as a scheduler's model of the world.

Of durations nothing is known but the estimated means, so every wave and any number of executors is taken to be alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dovetail.core.dag import DagDecision, DagKernel, DagView, DurationProfiles, ExecutorClass, Floats


class LiveLookAhead:
    """A `core.dag.LookAhead`.  The simulator, and the compiler with it, is loaded when the first question is asked."""

    def __init__(self, classes: Sequence[ExecutorClass], moving_delay_s: float) -> None:
        self._classes = classes
        self._moving_delay_s = moving_delay_s

    def costs(
        self,
        view: DagView,
        candidates: Sequence[DagDecision],
        kernel: DagKernel,
        horizon_s: float = float("inf"),
    ) -> Floats:
        from dovetail.sim.dag.lookahead import ViewLookAhead
        from dovetail.sim.dag.options import DagOptions

        options = DagOptions(classes=tuple(self._classes), moving_delay_s=self._moving_delay_s)
        means = np.repeat(view.stage_mean_s[:, None, None], 3, axis=1)
        profiles = DurationProfiles(np.ones(1, dtype=np.int64), means)
        known = view._replace(stage_profile=np.arange(len(view.stage_id)))
        costs: Floats = ViewLookAhead(options, profiles).costs(known, candidates, kernel, horizon_s)
        return costs
