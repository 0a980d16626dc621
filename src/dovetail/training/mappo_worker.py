"""Plays and works out gradients for `mappo`; one of these lives in every worker process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dovetail.core.gpu import Floats
from dovetail.core.seeds import SeedTree
from dovetail.schedulers.learned.das.forward import DasForward
from dovetail.schedulers.learned.das.network import DasNetwork
from dovetail.schedulers.learned.das.shape import Parameters
from dovetail.sim.gpu import GpuResult
from dovetail.training.das_recorder import Recorder
from dovetail.training.das_worker import DasWorker, Task
from dovetail.training.fork_gradient import PlaceBatch, TurnBatch
from dovetail.training.mappo import Drawn, OrderActions, PlaceActions, clipped
from dovetail.training.mappo_critic import Critic, Seen, keeps, td_errors, traced
from dovetail.training.mappo_rewards import rewards_of

LARGEST_ADVANTAGE = 5.0  # in deviations


@dataclass(eq=False)
class Episode:
    """What was drawn, what was seen, and what came of it."""

    orders: OrderActions
    places: PlaceActions
    speeds: PlaceBatch
    turns: TurnBatch
    seen: Seen
    reward: Floats  # (T,)
    keep: Floats  # (T,)
    target: torch.Tensor  # (T,) of the critic
    advantage: torch.Tensor  # (T,)
    old: tuple[torch.Tensor, torch.Tensor] | None = None  # (T,) log densities of both agents as they played

    def log_densities(
        self, network: DasNetwork, log_spread: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """(T,) of both agents; mean entropy of a score of each; and `PlaceBatch.errors`."""
        order, order_entropy = self.orders.log_density(network, log_spread)
        placed = self.speeds.placed(network)
        place, place_entropy = self.places.log_density(placed, log_spread, self.seen.turns)
        each = order_entropy.sum() / self.orders.scores.sum(), place_entropy.sum() / self.places.scores.sum()
        return order, place, *each, *self.speeds.errors(network, placed)


class MappoWorker(DasWorker):
    def explore(
        self, parameters: Parameters, log_spread: Floats, tasks: Sequence[Task], seed: int
    ) -> dict[str, float] | None:
        """A round: each sequence once, with scores drawn.  All of it is kept."""
        network = DasForward(self._shape, parameters)
        self._episodes: list[Episode] = []
        jct_s, fee, later = [], [], []
        for number, task in enumerate(tasks):
            rng = SeedTree(seed).child("explore", number).generator()
            recorder = Recorder(network, Drawn(log_spread, rng))
            result = self._run(task, recorder)
            jct_s.append(float(result.completion_s.mean()))
            fee.append(float(result.fee.mean()))
            self._episodes.append(self._episode(recorder, result, rng))
            later.append(traced(self._episodes[-1].reward, self._episodes[-1].keep, 1.0))
        if not tasks:
            return None
        every = np.concatenate(later)
        figures = {"jct_s": float(np.mean(jct_s)), "fee": float(np.mean(fee)), "turns": float(len(every))}
        return figures | {"later": float(every.mean()), "later_square": float((every**2).mean())}

    def weigh(self, parameters: Parameters, log_spread: Floats, old: Parameters, scale: float) -> dict[str, float]:
        """Targets and advantages by the old critic, rewards in units of `scale`; and densities as they were played."""
        plan, critic = self._plan.mappo, Critic(old)
        network, spread = DasNetwork(self._shape, parameters), torch.as_tensor(log_spread)
        figures = {"sequences": float(len(self._episodes)), "explained": 0.0}
        with torch.no_grad():
            for one in self._episodes:
                value, gain = (part.numpy() for part in critic.judged(one.seen))
                ahead = traced(td_errors(one.reward / scale, value, one.keep), one.keep, plan.trace)
                one.target = torch.as_tensor(value + ahead)
                one.advantage = torch.as_tensor(ahead if plan.advantage == "td" else gain.copy())
                one.old = one.log_densities(network, spread)[:2]
                came = traced(one.reward / scale, one.keep, 1.0)
                figures["explained"] += 1.0 - float(((came - value) ** 2).mean() / max(float(came.var()), 1e-9))
        normalise(self._episodes)
        return figures

    def critic_gradient(self, critic: Parameters) -> tuple[Parameters, dict[str, float]]:
        """Summed over sequences, like all gradients."""
        held = Critic(critic)
        figures = {"sequences": float(len(self._episodes)), "critic": 0.0}
        for one in self._episodes:
            error = held.error(one.seen, one.target).mean()
            figures["critic"] += float(error.detach())
            error.backward()  # type: ignore[no-untyped-call]
        return _gradients(held.named), figures

    def actor_gradient(self, parameters: Parameters, log_spread: Floats) -> tuple[Parameters, Floats, dict[str, float]]:
        """Of the network, and of the logarithms of the deviations."""
        network, spread = DasNetwork(self._shape, parameters), torch.tensor(log_spread, requires_grad=True)
        figures: dict[str, float] = {"sequences": float(len(self._episodes))}
        for one in self._episodes:
            loss, found = self.loss(one, network, spread)
            loss.backward()  # type: ignore[no-untyped-call]
            for name, value in found.items():
                figures[name] = figures.get(name, 0.0) + float(value.detach())
        gradient = spread.grad
        assert gradient is not None
        return _gradients(network.named), gradient.numpy().copy(), figures

    def loss(
        self, one: Episode, network: DasNetwork, log_spread: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Of both agents, and figures."""
        plan = self._plan
        assert one.old is not None, "weigh() comes first"
        order, place, order_entropy, place_entropy, error, unlikely = one.log_densities(network, log_spread)
        known = one.speeds.known.sum().clamp(min=1.0)
        missed, waited, *_ = one.turns.errors(network)
        wait = missed / waited.clamp(min=1.0)
        drew = one.places.drew(one.seen.turns)
        moved = order - one.old[0], (place - one.old[1])[drew]
        gained_order, outside_order = clipped(moved[0], one.advantage, plan.clip)
        gained_place, outside_place = clipped(moved[1], one.advantage[drew], plan.clip)
        loss = -gained_order - gained_place - plan.mappo.entropy * (order_entropy + place_entropy)
        loss = loss + plan.speed * unlikely.sum() / known + plan.wait * wait
        figures = {"gained_order": gained_order, "gained_place": gained_place}
        figures |= {"outside_order": outside_order, "outside_place": outside_place}
        figures |= {"entropy_order": order_entropy, "entropy_place": place_entropy}
        figures |= {"far_order": _far(moved[0]), "far_place": _far(moved[1]), "speed": error.sum() / known}
        return loss, figures | {"wait": wait}

    def _episode(self, recorder: Recorder, result: GpuResult, rng: np.random.Generator) -> Episode:
        turns, placed = recorder.ordered, recorder.placed
        log_ratio = np.log(np.maximum(result.relative_speed, 1e-3))[[one.job_id for one in placed]]
        speeds = PlaceBatch(placed, log_ratio, [])
        patience_s = self._plan.patience * float(result.completion_s.mean())
        nothing = torch.zeros(len(turns), dtype=torch.float64)
        return Episode(
            OrderActions(turns),
            PlaceActions(placed, speeds),
            speeds,
            TurnBatch(turns, result.start_s, rng),
            Seen.of(turns, placed),
            rewards_of(self._plan, turns, placed, result, recorder.info),
            keeps(np.array([turn.time_s for turn in turns]), patience_s),
            nothing,
            nothing,
        )


def normalise(episodes: Sequence[Episode]) -> None:
    """Advantages in units of their deviation over the round, around their mean; a few huge ones do not count more."""
    if not episodes:
        return
    every = torch.cat([one.advantage for one in episodes])
    mean, scale = every.mean(), every.std(correction=0).clamp(min=1e-9)
    for one in episodes:
        one.advantage = ((one.advantage - mean) / scale).clamp(-LARGEST_ADVANTAGE, LARGEST_ADVANTAGE)


def _far(log_ratio: torch.Tensor) -> torch.Tensor:
    return (log_ratio.exp() - 1.0 - log_ratio).mean()


def _gradients(named: Mapping[str, torch.Tensor]) -> Parameters:
    found: Parameters = {}
    for name, value in named.items():
        found[name] = np.zeros(value.shape) if value.grad is None else value.grad.numpy().copy()
    return found
