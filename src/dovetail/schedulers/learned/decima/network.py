"""The network in torch, for training: many decisions at once in flat arrays, nothing padded.

Sums over children, jobs and worlds are `index_add`; a softmax over the choices of one decision is a segment softmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dovetail.core.dag import Ints
from dovetail.schedulers.learned.decima.inputs import DecimaInput
from dovetail.schedulers.learned.decima.shape import LEAK, DecimaShape

EXECUTOR_SCALE = 1.0 / 20.0


@dataclass(frozen=True)
class DecimaBatch:
    """D decisions, each with its own nodes and jobs, ready for the network."""

    nodes: Tensor  # (N, F)
    node_job: Tensor  # (N,)
    job_decision: Tensor  # (J,)
    levels: tuple[tuple[Tensor, Tensor], ...]  # edges (parent, child) by the height of the parent, lowest first
    valid: Tensor  # (V,) node rows that may be chosen
    valid_decision: Tensor  # (V,) decision of each
    decisions: int
    # what was chosen
    node: Tensor  # (D,) node row
    class_row: Tensor  # (D,) row of the class options, -1: there is one class only
    class_features: Tensor  # (K, 4) the options of all decisions
    class_decision: Tensor  # (K,)
    limit_row: Tensor  # (D,) row of the limit options
    limit_features: Tensor  # (L, 3)
    limit_decision: Tensor  # (L,)


@dataclass(frozen=True)
class Judgement:
    """What the network thinks of the decisions that were taken."""

    log_probability: Tensor  # (D,)
    entropy: Tensor  # (D,) of the three choices together


def collate(
    inputs: Sequence[DecimaInput], nodes: Sequence[Ints], classes: Sequence[Ints], limits: Sequence[Ints]
) -> DecimaBatch:
    """The inputs of several steps of many worlds, and what was chosen in each (node -1: no decision there)."""
    node_at = np.cumsum([0, *(len(one.nodes) for one in inputs)])
    job_at = np.cumsum([0, *(int(one.job_ptr[-1]) for one in inputs)])
    node_job = np.concatenate([one.node_job + at for one, at in zip(inputs, job_at, strict=False)])
    edges = np.concatenate([one.edges + at for one, at in zip(inputs, node_at, strict=False)])
    node = np.concatenate([np.where(one >= 0, one + at, -1) for one, at in zip(nodes, node_at, strict=False)])
    taken = node >= 0
    decision_of_world = np.where(taken, np.cumsum(taken) - 1, -1)
    world_at = np.cumsum([0, *(one.num_worlds for one in inputs)])
    node_world = np.concatenate(
        [
            np.repeat(np.arange(one.num_worlds), np.diff(one.node_ptr)) + at
            for one, at in zip(inputs, world_at, strict=False)
        ]
    )
    job_world = np.concatenate(
        [
            np.repeat(np.arange(one.num_worlds), np.diff(one.job_ptr)) + at
            for one, at in zip(inputs, world_at, strict=False)
        ]
    )
    valid = np.flatnonzero(np.concatenate([one.valid for one in inputs]))
    node = node[taken]
    held = np.concatenate([one.held for one in inputs])[node]
    unclaimed = np.concatenate([one.unclaimed for one in inputs])[node]
    offered = np.concatenate([one.offered for one in inputs])[taken]
    executor_class = np.concatenate(classes)[taken]
    limit = np.concatenate(limits)[taken]
    room, class_row, class_features, class_decision = _class_options(inputs, node, offered, executor_class)
    count = np.minimum(room, unclaimed)
    limit_decision = np.repeat(np.arange(len(node)), count)
    start = np.cumsum(count) - count
    given = np.arange(len(limit_decision)) - start[limit_decision] + 1
    limit_features = np.stack(
        [
            (held[limit_decision] + given) * EXECUTOR_SCALE,
            given * EXECUTOR_SCALE,
            given / count[limit_decision],
        ],
        axis=1,
    )
    return DecimaBatch(
        nodes=torch.from_numpy(np.concatenate([one.nodes for one in inputs])),
        node_job=torch.from_numpy(node_job),
        job_decision=torch.from_numpy(decision_of_world[job_world]),
        levels=_by_height(edges, len(node_job)),
        valid=torch.from_numpy(valid),
        valid_decision=torch.from_numpy(decision_of_world[node_world[valid]]),
        decisions=len(node),
        node=torch.from_numpy(node),
        class_row=torch.from_numpy(class_row),
        class_features=torch.from_numpy(class_features),
        class_decision=torch.from_numpy(class_decision),
        limit_row=torch.from_numpy(start + limit - held - 1),
        limit_features=torch.from_numpy(limit_features.astype(np.float32)),
        limit_decision=torch.from_numpy(limit_decision),
    )


def _class_options(
    inputs: Sequence[DecimaInput], node: Ints, offered: Ints, executor_class: Ints
) -> tuple[Ints, Ints, NDArray[np.float32], Ints]:
    """Executors on offer of the chosen class, row of the chosen class, features and decision of every option."""
    sizes = inputs[0].classes
    if len(sizes) == 1:
        nothing = np.zeros(0, dtype=np.int64)
        return offered[:, 0], np.full(len(node), -1), np.zeros((0, 4), dtype=np.float32), nothing
    fits = np.concatenate([one.fits for one in inputs])[node]
    memory = np.concatenate([one.memory for one in inputs])[node]
    decision, kind = np.nonzero(fits & (offered > 0))
    features = np.stack(
        [
            sizes[kind, 0],
            sizes[kind, 1],
            offered[decision, kind] * EXECUTOR_SCALE,
            sizes[kind, 1] - memory[decision],
        ],
        axis=1,
    ).astype(np.float32)
    row = np.flatnonzero(kind == executor_class[decision])
    return offered[np.arange(len(node)), executor_class], row, features, decision


def _by_height(edges: Ints, num_nodes: int) -> tuple[tuple[Tensor, Tensor], ...]:
    height = np.zeros(num_nodes, dtype=np.int64)
    parent, child = edges[:, 0], edges[:, 1]
    while True:
        higher = height.copy()
        np.maximum.at(higher, parent, height[child] + 1)
        if np.array_equal(higher, height):
            break
        height = higher
    levels = []
    for level in range(1, int(height.max(initial=0)) + 1):
        here = height[parent] == level
        levels.append((torch.from_numpy(parent[here]), torch.from_numpy(child[here])))
    return tuple(levels)


def _key(net: str) -> str:
    """What torch calls a net; `class` alone would not do as a name in the code that torch generates."""
    return f"{net}_net"


def _path(parameter: str) -> str:
    """What torch calls a parameter."""
    net, _, rest = parameter.partition(".")
    return f"nets.{_key(net)}.{rest}"


def _mlp(units: Sequence[int]) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(units))


class DecimaNetwork(nn.Module):
    """Scores for stages, executor classes and limits."""

    def __init__(self, shape: DecimaShape) -> None:
        super().__init__()
        self.shape = shape
        self.nets = nn.ModuleDict({_key(name): _mlp(units) for name, units in shape.nets.items()})
        with torch.no_grad():
            for name in ("stage", "limit", "class"):
                last = self._layers(name)[-1]
                last.weight.mul_(0.1)  # start close to "all choices alike"
                last.bias.zero_()

    def parameter_arrays(self) -> dict[str, NDArray[np.float32]]:
        """The parameters by the names of `DecimaShape.parameters`."""
        state = self.state_dict()
        return {one.name: state[_path(one.name)].detach().numpy().copy() for one in self.shape.parameters()}

    def load_arrays(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        self.load_state_dict({_path(name): torch.from_numpy(value) for name, value in arrays.items()})

    def _layers(self, net: str) -> list[nn.Linear]:
        return [layer for layer in self.nets[_key(net)].children() if isinstance(layer, nn.Linear)]

    def _through(self, net: str, x: Tensor) -> Tensor:
        *hidden, last = self._layers(net)
        for layer in hidden:
            x = nn.functional.leaky_relu(layer(x), LEAK)
        out: Tensor = last(x)
        return out

    def embed(self, batch: DecimaBatch) -> tuple[Tensor, Tensor, Tensor]:
        """(N, d), (J, d), (D, d): embeddings of nodes, jobs and the system of each decision."""
        width, jobs = self.shape.embedding, len(batch.job_decision)
        if not self.shape.graph:
            return (
                batch.nodes.new_zeros(len(batch.nodes), width),
                batch.nodes.new_zeros(jobs, width),
                batch.nodes.new_zeros(batch.decisions, width),
            )
        embedded = self._through("prepare", batch.nodes)
        for parent, child in batch.levels:
            receivers, place = torch.unique(parent, return_inverse=True)
            messages = self._through("message", embedded[child])
            total = messages.new_zeros(len(receivers), width).index_add(0, place, messages)
            embedded = embedded.index_add(0, receivers, self._through("gather", total))
        parts = self._through("job_in", torch.cat([batch.nodes, embedded], dim=1))
        by_job = self._through("job_out", parts.new_zeros(jobs, width).index_add(0, batch.node_job, parts))
        parts = self._through("all_in", by_job)
        by_decision = parts.new_zeros(batch.decisions, width).index_add(0, batch.job_decision, parts)
        return embedded, by_job, self._through("all_out", by_decision)

    def forward(self, batch: DecimaBatch) -> Judgement:
        embedded, by_job, by_decision = self.embed(batch)

        def whole(node: Tensor, decision: Tensor) -> Tensor:
            return torch.cat(
                [batch.nodes[node], embedded[node], by_job[batch.node_job[node]], by_decision[decision]], dim=1
            )

        def chosen() -> Tensor:
            decision = torch.arange(batch.decisions)
            if self.shape.limit_sees_stage:
                return whole(batch.node, decision)
            return torch.cat([by_job[batch.node_job[batch.node]], by_decision], dim=1)

        scores = self._through("stage", whole(batch.valid, batch.valid_decision)).squeeze(1)
        row = torch.zeros(len(batch.nodes), dtype=torch.int64)
        row[batch.valid] = torch.arange(len(batch.valid))
        log_p, entropy = segment_choice(scores, batch.valid_decision, batch.decisions, row[batch.node])
        about = chosen()
        if len(batch.class_features):
            scores = self._through(
                "class", torch.cat([about[batch.class_decision], batch.class_features], dim=1)
            ).squeeze(1)
            more, uncertain = segment_choice(scores, batch.class_decision, batch.decisions, batch.class_row)
            log_p, entropy = log_p + more, entropy + uncertain
        scores = self._through("limit", torch.cat([about[batch.limit_decision], batch.limit_features], dim=1)).squeeze(
            1
        )
        more, uncertain = segment_choice(scores, batch.limit_decision, batch.decisions, batch.limit_row)
        return Judgement(log_p + more, entropy + uncertain)


def segment_choice(scores: Tensor, segment: Tensor, segments: int, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """(D,), (D,): log probability of the chosen row and entropy, of the softmax within each segment."""
    highest = scores.new_full((segments,), -torch.inf).scatter_reduce(0, segment, scores.detach(), "amax")
    shifted = scores - highest[segment]
    total = shifted.new_zeros(segments).index_add(0, segment, shifted.exp())
    log_p = shifted - total.log()[segment]
    entropy = -log_p.new_zeros(segments).index_add(0, segment, log_p.exp() * log_p)
    return log_p[chosen], entropy
