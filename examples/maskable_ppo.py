"""MaskablePPO of sb3-contrib learns to schedule in `Dovetail/DagPadded-v0`.

    pip install 'dovetail[envs,sb3]'
    python examples/maskable_ppo.py                  # about two minutes
    python examples/maskable_ppo.py --steps 200000 --processes 2

It prints the average job completion time on job sequences that were not trained on: of the untrained network,
of the trained one, and of heuristics on the very same sequences.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecNormalize
from torch import nn

from dovetail import SCHEDULERS, SeedTree
from dovetail.envs import DagSetting
from dovetail.sim.dag import DagWorld, run

ENV = "dovetail.envs:Dovetail/DagPadded-v0"
SMALL = {"workload": "tpch-like", "jobs": 5, "executors": 10}
HELD_OUT = range(2_000_000, 2_000_050)  # seeds that neither training nor the choice of settings below has seen


class SlotNet(nn.Module):
    """Scores every slot with the same small network, given the slot's row and a sum over all rows.

    A plain MLP (`policy="MlpPolicy"`) also works, but has to learn the same thing again for each slot.
    """

    def __init__(self, slots: int, columns: int, levels: int, width: int = 32) -> None:
        super().__init__()
        self.shape = (slots, columns)
        self.latent_dim_pi, self.latent_dim_vf = slots * levels, width
        self.actor_row = self._row_net(columns, width)
        self.critic_row = self._row_net(columns, width)
        self.score = nn.Sequential(nn.Linear(2 * width, width), nn.Tanh(), nn.Linear(width, levels))

    @staticmethod
    def _row_net(columns: int, width: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(columns, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())

    def _encode(self, row_net: nn.Sequential, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = flat.view(-1, *self.shape)
        encoded = row_net(rows)
        filled = rows[..., :1]  # the first column: 1 where a slot is filled, 0 where it is empty
        return encoded, (encoded * filled).sum(1) / 8

    def forward_actor(self, flat: torch.Tensor) -> torch.Tensor:
        encoded, summary = self._encode(self.actor_row, flat)
        return self.score(torch.cat((encoded, summary[:, None].expand_as(encoded)), -1)).flatten(1)

    def forward_critic(self, flat: torch.Tensor) -> torch.Tensor:
        return self._encode(self.critic_row, flat)[1]

    def forward(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(flat), self.forward_critic(flat)


class SlotPolicy(MaskableActorCriticPolicy):
    """Stable-Baselines' policy around `SlotNet`, whose scores are the logits as they are."""

    def _build_mlp_extractor(self) -> None:
        slots, columns = self.observation_space.shape
        self.mlp_extractor = SlotNet(slots, columns, int(self.action_space.n) // slots)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


def make_worlds(setting: Mapping[str, Any], worlds: int, processes: int = 1, seed: int = 0) -> VecEnv:
    """Worlds to train in.  Rewards are scaled: they are job-seconds, in the hundreds."""
    cls: type[VecEnv] = SubprocVecEnv if processes > 1 else DummyVecEnv
    count = processes if processes > 1 else worlds
    arguments = {"render_mode": None, **setting}  # there is nothing to draw
    inner = make_vec_env(ENV, count, seed=seed, env_kwargs=arguments, vec_env_cls=cls)
    return VecNormalize(inner, norm_obs=False, norm_reward=True, gamma=0.99)


def make_model(worlds: VecEnv, seed: int = 0, policy: Any = SlotPolicy) -> MaskablePPO:
    return MaskablePPO(
        policy,
        worlds,
        n_steps=512 // worlds.num_envs,
        batch_size=256,
        learning_rate=1e-3,
        gamma=0.99,
        gae_lambda=0.9,
        ent_coef=0.003,
        seed=seed,
        device="cpu",
    )


def score(model: MaskablePPO, setting: Mapping[str, Any], seeds: Iterable[int] = HELD_OUT) -> float:
    """Average completion time in seconds when the policy's most likely action is always taken."""
    env = gymnasium.make(ENV, **setting)
    times = []
    for seed in seeds:
        rows, info = env.reset(seed=seed)
        done = False
        while not done:
            action, _ = model.predict(rows, action_masks=info["action_mask"], deterministic=True)
            rows, _, terminated, truncated, info = env.step(action)
            done = terminated or truncated
        times.append(info["avg_jct_s"])
    return float(np.mean(times))


def heuristic_score(spec: str, setting: Mapping[str, Any], seeds: Iterable[int] = HELD_OUT) -> float:
    """The same for a scheduler of the registry.  An environment's seed k is the sequence of seed k."""
    task = DagSetting(**setting)
    source, times = task.source(), []
    for seeds_of_one in map(SeedTree, seeds):
        workload = source.sequence(task.jobs, task.arrival_process(), seeds_of_one)
        world = DagWorld(workload, task.cluster(), seeds_of_one)
        times.append(run(world, SCHEDULERS.create(spec), seeds_of_one.child(spec).generator()).avg_jct_s)
    return float(np.mean(times))


def main() -> None:
    parser = argparse.ArgumentParser(description="MaskablePPO learns to schedule; prints completion times.")
    parser.add_argument("--steps", type=int, default=40_000, help="decisions to train for")
    parser.add_argument("--jobs", type=int, default=SMALL["jobs"])
    parser.add_argument("--executors", type=int, default=SMALL["executors"])
    parser.add_argument("--processes", type=int, default=1, help="more than 1: worlds in processes of their own")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    task = {**SMALL, "jobs": args.jobs, "executors": args.executors}
    # Two levels of parallelism, half the cluster or all of it: few choices are learnt sooner.
    setting = {**task, "slots": 16, "limits": sorted({(args.executors + 1) // 2, args.executors})}
    worlds = make_worlds(setting, 8, args.processes, args.seed)
    model = make_model(worlds, args.seed)
    print(f"average completion time, {args.jobs} jobs at once, {args.executors} executors, held-out sequences")
    print(f"  {'before training':24} {score(model, setting):7.1f} s", flush=True)
    start = time.perf_counter()
    model.learn(args.steps)
    trained_s = time.perf_counter() - start
    print(f"  {f'after {args.steps} decisions':24} {score(model, setting):7.1f} s   (in {trained_s:.0f} s)")
    for spec in ("dag/random", "dag/fifo", "dag/fair", "dag/fair-spill", "dag/sjf-cp"):
        print(f"  {spec:24} {heuristic_score(spec, task):7.1f} s")
    worlds.close()


if __name__ == "__main__":
    main()
