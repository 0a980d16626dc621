"""`Dovetail/Dag-v0`, many worlds at once: a Gymnasium vector environment over the batched simulator.

Where it follows Gymnasium's `VectorEnv`: `reset`, `step`, seeds (seed, seed + 1, ... or a list), rewards and
ends as (B,) arrays, infos with their `_` masks, and autoreset in the same step (`AutoresetMode.SAME_STEP`):
the observation after the last step of an episode is the first of the next, and `final_obs`, `final_info` have
the end of the old one.

Where it departs: worlds differ in size, so observations are not stacked along a first axis.  They are one
graph of all worlds, with pointers: rows stage_ptr[w] : stage_ptr[w + 1] are the stages of world w, and action
(v, limit) of world w means row stage_ptr[w] + v.  Nothing is padded and nothing is left out.  An invalid
action is always an error (`InvalidDecision`, before any world has moved), because the worlds step together.

World w with seed s goes through the same episodes as `DagEnv` after `reset(seed=s)`.  Equal seeds in a list
give worlds that meet the same jobs and the same luck, and differ by their actions only: what an
input-dependent baseline needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dovetail.core.dag import Floats, Ints, Reason
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.envs.dag import Action, DagEnv, Observation, graph_of, graph_space
from dovetail.envs.dag_episodes import EpisodeStream
from dovetail.envs.dag_outcome import costs_of, statistics
from dovetail.envs.dag_setting import DagSetting
from dovetail.features.dag import FlatDags, flatten
from dovetail.sim.dag.batch import DagBatch, DagBatchView, Episode, Finished
from dovetail.sim.dag.objective import COSTS

Ends = NDArray[np.bool_]


class DagVectorEnv(VectorEnv[Observation, Action, NDArray[Any]]):
    """B worlds, worked on by `threads` threads.  Other keyword arguments are the fields of `DagSetting`."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, threads: int = 1, render_mode: str | None = None, **setting: Any) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.setting = _batchable(DagSetting.of(setting))
        self.source = self.setting.source()
        self.features = self.setting.feature_set()
        self.objective = self.setting.price()
        self.num_executors = self.setting.num_executors()
        room = self.setting.all_stages(self.source)
        one = DagEnv(**{**setting, "workload": self.source, "max_stages": room})
        self.single_observation_space = one.observation_space
        self.single_action_space = one.action_space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = spaces.Dict(
            {
                "graph": graph_space(self.features),
                "stage_job": _ragged(0, room * num_envs),
                "stage_mask": _ragged(0, 1),
                "least_limit": _ragged(1, self.num_executors + 1),
                "stage_ptr": spaces.Box(0, room * num_envs, (num_envs + 1,), dtype=np.int64),
                "job_ptr": spaces.Box(0, room * num_envs, (num_envs + 1,), dtype=np.int64),
            }
        )
        self._final_obs = one.empty_observation
        self._streams: list[EpisodeStream] = []
        self._costs: Floats = np.zeros((num_envs, len(COSTS)))  # of each episode until now, rewarded already
        self._worlds = DagBatch(self.source.catalogue, self.setting.cluster(), self._next_of, num_envs, threads=threads)
        self._dags: FlatDags | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """New episodes everywhere.  `options` as in `DagEnv`; they hold until the next reset."""
        if isinstance(seed, int):
            super().reset(seed=seed)
        given = _seeds(seed, self.num_envs)
        if not self._streams:
            self._streams = [EpisodeStream(self.setting, self.source, 0)] * self.num_envs
            chosen = self.np_random.integers(1 << 31, size=self.num_envs).tolist()
            given = [other if one is None else one for one, other in zip(given, chosen, strict=True)]
        for w, number in enumerate(given):
            if number is not None:
                self._streams[w] = EpisodeStream(self.setting, self.source, number)
        for stream in self._streams:
            stream.set_options(options)
            if stream.workload is not None and stream.workload.catalogue is not self.source.catalogue:
                raise ConfigError(
                    "the workload has a catalogue of its own, but all worlds share the environment's; make "
                    "the environment with workload=DagSource(name, catalogue) of that catalogue"
                )
        views, _ = self._worlds.start()
        self._costs = np.zeros((self.num_envs, len(COSTS)))
        return self._observe(views), self._time(views)

    def step(self, actions: Action) -> tuple[Observation, Floats, Ends, Ends, dict[str, Any]]:
        """One decision in each world; `actions` is (B, 2): stage within the world, limit."""
        if self._dags is None:
            raise gymnasium.error.ResetNeeded("no episode has begun: call reset()")
        stage, limit = np.asarray(actions, dtype=np.int64).reshape(self.num_envs, 2).T
        self._check(self._dags, stage, limit)
        views, finished = self._worlds.step(stage, limit, reason=int(Reason.OUTSIDE_AGENT))
        costs = views.costs.copy()
        infos = self._time(views)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        for end in finished:
            costs[end.world] = costs_of(end.result)
            truncations[end.world] = np.isnan(end.result.finish_s).any()
            terminations[end.world] = not truncations[end.world]
            self._add_info(infos, self._final(end), end.world)
        rewards = self.objective.reward(costs - self._costs)
        self._costs = views.costs.copy()
        for end in finished:
            self._costs[end.world] = 0.0  # what passed before the first decision is part of its reward
        return self._observe(views), rewards, terminations, truncations, infos

    def close_extras(self, **kwargs: Any) -> None:
        self._worlds.close()

    # --- inside --------------------------------------------------------------------------------------------

    def _next_of(self, world: int) -> Episode:
        return next(self._streams[world])

    def _check(self, dags: FlatDags, stage: Ints, limit: Ints) -> None:
        sizes = np.diff(dags.stage_ptr)
        shown = (stage >= 0) & (stage < sizes)
        row = dags.stage_ptr[:-1] + np.where(shown, stage, 0)
        good = shown & dags.columns.stage_valid[row]
        good &= (limit >= dags.least_limit[row]) & (limit <= self.num_executors)
        if not good.all():
            w = int(np.argmin(good))
            raise InvalidDecision(
                f"world {w}: (stage {stage[w]}, limit {limit[w]}) cannot be carried out; it has stages 0 to "
                f"{sizes[w] - 1}: choose one with stage_mask, and a limit from its least_limit to "
                f"{self.num_executors}"
            )

    def _observe(self, views: DagBatchView) -> Observation:
        self._dags = dags = flatten(views, self._worlds.info)
        return {
            "graph": graph_of(dags, self.features),
            "stage_job": dags.stage_job,
            "stage_mask": dags.columns.stage_valid.astype(np.int8),
            "least_limit": dags.least_limit.copy(),
            "stage_ptr": dags.stage_ptr.copy(),
            "job_ptr": dags.job_ptr,
        }

    def _time(self, views: DagBatchView) -> dict[str, Any]:
        return {"time_s": views.time_s, "_time_s": np.ones(self.num_envs, dtype=np.bool_)}

    def _final(self, end: Finished) -> dict[str, Any]:
        cost = -float(self.objective.reward(costs_of(end.result)))
        info = {"time_s": end.result.end_s, **statistics(end.result, cost)}
        return {"final_obs": self._final_obs(), "final_info": info}


def _batchable(setting: DagSetting) -> DagSetting:
    if setting.max_stages is not None:
        raise ConfigError("max_stages is for padded actions; the vector environment shows every stage")
    return setting


def _ragged(low: int, high: int) -> spaces.Sequence:
    return spaces.Sequence(spaces.Discrete(high - low + 1, start=low), stack=True)


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + w for w in range(count)]
    if len(seed) != count:
        raise ConfigError(f"{len(seed)} seeds for {count} worlds; expected one each")
    return list(seed)
