"""The operations that networks of autoscalers are written in, for torch: see `schedulers.learned.stream.arrays`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dovetail.core.stream import Ints
from dovetail.schedulers.learned.stream.arrays import Slots, gathered
from dovetail.schedulers.learned.stream.graph import Singles


class TorchOps:
    """For learning."""

    learns = True

    def relu(self, x: Tensor) -> Tensor:
        return torch.relu(x)

    def dense(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        found = torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight).relu_()
        return found.reshape(*x.shape[:-1], weight.shape[-1])

    def tanh(self, x: Tensor) -> Tensor:
        return torch.tanh(x)

    def sigmoid(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x)

    def exp(self, x: Tensor) -> Tensor:
        return torch.exp(x)

    def log(self, x: Tensor) -> Tensor:
        return torch.log(x)

    def clip(self, x: Tensor, low: float, high: float) -> Tensor:
        return torch.clamp(x, low, high)

    def softmax(self, x: Tensor, axis: int) -> Tensor:
        return torch.softmax(x, axis)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        return x.mean(axis)

    def concat(self, parts: list[Tensor], axis: int) -> Tensor:
        return torch.cat(parts, axis)

    def unstack(self, x: Tensor, axis: int) -> tuple[Tensor, ...]:
        return x.unbind(axis)  # the gradient of slices would be an array as large as the whole for each of them

    def swap(self, x: Tensor, one: int, other: int) -> Tensor:
        return x.transpose(one, other)

    def largest(self, x: Tensor, count: int, axis: int) -> Tensor:
        return torch.topk(x, count, dim=axis, sorted=False).indices.sort(dim=axis).values

    def order(self, x: Tensor) -> Tensor:
        return x.argsort(dim=-1, descending=True, stable=True)

    def rows(self, x: Tensor, index: Tensor) -> Tensor:
        return x.index_select(0, index)  # its gradient takes less time than that of x[index]

    def joined(self, nodes: Tensor, keep: Tensor, whose: Ints) -> Tensor:
        index = self.constant(whose)
        own, near = _own_and_near(nodes, whose)
        nobody = own.new_zeros(()).expand_as(own[:, :, :1])
        in_time = torch.cat([nobody, own[:, :, :-1]], 2) + torch.cat([own[:, :, 1:], nobody], 2)
        return keep * nodes + torch.cat([in_time.index_add_(0, index, near), own.index_select(0, index)])

    def pooled(self, nodes: Tensor, whose: Ints) -> Tensor:
        own, near = _own_and_near(nodes.mean(2), whose)
        return own.index_add(0, self.constant(whose), near)

    def gathered(
        self,
        projected: Tensor,
        chosen: Tensor,
        scores: Tensor,
        gumbel: Singles | None,
        near: Ints,
        there: Singles,
        slots: Slots,
    ) -> tuple[Tensor, Tensor]:
        nodes, place = gathered(self, projected, chosen, scores, gumbel, near, there, slots)
        return nodes, place

    def weighed(self, x: Tensor, share: Tensor) -> Tensor:
        return (x * share[..., None]).sum(1)

    def take(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        return torch.gather(x, axis, index)

    def constant(self, x: Any) -> Tensor:
        return x if isinstance(x, Tensor) else torch.as_tensor(np.ascontiguousarray(x))

    def detached(self, x: Tensor) -> Tensor:
        return x.detach()

    def broadcast(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        return x.expand(shape)


def _own_and_near(nodes: Tensor, whose: Ints) -> tuple[Tensor, ...]:
    """Both at once: the gradient of two slices would be two arrays as large as the whole."""
    return tuple(nodes.split_with_sizes([len(nodes) - len(whose), len(whose)]))


TORCH = TorchOps()
