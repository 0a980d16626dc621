"""The network in torch, for training: many decisions at once in flat arrays, nothing padded.

Sums over children, jobs and worlds are `index_add`; a softmax over the choices of one decision is a segment softmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dovetail.core.dag import Floats, Ints
from dovetail.schedulers.learned.decima.forward import Choices
from dovetail.schedulers.learned.decima.inputs import DecimaInput
from dovetail.schedulers.learned.decima.shape import CLASS_FEATURES, COUNT_SCALE, LEAK, LOG_SCALE, DecimaShape


@dataclass(frozen=True)
class Chosen:
    """Decisions in the worlds of one `DecimaInput`: any number in each."""

    world: Ints  # (D,)
    node: Ints  # (D,) node row
    executor_class: Ints  # (D,) -1: any
    limit: Ints  # (D,)

    @classmethod
    def taken(cls, choices: Choices) -> Chosen:
        """One decision in each world that took one."""
        world = np.flatnonzero(choices.node >= 0)
        return cls(world, choices.node[world], choices.executor_class[world], choices.limit[world])


@dataclass(frozen=True)
class DecimaBatch:
    """W worlds, embedded once each, and D decisions in them, ready for the network."""

    worlds: int
    nodes: Tensor  # (N, F)
    node_job: Tensor  # (N,)
    job_world: Tensor  # (J,)
    levels: tuple[tuple[Tensor, Tensor], ...]  # edges (parent, child) by the height of the parent, lowest first
    valid: Tensor  # (V,) node rows that may be chosen
    valid_world: Tensor  # (V,)
    # the decisions
    world: Tensor  # (D,)
    node: Tensor  # (D,) node row
    class_row: Tensor  # (D,) row of the class options; -1: there are none, for there is one class only
    class_features: Tensor  # (K, 4) the options of all decisions
    class_decision: Tensor  # (K,)
    limit_row: Tensor  # (D,) row of the limit options
    limit_features: Tensor  # (L, 5)
    limit_decision: Tensor  # (L,)

    @property
    def decisions(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class Judgement:
    """What the network thinks of the decisions that were taken."""

    log_probability: Tensor  # (D,)
    entropy: Tensor  # (D,) of the three choices together


def collate(inputs: Sequence[DecimaInput], chosen: Sequence[Chosen]) -> DecimaBatch:
    """Several inputs and the decisions in each, as one batch."""
    node_at = _starts([len(one.nodes) for one in inputs])
    job_at = _starts([int(one.job_ptr[-1]) for one in inputs])
    world_at = _starts([one.num_worlds for one in inputs])
    node_job = _joined([one.node_job for one in inputs], job_at)
    edges = _joined([one.edges for one in inputs], node_at)
    job_world = _joined([np.repeat(np.arange(one.num_worlds), np.diff(one.job_ptr)) for one in inputs], world_at)
    valid = np.flatnonzero(np.concatenate([one.valid for one in inputs]))
    node = _joined([one.node for one in chosen], node_at)
    world = _joined([one.world for one in chosen], world_at)
    held = np.concatenate([one.held for one in inputs])[node]
    unclaimed = np.concatenate([one.unclaimed for one in inputs])[node]
    offered = np.concatenate([one.offered for one in inputs])[world]
    executor_class = np.concatenate([one.executor_class for one in chosen])
    limit = np.concatenate([one.limit for one in chosen])
    room, class_row, class_features, class_decision = _class_options(inputs, node, offered, executor_class)
    count = np.minimum(room, unclaimed)
    limit_decision = np.repeat(np.arange(len(node)), count)
    start = np.cumsum(count) - count
    given = np.arange(len(limit_decision)) - start[limit_decision] + 1
    limit_features = np.stack(limit_columns(held[limit_decision], given, count[limit_decision]), axis=1)
    return DecimaBatch(
        worlds=int(world_at[-1]),
        nodes=torch.from_numpy(np.concatenate([one.nodes for one in inputs])),
        node_job=torch.from_numpy(node_job),
        job_world=torch.from_numpy(job_world),
        levels=_by_height(edges, len(node_job)),
        valid=torch.from_numpy(valid),
        valid_world=torch.from_numpy(job_world[node_job[valid]]),
        world=torch.from_numpy(world),
        node=torch.from_numpy(node),
        class_row=torch.from_numpy(class_row),
        class_features=torch.from_numpy(class_features),
        class_decision=torch.from_numpy(class_decision),
        limit_row=torch.from_numpy(start + limit - held - 1),
        limit_features=torch.from_numpy(limit_features.astype(np.float32)),
        limit_decision=torch.from_numpy(limit_decision),
    )


def limit_columns(held: Ints, given: Ints, most: Ints) -> tuple[NDArray[Any], ...]:
    """The features of limits that give so many executors, of at most so many, to a job that holds so many."""
    limit = held + given
    return (
        limit * COUNT_SCALE,
        given * COUNT_SCALE,
        np.log(limit) * LOG_SCALE,
        np.log(given) * LOG_SCALE,
        given / most,
    )


def class_columns(sizes: NDArray[np.float32], kind: Ints, offered: Ints, memory: Floats) -> NDArray[np.float32]:
    """(K, 4) the features of executor classes (-1: any) of which so many are on offer, for tasks of that memory."""
    one = kind >= 0
    features = np.zeros((len(kind), CLASS_FEATURES), dtype=np.float32)
    features[:, 2] = offered * COUNT_SCALE
    features[one, :2] = sizes[kind[one]]
    features[one, 3] = sizes[kind[one], 1] - memory[one]
    return features


def _starts(sizes: Sequence[int]) -> Ints:
    """Where each part begins once they are joined; at the end, how much they are together."""
    return np.cumsum([0, *sizes])


def _joined(parts: Sequence[Ints], starts: Ints) -> Ints:
    """Row numbers of several parts as row numbers of the whole."""
    return np.concatenate([part + start for part, start in zip(parts, starts[:-1], strict=True)])


def _class_options(
    inputs: Sequence[DecimaInput], node: Ints, offered: Ints, executor_class: Ints
) -> tuple[Ints, Ints, NDArray[np.float32], Ints]:
    """Executors on offer of the chosen class, row of the chosen class, features and decision of every option."""
    sizes = inputs[0].classes
    if len(sizes) == 1:
        nothing = np.zeros(0, dtype=np.int64)
        return offered[:, 0], np.full(len(node), -1), np.zeros((0, CLASS_FEATURES), dtype=np.float32), nothing
    fits = np.concatenate([one.fits for one in inputs])[node]
    memory = np.concatenate([one.memory for one in inputs])[node]
    offered = np.where(fits, offered, 0)
    offered = np.column_stack([offered, offered.sum(axis=1)])  # the last column, which is also number -1: any class
    decision, kind = np.nonzero(offered)
    kind = np.where(kind < len(sizes), kind, -1)
    features = class_columns(sizes, kind, offered[decision, kind], memory[decision])
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
        first, *rest = self._layers(net)
        return self._onward(first(x), rest)

    def _options_through(self, net: str, about: Tensor, decision: Tensor, options: Tensor) -> Tensor:
        """What each option of a decision scores: `about` is shared by all of them, so its part is computed once."""
        first, *rest = self._layers(net)
        shared = nn.functional.linear(about, first.weight[:, : about.shape[1]], first.bias)
        own = nn.functional.linear(options, first.weight[:, about.shape[1] :])
        return self._onward(shared[decision] + own, rest).squeeze(1)

    def _onward(self, x: Tensor, layers: Sequence[nn.Linear]) -> Tensor:
        for layer in layers:
            x = layer(nn.functional.leaky_relu(x, LEAK))
        return x

    def embed(self, batch: DecimaBatch) -> tuple[Tensor, Tensor, Tensor]:
        """(N, d), (J, d), (W, d): embeddings of nodes, jobs and the system of each world."""
        width, jobs = self.shape.embedding, len(batch.job_world)
        if not self.shape.graph:
            return (
                batch.nodes.new_zeros(len(batch.nodes), width),
                batch.nodes.new_zeros(jobs, width),
                batch.nodes.new_zeros(batch.worlds, width),
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
        by_world = parts.new_zeros(batch.worlds, width).index_add(0, batch.job_world, parts)
        return embedded, by_job, self._through("all_out", by_world)

    def forward(self, batch: DecimaBatch) -> Judgement:
        embedded, by_job, by_world = self.embed(batch)

        def whole(node: Tensor, world: Tensor) -> Tensor:
            return torch.cat([batch.nodes[node], embedded[node], by_job[batch.node_job[node]], by_world[world]], dim=1)

        scores = self._through("stage", whole(batch.valid, batch.valid_world)).squeeze(1)
        row = torch.zeros(len(batch.nodes), dtype=torch.int64)
        row[batch.valid] = torch.arange(len(batch.valid))
        log_p, entropy = segment_choice(scores, batch.valid_world, batch.worlds, row[batch.node])
        entropy = entropy[batch.world]
        if self.shape.limit_sees_stage:
            about = whole(batch.node, batch.world)
        else:
            about = torch.cat([by_job[batch.node_job[batch.node]], by_world[batch.world]], dim=1)
        if len(batch.class_features):
            scores = self._options_through("class", about, batch.class_decision, batch.class_features)
            more, uncertain = segment_choice(scores, batch.class_decision, batch.decisions, batch.class_row)
            log_p, entropy = log_p + more, entropy + uncertain
        if not self.shape.limits:
            return Judgement(log_p, entropy)
        shown = batch.limit_features[:, : self.shape.limit_columns]
        scores = self._options_through("limit", about, batch.limit_decision, shown)
        more, uncertain = segment_choice(scores, batch.limit_decision, batch.decisions, batch.limit_row)
        return Judgement(log_p + more, entropy + uncertain)


def segment_choice(scores: Tensor, segment: Tensor, segments: int, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """(D,), (segments,): log probability of the chosen rows; entropy of the softmax within each segment."""
    highest = scores.new_full((segments,), -torch.inf).scatter_reduce(0, segment, scores.detach(), "amax")
    shifted = scores - highest[segment]
    total = shifted.new_zeros(segments).index_add(0, segment, shifted.exp())
    log_p = shifted - total.log()[segment]
    entropy = -log_p.new_zeros(segments).index_add(0, segment, log_p.exp() * log_p)
    return log_p[chosen], entropy
