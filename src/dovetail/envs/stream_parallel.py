"""An agent for each operator of streaming jobs: each says how many instances its own is to have.

A PettingZoo parallel environment.  All act at each decision; the agents of a job get the job's reward.
`docs/environments.md` describes spaces, rewards and episodes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.extras import require
from dovetail.core.stream import Ints, StreamInfo, StreamView
from dovetail.envs.stream_play import HIGHEST, Seen, StreamPlay
from dovetail.envs.stream_setting import StreamSetting
from dovetail.sim.stream import StreamResult

ParallelEnv: Any = require("pettingzoo", "dovetail.envs.StreamParallelEnv").ParallelEnv


class StreamParallelEnv(ParallelEnv):  # type: ignore[misc]  # it has no types
    """One world and an agent for each operator.  Keyword arguments are the fields of `StreamSetting`."""

    metadata: ClassVar[dict[str, Any]] = {"name": "dovetail_stream_v0", "render_modes": [], "is_parallelizable": True}

    def __init__(self, render_mode: str | None = None, **setting: Any) -> None:
        self.render_mode = render_mode
        self.setting = StreamSetting.of(setting)
        self._play = StreamPlay(self.setting)
        self.possible_agents = list(self._play.names)
        self.agents: list[str] = []
        history, _, columns = self._play.shape
        self.observation_spaces = {
            agent: spaces.Box(-HIGHEST, HIGHEST, (history, columns), np.float32) for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: spaces.Discrete(int(most)) for agent, most in zip(self.possible_agents, self._play.most, strict=True)
        }
        self.state_space = spaces.Box(-HIGHEST, HIGHEST, self._play.shape, np.float32)
        self._rng: np.random.Generator | None = None

    def observation_space(self, agent: str) -> spaces.Box:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    @property
    def view(self) -> StreamView | None:
        """What is answered now; None: the episode is over."""
        return self._play.view

    @property
    def info(self) -> StreamInfo:
        """The jobs of the episode: their operators, edges and limits."""
        return self._play.info

    @property
    def result(self) -> StreamResult | None:
        """Of the episode that ended last."""
        return self._play.result

    def state(self) -> Seen:
        """(history, operators, columns) what all agents see together."""
        return self._play.seen()

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """A new episode.  `options`: `workload` (a `StreamWorkload` of the same operators to play instead).

        Others are left alone: PettingZoo's own test gives some that mean nothing.
        """
        if self._rng is None or seed is not None:
            self._rng, _ = seeding.np_random(seed)
        known = {name: value for name, value in (options or {}).items() if name == "workload"}
        self._play.begin(seed, self._rng, known)
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: self._play.facts() for agent in self.agents}

    def step(
        self, actions: dict[str, np.int64]
    ) -> tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        if self._play.view is None:
            raise ConfigError("the episode is over, or has not begun: call reset()")
        gained = self._play.answer(self._wanted(actions))[self._play.info.operator_job].tolist()
        over = self._play.over
        facts = {**self._play.facts(), **(self._play.outcome() if over else {})}
        found = (
            self._observations(),
            dict(zip(self.agents, gained, strict=True)),
            dict.fromkeys(self.agents, over),
            dict.fromkeys(self.agents, False),
            {agent: dict(facts) for agent in self.agents},
        )
        if over:
            self.agents = []
        return found

    def render(self) -> None:
        """Nothing is drawn; `dovetail report` does that."""

    def close(self) -> None:
        """There is nothing to close."""

    # --- inside --------------------------------------------------------------------------------------------

    def _wanted(self, actions: dict[str, np.int64]) -> Ints:
        """Instances of every operator: one more than the number of its agent's choice."""
        wanted = np.ones(len(self.agents), np.int64)
        for place, agent in enumerate(self.agents):
            if agent not in actions:
                raise InvalidDecision(f"no action of {agent!r}; expected one of every agent")
            most = int(self._play.most[place])
            if not (0 <= actions[agent] < most and actions[agent] == np.floor(actions[agent])):
                raise InvalidDecision(f"action {actions[agent]} of {agent!r}; expected 0 to {most - 1}, a whole number")
            wanted[place] += int(actions[agent])
        return wanted

    def _observations(self) -> dict[str, Seen]:
        seen = self._play.seen()
        return {agent: seen[:, place].copy() for place, agent in enumerate(self.agents)}
