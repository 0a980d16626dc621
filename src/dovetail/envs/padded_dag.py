"""`Dovetail/DagPadded-v0`: `Dovetail/Dag-v0` with a fixed-size box and one masked number as action.

For libraries that know neither graphs nor dependent choices, such as sb3-contrib's MaskablePPO.  The
observation has `slots` rows, one for each stage that may be chosen now; the action names a slot and a level
of parallelism at once, so that the mask can rule out every impossible pair: `action = slot * len(limits) +
level`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dovetail.core.dag import Bools, Ints
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.envs.dag import DagEnv, Observation

Rows = NDArray[np.float32]


class PaddedDagEnv(gymnasium.Env[Rows, np.int64]):
    """The padded environment.  Keyword arguments beyond these are the fields of `DagSetting`.

    `limits` are the levels of parallelism on offer, increasing, the last one the whole cluster (by default 1,
    2, 4, 8 ... and the whole cluster).  Features are `wide-1` unless another set is named.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  # the name and form that Gymnasium asks for

    def __init__(
        self,
        slots: int = 32,
        limits: Sequence[int] | None = None,
        render_mode: str | None = None,
        **setting: Any,
    ) -> None:
        if slots < 1:
            raise ConfigError(f"slots is {slots}; expected at least 1")
        self.dag = DagEnv(**{"features": "wide-1", **setting})
        self.slots = slots
        self.limits = _checked(limits, self.dag.num_executors)
        self.render_mode = render_mode
        features = self.dag.features
        low, high = np.append(0.0, np.minimum(features.low, 0.0)), np.append(1.0, features.high)
        self.observation_space = spaces.Box(
            np.tile(low, (slots, 1)).astype(np.float32),
            np.tile(high, (slots, 1)).astype(np.float32),
            dtype=np.float32,
        )
        self.action_space = spaces.Discrete(slots * len(self.limits))
        self._stages: Ints = np.empty(0, dtype=np.int64)  # in each filled slot
        self._mask: Bools = np.zeros(0, dtype=np.bool_)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Rows, dict[str, Any]]:
        """As `DagEnv.reset`."""
        super().reset(seed=seed)
        observation, info = self.dag.reset(seed=seed, options=options)
        return self._fill(observation), self._info(info)

    def step(self, action: np.int64) -> tuple[Rows, float, bool, bool, dict[str, Any]]:
        slot, level = divmod(int(action), len(self.limits))
        if slot < len(self._stages):
            stage = int(self._stages[slot])
        elif self.dag.setting.invalid == "raise":
            raise InvalidDecision(f"slot {slot} is empty: {len(self._stages)} of {self.slots} are filled")
        else:
            stage = self.dag.max_stages  # never shown, so it is refused and penalised as any other
        choice = np.array([stage, self.limits[level]])
        observation, reward, terminated, truncated, info = self.dag.step(choice)
        return self._fill(observation), reward, terminated, truncated, self._info(info)

    def action_masks(self) -> Bools:
        """(slots * levels,) what can be carried out now; never all False before the end of an episode."""
        return self._mask.copy()

    def close(self) -> None:
        self.dag.close()

    # --- inside --------------------------------------------------------------------------------------------

    def _fill(self, observation: Observation) -> Rows:
        """Slots in order of arrival of the jobs, and of stages within a job; empty slots are zero."""
        self._stages = choose(observation["stage_mask"], observation["stage_job"], self.slots)
        filled = len(self._stages)
        rows = np.zeros((self.slots, 1 + len(self.dag.features)), dtype=np.float32)
        rows[:filled, 0] = 1.0
        rows[:filled, 1:] = observation["graph"].nodes[self._stages]
        mask = np.zeros((self.slots, len(self.limits)), dtype=np.bool_)
        mask[:filled] = self.limits >= observation["least_limit"][self._stages, None]
        self._mask = mask.ravel()
        return rows

    def _info(self, info: dict[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in info.items() if name not in ("stage_mask", "limit_mask")}
        return {**rest, "action_mask": self._mask.astype(np.int8)}


def choose(stage_mask: NDArray[np.int8], stage_job: Ints, slots: int) -> Ints:
    """The stages that get a slot: those that may be chosen, in order.

    If they are too many: the first one of every job in order of arrival, then the second one of every job,
    and so on as long as there are slots.
    """
    stages = np.flatnonzero(stage_mask)
    if len(stages) <= slots:
        return stages
    job = stage_job[stages]
    rank = np.arange(len(stages)) - np.searchsorted(job, job)  # stages of a job are next to each other
    return np.sort(stages[np.lexsort((job, rank))[:slots]])


def _checked(limits: Sequence[int] | None, num_executors: int) -> Ints:
    if limits is None:
        doubling = 2 ** np.arange(int(np.ceil(np.log2(num_executors))))
        return np.append(doubling, num_executors).astype(np.int64)
    levels = np.asarray(limits, dtype=np.int64)
    if len(levels) == 0 or levels[0] < 1 or (np.diff(levels) <= 0).any() or levels[-1] != num_executors:
        raise ConfigError(
            f"limits are {list(limits)}; expected increasing numbers from 1 on that end with the whole "
            f"cluster, {num_executors}"
        )
    return levels
