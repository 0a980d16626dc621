"""dag/adaptive: chooses among compositions while work is running, from what it perceives of their effect.

Time is cut into windows, each under one composition.  A window ends when enough jobs are complete, when the kind of
work has changed (`change`), or when exploring turns out too costly (`guard`).  What it cost, per work done, makes the
learner's reward (`reward`).  There is one learner for each class of work, or a contextual one for all.

It is pure like every scheduler: all it knows it has from views, and from `observe` where a world measures more.  The
one exception is the decision budget, which is off unless asked for: it needs a clock, `timer`, and so a run in which
a budget is exceeded cannot be repeated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan

import numpy as np

from dovetail.adaptation.change import PageHinkley
from dovetail.adaptation.composition import parse_composition
from dovetail.adaptation.events import Event, EventKind
from dovetail.adaptation.experience import Experience
from dovetail.adaptation.guard import ExplorationQuota, Timer, fault_of
from dovetail.adaptation.hot_swap import Assembly
from dovetail.adaptation.learners import LEARNERS, Belief, Learner, best_arm
from dovetail.adaptation.learning import Learning
from dovetail.adaptation.perception import FEATURES, Objective, Perception, Window
from dovetail.adaptation.reward import FIRST
from dovetail.core.dag import DagDecision, DagInfo, DagView, Floats
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.core.handover import BELIEFS, State
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
_BARRED = "barred"  # in a state: compositions that failed
_FEW, _ENOUGH = 3, 8  # arrivals to recognise a known class of work by, and to found a new one
_LONGEST = 3  # times `window_jobs`
_PART = 0.25  # of a usual window that must have passed before it is judged, or cut short
_CROWD = 1.0  # times `window_jobs`: if more jobs wait when it begins, a window is crowded
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
        beliefs: object | None = None,
    ) -> None:
        """`beliefs`: of an earlier run, which every run begins with."""
        self.params = params
        self._given = beliefs
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
        self.assembly.reset(info, rng)
        self._perception = Perception(info)
        self._change = PageHinkley(delta=0.5, threshold=4.0)
        self._experience = Experience(self.params.objective, self.params.class_radius or float("inf"))
        self._classes = self._experience.classes
        self._learning = Learning(self.names[: self.arms], self._make_learner, self._experience, rng)
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
        if self._given is not None:
            self.import_state({BELIEFS: self._given})

    def export_state(self) -> State:
        barred = [self.names[composition] for composition in sorted(self._barred)]
        return {**self.assembly.export_state(), BELIEFS: self._experience.as_json(), _BARRED: barred}

    def import_state(self, state: State) -> Sequence[str]:
        taken = []
        if BELIEFS in state:
            self._experience.read(state[BELIEFS])
            taken.append(BELIEFS)
        barred = state.get(_BARRED)
        if isinstance(barred, list):
            self._barred.update(self.names.index(name) for name in barred if name in self.names[: self.arms])
        return (*taken, *self.assembly.import_state(state))

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

    def retreat(self, view: DagView, why: str) -> bool:
        """The world has refused what was decided: the fallback takes over, unless it was the fallback's."""
        if self.assembly.active == self._fallback:
            return False
        self._replace(view, why)
        return True

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
            known = len(self._classes.centres)
            more = f"; {known} classes of work are known" if known else ""
            self._begin(view, "start", "the first window" + more)
        elif perception.arrived and self._changed():
            self._end(view, "the work has changed", cut=True)
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
        crowded = self._began_crowded
        allowed = self._experience.rewards.cost((self._work, crowded), beliefs[best_arm(beliefs)].mean)
        return self._cost_so_far(window, crowded) > self.params.stop_loss * allowed

    @property
    def _began_crowded(self) -> bool:
        """Whether so many jobs waited when the window began that its own say little."""
        return self._waiting > _CROWD * self.params.window_jobs

    def _cost_so_far(self, window: Window, crowded: bool) -> float:
        """Of an unfinished window.  Jobs of a batch have waited long before they get anywhere, so of them only what is
        certain counts."""
        if crowded:
            return window.cost(self.params.objective, self._info.num_executors, crowded=True)
        least = window.cost_at_least(self.params.objective, self._info.num_executors)
        cost = window.cost(self.params.objective, self._info.num_executors)
        batched = self._context[_TOGETHER] > 0.5
        return least if batched or not isfinite(cost) else cost

    def _end(self, view: DagView, why: str, *, lost: bool = False, cut: bool = False) -> None:
        """Judge the window that ends here, and choose for the next."""
        window = self._perception.window(view)
        active = self.assembly.active
        many_left = self._left_over(view) > _PART * window.jobs_done
        crowded = self._began_crowded or (many_left and not lost and not cut)
        cost = self._cost_so_far(window, crowded) if lost else self._judge(window, crowded, many_left)
        reward = None
        if isfinite(cost) and cost > 0.0:
            belief = self._beliefs()[active] if active < self.arms else None
            known = belief.mean if belief and belief.pulls else FIRST
            reward = self._experience.rewards.of((self._work, crowded), cost, known)
            if active < self.arms:
                self._learning.update(self._work, active, reward, self._context)
        else:
            why += "; the window is not judged, for too few of its own jobs are complete, or too many are left"
        ended = self.names[active]
        self._begin(view, "window", why, ended=ended, cost=None if reward is None else cost, reward=reward)

    def _judge(self, window: Window, crowded: bool, many_left: bool) -> float:
        """The cost of the window; nan if it says nothing: too short, or with many of its jobs left for the next."""
        if window.jobs_done < _PART * self.params.window_jobs or (many_left and not crowded):
            return nan
        return window.cost(self.params.objective, self._info.num_executors, crowded=crowded)

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
            self._confirm(features)
        self._tentative = self._perception.recent < _ENOUGH and kind == "start" and self._classes.known(features) < 0
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

    def _confirm(self, features: Floats) -> None:
        """The class of work that was founded on the very first arrivals: here it is, or it was one known before."""
        if self._classes.known(features, apart_from=self._work) < 0:
            self._classes.centres[self._work] = features
        else:
            self._learning.forget(self._work)
            self._experience.drop_last()

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
        wanted = self._learning.of(self._work).select(self._context)
        return (wanted if wanted in usable else best), best

    def _beliefs(self) -> list[Belief]:
        return self._learning.of(self._work).beliefs(self._context)

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
