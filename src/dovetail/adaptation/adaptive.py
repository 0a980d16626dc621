"""dag/adaptive: chooses among compositions while work is running, from what it perceives of their effect.

Time is cut into windows, each under one composition.  A window ends when enough jobs are complete, when the kind of
work has changed (`change`), or when exploring turns out too costly (`guard`).  What it cost, per work done, is the
learner's reward: 0.5 for what the first window of that class of work cost, 0.25 more for half of it.  There is one
learner for each class of work, or a contextual one for all.

It is pure like every scheduler: all it knows it has from views, and from `observe` where a world measures more.  The
one exception is the decision budget, which is off unless asked for: it needs a clock, `timer`, and so a run in which
a budget is exceeded cannot be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, log2

import numpy as np

from dovetail.adaptation.change import Classes, PageHinkley
from dovetail.adaptation.composition import parse_composition
from dovetail.adaptation.events import Event, EventKind
from dovetail.adaptation.guard import ExplorationQuota, Timer, fault_of
from dovetail.adaptation.hot_swap import Assembly
from dovetail.adaptation.learners import LEARNERS, Belief, Learner, best_arm
from dovetail.adaptation.perception import FEATURES, Objective, Perception, Window
from dovetail.core.dag import DagDecision, DagInfo, DagView
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.observation import Observation

FALLBACK = "drf+equal-dominant+smallest-fit+local"
COMPOSITIONS = (
    FALLBACK,
    "fair-threads+equal-threads+smallest-fit+local",
    "fair-memory+equal-memory+smallest-fit+local",
    "fifo+all+smallest-fit+sticky",
    "srtf+hesrpt+smallest-fit+local",
)
MOST_EVENTS = 20_000
_FEW, _ENOUGH = 3, 8  # arrivals to recognise a known class of work by, and to found a new one
_LONGEST = 3  # times `window_jobs`
_PART = 0.25  # of a usual window that must have passed before it is judged, or cut short
_TOGETHER = FEATURES.index("together")
_CHECK_EVERY = 16  # views between two looks at what an exploring window has cost so far


@dataclass(frozen=True)
class AdaptiveParams:
    compositions: tuple[str, ...] = field(default=COMPOSITIONS, metadata={"help": "what is chosen from"})
    learner: str = field(default="thompson", metadata={"help": "who chooses: `dovetail list --parts`"})
    objective: Objective = field(default="completion", metadata={"help": "what is to be low"})
    fallback: str = field(default=FALLBACK, metadata={"help": "what decides when a composition fails"})
    window_jobs: int = field(default=20, metadata={"help": "jobs completed in a window"})
    explore_share: float = field(default=0.4, metadata={"help": "no more of the windows than this explores"})
    stop_loss: float = field(default=1.5, metadata={"help": "exploring ends at so many times the best one's cost"})
    decision_budget_s: float = field(default=0.0, metadata={"help": "longest time for a decision, 0: no limit"})
    class_radius: float = field(default=0.75, metadata={"help": "how far work of one class may differ; 0: one class"})

    def __post_init__(self) -> None:
        if not self.compositions:
            raise ValueError("compositions: none given")
        for text in (*self.compositions, self.fallback):
            parse_composition(text)
        _make_learner(self.learner)
        if self.window_jobs < 1:
            raise ValueError(f"window_jobs is {self.window_jobs}; expected 1 or more")
        if not 0.0 <= self.explore_share <= 1.0:
            raise ValueError(f"explore_share is {self.explore_share}; expected a share from 0 to 1")
        if not (self.stop_loss > 1.0 and self.decision_budget_s >= 0.0 and self.class_radius >= 0.0):
            raise ValueError("expected stop_loss above 1, decision_budget_s and class_radius of 0 or more")


def _make_learner(spec: str) -> Learner:
    learner: Learner = LEARNERS.create(f"learner/{spec}")
    return learner


class Adaptive:
    KIND = "adaptive"
    Params = AdaptiveParams

    def __init__(
        self,
        params: AdaptiveParams = AdaptiveParams(),
        *,
        timer: Timer = time.perf_counter,
        make_learner: Callable[[], Learner] | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.params = params
        self._timer = timer
        self._make_learner = make_learner or (lambda: _make_learner(params.learner))
        self.on_event = on_event
        texts = dict.fromkeys(str(parse_composition(text)) for text in params.compositions)
        fallback = str(parse_composition(params.fallback))
        self.arms = len(texts)  # the fallback is the last composition if it is none of the arms
        self.names = tuple(dict.fromkeys((*texts, fallback)))
        self._fallback = self.names.index(fallback)
        self.assembly = Assembly([parse_composition(name) for name in self.names])
        if self.assembly.clairvoyant:
            raise ConfigError("dag/adaptive: a composition that knows the future can only be used on its own")
        self.events: list[Event] = []  # the latest
        self.forgotten = 0  # events before those

    # --- the scheduler -----------------------------------------------------------------------------------------

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._rng = rng
        self.assembly.reset(info, rng)
        self._perception = Perception(info)
        self._change = PageHinkley(delta=0.5, threshold=4.0)
        self._classes = Classes(self.params.class_radius or float("inf"), most=16)
        self._learners: dict[int, Learner] = {}
        self._first_cost: dict[int, float] = {}  # by class of work
        self._quota = ExplorationQuota(self.params.explore_share)
        self._barred: set[int] = set()
        self._work = -1
        self._waiting = 0  # jobs in the system when the window began
        self._tentative = False  # whether the first class of work was founded on few arrivals
        self._doubtful = False  # whether a change was noticed that is not confirmed yet
        self._context = np.zeros(0)
        self._explores = False
        self._views = 0
        self.events = []
        self.forgotten = 0

    def kernel(self) -> None:
        """It cannot run compiled: it changes its mind in Python."""
        return None

    @property
    def batch_s(self) -> float:
        """For engines: seconds of work to hand to an executor at a time."""
        return self.assembly.batch_s

    def observe(self, observation: Observation) -> None:
        self._perception.observe(observation)

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        self._perceive(view)
        if self.params.decision_budget_s == 0.0:
            return self._guarded(view)
        start_s = self._timer()
        decisions = self._guarded(view)
        spent_s = self._timer() - start_s
        if spent_s > self.params.decision_budget_s and self.assembly.active != self._fallback:
            self._replace(view, f"took {1e3 * spent_s:.3g} ms for a decision")
        return decisions

    def _guarded(self, view: DagView) -> Sequence[DagDecision]:
        """What the active composition says, or, if that is not acceptable, the fallback."""
        try:
            decisions = self.assembly.decide(view)
            fault = fault_of(decisions, view, self._info)
        except Exception as error:
            if self.assembly.active == self._fallback:
                raise
            fault = f"{type(error).__name__}: {error}"
        if fault is None:
            return decisions
        if self.assembly.active == self._fallback:
            raise DovetailError(f"dag/adaptive: the fallback {self.names[self._fallback]} failed: {fault}")
        self._replace(view, fault)
        return self._guarded(view)

    def _replace(self, view: DagView, fault: str) -> None:
        failed = self.assembly.active
        self._barred.add(failed)
        self.assembly.swap(self._fallback)
        self._explores = False
        self._perception.start_window(view)
        self._tell(view, "guard", f"{self.names[failed]} failed ({fault}) and is not chosen again")

    # --- windows -----------------------------------------------------------------------------------------------

    def _perceive(self, view: DagView) -> None:
        perception = self._perception
        perception.see(view)
        self._views += 1
        if self._work < 0:
            self._begin(view, "start", "the first window")
        elif perception.arrived and self._changed():
            self._end(view, "the work has changed")
        elif perception.jobs_done >= self.params.window_jobs and self._settled(view):
            self._end(view, f"{perception.jobs_done} jobs are complete")
        elif self._explores and self._views % _CHECK_EVERY == 0 and self._loses(view):
            self._end(view, "exploring became too costly", lost=True)

    def _changed(self) -> bool:
        """Whether the jobs that arrived last are of another class.  Until there are enough of them to found a new one,
        a change is only believed if they are of a class that is known."""
        perception = self._perception
        alarms = [self._change.update(features) for features in perception.arrived]
        if any(alarms):
            self._doubtful = True
            perception.forget_before(len(alarms) - alarms.index(True))
        if not self._doubtful or perception.recent < _FEW:
            return False
        features = perception.features()
        known = self._classes.known(features)
        if known < 0 and perception.recent < _ENOUGH:
            return False
        self._doubtful = perception.recent < _ENOUGH
        return known != self._work

    def _settled(self, view: DagView) -> bool:
        """Whether the window may end here.  Where jobs come in batches, when the next one comes; otherwise when no more
        of them wait than when it began, so that none are left for the next window to pay for, or when it is long."""
        perception = self._perception
        if perception.features()[_TOGETHER] > 0.5:
            return bool(perception.arrived)
        longest = _LONGEST * self.params.window_jobs
        return self._left_over(view) <= 0 or perception.jobs_done >= longest

    def _left_over(self, view: DagView) -> int:
        """How many more jobs wait than when the window began; those that have just arrived do not count."""
        return len(view.job_id) - len(self._perception.arrived) - self._waiting

    def _loses(self, view: DagView) -> bool:
        """Whether what this window has cost so far is far above what the best composition is believed to cost."""
        window = self._perception.window(view)
        if window.arrivals < _PART * self.params.window_jobs:
            return False
        beliefs = self._beliefs()
        allowed = self.params.stop_loss * self._cost_of(beliefs[best_arm(beliefs)].mean)
        return self._cost_so_far(window) > allowed

    def _cost_so_far(self, window: Window) -> float:
        """Of an unfinished window.  Jobs of a batch have waited long before they get anywhere, so of them only what is
        certain counts."""
        least = window.cost_at_least(self.params.objective, self._info.num_executors)
        cost = window.cost(self.params.objective, self._info.num_executors)
        batched = self._context[_TOGETHER] > 0.5
        return least if batched or not isfinite(cost) else cost

    def _end(self, view: DagView, why: str, *, lost: bool = False) -> None:
        """Judge the window that ends here, and choose for the next."""
        window = self._perception.window(view)
        ended = self.names[self.assembly.active]
        cost = self._judge(window, lost=lost, left_over=self._left_over(view))
        reward = None if cost is None else self._reward_of(cost)
        if cost is None:
            why += "; the window is not judged, for too few of its own jobs are complete, or too many are left"
        if reward is not None and self.assembly.active < self.arms:
            self._learner().update(self.assembly.active, reward, self._context)
        self._begin(view, "window", why, ended=ended, cost=cost, reward=reward)

    def _judge(self, window: Window, *, lost: bool, left_over: int) -> float | None:
        """The cost of the window; None if it says nothing: too short, or with many jobs left for the next to finish."""
        if lost:
            return self._cost_so_far(window)
        cost = window.cost(self.params.objective, self._info.num_executors)
        enough = window.jobs_done >= _PART * self.params.window_jobs
        if not (isfinite(cost) and cost > 0.0 and enough and left_over <= _PART * window.jobs_done):
            return None
        self._first_cost.setdefault(self._work, cost)
        return cost

    def _reward_of(self, cost: float) -> float:
        return min(1.0, max(0.0, 0.5 - 0.25 * log2(cost / self._first_cost[self._work])))

    def _cost_of(self, reward: float) -> float:
        factor: float = 2.0 ** (4.0 * (0.5 - reward))
        return self._first_cost.get(self._work, float("nan")) * factor

    def _begin(
        self,
        view: DagView,
        kind: EventKind,
        why: str,
        *,
        ended: str = "",
        cost: float | None = None,
        reward: float | None = None,
    ) -> None:
        features = self._perception.features()
        if self._tentative and self._perception.recent >= _ENOUGH:
            self._classes.centres[self._work] = features  # it was founded on the very first arrivals
        self._tentative = self._perception.recent < _ENOUGH and kind == "start"
        self._work = self._classes.of(features)
        self._classes.move(self._work, features)
        self._context = np.append(features, 1.0)
        chosen, best = self._choose()
        self._explores = chosen != best
        self._waiting = len(view.job_id) - len(self._perception.arrived)
        self._quota.count(explored=self._explores)
        self.assembly.swap(chosen)
        self._perception.start_window(view)
        self._tell(view, kind, why, ended=ended, cost=cost, reward=reward)

    def _choose(self) -> tuple[int, int]:
        """The composition of the next window, and the one believed best; they differ if the window explores."""
        usable = [arm for arm in range(self.arms) if arm not in self._barred]
        if not usable:
            return self._fallback, self._fallback
        beliefs = self._beliefs()
        if not any(belief.pulls for belief in beliefs) and self._fallback in usable:
            return self._fallback, self._fallback  # nothing is known of this class of work
        best = max(usable, key=lambda arm: (beliefs[arm].pulls > 0, beliefs[arm].mean, -arm))
        if not self._quota.allows():
            return best, best
        wanted = self._learner().select(self._context)
        return (wanted if wanted in usable else best), best

    def _learner(self) -> Learner:
        """That of the present class of work, or the one for all if it is contextual."""
        if self._work not in self._learners:
            first = next(iter(self._learners.values()), None)
            if first is not None and first.contextual:
                self._learners[self._work] = first
            else:
                self._learners[self._work] = self._make_learner()
                self._learners[self._work].reset(self.arms, self._rng)
        return self._learners[self._work]

    def _beliefs(self) -> list[Belief]:
        return self._learner().beliefs(self._context)

    def _tell(
        self,
        view: DagView,
        kind: EventKind,
        why: str,
        *,
        ended: str = "",
        cost: float | None = None,
        reward: float | None = None,
    ) -> None:
        event = Event(
            time_s=view.time_s,
            kind=kind,
            composition=self.names[self.assembly.active],
            why=why,
            work=self._work,
            features=tuple(self._perception.features().tolist()),
            explores=self._explores,
            ended=ended,
            cost=cost,
            reward=reward,
            beliefs=tuple(self._beliefs()),
        )
        self.events.append(event)
        if len(self.events) > MOST_EVENTS:
            self.forgotten += MOST_EVENTS // 2
            del self.events[: MOST_EVENTS // 2]
        self.on_event(event)
