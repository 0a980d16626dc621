"""One stream world that agents outside answer for: episodes, what is seen, and rewards between answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Floats, Ints, Reason, StreamInfo, StreamView
from dovetail.core.suggest import did_you_mean
from dovetail.envs.stream_setting import StreamSetting
from dovetail.features.stream import COLUMNS, StreamFeatures
from dovetail.schedulers.heuristic.stream.answer import answer
from dovetail.sim.stream import StreamResult, StreamWorld
from dovetail.workloads.stream import StreamWorkload

HIGHEST = 100.0  # of any observed number; they are shares, and logarithms of ratios
Seen = NDArray[np.float32]


class StreamPlay:
    """Episodes of one setting, one after the other, all of the same jobs."""

    def __init__(self, setting: StreamSetting) -> None:
        self.setting = setting
        self.source = setting.source()
        self.options = setting.world_options(self.source)
        table = self.source.table
        self.most: Ints = table.op_max  # (O,) instances of an operator at most
        self.shape = (self.options.history, table.num_operators, len(COLUMNS))  # of what is seen
        self.names = _names(table.job_name, table.op_name, table.op_job)
        self.result: StreamResult | None = None  # of the episode that ended last
        self.view: StreamView | None = None
        self.cut = 0  # instances that the last answer asked for beyond the slots
        self._tree: SeedTree | None = None
        self._episode = 0
        self._world: StreamWorld | None = None
        self._features: StreamFeatures | None = None

    @property
    def over(self) -> bool:
        return self.view is None

    @property
    def info(self) -> StreamInfo:
        assert self._world is not None, "no episode has begun"
        return self._world.info

    def begin(self, seed: int | None, rng: np.random.Generator, options: Mapping[str, Any] | None) -> None:
        """A new episode.  Without a seed, the next of the seed that was given last."""
        if seed is None and self._tree is None:
            seed = int(rng.integers(1 << 31))
        if seed is not None:
            self._tree, self._episode = SeedTree(seed), 0
        assert self._tree is not None
        seeds = self._tree if self._episode == 0 else self._tree.child("episode", self._episode)
        self._episode += 1
        workload = self._given(options) or self.setting.sequence(self.source, seeds)
        self._world = StreamWorld(workload, self.options, seeds)
        self._features = StreamFeatures(self._world.info)
        self.cut = 0
        self.view = self._world.advance()
        if self.view is None:
            raise ConfigError(
                f"{workload.duration_s:g} s with a decision every {self.options.interval_s:g} s: nothing is ever "
                "decided; expected two intervals at least"
            )

    def answer(self, wanted: Ints) -> Floats:
        """(J,) what it is worth to every job that all operators have so many instances until the next question.

        Those who ask for more than there are slots get fewer, as the schedulers of this project do it.
        """
        world, view, info = self._world, self.view, self.info
        assert world is not None and view is not None
        self.cut = max(0, int(wanted.sum()) - info.slots)
        if self.cut and self.setting.over_slots == "raise":
            raise InvalidDecision(f"{int(wanted.sum())} instances; expected {info.slots} in all, at most")
        nobody_knows = np.full(len(wanted), np.nan)
        world.apply(answer(info, view, wanted, Reason.OUTSIDE_AGENT, nobody_knows))
        self.view = world.advance()
        result = world.result()
        if self.view is None:
            self.result = result
        gained: Floats = result.reward[-1]
        return gained

    def seen(self) -> Seen:
        """(history, O, columns) a new array every time; nothing but 0 when the episode is over."""
        if self.view is None or self._features is None:
            return np.zeros(self.shape, np.float32)
        return np.clip(self._features.of(self.view), -HIGHEST, HIGHEST).astype(np.float32)

    def facts(self) -> dict[str, Any]:
        """For `info`."""
        assert self._world is not None
        return {"time_s": self._world.time_s, "cut": self.cut}

    def outcome(self) -> dict[str, Any]:
        """For `info` at the end of an episode."""
        assert self.result is not None
        result = self.result
        return {
            "reward": float(result.reward.mean()),
            "utilisation": float(result.utilisation.mean()),
            "slo_violations": float((result.latency_s > result.workload.job_slo_s).mean()),
            "rescales": int(result.rescaled.sum()),
            "instance_hours": float(result.parallelism.sum()) * result.options.interval_s / 3600.0,
        }

    def _given(self, options: Mapping[str, Any] | None) -> StreamWorkload | None:
        for name in options or {}:
            if name != "workload":
                raise ConfigError(f"reset has no option {name!r}{did_you_mean(name, ['workload'])}")
        given: StreamWorkload | None = (options or {}).get("workload")
        if given is not None and given.op_max.tolist() != self.most.tolist():
            raise ConfigError(
                f"a workload of {given.num_operators} operators with {given.op_max.tolist()} instances at most; this "
                f"environment was made for {len(self.most)} with {self.most.tolist()}"
            )
        return given


def _names(jobs: tuple[str, ...], operators: tuple[str, ...], of_job: Ints) -> tuple[str, ...]:
    """(O,) unique: with the job where there are several."""
    if len(jobs) == 1:
        return operators
    return tuple(f"{jobs[int(job)]}/{name}" for name, job in zip(operators, of_job, strict=True))
