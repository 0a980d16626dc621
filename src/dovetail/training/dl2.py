"""Training the network of gpu/dl2: first an existing scheduler's decisions, then actor-critic in the simulator.

The teacher sees the first twenty waiting jobs, as the network does.  Afterwards the network draws its actions.  What is
paid is a second for every second of every job in the system; what a decision is to blame for is what is still paid
after it, compared with what other episodes of the same sequence paid from that time on (`baseline`), less what a second
network expects of that from what it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from dovetail.core.gpu import Bools, Floats, GpuDecision, GpuInfo, GpuView
from dovetail.core.seeds import SeedTree
from dovetail.evaluation.setting_gpu import GpuSetting, OpenGpuSetting
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.heuristic.gpu.room import Need, Room
from dovetail.schedulers.learned.gpu_baselines.dl2 import Dl2
from dovetail.schedulers.learned.gpu_baselines.dl2_features import (
    ACTIONS,
    JOBS,
    RULES,
    STOP,
    inputs_of,
    job_numbers,
    mask_of,
    which_fit,
)
from dovetail.schedulers.learned.gpu_baselines.dl2_network import WIDTH, PolicyNetwork
from dovetail.sim.gpu import GpuResult, run
from dovetail.training.baseline import Trace, advantages

FIRST_TRAINING_SEED, FIRST_VALIDATION_SEED = 1_000, 2_000


@dataclass(frozen=True)
class Dl2Plan:
    workloads: tuple[str, ...] = ("small", "medium")
    teacher: str = "gpu/srtf+topology"  # places as the first of the three actions does
    hidden: int = 128
    taught: int = 80  # sequences
    passes: int = 25  # over what the teacher did
    iterations: int = 240
    episodes: int = 6  # of each sequence, of which an iteration has one
    rate: float = 4e-4
    entropy: float = 0.003
    patience: float = 2.0  # mean completion times, after which what is paid hardly counts
    validation: int = 6  # sequences of each workload
    every: int = 10  # iterations


class Step(NamedTuple):
    """One action."""

    inputs: Floats
    mask: Bools
    action: int
    decision: int  # of the episode


class Recorder(Dl2):
    """Draws its actions and remembers them."""

    def __init__(self, network: PolicyNetwork, rng: np.random.Generator) -> None:
        super().__init__(network=network)
        self._rng = rng
        self.steps: list[Step] = []
        self.time_s: list[float] = []

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        self.time_s.append(view.time_s)
        return super().decide(view)

    def act(self, inputs: Floats, mask: Bools) -> tuple[int, float]:
        logits = self._network.logits(inputs, mask)
        weight = np.exp(logits - logits.max())
        action = int(np.searchsorted(np.cumsum(weight) / weight.sum(), self._rng.random(), side="right"))
        action = min(action, int(np.flatnonzero(mask)[-1]))
        self.steps.append(Step(inputs, mask, action, len(self.time_s) - 1))
        return action, float(logits[action])


class Pupil:
    """Lets the teacher decide, and writes down what the network would have had to do."""

    def __init__(self, teacher: str) -> None:
        self._teacher = SCHEDULERS.create(teacher)
        self.steps: list[Step] = []

    def reset(self, info: GpuInfo, rng: np.random.Generator) -> None:
        self._info = info
        self._teacher.reset(info, rng)

    def decide(self, view: GpuView) -> Sequence[GpuDecision]:
        seen = {name: getattr(view, name)[:JOBS] for name in view._fields if name.startswith("job_")}
        found: Sequence[GpuDecision] = self._teacher.decide(view._replace(**seen))
        room, numbers, chosen = Room.of(view, self._info), job_numbers(view, self._info), set[int]()
        for one in found:
            self._note(view, room, numbers, chosen, one.job * RULES)
            need = Need.of(view, self._info, one.job)
            for machine in one.machines.tolist():
                room.take(machine, need)
            chosen.add(one.job)
        self._note(view, room, numbers, chosen, STOP)
        return found

    def _note(self, view: GpuView, room: Room, numbers: Floats, chosen: set[int], action: int) -> None:
        fit = which_fit(view, self._info, room, chosen)
        mask = mask_of(fit, bool(chosen) or len(view.run_id) > 0)
        if fit.any() and mask[action]:
            self.steps.append(Step(inputs_of(numbers, fit, chosen), mask, action, 0))


def make_network(outputs: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(WIDTH, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs)
    )


def frozen(policy: nn.Sequential) -> PolicyNetwork:
    """As the scheduler computes with it."""
    parts = [part.detach().numpy().astype(np.float64) for part in policy.parameters()]
    return PolicyNetwork(*(part.T.copy() if part.ndim == 2 else part for part in parts))


def train_dl2(plan: Dl2Plan, seed: int, tell: Callable[[str, int, dict[str, float]], None]) -> PolicyNetwork:
    """The best network on the validation sequences; `tell` gets phase, number and figures."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    settings = [GpuSetting(name).open() for name in plan.workloads]
    policy, critic = make_network(ACTIONS, plan.hidden), make_network(1, plan.hidden)
    _imitate(policy, settings, plan, seed, tell)
    best, best_s = frozen(policy), _validate(frozen(policy), settings, plan)
    tell("taught", 0, {"jct_s": best_s})
    optimiser = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=plan.rate)
    for number in range(1, plan.iterations + 1):
        figures = _improve(policy, critic, optimiser, settings, plan, SeedTree(seed).child("iteration", number), number)
        if number % plan.every == 0:
            figures["validation_jct_s"] = found = _validate(frozen(policy), settings, plan)
            if found < best_s:
                best, best_s = frozen(policy), found
        tell("actor-critic", number, figures)
    return best


def _play(setting: OpenGpuSetting, player: Dl2 | Pupil, seed: int) -> float:
    """Mean completion time."""
    return float(_run(setting, player, seed).completion_s.mean())


def _run(setting: OpenGpuSetting, player: Dl2 | Pupil, seed: int) -> GpuResult:
    return run(setting.world(setting.sequence(seed), SeedTree(seed)), player, SeedTree(seed).generator())


def _validate(network: PolicyNetwork, settings: list[OpenGpuSetting], plan: Dl2Plan) -> float:
    """Geometric mean over workloads, so that none of them rules the others."""
    means = [
        np.mean([_play(one, Dl2(network=network), FIRST_VALIDATION_SEED + seed) for seed in range(plan.validation)])
        for one in settings
    ]
    return float(np.exp(np.mean(np.log(means))))


def _imitate(
    policy: nn.Sequential,
    settings: list[OpenGpuSetting],
    plan: Dl2Plan,
    seed: int,
    tell: Callable[[str, int, dict[str, float]], None],
) -> None:
    pupil = Pupil(plan.teacher)
    for number in range(plan.taught):
        _play(settings[number % len(settings)], pupil, FIRST_TRAINING_SEED + number)
    inputs, mask, action = _tensors(pupil.steps)
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
    shuffle = torch.Generator().manual_seed(seed)
    for number in range(plan.passes):
        losses = []
        for batch in torch.randperm(len(action), generator=shuffle).split(256):  # type: ignore[no-untyped-call]
            logits = policy(inputs[batch]).masked_fill(~mask[batch], -torch.inf)
            loss = nn.functional.cross_entropy(logits, action[batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            losses.append(float(loss.detach()))
        tell("imitation", number, {"loss": float(np.mean(losses)), "actions": float(len(action))})


def _improve(
    policy: nn.Sequential,
    critic: nn.Sequential,
    optimiser: torch.optim.Optimizer,
    settings: list[OpenGpuSetting],
    plan: Dl2Plan,
    seeds: SeedTree,
    iteration: int,
) -> dict[str, float]:
    setting, number = settings[iteration % len(settings)], FIRST_TRAINING_SEED + 100 + iteration
    network = frozen(policy)
    players = [Recorder(network, seeds.child("actions", episode).generator()) for episode in range(plan.episodes)]
    results = [_run(setting, player, number) for player in players]
    mean_s = float(np.mean([result.completion_s.mean() for result in results]))
    traces = [trace_of(result, np.array(player.time_s)) for result, player in zip(results, players, strict=True)]
    found = advantages(traces, patience_s=plan.patience * mean_s)
    steps = [step for player in players for step in player.steps]
    gained = [gain[[step.decision for step in one.steps]] for gain, one in zip(found, players, strict=True)]
    inputs, mask, action = _tensors(steps)
    target = torch.as_tensor(np.concatenate(gained), dtype=torch.float32)
    expected = critic(inputs).squeeze(1)
    advantage = target - expected.detach()
    logarithm = torch.log_softmax(policy(inputs).masked_fill(~mask, -torch.inf), dim=1)
    taken = logarithm.gather(1, action[:, None]).squeeze(1)
    entropy = -(logarithm.exp() * logarithm.masked_fill(~mask, 0.0)).sum(1).mean()
    error = ((expected - target) ** 2).mean()
    loss = -(taken * advantage).mean() - plan.entropy * entropy + 0.5 * error
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([*policy.parameters(), *critic.parameters()], 1.0)
    optimiser.step()
    return {"jct_s": mean_s, "entropy": float(entropy.detach()), "critic": float(error.detach())}


def trace_of(result: GpuResult, time_s: Floats) -> Trace:
    """Paid by then: the time that all jobs have been there."""
    arrival_s = result.workload.arrival_s

    def paid(at_s: Floats) -> Floats:
        until = np.minimum(at_s[:, None], result.finish_s[None, :])
        together: Floats = np.maximum(until - arrival_s[None, :], 0.0).sum(axis=1)
        return together

    end_s = float(result.finish_s.max())
    return Trace(time_s, paid(time_s), end_s, float(paid(np.array([end_s]))[0]), 0)


def _tensors(steps: list[Step]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return (
        torch.as_tensor(np.array([step.inputs for step in steps]), dtype=torch.float32),
        torch.as_tensor(np.array([step.mask for step in steps])),
        torch.as_tensor(np.array([step.action for step in steps])),
    )
