"""What an action of a network, a number for each operator, means for its instances.

`demand` (ours).  The instances that would be busy with what comes and with what waits (`measured`), over a target
utilisation that the action moves: 0.4 exp(-0.9 a), so from 1 (a = -1) to 0.16 (a = 1).  An untrained network is DS2
with 0.4.  An operator keeps what it has while that is within `HOLD` of what is wanted, so that noise does not restart
jobs.

`bursts` (ours, the default).  The same, where what comes is taken to grow as it did a day ago and to burst as it did in
the last day, as `stream/quantile` has it, and the target is 0.7 exp(-0.9 a): a network corrects a rule that holds for
rates of any kind, and can undo it, for it sees both factors.  One that learned `demand` on one service's rates leaves
too little room for another's.

`relative`.  As published, a relative change of what there is, made so that it can leave 1: p 2^a + a / 2, rounded.

`published`.  p (1 + a), cut to a whole number: one instance stays one instance unless a is 1.
"""

from __future__ import annotations

import math

import numpy as np

from dovetail.core.stream import Floats, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.features.stream import BURST
from dovetail.features.stream_memory import RateMemory
from dovetail.schedulers.heuristic.stream.answer import answer
from dovetail.schedulers.heuristic.stream.measured import Meter
from dovetail.schedulers.learned.stream.arrays import Array
from dovetail.schedulers.learned.stream.graph import Singles
from dovetail.schedulers.learned.stream.shape import Action

TARGET, BURST_TARGET, RANGE = 0.4, 0.7, 0.9
HOLD = 0.65  # an operator is changed where more than this many instances, or part of one, are missing or too many


class Actuator:
    """Makes decisions of actions, for jobs of one topology."""

    def __init__(self, info: StreamInfo, action: Action, memory: RateMemory) -> None:
        self._info = info
        self._action = action
        self._meter = Meter(info)
        self._memory = memory

    def demand(self, view: StreamView) -> Floats:
        """(O,) instances busy with what came in the last interval, and to work off in one interval what waits.

        With `bursts`, those of 0.4 / 0.7 times what is to be expected of the coming one, so that both are divided by
        0.4.  An operator that was not measured yet is taken to need what it has.
        """
        found = self._meter.measure(view, self._meter.rows(view, 0.0))
        needed = found.demand + view.op_queued[-1] / self._info.interval_s / found.true_rate
        if self._action == "bursts":
            self._memory.add(view)
            factor = self._memory.growth(self._info.snapshots) * self._memory.burst(self._info.snapshots, BURST)
            needed = needed * factor[self._info.operator_job] * (TARGET / BURST_TARGET)
        return np.where(np.isfinite(needed), needed, TARGET * view.parallelism)

    def decisions(self, view: StreamView, demand: Floats, actions: Singles, reason: Reason) -> list[StreamDecision]:
        limited = np.clip(actions, -1.0, 1.0).astype(np.float64)
        wanted = instances(self._action, view.parallelism, demand, limited)
        return answer(self._info, view, wanted, reason, demand)


def instances(action: Action, now: Ints, demand: Floats, actions: Floats) -> Ints:
    """(O,) wanted, whatever an operator may have."""
    wanted = wanted_instances(action, now, demand, actions)
    if action in ("demand", "bursts"):
        rounded = np.where(np.abs(wanted - now) <= HOLD, now, np.round(wanted))
    else:
        rounded = np.asarray(np.round(wanted) if action == "relative" else np.floor(wanted))
    return rounded.astype(np.int64)


def wanted_instances(action: Action, now: Array, demand: Array, actions: Array) -> Array:
    """The same, not rounded; of numpy or torch."""
    if action in ("demand", "bursts"):
        return demand / TARGET * math.e ** (RANGE * actions)
    if action == "relative":
        return now * 2.0**actions + 0.5 * actions
    return now * (1.0 + actions)
