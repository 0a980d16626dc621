"""`Dovetail/Dag-v0`: one dag world as a Gymnasium environment with graph observations and masked actions.

A step is one decision: (stage, limit) gives executors on offer to a stage until its job holds `limit` of
them; the world then runs on to the next decision.  There is no action for "leave them idle", as in Decima.
Executors are taken from the smallest class that fits.  `docs/environments.md` describes spaces, rewards and
episodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsInt

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dovetail.core.dag import DagView, Ints, Reason
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.envs.dag_episodes import EpisodeStream
from dovetail.envs.dag_outcome import costs_of, statistics
from dovetail.envs.dag_setting import DagSetting
from dovetail.features.dag import FeatureSet, FlatDags, flatten
from dovetail.features.dag_window import cut_to_size
from dovetail.sim.dag.batch import DagBatch, Episode
from dovetail.sim.dag.objective import COSTS
from dovetail.sim.dag.result import DagResult
from dovetail.workloads.dag import DagCatalogue

Observation = dict[str, Any]
Action = NDArray[np.int64]
Masks = NDArray[np.int8]


def graph_space(features: FeatureSet) -> spaces.Graph:
    """Stages are nodes.  Edges need a space of their own to be accepted at all; they carry a 1 each."""
    return spaces.Graph(
        node_space=spaces.Box(features.low, features.high, dtype=np.float32),
        edge_space=spaces.Box(0.0, 1.0, (1,), dtype=np.float32),
    )


def graph_of(dags: FlatDags, features: FeatureSet) -> spaces.GraphInstance:
    return spaces.GraphInstance(
        nodes=features.write(dags),
        edges=np.ones((len(dags.edge_links), 1), dtype=np.float32),
        edge_links=dags.edge_links.copy(),
    )


def action_space(max_stages: int, num_executors: int) -> spaces.MultiDiscrete:
    """(stage, limit): stages count from 0, limits from 1."""
    return spaces.MultiDiscrete(np.array([max_stages, num_executors]), start=np.array([0, 1]), dtype=np.int64)


class DagEnv(gymnasium.Env[Observation, Action]):
    """One world.  Keyword arguments are the fields of `DagSetting`."""

    metadata = {"render_modes": []}  # noqa: RUF012  # the name and form that Gymnasium asks for

    def __init__(self, render_mode: str | None = None, **setting: Any) -> None:
        self.render_mode = render_mode
        self.setting = DagSetting.of(setting)
        self.source = self.setting.source()
        self.features = self.setting.feature_set()
        self.objective = self.setting.price()
        self.num_executors = self.setting.num_executors()
        self.max_stages = self.setting.room(self.source)
        self.action_space = action_space(self.max_stages, self.num_executors)
        self.observation_space = spaces.Dict(
            {
                "graph": graph_space(self.features),
                "stage_job": spaces.Box(-1, self.max_stages, (self.max_stages,), dtype=np.int64),
                "stage_mask": spaces.MultiBinary(self.max_stages),
                "least_limit": spaces.Box(1, self.num_executors + 1, (self.max_stages,), dtype=np.int64),
            }
        )
        self.result: DagResult | None = None  # of the episode that ended last
        self._stream: EpisodeStream | None = None
        self._pending: Episode | None = None
        self._worlds: DagBatch | None = None
        self._worlds_of: DagCatalogue | None = None
        self._view: DagView | None = None  # what is shown now
        self._dags: FlatDags | None = None  # the same, flat
        self._stages: Ints = np.empty(0, dtype=np.int64)  # their index in the world's own view
        self._costs = np.zeros(len(COSTS))
        self._invalid_actions = 0

    @property
    def view(self) -> DagView | None:
        """What is shown now, as a scheduler sees it, until the next step; None: the episode is over."""
        return self._view

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new episode.  `options`: `workload` (a `DagWorkload` to play instead), `horizon_s`."""
        super().reset(seed=seed)
        if seed is None and self._stream is None:
            seed = int(self.np_random.integers(1 << 31))
        if seed is not None:
            self._stream = EpisodeStream(self.setting, self.source, seed)
        assert self._stream is not None
        self._stream.set_options(options)
        self._pending = next(self._stream)
        self._costs = np.zeros(len(COSTS))
        self._invalid_actions = 0
        views, _ = self._fresh_worlds(self._pending.workload.catalogue).start()
        self._show(views.world(0))
        return self._observation(), self._info()

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._worlds is None or self._view is None:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset()")
        stage, limit = (int(number) for number in action)
        problem = self._problem(stage, limit)
        if problem is not None:
            if self.setting.invalid == "raise":
                raise InvalidDecision(problem)
            self._invalid_actions += 1
            return (
                self._observation(),
                -self.setting.penalty,
                False,
                False,
                {**self._info(), "invalid": problem},
            )
        views, finished = self._worlds.step(
            self._stages[stage : stage + 1], np.array([limit]), reason=int(Reason.OUTSIDE_AGENT)
        )
        result = finished[0].result if finished else None
        costs = views.costs[0] if result is None else costs_of(result)
        reward = float(self.objective.reward(costs - self._costs))
        self._costs = costs
        self._show(views.world(0) if result is None else None)
        if result is None:
            return self._observation(), reward, False, False, self._info()
        self.result = result
        cut_off = bool(np.isnan(result.finish_s).any())
        return self._observation(), reward, not cut_off, cut_off, {**self._info(), **self._summary(result)}

    def close(self) -> None:
        if self._worlds is not None:
            self._worlds.close()

    def empty_observation(self) -> Observation:
        """What is seen when nothing is left to decide: the end of an episode."""
        return {
            "graph": spaces.GraphInstance(
                nodes=np.zeros((0, len(self.features)), dtype=np.float32),
                edges=np.zeros((0, 1), dtype=np.float32),
                edge_links=np.zeros((0, 2), dtype=np.int64),
            ),
            "stage_job": np.full(self.max_stages, -1, dtype=np.int64),
            "stage_mask": np.zeros(self.max_stages, dtype=np.int8),
            "least_limit": np.full(self.max_stages, self.num_executors + 1, dtype=np.int64),
        }

    # --- inside --------------------------------------------------------------------------------------------

    def _fresh_worlds(self, catalogue: DagCatalogue) -> DagBatch:
        """A batch of one world that plays the pending episode; kept as long as the catalogue is the same."""
        if self._worlds is None or self._worlds_of is not catalogue:
            largest = int(catalogue.dag_stages.max())
            if largest > self.max_stages:
                raise ConfigError(
                    f"the workload has a job of {largest} stages, but the environment has room for "
                    f"{self.max_stages}; make it with max_stages={largest} or more"
                )
            self._worlds = DagBatch(catalogue, self.setting.cluster(), self._take_pending, 1)
            self._worlds_of = catalogue
        return self._worlds

    def _take_pending(self, world: int) -> Episode | None:
        episode, self._pending = self._pending, None
        return episode

    def _show(self, view: DagView | None) -> None:
        self._view = self._dags = None
        if view is not None:
            assert self._worlds is not None
            self._view, self._stages = cut_to_size(view, self.max_stages)
            self._dags = flatten(self._view, self._worlds.info)

    def _problem(self, stage: int, limit: int) -> str | None:
        """Why the action cannot be carried out, or None.  Asked beforehand: a world that refuses is lost."""
        assert self._view is not None and self._dags is not None
        view, shown = self._view, len(self._view.stage_id)
        if not 0 <= stage < shown:
            return f"stage {stage} is padding: stages 0 to {shown - 1} are shown now"
        job = view.stage_job[stage]
        name = f"stage {stage} (stage {view.stage_id[stage]} of job {view.job_id[job]})"
        if not view.stage_valid[stage]:
            return f"{name} may not be chosen now; choose one where stage_mask is 1"
        least = self._dags.least_limit[stage]
        if not least <= limit <= self.num_executors:
            return (
                f"limit {limit} for {name}: its job holds {least - 1} executors, so the limit must be from "
                f"{least} to {self.num_executors}"
            )
        return None

    def _observation(self) -> Observation:
        """New arrays every time: agents keep what they are given."""
        observation = self.empty_observation()
        if self._dags is not None:
            shown = self._dags.num_stages
            observation["graph"] = graph_of(self._dags, self.features)
            observation["stage_job"][:shown] = self._dags.stage_job
            observation["stage_mask"][:shown] = self._dags.columns.stage_valid
            observation["least_limit"][:shown] = self._dags.least_limit
        return observation

    def _info(self) -> dict[str, Any]:
        stage_mask = np.zeros(self.max_stages, dtype=np.int8)
        limit_mask = np.zeros((self.max_stages, self.num_executors), dtype=np.int8)
        time_s = 0.0
        if self._dags is not None and self._view is not None:
            shown, valid = self._dags.num_stages, self._view.stage_valid
            stage_mask[:shown] = valid
            limit_mask[:shown] = limits_allowed(self._dags.least_limit, self.num_executors) & valid[:, None]
            time_s = self._view.time_s
        elif self.result is not None:
            time_s = self.result.end_s
        return {"stage_mask": stage_mask, "limit_mask": limit_mask, "time_s": time_s}

    def _summary(self, result: DagResult) -> Mapping[str, Any]:
        cost = -float(self.objective.reward(costs_of(result)))
        return {**statistics(result, cost), "invalid_actions": self._invalid_actions}


def limits_allowed(least_limit: Ints, num_executors: SupportsInt) -> NDArray[np.bool_]:
    """(..., num_executors) whether limit 1, 2, ... gives at least one executor."""
    return np.arange(1, int(num_executors) + 1) >= least_limit[..., None]
