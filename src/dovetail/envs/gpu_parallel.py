"""Two agents that schedule together, as in DAS: `order` gives jobs priorities, `place` affinities to machines.

A PettingZoo parallel environment.  Both act at each decision.  Jobs are taken by priority; a job's workers go to the
machine of highest affinity that takes them, as many as it can, then to the next; a job that does not fit waits.  Both
get the same reward.  `docs/environments.md` describes spaces, rewards and episodes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.extras import require
from dovetail.core.gpu import Floats, GpuDecision, GpuView, Ints, Place, Reason
from dovetail.envs.gpu_play import HIGHEST, JOB_COLUMNS, MACHINE_COLUMNS, PAIR_COLUMNS, GpuPlay, mask
from dovetail.envs.gpu_setting import GpuSetting
from dovetail.features.gpu import Room
from dovetail.sim.gpu import GpuResult

ORDER, PLACE = "order", "place"
LARGEST = 10.0  # of a score

Observation = dict[str, NDArray[Any]]
ParallelEnv: Any = require("pettingzoo", "dovetail.envs.GpuParallelEnv").ParallelEnv


class GpuParallelEnv(ParallelEnv):  # type: ignore[misc]  # it has no types
    """One world and two agents.  Keyword arguments are the fields of `GpuSetting`."""

    metadata: ClassVar[dict[str, Any]] = {"name": "dovetail_gpu_v0", "render_modes": [], "is_parallelizable": True}

    def __init__(self, render_mode: str | None = None, **setting: Any) -> None:
        self.render_mode = render_mode
        self.setting = GpuSetting.of(setting)
        self._play = GpuPlay(self.setting)
        self.possible_agents = [ORDER, PLACE]
        self.agents: list[str] = []
        jobs, machines = self._play.job_rows, self._play.machine_rows
        both = {
            "jobs": spaces.Box(-HIGHEST, HIGHEST, (jobs, len(JOB_COLUMNS)), np.float32),
            "machines": spaces.Box(-HIGHEST, HIGHEST, (machines, len(MACHINE_COLUMNS)), np.float32),
            "job_mask": spaces.MultiBinary(jobs),
            "machine_mask": spaces.MultiBinary(machines),
        }
        pairs = {
            "pairs": spaces.Box(-HIGHEST, HIGHEST, (jobs, machines, len(PAIR_COLUMNS)), np.float32),
            "pair_mask": spaces.MultiBinary((jobs, machines)),
        }
        self.observation_spaces = {
            ORDER: spaces.Dict({**both, "possible": spaces.MultiBinary(jobs)}),
            PLACE: spaces.Dict({**both, **pairs}),
        }
        self.action_spaces = {
            ORDER: spaces.Box(-LARGEST, LARGEST, (jobs,), np.float32),
            PLACE: spaces.Box(-LARGEST, LARGEST, (jobs, machines), np.float32),
        }
        self._rows: Ints = np.zeros(0, np.int64)
        self._rng: np.random.Generator | None = None

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Box:
        return self.action_spaces[agent]

    @property
    def view(self) -> GpuView | None:
        """What is answered now; None: the episode is over."""
        return self._play.view

    @property
    def result(self) -> GpuResult | None:
        """Of the episode that ended last."""
        return self._play.result

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """A new episode.  `options`: `workload` (a `GpuWorkload` to play instead).

        Others are left alone: PettingZoo's own test gives some that mean nothing.
        """
        if self._rng is None or seed is not None:
            self._rng, _ = seeding.np_random(seed)
        known = {name: value for name, value in (options or {}).items() if name == "workload"}
        self._play.begin(seed, self._rng, known)
        self.agents = list(self.possible_agents)
        return self._observations(), self._infos()

    def step(
        self, actions: dict[str, NDArray[np.float32]]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        if self._play.view is None:
            raise ConfigError("the episode is over, or has not begun: call reset()")
        reward = self._play.answer(self._decide(self._play.view, actions))
        over = self._play.over
        infos = self._infos()
        if over:
            infos = {agent: {**facts, **self._play.outcome()} for agent, facts in infos.items()}
        found = (
            self._observations(),
            dict.fromkeys(self.agents, reward),
            dict.fromkeys(self.agents, over),
            dict.fromkeys(self.agents, False),
            infos,
        )
        if over:
            self.agents = []
        return found

    def render(self) -> None:
        """Nothing is drawn; `dovetail report` does that."""

    def close(self) -> None:
        """There is nothing to close."""

    # --- inside --------------------------------------------------------------------------------------------

    def _decide(self, view: GpuView, actions: dict[str, NDArray[np.float32]]) -> list[GpuDecision]:
        priority, affinity = (self._scores(agent, actions) for agent in (ORDER, PLACE))
        features, room = self._play.features, Room.of(view)
        found = []
        for place in np.argsort(-priority[: len(self._rows)], kind="stable").tolist():
            job = int(self._rows[place])
            fits = features.workers(view, room, job)
            workers = int(view.job_workers[job])
            if np.minimum(fits, workers).sum() < workers:
                continue
            machines = _fill(affinity[place, : len(fits)], fits, workers)
            features.take(view, room, job, machines)
            found.append(
                GpuDecision(
                    job,
                    machines,
                    reason=Reason.OUTSIDE_AGENT,
                    place=Place.OUTSIDE_AGENT,
                    priority=float(priority[place]),
                    affinity=float(affinity[place, machines[0]]),
                )
            )
        return found

    def _scores(self, agent: str, actions: dict[str, NDArray[np.float32]]) -> Floats:
        shape = self.action_spaces[agent].shape
        if agent not in actions:
            raise InvalidDecision(f"no action of {agent!r}; expected one of both, {ORDER!r} and {PLACE!r}")
        scores = np.asarray(actions[agent], np.float64)
        if scores.shape != shape or not np.isfinite(scores).all():
            raise InvalidDecision(f"action of {agent!r}: expected finite numbers of shape {shape}, not {scores.shape}")
        return scores

    def _observations(self) -> dict[str, Observation]:
        """New arrays every time: agents keep what they are given.  Nothing but 0 when the episode is over."""
        play, view = self._play, self._play.view
        if view is None:
            return {
                agent: {
                    name: np.zeros(one.shape or (), one.dtype) for name, one in self.observation_spaces[agent].items()
                }
                for agent in self.agents
            }
        possible = play.possible(view)
        self._rows = play.shown(possible)
        both: Observation = {
            "jobs": play.job_features(view, self._rows),
            "machines": play.machine_features(view),
            "job_mask": mask(len(self._rows), play.job_rows),
            "machine_mask": play.machine_mask(),
        }
        fits = np.zeros(play.job_rows, np.int8)
        fits[: len(self._rows)] = possible[self._rows]
        pairs, takes = play.pair_features(view, self._rows)
        copies = {name: part.copy() for name, part in both.items()}
        return {ORDER: {**both, "possible": fits}, PLACE: {**copies, "pairs": pairs, "pair_mask": takes}}

    def _infos(self) -> dict[str, dict[str, Any]]:
        return {agent: self._play.facts() for agent in self.agents}


def _fill(affinity: Floats, fits: Ints, workers: int) -> Ints:
    """Machine of each worker: the best takes as many as it can, then the next."""
    order = np.argsort(-np.where(fits > 0, affinity, -np.inf), kind="stable")
    given = np.minimum(np.cumsum(fits[order]), workers)
    return np.repeat(order, np.diff(given, prepend=0))
