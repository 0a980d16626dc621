"""What is made small: REINFORCE as published, and PPO's clipped version of it."""

from __future__ import annotations

import torch
from torch import Tensor

from dovetail.schedulers.learned.decima.network import Judgement


def reinforce_loss(judged: Judgement, advantage: Tensor) -> Tensor:
    """(D,) minus log probability times advantage."""
    return -judged.log_probability * advantage


def ppo_loss(judged: Judgement, advantage: Tensor, old_log_probability: Tensor, clip: float) -> Tensor:
    """(D,) the clipped surrogate of Schulman et al. (2017), negated."""
    ratio = torch.exp(judged.log_probability - old_log_probability)
    clipped = torch.clamp(ratio, 1.0 - clip, 1.0 + clip)
    return -torch.minimum(ratio * advantage, clipped * advantage)


def search_loss(judged: Judgement, advantage: Tensor, state: Tensor, states: int) -> Tensor:
    """(states,) minus the advantage to be expected, if the policy had to choose among the decisions that were tried.

    `state` (D,) says at which state each was tried.  Any set of decisions will do, drawn from the policy or not.
    """
    scores = judged.log_probability
    highest = scores.new_full((states,), -torch.inf).scatter_reduce(0, state, scores.detach(), "amax")
    weight = (scores - highest[state]).exp()
    total = weight.new_zeros(states).index_add(0, state, weight)
    return -weight.new_zeros(states).index_add(0, state, weight / total[state] * advantage)


def imitation_loss(judged: Judgement) -> Tensor:
    """(D,) minus the log probability of what the teacher did."""
    return -judged.log_probability
