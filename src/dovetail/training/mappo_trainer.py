"""The rounds of `mappo`, and all that a run keeps of it beside the network: critic, old critic, deviations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.learned.das.shape import Parameters
from dovetail.training.adam import Adam
from dovetail.training.das_plan import DasPlan
from dovetail.training.das_worker import Task
from dovetail.training.mappo import SPREADS
from dovetail.training.mappo_critic import fresh
from dovetail.training.workers import Workers

LARGEST_STEP = 1.0  # norm of a gradient


class MappoTrainer:
    def __init__(self, plan: DasPlan, seed: int) -> None:
        self._plan = plan
        self.critic = fresh(plan.mappo.width, SeedTree(seed).child("critic").generator())
        self.old = dict(self.critic)
        self.log_spread: Floats = np.log([plan.order_noise, plan.start_noise, plan.place_noise])
        self.scale = 0.0  # of rewards: the deviation of what came in the first round; 0: not known
        self._critic_adam = Adam(self.critic, plan.mappo.rate)
        self._spread_adam = Adam({"spread": self.log_spread}, plan.rate)

    def round(
        self, workers: Workers, parameters: Parameters, adam: Adam, tasks: Sequence[Task], rng: np.random.Generator
    ) -> dict[str, float]:
        """Play, judge, learn; `parameters` gets new arrays."""
        shares = [tasks[number :: workers.count] for number in range(workers.count)]
        seeds = rng.integers(1 << 31, size=workers.count).tolist()
        asked = [(parameters, self.log_spread, share, seed) for share, seed in zip(shares, seeds, strict=True)]
        played = [answer for answer in workers.call("explore", asked) if answer is not None]
        turns = [answer["turns"] for answer in played]
        found = {name: float(np.average([one[name] for one in played], weights=turns)) for name in played[0]}
        later, square = found.pop("later"), found.pop("later_square")
        found.pop("turns")
        first = self.scale == 0.0
        if first:
            self.scale = max(float(np.sqrt(max(square - later**2, 0.0))), 1e-9)
            for one in (self.critic, self.old):
                one["value.bias"] = np.array([later / self.scale])
        found |= _means(self._call(workers, "weigh", parameters, self.log_spread, self.old, self.scale))
        for _ in range(self._plan.mappo.steps):
            found |= self._teach_critic(workers)
        for _ in range(0 if first else self._plan.epochs):
            found |= self._teach_actors(workers, parameters, adam)
        return found | {
            f"spread_{name}": float(np.exp(one)) for name, one in zip(SPREADS, self.log_spread, strict=True)
        }

    def arrays(self) -> dict[str, Floats]:
        found = {"spread": self.log_spread, "scale": np.array([self.scale])}
        parts = {"critic": self.critic, "old": self.old}
        parts |= {"critic_adam": self._critic_adam.state(), "spread_adam": self._spread_adam.state()}
        return found | {f"{part}/{name}": value for part, held in parts.items() for name, value in held.items()}

    def restore(self, arrays: dict[str, Floats]) -> None:
        def part(name: str) -> dict[str, Floats]:
            return {key.removeprefix(f"{name}/"): value for key, value in arrays.items() if key.startswith(f"{name}/")}

        self.critic = {name: part("critic")[name] for name in self.critic}
        self.old = {name: part("old")[name] for name in self.old}
        self.log_spread, self.scale = arrays["spread"], float(arrays["scale"][0])
        self._critic_adam.restore(part("critic_adam"))
        self._spread_adam.restore(part("spread_adam"))

    def _teach_critic(self, workers: Workers) -> dict[str, float]:
        answers = self._call(workers, "critic_gradient", self.critic)
        figures = [one for _, one in answers]
        self._critic_adam.step(self.critic, _mean_gradient([one for one, _ in answers], figures), LARGEST_STEP)
        slow = self._plan.mappo.slow
        self.old = {name: (1.0 - slow) * self.old[name] + slow * value for name, value in self.critic.items()}
        return _means(figures)

    def _teach_actors(self, workers: Workers, parameters: Parameters, adam: Adam) -> dict[str, float]:
        answers = self._call(workers, "actor_gradient", parameters, self.log_spread)
        figures = [one for _, _, one in answers]
        adam.step(parameters, _mean_gradient([one for one, _, _ in answers], figures), LARGEST_STEP)
        spread = {"spread": self.log_spread}
        self._spread_adam.step(
            spread, _mean_gradient([{"spread": one} for _, one, _ in answers], figures), LARGEST_STEP
        )
        self.log_spread = spread["spread"]
        return _means(figures)

    @staticmethod
    def _call(workers: Workers, method: str, *arguments: Any) -> list[Any]:
        return [answer for answer in workers.call(method, [arguments] * workers.count) if answer is not None]


def _mean_gradient(gradients: Sequence[Parameters], figures: Sequence[dict[str, float]]) -> Parameters:
    count = sum(one["sequences"] for one in figures)
    return {name: np.asarray(sum(one[name] for one in gradients) / count) for name in gradients[0]}


def _means(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    """Over sequences; one worker may have had none."""
    count = sum(one["sequences"] for one in figures)
    names = set().union(*figures) - {"sequences"}
    return {name: sum(one.get(name, 0.0) for one in figures) / count for name in sorted(names)}
