"""What a parallelism is worth for given rates: latency and utilisation by the formulas of `docs/stream-model.md`.

For an operator with `load` instance-seconds of work for each record of its job, rate `x` and p instances (c of which
can be busy at the same time), taken to be in steady state within each bin of the rates:

    r = x load / c,    time at it = S (1 + v h(r) / (c r)) + backlog / capacity,    h(r) = r^sqrt(2 (c + 1)) / (1 - r)

r counts as 1 - sqrt(S / (c bin)) at most: a queue that is closer to its limit needs longer than a bin to fill.  What is
beyond the capacity piles up from bin to bin (Lindley), and the latency of the job is that of its longest path.  The
service time varies from bin to bin (`noise`), for which the mean over three points of its distribution is taken.

A restart adds a delay that falls from D = restart + records replayed / capacity to 0 in D / (1 - x / capacity) seconds.
Buffers are left out: it makes no difference to the latency whether a record waits before an operator or in front of
the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.core.stream import LATENCY_CAP, Floats, Ints, StreamInfo, StreamView
from dovetail.schedulers.optimise.stream.queue_fit import QueueFit, instances_at_once, waiting

POINTS, WEIGHTS = (-(3.0**0.5), 0.0, 3.0**0.5), (1 / 6, 2 / 3, 1 / 6)  # Gauss-Hermite
STARTS = (0.5, 0.7, 0.9)  # share of its time that an instance would be busy at the highest rate
MOST_STEPS = 200  # of an ascent
BETTER = 1e-9
ELSEWHERE = 0.1  # of what piles up elsewhere, counted nevertheless, so that an ascent goes on past equal ones
SLOPE = 0.01  # of latency beyond the cap


@dataclass(frozen=True, eq=False)
class JobModel:
    """A job of n operators, at most P instances each."""

    job: int
    operators: Ints  # (n,)
    parents: tuple[tuple[int, ...], ...]  # (n,) places in `operators`
    sinks: Ints
    load_s: Floats  # (n,) instance-seconds for each record of the job
    service_s: Floats  # (n,) for each record of the operator
    variability: Floats  # (n,)
    at_once: Floats  # (n, P) instances that can be busy at once
    most: Ints  # (n,)
    slo_s: float
    restart_s: float
    weight: float
    noise: float

    @staticmethod
    def of(info: StreamInfo, job: int, fit: QueueFit, noise: float) -> JobModel:
        assert info.future is not None
        operators = np.flatnonzero(info.operator_job == job)
        first = int(operators[0])
        parents: list[list[int]] = [[] for _ in operators]
        inner = np.ones(len(operators), dtype=np.bool_)
        for origin, target in zip(info.edge_from.tolist(), info.edge_to.tolist(), strict=True):
            if info.operator_job[target] == job:
                parents[target - first].append(origin - first)
                inner[origin - first] = False
        load_s = info.future.operator_load_s[operators]
        most = info.operator_max[operators]
        counts = np.arange(1.0, most.max() + 1.0)
        return JobModel(
            job,
            operators,
            tuple(tuple(one) for one in parents),
            np.flatnonzero(inner),
            load_s,
            np.where(fit.known, fit.service_s, 0.0)[operators],
            fit.variability[operators],
            instances_at_once(counts, fit.skew[operators, None]),
            most,
            float(info.job_slo_s[job]),
            float(info.job_restart_s[job]),
            info.weight,
            noise,
        )

    def enough(self, rate: float, share: float) -> Ints:
        """(n,) the fewest instances of which no larger share is busy at this rate, or as many as there may be."""
        does = self.at_once * share >= self.load_s[:, None] * rate
        first: Ints = np.where(does.any(axis=1), does.argmax(axis=1) + 1, self.most)
        return np.minimum(first, self.most)

    def capacity(self, chosen: Ints) -> Floats:
        """(K,) records of the job a second, at most, of parallelisms (K, n)."""
        with np.errstate(divide="ignore"):
            each = self.at_once[np.arange(len(self.operators)), chosen - 1] / self.load_s
        found: Floats = each.min(axis=1)
        return found

    def backlog(self, view: StreamView) -> Floats:
        """(n,) records of the job that wait at each operator, if these are more than usual."""
        with np.errstate(divide="ignore", invalid="ignore"):
            own = view.op_queued[-1][self.operators] * self.service_s / self.load_s  # gain = load / service
        waits: Floats = np.where(np.isfinite(own), own, 0.0)
        usual = float(view.job_rate[-1, self.job]) * self.slo_s
        return waits if waits.sum() > usual else np.zeros(len(waits))


class Outlook:
    """The rates of some time to come, in bins, and what every operator would make of them with 1 .. P instances."""

    def __init__(self, model: JobModel, rate: Floats, bin_s: float, backlog: Floats | None = None) -> None:
        """`backlog`: (n,) records of the job that wait at each operator at the start, beyond what is usual."""
        self.model, self.rate, self.bin_s = model, rate, bin_s
        load = model.load_s[:, None, None] * rate  # (n, 1, T) instances' worth of work
        at_once, service = model.at_once[:, :, None], model.service_s[:, None, None]
        closest = 1.0 - np.minimum(np.sqrt(service / (at_once * bin_s)), 0.5)
        wait = np.zeros(np.broadcast_shapes(load.shape, at_once.shape))
        for point, weight in zip(POINTS, WEIGHTS, strict=True):
            factor = np.exp(model.noise * point - model.noise**2 / 2.0)
            share = np.clip(load * factor / at_once, 1e-9, closest)
            wait += weight * factor * waiting(share, at_once) / (at_once * share)
        self.time_s = service * (1.0 + model.variability[:, None, None] * wait)
        """(n, P, T)"""
        self.piled_s = self._piled_up(load, backlog)
        """(n, P, T) or nothing: what waiting there would take if all else were quick enough."""
        self.busy = np.minimum(load, at_once) / np.arange(1.0, at_once.shape[1] + 1.0)[:, None]
        """(n, P, T)"""

    def _piled_up(self, load: Floats, backlog: Floats | None) -> Floats | None:
        """(n, P, T) seconds that what is beyond the capacity makes records wait, at the middle of each bin."""
        model = self.model
        at_once = model.at_once[:, :, None]
        start = np.zeros(len(model.operators)) if backlog is None else backlog * model.load_s
        more = (load - at_once) * self.bin_s  # instance-seconds
        if not start.any() and not (more > 0.0).any():
            return None
        total = np.cumsum(more, axis=2) + start[:, None, None]
        low = np.minimum(np.minimum.accumulate(total, axis=2), 0.0)
        after = total - low
        before = np.concatenate([np.broadcast_to(start[:, None, None], after[..., :1].shape), after[..., :-1]], axis=2)
        found: Floats = 0.5 * (before + after) / at_once
        return found

    def latency_s(self, chosen: Ints) -> Floats:
        """(K, T) of parallelisms (K, n).

        What piles up counts where it takes longest, little elsewhere: a slow operator hands on no more than it does.
        """
        done: list[Floats] = []
        for i, parents in enumerate(self.model.parents):
            spent = self.time_s[i, chosen[:, i] - 1]
            if len(parents) == 1:
                spent = spent + done[parents[0]]
            elif parents:
                spent = spent + np.maximum.reduce([done[p] for p in parents])
            done.append(spent)
        found: Floats = np.maximum.reduce([done[sink] for sink in self.model.sinks])
        if self.piled_s is not None:
            piled = self.piled_s[np.arange(chosen.shape[1]), chosen - 1]
            found = found + (1.0 - ELSEWHERE) * piled.max(axis=1) + ELSEWHERE * piled.sum(axis=1)
        return found

    def utilisation(self, chosen: Ints) -> Floats:
        """(K, T)"""
        found: Floats = self.busy[np.arange(chosen.shape[1]), chosen - 1].mean(axis=1)
        return found

    def by_interval(self, values: Floats, bins: int, weighed: bool) -> Floats:
        """(K, I) means over each `bins` bins (the last may be shorter), weighed by the records that come or not."""
        starts = np.arange(0, len(self.rate), bins)
        weight = self.rate + 1e-12 if weighed else np.ones(len(self.rate))
        found: Floats = np.add.reduceat(values * weight, starts, axis=1) / np.add.reduceat(weight, starts)
        return found

    def worth(self, chosen: Ints, bins: int) -> tuple[Floats, Floats]:
        """(K, I) reward of each interval of so many bins, and its latency."""
        late = self.by_interval(self.latency_s(chosen), bins, weighed=True)
        used = self.by_interval(self.utilisation(chosen), bins, weighed=False)
        return self.reward(late) + (1.0 - self.model.weight) * used, late

    def reward(self, latency_s: Floats) -> Floats:
        """The part of it that latency has.  Beyond the cap it goes on falling a little: no plan is to give up there."""
        late = latency_s / self.model.slo_s
        found: Floats = -self.model.weight * np.where(
            late > LATENCY_CAP, LATENCY_CAP + SLOPE * (late - LATENCY_CAP), late
        )
        return found

    def best(self, bins: int, price: float = 0.0, *, also: Sequence[Ints] = ()) -> Ints:
        """The best parallelism (n,) that is reached by steps of one instance more or less at one operator.

        It begins with the best of a few that are enough for the highest rate, and of those in `also`.  `price` is what
        an instance costs, in rewards of an interval.
        """
        top, n = float(self.rate.max()), len(self.model.operators)
        tried = np.array([*(self.model.enough(top, share) for share in STARTS), *also])
        best: Ints = tried[0]
        value = -np.inf
        for _ in range(MOST_STEPS):
            values = self.worth(tried, bins)[0].mean(axis=1) - price * tried.sum(axis=1)
            place = int(values.argmax())
            if values[place] <= value + BETTER:
                break
            best, value = tried[place], float(values[place])
            tried = np.concatenate([best + np.eye(n, dtype=np.int64), best - np.eye(n, dtype=np.int64)])
            tried = tried[((tried >= 1) & (tried <= self.model.most)).all(axis=1)]
            if not len(tried):
                break
        return best

    def restart_loss(self, chosen: Ints, latency_s: Floats, bins: int, replayed: Floats) -> Floats:
        """(K, I) what a restart at the start of each interval would take from the rewards, with `latency_s` (K, I).

        `replayed`: (I,) records of the job that would be processed again.
        """
        model, interval_s = self.model, bins * self.bin_s
        rate = self.rate[::bins]
        capacity = model.capacity(chosen)[:, None]
        used = np.minimum(rate / capacity, 0.99)  # (K, I)
        late_s = model.restart_s + replayed / capacity
        until_s = late_s / (1.0 - used)
        loss = np.zeros_like(latency_s)
        usual = self.reward(latency_s)
        for turn in range(int(np.ceil(min(float(until_s.max()) / interval_s, 60.0)))):
            start, end = np.minimum(turn * interval_s, until_s), np.minimum((turn + 1) * interval_s, until_s)
            area = late_s * (end - start) - (1.0 - used) * (end**2 - start**2) / 2.0
            loss += usual - self.reward(latency_s + area / interval_s)
        return loss
