"""What an action of a network, a number for each operator, means for its instances.

`demand` (ours).  The instances that would be busy with what comes (`features.stream_demand`) over a target utilisation
that the action moves: 0.7 exp(-0.9 a), so from 1.7 (a = -1) to 0.28 (a = 1).  An untrained network is DS2 with 0.7.
An operator keeps what it has while that is within `HOLD` of what is wanted, so that noise does not restart jobs.

`relative`.  As published, a relative change of what there is, made so that it can leave 1: p 2^a + a / 2, rounded.

`published`.  p (1 + a), cut to a whole number: one instance stays one instance unless a is 1.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.stream import Floats, Ints, StreamInfo
from dovetail.schedulers.learned.stream.shape import Action

TARGET, RANGE = 0.7, 0.9
HOLD = 0.65  # an operator is changed where more than this many instances, or part of one, are missing or too many


def instances(action: Action, info: StreamInfo, now: Ints, demand: Floats, actions: Floats) -> Ints:
    """(O,) wanted; 1 to as many as an operator may have."""
    if action == "demand":
        wanted = demand / (TARGET * np.exp(-RANGE * actions))
        rounded = np.where(np.abs(wanted - now) <= HOLD, now, np.round(wanted))
    elif action == "relative":
        rounded = np.round(now * 2.0**actions + 0.5 * actions)
    else:
        rounded = np.floor(now * (1.0 + actions))
    found: Ints = np.clip(rounded, 1, info.operator_max).astype(np.int64)
    return found


def within_slots(wanted: Ints, slots: int) -> Ints:
    """The same with instances taken from whoever wants most, one by one, until all fit."""
    found = wanted.copy()
    for _ in range(max(int(found.sum()) - slots, 0)):
        found[int(found.argmax())] -= 1
    return found
