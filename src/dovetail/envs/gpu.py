"""`Dovetail/Gpu-v0`: which of the waiting jobs starts next?  An agent chooses, a rule places its workers.

A step starts one job, or ends the answer: then time goes by until something has changed and jobs wait that fit.  Where
its workers stand is the place's to say (setting `place`, a part of the registry, see `dovetail list gpu --parts`).
`docs/environments.md` describes spaces, rewards and episodes.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import Bools, GpuDecision, GpuView, Ints, Reason
from dovetail.envs.gpu_play import HIGHEST, JOB_COLUMNS, MACHINE_COLUMNS, GpuPlay, mask
from dovetail.envs.gpu_setting import GpuSetting
from dovetail.schedulers.gpu_parts import GPU_PARTS
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.sim.gpu import GpuResult

Observation = dict[str, Any]


class GpuEnv(gymnasium.Env[Observation, np.int64]):
    """One world.  Keyword arguments are the fields of `GpuSetting`."""

    metadata = {"render_modes": []}  # noqa: RUF012  # the name and form that Gymnasium asks for

    def __init__(self, render_mode: str | None = None, **setting: Any) -> None:
        self.render_mode = render_mode
        self.setting = GpuSetting.of(setting)
        self._play = GpuPlay(self.setting)
        self._place: PlacePart = GPU_PARTS.create(f"place/{self.setting.place}")
        jobs, machines = self._play.job_rows, self._play.machine_rows
        self.action_space = spaces.Discrete(jobs + 1)
        self._spaces: dict[str, spaces.Space[Any]] = {
            "jobs": spaces.Box(-HIGHEST, HIGHEST, (jobs, len(JOB_COLUMNS)), np.float32),
            "machines": spaces.Box(-HIGHEST, HIGHEST, (machines, len(MACHINE_COLUMNS)), np.float32),
            "job_mask": spaces.MultiBinary(jobs),
            "machine_mask": spaces.MultiBinary(machines),
            "action_mask": spaces.MultiBinary(jobs + 1),
        }
        self.observation_space = spaces.Dict(self._spaces)
        self._room: Room | None = None
        self._rows: Ints = np.zeros(0, np.int64)  # waiting jobs that are shown
        self._possible: Bools = np.zeros(0, np.bool_)  # those of them that fit
        self._decisions: list[GpuDecision] = []

    @property
    def view(self) -> GpuView | None:
        """What is answered now; None: the episode is over."""
        return self._play.view

    @property
    def result(self) -> GpuResult | None:
        """Of the episode that ended last."""
        return self._play.result

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new episode.  `options`: `workload` (a `GpuWorkload` to play instead)."""
        super().reset(seed=seed)
        seeds = self._play.begin(seed, self.np_random, options)
        self._place.reset(self._play.info, seeds.child("scheduler").generator())
        self._begin_answer()
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._play.view is None:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset()")
        chosen, last = int(action), self._play.job_rows
        if not (0 <= chosen <= last and self.action_masks()[chosen]):
            valid = np.flatnonzero(self.action_masks()).tolist()
            problem = f"action {chosen} is not valid now; expected one of {valid} (see `action_mask`)"
            if self.setting.invalid == "raise":
                raise InvalidDecision(problem)
            return self._observation(), -self.setting.penalty, False, False, {**self._info(), "invalid": problem}
        if chosen < last:
            self._start(int(self._rows[chosen]))
            self._look()
        reward = 0.0
        if chosen == last or not self._possible.any():
            reward = self._play.answer(self._decisions)
            self._begin_answer()
        if not self._play.over:
            return self._observation(), reward, False, False, self._info()
        return self._observation(), reward, True, False, {**self._info(), **self._play.outcome()}

    def action_masks(self) -> Bools:
        """(jobs + 1,) which actions are valid now, as sb3-contrib asks for it."""
        found = np.zeros(self._play.job_rows + 1, np.bool_)
        view = self._play.view
        if view is not None:
            found[: len(self._rows)] = self._possible
            # Nothing would ever change in a world in which nothing runs and nothing is started.
            found[-1] = bool(self._decisions) or len(view.run_id) > 0
        return found

    # --- inside --------------------------------------------------------------------------------------------

    def _begin_answer(self) -> None:
        self._decisions = []
        view = self._play.view
        if view is None:
            self._room, self._rows, self._possible = None, np.zeros(0, np.int64), np.zeros(0, np.bool_)
            return
        self._room = Room.of(view, self._play.info)
        self._place.begin(view)
        self._look()

    def _start(self, job: int) -> None:
        view, room = self._play.view, self._room
        assert view is not None and room is not None
        gang = self._place.gang(room, Need.of(view, self._play.info, job), job)
        assert gang is not None, "the mask lets only jobs through that fit"
        machines = np.array(gang.machines, np.int64)
        self._decisions.append(
            GpuDecision(job, machines, reason=Reason.OUTSIDE_AGENT, place=self._place.WHY, affinity=gang.affinity)
        )

    def _look(self) -> None:
        """Which jobs are shown, and which of them fit what is left."""
        now = self._now()
        possible = self._play.possible(now)
        open_ = np.ones(len(possible), np.bool_)
        open_[[decision.job for decision in self._decisions]] = False
        rows = self._play.shown(possible & open_)
        self._rows = rows[open_[rows]]
        self._possible = possible[self._rows]

    def _now(self) -> GpuView:
        """The view with what the jobs of this answer have taken."""
        view, room = self._play.view, self._room
        assert view is not None and room is not None
        return view._replace(
            device_free=_read_only(room.device),
            machine_gpus_free=_read_only(room.gpus),
            machine_whole_free=_read_only(room.whole),
            machine_cpus_free=_read_only(room.cpus),
            machine_memory_free=_read_only(room.memory),
        )

    def _observation(self) -> Observation:
        """New arrays every time: agents keep what they are given.  Nothing but 0 when the episode is over."""
        play = self._play
        if play.view is None:
            return {name: np.zeros(space.shape or (), space.dtype) for name, space in self._spaces.items()}
        now = self._now()
        return {
            "jobs": play.job_features(now, self._rows),
            "machines": play.machine_features(now),
            "job_mask": mask(len(self._rows), play.job_rows),
            "machine_mask": play.machine_mask(),
            "action_mask": self.action_masks().astype(np.int8),
        }

    def _info(self) -> dict[str, Any]:
        return {**self._play.facts(), "started": len(self._decisions)}


def _read_only(part: NDArray[Any]) -> NDArray[Any]:
    """A copy, as views have them: compiled code for others would be compiled anew."""
    copy = part.copy()
    copy.setflags(write=False)
    return copy
