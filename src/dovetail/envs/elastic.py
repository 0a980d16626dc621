"""`Dovetail/Elastic-v0`: how dear should the cluster be now?  An agent scales prices, `elastic/oasis-replan` plans.

A step is one slot in which jobs wait.  The action is a factor on all prices of this slot's planning: above 1, fewer of
those who wait get a plan, and room is kept for jobs to come; below 1, more of them do.  The one that is 1 is
`elastic/oasis-replan` itself.  Slots in which nobody waits go by without being asked about.

The reward is what the step added to the utility that is won or in sight: that of the plans it made, less that of the
plans they replace.  Plans are carried out as they are booked, so rewards sum to the episode's total utility.
`docs/environments.md` describes spaces, rewards and episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dovetail.core.elastic import WORKER, ElasticDecision, ElasticView, Floats, Ints, Plan, Reason, utility
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.suggest import did_you_mean
from dovetail.envs.elastic_setting import ElasticSetting
from dovetail.features.elastic import BANDS, COLUMNS, SlotFeatures
from dovetail.schedulers.optimise.elastic.oasis_replan import OasisReplan
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticWorld
from dovetail.workloads.elastic import ElasticWorkload

Observation = NDArray[np.float32]
HIGHEST = 20.0  # of any observed number; they are shares, and logarithms of slots


class PricedReplan(OasisReplan):
    """`oasis-replan` at prices that somebody outside scales."""

    factor = 1.0

    def profile(self, view: ElasticView) -> Floats:
        return super().profile(view) * self.factor

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        return [
            decision._replace(reason=Reason.OUTSIDE_AGENT) if decision.reason == Reason.POSITIVE_PAYOFF else decision
            for decision in super().decide(view)
        ]


class ElasticEnv(gymnasium.Env[Observation, np.int64]):
    """One world.  Keyword arguments are the fields of `ElasticSetting`."""

    metadata = {"render_modes": []}  # noqa: RUF012  # the name and form that Gymnasium asks for

    def __init__(self, render_mode: str | None = None, **setting: Any) -> None:
        self.render_mode = render_mode
        self.setting = ElasticSetting.of(setting)
        self.source = self.setting.source()
        self.action_space = spaces.Discrete(len(self.setting.factors))
        self.observation_space = spaces.Box(0.0, HIGHEST, (len(BANDS) * len(COLUMNS),), dtype=np.float32)
        self.result: ElasticResult | None = None  # of the episode that ended last
        self._tree: SeedTree | None = None
        self._episode = 0
        self._world: ElasticWorld | None = None
        self._view: ElasticView | None = None
        self._features: SlotFeatures | None = None
        self._scheduler = PricedReplan()
        self._in_sight: dict[int, float] = {}  # job id -> utility of its plan, of jobs under way

    @property
    def view(self) -> ElasticView | None:
        """What is decided about now, until the next step; None: the episode is over."""
        return self._view

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new episode.  `options`: `workload` (an `ElasticWorkload` to play instead)."""
        super().reset(seed=seed)
        if seed is None and self._tree is None:
            seed = int(self.np_random.integers(1 << 31))
        if seed is not None:
            self._tree, self._episode = SeedTree(seed), 0
        assert self._tree is not None
        seeds = self._tree if self._episode == 0 else self._tree.child("episode", self._episode)
        self._episode += 1
        workload = _given(options) or self.setting.sequence(self.source, seeds)
        self._world = ElasticWorld(workload, ElasticOptions(self.setting.hosts(self.source)), seeds)
        self._scheduler.reset(self._world.info, seeds.child("scheduler").generator())
        self._features = SlotFeatures(self._world.info)
        self._in_sight = {}
        if self._next_view() is None:
            raise ConfigError("the workload has no job that arrives before its last slot; expected at least one")
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._world is None or self._view is None:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset()")
        if not 0 <= int(action) < len(self.setting.factors):
            raise InvalidDecision(f"action {action}; expected 0 to {len(self.setting.factors) - 1}")
        self._scheduler.factor = self.setting.factors[int(action)]
        decisions = self._scheduler.decide(self._view)
        reward = self._gained(self._view, decisions)
        self._world.apply(decisions)
        if self._next_view() is not None:
            return self._observation(), reward, False, False, self._info()
        self.result = self._world.result()
        return self._observation(), reward, True, False, {**self._info(), **_summary(self.result)}

    # --- inside --------------------------------------------------------------------------------------------

    def _next_view(self) -> ElasticView | None:
        """Of the next slot in which somebody waits."""
        assert self._world is not None
        view = self._world.advance()
        while view is not None and (view.job_promise >= 0).all():
            self._world.apply([])
            view = self._world.advance()
        self._view = view
        return view

    def _gained(self, view: ElasticView, decisions: Sequence[ElasticDecision]) -> float:
        """What these decisions add to what is in sight."""
        before = sum(self._in_sight.values())
        for decision in decisions:
            self._in_sight[int(view.job_id[decision.job])] = _worth(view, decision.job, decision.plan)
        return sum(self._in_sight.values()) - before

    def _observation(self) -> Observation:
        """A new array every time: agents keep what they are given.  Nothing but 0 when the episode is over."""
        if self._view is None or self._features is None:
            return np.zeros(self.observation_space.shape or (), dtype=np.float32)
        bands = self._features.in_bands(self._view).clip(0.0, HIGHEST)
        return bands.astype(np.float32).ravel()

    def _info(self) -> dict[str, Any]:
        waiting = 0 if self._view is None else int((self._view.job_promise < 0).sum())
        slot = -1 if self._view is None else self._view.slot
        return {"slot": slot, "waiting": waiting, "utility_in_sight": sum(self._in_sight.values())}


def _worth(view: ElasticView, job: int, plan: Plan) -> float:
    """What the job is worth when this plan completes it; 0 if it does not."""
    workers: Ints = np.bincount(
        plan.slot[plan.role == WORKER] - view.slot, plan.amount[plan.role == WORKER], minlength=1
    ).astype(np.int64)
    done = np.flatnonzero(np.cumsum(workers) >= view.job_work_left[job])
    if not done.size:
        return 0.0
    delay = np.float64(view.slot + done[0] - view.job_arrival[job])
    return float(utility(view.job_utility[job], np.asarray(delay)))


def _given(options: dict[str, Any] | None) -> ElasticWorkload | None:
    for name in options or {}:
        if name != "workload":
            raise ConfigError(f"reset has no option {name!r}{did_you_mean(name, ['workload'])}")
    return (options or {}).get("workload")


def _summary(result: ElasticResult) -> dict[str, Any]:
    return {
        "total_utility": result.total_utility,
        "jobs_completed": int((result.finish >= 0).sum()),
        "jobs_rejected": int((result.rejected >= 0).sum()),
        "jobs": result.workload.num_jobs,
    }
