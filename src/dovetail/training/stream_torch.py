"""The operations that networks of autoscalers are written in, for torch: see `schedulers.learned.stream.arrays`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


class TorchOps:
    """For learning."""

    def relu(self, x: Tensor) -> Tensor:
        return torch.relu(x)

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

    def sum(self, x: Tensor, axis: int) -> Tensor:
        return x.sum(axis)

    def mean(self, x: Tensor, axis: int) -> Tensor:
        return x.mean(axis)

    def concat(self, parts: list[Tensor], axis: int) -> Tensor:
        return torch.cat(parts, axis)

    def stack(self, parts: list[Tensor], axis: int) -> Tensor:
        return torch.stack(parts, axis)

    def swap(self, x: Tensor, one: int, other: int) -> Tensor:
        return x.transpose(one, other)

    def largest(self, x: Tensor, count: int, axis: int) -> Tensor:
        return torch.topk(x, count, dim=axis, sorted=False).indices.sort(dim=axis).values

    def rank(self, x: Tensor) -> Tensor:
        return x.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1, stable=True)

    def where(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.nonzero(x, as_tuple=True)

    def sum_by(self, x: Tensor, group: Tensor, count: int) -> Tensor:
        return torch.zeros(count, x.shape[-1]).index_add(0, group, x)

    def take(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        return torch.gather(x, axis, index)

    def constant(self, x: Any) -> Tensor:
        return x if isinstance(x, Tensor) else torch.as_tensor(np.ascontiguousarray(x))

    def detached(self, x: Tensor) -> Tensor:
        return x.detach()

    def broadcast(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        return x.expand(shape)


TORCH = TorchOps()
