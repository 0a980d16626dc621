"""stream/oracle: what knowing the rates to come would be worth.  Not a scheduler anyone could run.

It is told the rates (`CLAIRVOYANT`), learns the queues of the operators from what it sees (`queue_fit`), and so knows
what any parallelism will be worth in any interval, and what a restart costs (`queue_model`).  At each decision it takes
the first step of the best plan for the `windows` windows to come (of `window_s`, or an interval if that is longer):

    U_t(k) = reward_t(k) + max( U_{t+1}(k),  max over k' of U_{t+1}(k') - restart_{t+1}(k') )

where k runs through parallelisms of the whole job: the present one, the best one for good (that of `stream/static`),
and the best fixed ones of each window, of each two, four, ... of them together, found by steepest ascent, operator by
operator.  So it changes only what pays for itself.

Jobs are planned one by one.  If together they want more slots than there are, an instance gets a price, the smallest at
which they do not.  It is a bound in practice only: the model is not the world (noise, buffers, whole windows), and the
candidates are not all there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dovetail.core.stream import Floats, Ints, Reason, StreamDecision, StreamInfo, StreamView
from dovetail.schedulers.heuristic.stream.answer import answer
from dovetail.schedulers.optimise.stream.queue_fit import QueueFit
from dovetail.schedulers.optimise.stream.queue_model import JobModel, Outlook
from dovetail.schedulers.optimise.stream.static import rest_of_run
from dovetail.schedulers.optimise.stream.told import at_lowest_price, rates_between, told

BINS = 2000  # into which a whole run is cut, as by `stream/static`
STALE = 0.05  # relative change of what operators can do, from which candidates are looked for anew


class Oracle:
    CLAIRVOYANT: ClassVar = True  # the world it is run in hands it `StreamInfo.future`

    @dataclass(frozen=True)
    class Params:
        windows: int = field(default=16, metadata={"help": "windows of the future that are planned; a power of two"})
        window_s: float = field(default=1800.0, metadata={"help": "length of a window; an interval at least"})
        noise: float = field(default=0.05, metadata={"help": "spread of service times that it reckons with"})
        replay_s: float = field(default=10.0, metadata={"help": "work since the last checkpoint, done again"})

        def __post_init__(self) -> None:
            if self.windows < 1 or self.windows & (self.windows - 1):
                raise ValueError(f"windows is {self.windows}; expected a power of two")
            if not 0.0 < self.window_s < np.inf:
                raise ValueError(f"window_s is {self.window_s}; expected seconds, above 0")
            for name in ("noise", "replay_s"):
                if not 0.0 <= getattr(self, name) < np.inf:
                    raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more")

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self._info: StreamInfo | None = None

    def reset(self, info: StreamInfo, rng: np.random.Generator) -> None:
        told(info, "stream/oracle")
        self._info = info
        self._fit = QueueFit(info)
        self._planners: list[Planner] = []

    def decide(self, view: StreamView) -> Sequence[StreamDecision]:
        info = self._info
        assert info is not None and info.future is not None, "reset comes first"
        self._fit.add(view, min(info.snapshots, len(view.op_rate)))
        models = [JobModel.of(info, job, self._fit, self.params.noise) for job in range(len(info.job_name))]
        if not self._planners:
            self._planners = [Planner(info, model, self.params) for model in models]
        for planner, model in zip(self._planners, models, strict=True):
            planner.look(model, view)
        demand = np.full(len(view.parallelism), np.nan)
        planners = [planner for planner in self._planners if planner.outlook is not None]
        for planner in planners:
            demand[planner.model.operators] = planner.demand()

        def plan(price: float) -> Ints:
            wanted = view.parallelism.copy()
            for planner in planners:
                wanted[planner.model.operators] = planner.plan(price)
            return wanted

        return answer(info, view, at_lowest_price(plan, info.slots), Reason.KNOWN_FUTURE, demand)


class Planner:
    """Plans one job."""

    def __init__(self, info: StreamInfo, model: JobModel, params: Oracle.Params) -> None:
        assert info.future is not None
        self._info, self._future, self._params = info, info.future, params
        self.model = self._basis = model
        self.outlook: Outlook | None = None
        self.bin_s = min(60.0, info.interval_s)
        self.bins = round(info.interval_s / self.bin_s)
        self._of_window = max(1, round(params.window_s / info.interval_s)) * self.bins
        self._fixed: dict[float, Ints] = {}  # price -> best parallelism for good, as it was seen first
        self._found: dict[tuple[int, int, float], Ints] = {}  # window, windows together, price -> best parallelism

    def look(self, model: JobModel, view: StreamView) -> None:
        """Take in what the future holds from now on."""
        self.model = model
        if _differ(model, self._basis):
            self._basis, self._found = model, {}
        start = round(view.time_s / self.bin_s)
        first = start // self._of_window  # windows have the same borders whenever they are looked at
        end = (first + self._params.windows) * self._of_window
        rate = rates_between(self._future, model.job, view.time_s, end * self.bin_s, self.bin_s)
        if len(rate) < self.bins:
            self.outlook = None
            return
        self._start, self._first = start, first
        self._now = view.parallelism[model.operators]
        self.outlook = Outlook(model, rate, self.bin_s, model.backlog(view))
        self._calm = Outlook(model, rate, self.bin_s)
        lately = np.concatenate([view.job_rate[-1:, model.job], rate])
        self._before = lately[: len(rate) : self.bins]  # (I,) the rate just before each interval

    def demand(self) -> Floats:
        """(n,) instances that will be busy in the coming interval, on average."""
        return self.model.load_s * float(self._calm.rate[: self.bins].mean())

    def plan(self, price: float) -> Ints:
        """(n,) the parallelism to have from now on."""
        outlook = self.outlook
        assert outlook is not None
        chosen = np.unique(np.array(self._candidates(price)), axis=0)
        here = int(np.flatnonzero((chosen == self._now).all(axis=1))[0])
        worth, late = outlook.worth(chosen, self.bins)
        worth = worth - price * chosen.sum(axis=1)[:, None]
        loss = outlook.restart_loss(chosen, late, self.bins, self._params.replay_s * self._before)
        ahead = np.zeros(len(chosen))  # U of the next interval
        for t in range(worth.shape[1] - 1, 0, -1):
            ahead += worth[:, t]
            ahead = np.maximum(ahead, (ahead - loss[:, t]).max())
        ahead += worth[:, 0]
        change = ahead - loss[:, 0]
        change[here] = ahead[here]
        best: Ints = chosen[int(change.argmax())]
        return best

    def _candidates(self, price: float) -> list[Ints]:
        found = [self._now, self._for_good(price)]
        together = 1
        best = self._now
        while together <= self._params.windows:
            for window in range(self._first // together * together, self._first + self._params.windows, together):
                begin, end = (max(edge * self._of_window - self._start, 0) for edge in (window, window + together))
                key = (window, together, price)
                if key not in self._found:
                    part = self._calm.rate[begin:end]
                    if not len(part):
                        continue
                    self._found[key] = Outlook(self.model, part, self.bin_s).best(self.bins, price, also=[best])
                best = self._found[key]
                found.append(best)
            together *= 2
        return found

    def _for_good(self, price: float) -> Ints:
        """The best that never changes again, that of `stream/static`; the present one where the end is near."""
        if price not in self._fixed:
            outlook, bins = rest_of_run(self._info, self.model, self._start * self.bin_s, BINS)
            self._fixed[price] = outlook.best(bins, price, also=[self._now]) if len(outlook.rate) else self._now
        return self._fixed[price]


def _differ(one: JobModel, other: JobModel) -> bool:
    pairs = ((one.at_once, other.at_once), (one.variability, other.variability), (one.service_s, other.service_s))
    return any(bool((np.abs(ours - theirs) > STALE * (theirs + 1e-9)).any()) for ours, theirs in pairs)
