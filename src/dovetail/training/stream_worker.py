"""Plays learned autoscalers on streaming jobs and works out gradients; one of these lives in every worker process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from dovetail.core.errors import ConfigError
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Floats, Reason, StreamInfo, StreamView, reward
from dovetail.evaluation.setting_stream import OpenStreamSetting, StreamSetting
from dovetail.features.stream import COLUMNS, StreamFeatures
from dovetail.schedulers.learned.stream import sure
from dovetail.schedulers.learned.stream.action import Actuator
from dovetail.schedulers.learned.stream.arrays import Parameters
from dovetail.schedulers.learned.stream.checkpoint import StreamCheckpoint
from dovetail.schedulers.learned.stream.compiled import COMPILED
from dovetail.schedulers.learned.stream.graph import Graph, Singles, graph_of
from dovetail.schedulers.learned.stream.kinds import draw, forward
from dovetail.schedulers.learned.stream.scheduler import POLICIES
from dovetail.schedulers.learned.stream.shape import StreamShape
from dovetail.sim.stream import StreamWorld
from dovetail.training.stream_lessons import Lesson, change_of, regret, taught
from dovetail.training.stream_losses import OBJECTIVE, log_probability, policy_loss, sampler_loss
from dovetail.training.stream_plan import StreamPlan
from dovetail.training.stream_torch import TORCH
from dovetail.training.stream_variety import varied
from dovetail.workloads.stream import StreamWorkload

Task = tuple[int, int]
"""Which setting, and the seed of the sequence."""
FURTHEST = 10.0
PIECE = 8  # moments whose gradient is worked out at once


@dataclass(frozen=True, eq=False)
class Played:
    """One sequence, played E times: T decisions for each of O operators."""

    graph: Graph
    features: Singles  # (T, E, L, O, F)
    actions: Singles  # (T, E, O)
    old: Singles  # (T, E, O) log probability
    advantage: Singles  # (T, E, O)
    change: Singles  # (T, E, O) of the logarithm of demand until the next decision
    noise_seed: int


class StreamWorker:
    """Settings in memory, and the last round."""

    def __init__(
        self,
        settings: Sequence[StreamSetting],
        validation: Sequence[StreamSetting],
        kind: str,
        shape: StreamShape,
        plan: StreamPlan,
    ) -> None:
        torch.set_num_threads(1)
        self._training = [episode_of(setting, plan) for setting in settings]
        self._validation = [setting.open() for setting in validation]
        self._kind, self._shape, self._plan = kind, shape, plan
        self._round: list[Played] = []
        self._lessons: list[Lesson] = []

    def score_each(self, parameters: Parameters, tasks: Sequence[Task]) -> list[float]:
        """The reward on each validation sequence, without exploring."""
        network = StreamCheckpoint(self._kind, self._shape, _without_objective(parameters), {})
        found = []
        for number, seed in tasks:
            opened = self._validation[number]
            world = opened.world(opened.sequence(seed), SeedTree(seed))
            result = opened.run(world, POLICIES[self._kind](network=network), SeedTree(seed).generator())
            found.append(float(result.reward.mean()))
        return found

    def teach(self, parameters: Parameters, tasks: Sequence[Task], seed: int) -> dict[str, float]:
        """Play each sequence once; what would have been best is noted, and kept with all from before."""
        rewards = []
        for place, (number, sequence_seed) in enumerate(tasks):
            seeds = SeedTree(seed).child("teach", place, number)
            world = self._training[number].world(self._sequence(number, sequence_seed, seeds), SeedTree(sequence_seed))
            lesson, mean_reward = taught(self._kind, self._shape, parameters, world, seeds)
            self._lessons.append(lesson)
            rewards.append(mean_reward)
        return {"reward": _mean(rewards), "actions": float(sum(each.demand.size for each in self._lessons))}

    def _sequence(self, number: int, sequence_seed: int, seeds: SeedTree) -> StreamWorkload:
        """One to learn from."""
        opened = self._training[number]
        drawn = opened.sequence(sequence_seed)
        return varied(drawn, self._plan.spread, opened.interval_s, seeds.child("variety").generator())

    def columns(self) -> Floats:
        """(3, F) of all it was taught so far: how many rows, their sum, and that of their squares."""
        found = np.zeros((3, len(COLUMNS)))
        for lesson in self._lessons:
            rows = lesson.features.reshape(-1, len(COLUMNS)).astype(np.float64)
            found += np.stack([np.full(len(COLUMNS), float(len(rows))), rows.sum(axis=0), (rows**2).sum(axis=0)])
        return found

    def gradient_of_lessons(self, parameters: Parameters, seed: int) -> tuple[Parameters, dict[str, float]]:
        """Of the mean regret at some moments, taken in equal parts from some lessons, drawn by `seed`."""
        rng = np.random.default_rng(seed)
        named = _tensors(parameters, learn=True)
        plan, found = self._plan, dict[str, float]()
        for part in np.array_split(np.arange(plan.moments), plan.sources):
            loss, figures = self._loss_of_lesson(named, len(part), rng)
            share = len(part) / plan.moments
            (share * loss).backward()  # type: ignore[no-untyped-call]
            for name, value in figures.items():
                found[name] = found.get(name, 0.0) + share * value
        return _gradients(named), found

    def _loss_of_lesson(
        self, named: Parameters, count: int, rng: np.random.Generator
    ) -> tuple[torch.Tensor, dict[str, float]]:
        """At so many moments of one lesson."""
        lesson = self._lessons[int(rng.integers(len(self._lessons)))]
        moments = rng.integers(len(lesson.features), size=count)
        features = torch.as_tensor(lesson.features[moments])
        noise = draw(self._kind, rng, self._shape, count, features.shape[1], lesson.graph)
        said = forward(TORCH, self._kind, self._shape, named, features, lesson.graph, noise)
        loss = regret(self._shape.action, lesson, moments, said.mean)
        figures = {"regret": loss.item()}
        if said.sampled is not None:
            extra, more = sampler_loss(self._plan, self._shape, named, features, lesson.graph, said.sampled)
            loss, figures = loss + extra, figures | more
        if said.forecast is not None:
            off = ((said.forecast - torch.as_tensor(lesson.change[moments])) ** 2).mean()
            loss, figures = loss + self._plan.forecast * off, figures | {"forecast": off.item()}
        return loss, figures

    def play(self, parameters: Parameters, tasks: Sequence[Task], seed: int) -> dict[str, float]:
        """A round: each sequence several times.  What happened is kept, figures returned."""
        self._round, rewards, rescales = [], [], []
        for place, (number, sequence_seed) in enumerate(tasks):
            opened = self._training[number]
            explorer = SeedTree(seed).child("explore", place, number, sequence_seed)
            sequence = self._sequence(number, sequence_seed, explorer)
            worlds = [opened.world(sequence, SeedTree(sequence_seed)) for _ in range(self._plan.episodes)]
            played, mean_reward, changed = self._play(parameters, worlds, explorer)
            self._round.append(played)
            rewards.append(mean_reward)
            rescales.append(changed)
        count = sum(each.actions.size for each in self._round)
        return {"reward": _mean(rewards), "rescales": _mean(rescales), "actions": float(count)}

    def _play(
        self, parameters: Parameters, worlds: Sequence[StreamWorld], seeds: SeedTree
    ) -> tuple[Played, float, float]:
        info = worlds[0].info
        graph = graph_of(info, self._shape.hops, self._shape.neighbours)
        rows = StreamFeatures(info)
        actuator = Actuator(info, self._shape.action, rows.memory)
        rng = seeds.child("actions").generator()
        noise_seed = int(seeds.child("noise").generator().integers(2**31))
        std = float(np.exp(parameters["head.log_std"][0]))
        seen: list[Singles] = []
        taken: list[Singles] = []
        wanted: list[Floats] = []
        own: list[Floats] = []
        views = [world.advance() for world in worlds]
        while views[0] is not None:
            features = np.ascontiguousarray(np.stack([rows.of(view) for view in views if view is not None]))
            noise = draw(self._kind, moment(noise_seed, len(seen)), self._shape, len(worlds), info.history, graph)
            mean = forward(COMPILED, self._kind, self._shape, parameters, features, graph, noise).mean
            actions = (mean + std * rng.standard_normal(mean.shape, np.float32)).astype(np.float32)
            needed = np.stack([actuator.demand(view) for view in views if view is not None])
            if seen:
                own.append(np.stack([own_reward(info, view) for view in views if view is not None]))
            seen.append(features)
            taken.append(actions)
            wanted.append(needed)
            for world, view, action, need in zip(worlds, views, actions, needed, strict=True):
                assert view is not None
                world.apply(actuator.decisions(view, need, action, Reason.LEARNED))
            views = [world.advance() for world in worlds]
        results = [world.result() for world in worlds]
        own.append(own[-1])  # nothing is measured after the last interval; it is left out below
        rewards = np.stack([result.reward for result in results], axis=1)[: len(seen)]  # (T, E, J)
        advantage = self._advantages(info, rewards, np.stack(own))
        played = Played(
            graph=graph,
            features=np.stack(seen)[:-1],
            actions=np.stack(taken)[:-1],
            old=np.zeros(0, np.float32),
            advantage=advantage[:-1].astype(np.float32),
            change=change_of(np.stack(wanted))[:-1],
            noise_seed=noise_seed,
        )
        played = replace(played, old=self._densities(parameters, played))
        rescales = float(np.mean([result.rescaled.sum() for result in results]))
        return played, float(rewards.mean()), rescales

    def _advantages(self, info: StreamInfo, rewards: Floats, own: Floats) -> Floats:
        """(T, E, O)."""
        plan = self._plan
        whole = spread_out(faded(rewards, plan.fade))[..., info.operator_job]
        part = spread_out(faded(own, plan.fade))
        found: Floats = plan.own * part + (1.0 - plan.own) * whole
        return found

    def _densities(self, parameters: Parameters, played: Played) -> Singles:
        with torch.no_grad():
            named = _tensors(parameters, learn=False)
            return np.concatenate([self._piece(named, played, at)[0].numpy() for at in pieces(played)])

    def _piece(self, named: Parameters, played: Played, at: slice) -> tuple[torch.Tensor, Any, torch.Tensor]:
        """Log probabilities (t, E, O), what the network said, and the features it saw (t E, L, O, F)."""
        features = torch.as_tensor(played.features[at].reshape(-1, *played.features.shape[2:]))
        noise = self._noise(played, range(at.start, at.start + len(played.features[at])))
        said = forward(TORCH, self._kind, self._shape, named, features, played.graph, noise)
        actions = torch.as_tensor(played.actions[at])
        density = log_probability(actions, said.mean.reshape(actions.shape), named["head.log_std"][0])
        return density, said, features

    def _noise(self, played: Played, decisions: range) -> sure.Noise | None:
        """What was drawn at these decisions, one after another."""
        episodes, history = played.features.shape[1:3]
        drawn = [
            draw(self._kind, moment(played.noise_seed, k), self._shape, episodes, history, played.graph)
            for k in decisions
        ]
        known = [each for each in drawn if each is not None]
        return sure.Noise(*map(np.concatenate, zip(*known, strict=True))) if known else None

    def gradient(self, parameters: Parameters) -> tuple[Parameters, dict[str, float]]:
        """Of the round's loss, summed over pieces by their share; and figures likewise."""
        plan = self._plan
        named = _tensors(parameters, learn=True)
        moments = sum(len(each.features) for each in self._round)
        figures: dict[str, float] = {}
        for played in self._round:
            for at in pieces(played):
                density, said, features = self._piece(named, played, at)
                advantage = torch.as_tensor(played.advantage[at])
                loss, found = policy_loss(
                    plan, density, torch.as_tensor(played.old[at]), advantage, named["head.log_std"][0]
                )
                if said.sampled is not None:
                    extra, more = sampler_loss(plan, self._shape, named, features, played.graph, said.sampled)
                    loss, found = loss + extra, found | more
                if said.forecast is not None:
                    off = said.forecast.reshape(advantage.shape) - torch.as_tensor(played.change[at])
                    loss = loss + plan.forecast * (off**2).mean()
                    found["forecast"] = (off**2).mean().item()
                share = len(density) / moments
                (share * loss).backward()  # type: ignore[no-untyped-call]
                for name, value in found.items():
                    figures[name] = figures.get(name, 0.0) + share * value
        return _gradients(named), figures


def episode_of(setting: StreamSetting, plan: StreamPlan) -> OpenStreamSetting:
    """The setting with sequences as long as they are played to learn from; refused where rates do not last."""
    opened = setting.open()
    duration_s = (plan.decisions + 2) * opened.interval_s
    recorded_s = opened.source.rates.duration_s
    if recorded_s is not None and recorded_s < duration_s:
        most = int(recorded_s / opened.interval_s) - 2
        instead = f"decisions={most} at most, or a shorter interval" if most >= 2 else "a shorter interval"
        raise ConfigError(
            f"rates {opened.source.rates.name}: {recorded_s:,.0f} s were recorded, but an episode has decisions="
            f"{plan.decisions} and two more, one every {opened.interval_s:g} s, {duration_s:,.0f} s in all; expected "
            + instead
        )
    return replace(setting, duration_s=duration_s, options=replace(setting.options, step_s=plan.step_s)).open()


@dataclass(frozen=True)
class MakeStreamWorker:
    """Makes worker number n; can be sent to another process."""

    settings: tuple[StreamSetting, ...]
    validation: tuple[StreamSetting, ...]
    kind: str
    shape: StreamShape
    plan: StreamPlan

    def __call__(self, number: int) -> StreamWorker:
        return StreamWorker(self.settings, self.validation, self.kind, self.shape, self.plan)


def moment(seed: int, decision: int) -> np.random.Generator:
    """What the sampler draws at a decision, the same when the gradient is worked out."""
    return np.random.default_rng((seed, decision))


def own_reward(info: StreamInfo, view: StreamView) -> Floats:
    """(O,) what each operator adds to the reward of its job: its own latency, and its share of the utilisation."""
    since = slice(-info.snapshots, None)
    latency = view.op_latency_s[since].mean(axis=0)
    share = 1.0 / np.bincount(info.operator_job)[info.operator_job]
    busy = view.op_busy[since].mean(axis=0) * share
    found: Floats = reward(latency, info.job_slo_s[info.operator_job], busy, info.weight)
    return found


def faded(rewards: Floats, fade: float) -> Floats:
    """(T, ...) the sum from each moment on, fading."""
    found = rewards.astype(np.float64).copy()
    for moment_ in range(len(found) - 2, -1, -1):
        found[moment_] += fade * found[moment_ + 1]
    return found


def spread_out(returns: Floats) -> Floats:
    """(T, E, ...) less the mean over the times it was played, in units of the spread over all moments.

    Beyond some of these units nothing counts: one stall would drown all that is learned from ordinary hours.
    """
    apart = returns - returns.mean(axis=1, keepdims=True)
    clipped: Floats = np.clip(
        apart / (np.sqrt((apart**2).mean(axis=(0, 1), keepdims=True)) + 1e-6), -FURTHEST, FURTHEST
    )
    return clipped


def pieces(played: Played) -> list[slice]:
    return [slice(start, start + PIECE) for start in range(0, len(played.features), PIECE)]


def _tensors(parameters: Parameters, *, learn: bool) -> Parameters:
    return {name: torch.as_tensor(value).clone().requires_grad_(learn) for name, value in parameters.items()}


def _gradients(named: Parameters) -> Parameters:
    return {
        name: np.zeros(value.shape, np.float32) if value.grad is None else value.grad.numpy().copy()
        for name, value in named.items()
    }


def _without_objective(parameters: Parameters) -> Parameters:
    return {name: value for name, value in parameters.items() if not name.startswith(OBJECTIVE)}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
