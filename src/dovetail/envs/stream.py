"""`Dovetail/Stream-v0`: how many instances should every operator have?  One agent sets all of them.

A step is one decision, and the interval after it.  `docs/environments.md` describes spaces, rewards and episodes.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dovetail.core.errors import InvalidDecision
from dovetail.core.stream import Ints, StreamInfo, StreamView
from dovetail.envs.stream_play import HIGHEST, Seen, StreamPlay
from dovetail.envs.stream_setting import StreamSetting
from dovetail.sim.stream import StreamResult


class StreamEnv(gymnasium.Env[Seen, NDArray[np.int64]]):
    """One world.  Keyword arguments are the fields of `StreamSetting`."""

    metadata = {"render_modes": []}  # noqa: RUF012  # the name and form that Gymnasium asks for

    def __init__(self, render_mode: str | None = None, **setting: Any) -> None:
        self.render_mode = render_mode
        self.setting = StreamSetting.of(setting)
        self._play = StreamPlay(self.setting)
        self.action_space = spaces.MultiDiscrete(self._play.most)
        self.observation_space = spaces.Box(-HIGHEST, HIGHEST, self._play.shape, np.float32)

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

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """A new episode.  `options`: `workload` (a `StreamWorkload` of the same operators to play instead)."""
        super().reset(seed=seed)
        self._play.begin(seed, self.np_random, options)
        return self._play.seen(), self._play.facts()

    def step(self, action: NDArray[np.int64]) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        if self._play.view is None:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset()")
        reward = float(self._play.answer(self._wanted(action)).mean())
        if not self._play.over:
            return self._play.seen(), reward, False, False, self._play.facts()
        return self._play.seen(), reward, True, False, {**self._play.facts(), **self._play.outcome()}

    def _wanted(self, action: NDArray[np.int64]) -> Ints:
        """Instances of every operator: one more than the number of the choice."""
        chosen, most = np.asarray(action, np.float64), self._play.most - 1
        if chosen.shape != most.shape or not ((chosen >= 0) & (chosen <= most) & (chosen == np.floor(chosen))).all():
            raise InvalidDecision(
                f"action {np.asarray(action).tolist()}; expected whole numbers from 0 to {most.tolist()}"
            )
        return chosen.astype(np.int64) + 1
