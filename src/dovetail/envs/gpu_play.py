"""One gpu world that agents outside answer for: episodes, padding, and rewards between answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.core.errors import ConfigError
from dovetail.core.gpu import Bools, Floats, GpuDecision, GpuInfo, GpuView, Ints
from dovetail.core.seeds import SeedTree
from dovetail.core.suggest import did_you_mean
from dovetail.envs.gpu_rewards import GpuStep, Ledger
from dovetail.envs.gpu_setting import GpuSetting
from dovetail.features.gpu import JOB_COLUMNS, MACHINE_COLUMNS, PAIR_COLUMNS, GpuFeatures, Room
from dovetail.sim.gpu import GpuResult, GpuWorld
from dovetail.workloads.gpu import GpuWorkload

HIGHEST = 100.0  # of any observed number; they are shares, and logarithms of minutes
Padded = NDArray[np.float32]


class GpuPlay:
    """Episodes of one setting, one after the other.  Views in which no waiting job fits go by without being shown."""

    def __init__(self, setting: GpuSetting) -> None:
        self.setting = setting
        self.source = setting.source()
        self.options = setting.world_options(self.source)
        self.model = setting.speed_model()
        self.reward = setting.reward_object()
        self.job_rows = setting.waiting
        self.machine_rows = setting.machine_rows(self.options.cluster.machines)
        self.result: GpuResult | None = None  # of the episode that ended last
        self.view: GpuView | None = None
        self._tree: SeedTree | None = None
        self._episode = 0
        self._world: GpuWorld | None = None
        self._features: GpuFeatures | None = None
        self._ledger = Ledger(0.0, 0.0, 0.0)

    @property
    def over(self) -> bool:
        return self.view is None

    @property
    def info(self) -> GpuInfo:
        assert self._world is not None, "no episode has begun"
        return self._world.info

    @property
    def features(self) -> GpuFeatures:
        assert self._features is not None, "no episode has begun"
        return self._features

    def begin(self, seed: int | None, rng: np.random.Generator, options: Mapping[str, Any] | None) -> SeedTree:
        """A new episode; its seeds.  Without a seed, the next of the seed that was given last."""
        if seed is None and self._tree is None:
            seed = int(rng.integers(1 << 31))
        if seed is not None:
            self._tree, self._episode = SeedTree(seed), 0
        assert self._tree is not None
        seeds = self._tree if self._episode == 0 else self._tree.child("episode", self._episode)
        self._episode += 1
        workload = _given(options) or self.setting.sequence(self.source, self.options.cluster, seeds)
        if workload.num_jobs == 0:
            raise ConfigError("the workload has no jobs; expected at least one")
        self._world = GpuWorld(workload, self.model, self.options, seeds)
        self._features = GpuFeatures(self._world.info)
        self.view = self._world.advance()
        self._ledger = Ledger.of(self._world.result())
        self._skip()
        return seeds

    def answer(self, decisions: Sequence[GpuDecision]) -> float:
        """Carry it out; what it is worth until the next view, or the end."""
        return self._apply(decisions) + self._skip()

    def possible(self, view: GpuView) -> Bools:
        """(J,) which waiting jobs fit."""
        _, found = self.features.fitting(view, Room.of(view))
        return found

    def shown(self, possible: Bools) -> Ints:
        """Waiting jobs that there is room for, by arrival: those that fit before others."""
        order = np.argsort(~possible, kind="stable")[: self.job_rows]
        return np.sort(order)

    def job_features(self, view: GpuView, rows: Ints) -> Padded:
        """(job_rows, columns) of these waiting jobs."""
        fits, _ = self.features.fitting(view, Room.of(view))
        return padded(self.features.jobs(view, fits)[rows], self.job_rows)

    def machine_features(self, view: GpuView) -> Padded:
        """(machine_rows, columns)."""
        ratio, main = self.features.speeds(view)
        return padded(self.features.machines(view, ratio, main), self.machine_rows)

    def pair_features(self, view: GpuView, rows: Ints) -> tuple[Padded, NDArray[np.int8]]:
        """(job_rows, machine_rows, columns), and (job_rows, machine_rows): the machine takes a worker of the job."""
        found = np.zeros((self.job_rows, self.machine_rows, len(PAIR_COLUMNS)), np.float32)
        takes = np.zeros((self.job_rows, self.machine_rows), np.int8)
        room = Room.of(view)
        for place, job in enumerate(rows.tolist()):
            fits = self.features.workers(view, room, job)
            found[place] = padded(self.features.pairs(view, room, job, fits), self.machine_rows)
            takes[place, : len(fits)] = fits > 0
        return found, takes

    def machine_mask(self) -> NDArray[np.int8]:
        return mask(self.options.cluster.machines, self.machine_rows)

    def facts(self) -> dict[str, Any]:
        """For `info`."""
        view = self.view
        return {
            "time_s": self._ledger.time_s if view is None else view.time_s,
            "waiting": 0 if view is None else len(view.job_id),
            "running": 0 if view is None else len(view.run_id),
        }

    def outcome(self) -> dict[str, Any]:
        """For `info` at the end of an episode."""
        assert self.result is not None
        return {
            "avg_jct_s": float(self.result.completion_s.mean()),
            "avg_fee_usd": float(self.result.fee.mean()),
            "makespan_s": self.result.makespan_s,
            "jobs": self.result.workload.num_jobs,
        }

    def _skip(self) -> float:
        """Past views in which nothing can be started."""
        total = 0.0
        while self.view is not None and not self.possible(self.view).any():
            total += self._apply(())
        return total

    def _apply(self, decisions: Sequence[GpuDecision]) -> float:
        assert self._world is not None and self.view is not None
        # Arrays of a view are valid until the next decision only.
        parts: Any = [np.array(part) for part in self.view[1:]]
        view, before = GpuView(self.view.time_s, *parts), self._ledger
        self._world.apply(decisions)
        self.view = self._world.advance()
        result = self._world.result()
        self._ledger = Ledger.of(result)
        if self.view is None:
            self.result = result
        jobs = result.workload.num_jobs
        return self.reward.reward(GpuStep(self.info, jobs, view, decisions, before, self._ledger))


def padded(values: Floats, rows: int) -> Padded:
    """With zeros, up to so many rows; nothing beyond what a space can say."""
    found = np.zeros((rows, values.shape[1]), np.float32)
    found[: len(values)] = np.clip(values, -HIGHEST, HIGHEST)
    return found


def mask(count: int, rows: int) -> NDArray[np.int8]:
    return (np.arange(rows) < count).astype(np.int8)


def _given(options: Mapping[str, Any] | None) -> GpuWorkload | None:
    for name in options or {}:
        if name != "workload":
            raise ConfigError(f"reset has no option {name!r}{did_you_mean(name, ['workload'])}")
    return (options or {}).get("workload")


__all__ = ["HIGHEST", "JOB_COLUMNS", "MACHINE_COLUMNS", "PAIR_COLUMNS", "GpuPlay", "Padded", "mask", "padded"]
