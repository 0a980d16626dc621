"""A network of your own: trained in the Gymnasium environment, then used as a scheduler like any other.

    pip install 'dovetail[envs,learn]'
    python examples/own_torch_module.py                  # two to three minutes on one core
    python examples/own_torch_module.py --iterations 200 --seed 1

`Scorer` is a plain torch module that scores every (stage, limit) of an observation.  REINFORCE trains it in many worlds
at once; several of them play the same job sequence and are each other's baseline.  `MyScheduler` puts the same module
behind `reset` and `decide`: `dovetail.run` then treats it as any heuristic.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import GraphInstance
from torch import nn
from torch.distributions import Categorical

from dovetail import SCHEDULERS, Arrivals, DagOptions, DagWorld, SeedTree, open_source, run
from dovetail.core.dag import DagDecision, DagInfo, DagView, Floats, Reason
from dovetail.features import feature_set, flatten

WORKLOAD, JOBS, EXECUTORS, FEATURES = "tpch-like", 4, 8, feature_set("wide-1")
SEQUENCES, COPIES = 4, 4  # in each iteration so many job sequences are played, each of them so many times
FIRST_TRAINING_SEED, HELD_OUT = 100_000, range(100, 150)


class Scorer(nn.Module):
    """Stages hear from their children, are summed up by job and by world, and each of their limits gets a score."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.encode = self._net(len(FEATURES), width)
        self.message = self._net(width, width)
        self.score = nn.Sequential(self._net(3 * width + 2, width), nn.Linear(width, 1))

    @staticmethod
    def _net(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(inputs, outputs), nn.LeakyReLU(), nn.Linear(outputs, outputs), nn.LeakyReLU())

    def forward(self, seen: dict[str, Any]) -> Categorical:
        """For each world a distribution over stage * EXECUTORS + limit - 1; what is impossible has no chance."""
        names = ("stage_job", "stage_mask", "least_limit", "stage_ptr")
        job, mask, least_limit, ptr = (torch.tensor(seen[name]) for name in names)
        world = torch.repeat_interleave(torch.arange(len(ptr) - 1), ptr.diff())  # (S,) of each stage
        parent, child = torch.tensor(seen["graph"].edge_links).T
        stages = self.encode(torch.tensor(seen["graph"].nodes).clamp(-10, 10))
        for _ in range(2):
            stages = stages.index_add(0, parent, self.message(stages)[child])
        summaries = [torch.zeros_like(stages).index_add(0, group, stages)[group] / 10 for group in (job, world)]
        valid = mask.nonzero().squeeze(1)  # (V,) the stages that may be chosen: only they need scores
        rows = torch.cat((stages, *summaries), dim=1)[valid, None].expand(-1, EXECUTORS, -1)
        limit = torch.arange(1, EXECUTORS + 1).expand(len(valid), -1)  # (V, EXECUTORS)
        given = limit - least_limit[valid, None] + 1  # executors that the job gets, if so many are there
        scores = self.score(torch.cat((rows, torch.stack((limit, given), dim=2) / EXECUTORS), dim=2)).squeeze(2)
        logits = torch.full((len(ptr) - 1, int(ptr.diff().max()), EXECUTORS), -torch.inf)
        logits[world[valid], valid - ptr[world[valid]]] = scores.masked_fill(given < 1, -torch.inf)
        return Categorical(logits=logits.flatten(1))


def to_actions(choice: torch.Tensor) -> np.ndarray:
    """(B, 2) stage and limit, as the environment takes them."""
    return torch.stack((choice // EXECUTORS, choice % EXECUTORS + 1), dim=1).numpy()


class MyScheduler:
    """The module as a scheduler: of each view it takes the likeliest decision."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        self.info = info

    @torch.no_grad()
    def decide(self, view: DagView) -> Sequence[DagDecision]:
        dags = flatten(view, self.info)  # the environment makes its observations of this, too
        seen = {name: getattr(dags, name) for name in ("stage_job", "least_limit", "stage_ptr")}
        graph = GraphInstance(nodes=FEATURES.write(dags), edges=None, edge_links=dags.edge_links)
        policy = self.scorer({**seen, "graph": graph, "stage_mask": view.stage_valid})
        ((stage, limit),) = to_actions(policy.logits.argmax(dim=1)).tolist()
        return [DagDecision(stage, limit, reason=Reason.LEARNED)]


def play(
    worlds: gymnasium.vector.VectorEnv, scorer: Scorer, seeds: list[int]
) -> tuple[torch.Tensor, Floats, Floats, np.ndarray]:
    """One episode in each world; (T, B) log-probabilities, times, rewards, and whether the episode was still going."""
    seen, info = worlds.reset(seed=seeds)
    going = np.ones(len(seeds), dtype=np.bool_)
    steps = []
    while going.any():  # a world that is done goes on with another episode, which does not count
        policy = scorer(seen)
        choice, time_s = policy.sample(), info["time_s"].copy()
        seen, reward, terminated, _, info = worlds.step(to_actions(choice))
        steps.append((policy.log_prob(choice), time_s, reward * going, going))
        going = going & ~terminated
    log_probs, *others = zip(*steps, strict=True)
    return torch.stack(log_probs), *map(np.array, others)


def advantages(times_s: Floats, rewards: Floats, going: np.ndarray) -> torch.Tensor:
    """What followed each decision, less what the other worlds with the same jobs got from that time on."""
    to_go = np.cumsum(rewards[::-1], axis=0)[::-1]
    known = [(times_s[on, w], to_go[on, w]) for w, on in enumerate(going.T)]
    better = np.zeros_like(to_go)
    for w in range(len(known)):
        others = [o for o in range(w - w % COPIES, w - w % COPIES + COPIES) if o != w]
        better[:, w] = to_go[:, w] - np.mean([np.interp(times_s[:, w], *known[o], right=0.0) for o in others], axis=0)
    return torch.tensor(better * going / better[going].std(), dtype=torch.float32)


def train(scorer: Scorer, iterations: int, seed: int = 0) -> None:
    setting = {"workload": WORKLOAD, "jobs": JOBS, "executors": EXECUTORS, "features": FEATURES.name}
    worlds = gymnasium.make_vec("dovetail.envs:Dovetail/Dag-v0", num_envs=SEQUENCES * COPIES, **setting)
    optimiser = torch.optim.Adam(scorer.parameters(), lr=5e-3)
    slower = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.1, iterations)
    start = time.perf_counter()
    for iteration in range(iterations):
        first = FIRST_TRAINING_SEED * (1 + seed) + iteration * SEQUENCES
        seeds = np.repeat(np.arange(first, first + SEQUENCES), COPIES).tolist()
        log_probs, times_s, rewards, going = play(worlds, scorer, seeds)
        loss = -(log_probs * advantages(times_s, rewards, going)).sum() / going.sum()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(scorer.parameters(), 1.0)
        optimiser.step()
        slower.step()
        if (iteration + 1) % 10 == 0:
            average_s = -rewards.sum() / (len(seeds) * JOBS)
            print(
                f"  iteration {iteration + 1:4} {average_s:7.1f} s   ({time.perf_counter() - start:.0f} s)", flush=True
            )
    worlds.close()


def score(scheduler: Any, seeds: Iterable[int] = HELD_OUT) -> float:
    """Average completion time in seconds, over a job sequence for each seed."""
    source, options, times_s = open_source(WORKLOAD), DagOptions(executors=EXECUTORS), []
    for seed in map(SeedTree, seeds):
        world = DagWorld(source.sequence(JOBS, Arrivals("batch"), seed), options, seed)
        times_s.append(run(world, scheduler, seed.child("scheduler").generator()).avg_jct_s)
    return float(np.mean(times_s))


def main() -> None:
    parser = argparse.ArgumentParser(description="A torch module of one's own learns to schedule.")
    parser.add_argument("--iterations", type=int, default=100, help="updates of the network (100)")
    parser.add_argument("--seed", type=int, default=0, help="of the network and of the jobs it is trained on (0)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    scorer = Scorer()
    mine = MyScheduler(scorer)
    untrained_s = score(mine)
    print(f"training with {JOBS} jobs at once on {EXECUTORS} executors: average completion time of its own episodes")
    train(scorer, args.iterations, args.seed)
    heuristics = {spec: score(SCHEDULERS.create(spec)) for spec in ("dag/fair", "dag/fifo", "dag/sjf-cp")}
    print(f"average completion time on {len(HELD_OUT)} sequences that it has not seen")
    for name, seconds in {"untrained": untrained_s, "trained": score(mine), **heuristics}.items():
        print(f"  {name:12} {seconds:7.1f} s")


if __name__ == "__main__":
    main()
