"""What every number of instances would be worth in the coming interval: how those who know the future teach.

For operator i and p instances of it, the reward of its job in the coming interval (`queue_model`), the other operators
having as many as do for the highest rate in it.  Unlike the plan of `stream/oracle`, which is one number for each
operator, this says how much worse every other one is: a little, where it is too many; a great deal, where it is one too
few and a queue builds up.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from dovetail.core.stream import Floats, StreamInfo, StreamView
from dovetail.schedulers.optimise.stream.queue_fit import QueueFit
from dovetail.schedulers.optimise.stream.queue_model import JobModel, Outlook
from dovetail.schedulers.optimise.stream.told import rates_between, told

AT_EASE = 0.7  # share of the time that instances of the other operators are busy at the highest rate
LONGEST_BIN_S = 60.0


class Hindsight:
    """Of the jobs of one world, which tells its future; what operators can do is learned from what is seen."""

    CLAIRVOYANT: ClassVar = True

    def __init__(self, info: StreamInfo, noise: float = 0.05) -> None:
        self._future = told(info, "a teacher of autoscalers")
        self._info, self._noise = info, noise
        self._fit = QueueFit(info)
        self._bin_s = min(LONGEST_BIN_S, info.interval_s)

    def worths(self, view: StreamView) -> Floats | None:
        """(O, P) rewards; nan for more instances than an operator may have; None where the rates end before that."""
        info = self._info
        self._fit.add(view, min(info.snapshots, len(view.op_rate)))
        found = np.full((len(info.operator_job), int(info.operator_max.max())), np.nan)
        for job in range(len(info.job_name)):
            model = JobModel.of(info, job, self._fit, self._noise)
            until_s = view.time_s + info.interval_s
            rate = rates_between(self._future, job, view.time_s, until_s, self._bin_s)
            if len(rate) < round(info.interval_s / self._bin_s):
                return None
            found[model.operators] = worths_of_job(Outlook(model, rate, self._bin_s, model.backlog(view)))
        return found


def worths_of_job(outlook: Outlook) -> Floats:
    """(n, P)"""
    model = outlook.model
    easy = model.enough(float(outlook.rate.max()), AT_EASE)
    operator, count = np.nonzero(np.arange(model.most.max()) < model.most[:, None])
    tried = np.tile(easy, (len(operator), 1))
    tried[np.arange(len(operator)), operator] = count + 1
    found = np.full((len(model.operators), int(model.most.max())), np.nan)
    found[operator, count] = outlook.worth(tried, len(outlook.rate))[0][:, 0]
    return found
