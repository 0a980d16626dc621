"""DAS in torch, in batches, for training.  `forward` has the equations and decides; tests hold the two together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dovetail.schedulers.learned.das.forward import EPSILON, OF_PLACE, SPEED_AT, positions
from dovetail.schedulers.learned.das.random_walk import LEAST_SIMILARITY
from dovetail.schedulers.learned.das.shape import DasShape, Parameters


class Placed(NamedTuple):
    """Affinities of B jobs for M machines, as distributions N(mean, scale^2 (I + factor factor'))."""

    mean: Tensor  # (B, M)
    factor: Tensor  # (B, M, d)
    scale: Tensor  # ()
    speed: Tensor  # (B, M) expected log of speed / expected alone


class Near(NamedTuple):
    """Where B x N nodes are, one-hot; zeros for a machine of one node alone."""

    rack: Tensor  # (B, N, racks)
    machine: Tensor  # (B, N, machines of several nodes)


class DasNetwork(nn.Module):
    def __init__(self, shape: DasShape, parameters: Parameters) -> None:
        super().__init__()
        self.shape = shape
        self.held = nn.ParameterDict(
            {
                name.replace(".", "/"): nn.Parameter(torch.as_tensor(value, dtype=torch.float64))
                for name, value in parameters.items()
            }
        )

    @property
    def named(self) -> Mapping[str, Tensor]:
        """By the names of `DasShape.sizes`."""
        return {name.replace("/", "."): value for name, value in self.held.items()}

    def numbers(self) -> Parameters:
        """The parameters as `forward` wants them."""
        return {name: value.detach().numpy().copy() for name, value in self.named.items()}

    def priorities(self, jobs: Tensor, there: Tensor, machines: Tensor) -> Tensor:
        """(B, J) from (B, J, columns), of which `there` (B, J) exist, and (B, M, columns)."""
        p = self.named
        x = torch.tanh(jobs @ p["order.job.weight"] + p["order.job.bias"])
        if self.shape.communicate:
            squeezed = torch.tanh(machines.mean(dim=1) @ p["order.squeeze.weight"] + p["order.squeeze.bias"])
            heard = squeezed[:, None].expand_as(x)
            gate = torch.sigmoid(torch.cat((x, heard), dim=2) @ p["order.gate.weight"] + p["order.gate.bias"])
            x = gate * heard + (1.0 - gate) * x
        x = x + torch.as_tensor(positions(x.shape[1], self.shape.width))
        for layer in range(self.shape.layers):
            x = self._encode(x, there, f"order.layer{layer}")
        learned = (x @ p["order.out.weight"])[..., 0] + p["order.out.bias"][0]
        return jobs @ p["order.base"] + learned

    def affinities(self, nodes: Tensor, near: Near, surprise: Tensor, there: Tensor) -> Placed:
        """Of B jobs.  nodes: (B, M + n, columns), machines first, then the history, of which those `there` (B, M + n)
        exist; surprise: (B, n)."""
        p, machines = self.named, nodes.shape[1] - surprise.shape[1]
        hidden = torch.relu(nodes @ p["place.in.weight"] + p["place.in.bias"])
        speed = (hidden[:, :machines] @ p["place.prior.weight"])[..., 0] + p["place.prior.bias"][0]
        factor = hidden.new_zeros((len(nodes), machines, 1))
        if self.shape.random_walk:
            amplitude = p["place.walk.amplitude"][0].exp()
            mean, factor = self._posterior(hidden, near, surprise / amplitude, there)
            speed = speed + amplitude * mean
        learned = (hidden[:, :machines] @ p["place.out.weight"])[..., 0] + p["place.out.bias"][0]
        fast = p["place.speed"][0] * (speed + nodes[:, :machines, SPEED_AT])
        mean = nodes[:, :machines, :OF_PLACE] @ p["place.base"] + fast + learned
        return Placed(mean, factor, p["place.log_std"][0].exp(), speed)

    def _posterior(self, hidden: Tensor, near: Near, values: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        p, machines = self.named, hidden.shape[1] - values.shape[1]
        learned = functional.softplus(hidden @ p["place.walk.weight"] + p["place.walk.bias"])
        close = functional.softplus(p["place.walk.topology"][0]), functional.softplus(p["place.walk.machine"][0])
        features = torch.cat((learned, near.rack * close[0], near.machine * close[1]), dim=2) * exists[..., None]
        degree = features @ features.sum(dim=1)[..., None]
        spread = features / degree.clamp(min=LEAST_SIMILARITY).sqrt()
        walk = torch.sigmoid(p["place.walk.length"][0])
        total = 1.0 + p["place.walk.noise"][0].exp()
        seen, here = spread[:, machines:], spread[:, :machines]
        unit = torch.eye(spread.shape[2], dtype=spread.dtype)
        precision = unit / walk - spread.mT @ spread + seen.mT @ seen / total
        lower = torch.linalg.cholesky((precision + precision.mT) / 2.0)
        weights = torch.cholesky_solve(seen.mT @ (values * exists[:, machines:])[..., None], lower) / total
        factor = torch.linalg.solve_triangular(lower, here.mT, upper=False).mT
        return (here @ weights)[..., 0], factor

    def _encode(self, x: Tensor, there: Tensor, name: str) -> Tensor:
        p, heads = self.named, self.shape.heads
        batch, count, width = x.shape
        normed = _norm(x, p[f"{name}.norm1"])
        query, key, value = (
            (normed @ p[f"{name}.{part}.weight"]).reshape(batch, count, heads, width // heads).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.mT / (width // heads) ** 0.5
        weights = scores.masked_fill(~there[:, None, None, :].bool(), -1e9).softmax(dim=3)
        x = x + (weights @ value).transpose(1, 2).reshape(batch, count, width) @ p[f"{name}.mix.weight"]
        up = torch.relu(_norm(x, p[f"{name}.norm2"]) @ p[f"{name}.up.weight"] + p[f"{name}.up.bias"])
        return x + up @ p[f"{name}.down.weight"] + p[f"{name}.down.bias"]


def log_probability(drawn: Tensor, placed: Placed, possible: Tensor) -> tuple[Tensor, Tensor]:
    """Log density (B,) of what was drawn (B, M), of the machines that are `possible` (B, M) alone, and its entropy.

    Of N(mean, scale^2 (I + F F')): by the matrix determinant lemma, in the width of F.
    """
    factor = placed.factor * possible[..., None]
    off = (drawn - placed.mean) / placed.scale * possible
    inner = torch.eye(factor.shape[2], dtype=factor.dtype) + factor.mT @ factor
    lower = torch.linalg.cholesky(inner)
    along = torch.linalg.solve_triangular(lower, factor.mT @ off[..., None], upper=False)[..., 0]
    square = (off**2).sum(dim=1) - (along**2).sum(dim=1)
    count = possible.sum(dim=1)
    half_log_det = lower.diagonal(dim1=1, dim2=2).log().sum(dim=1) + count * placed.scale.log()
    density = -0.5 * (square + count * 1.8378770664093453) - half_log_det
    return density, half_log_det + 0.5 * count * 2.8378770664093453


def _norm(x: Tensor, scale: Tensor) -> Tensor:
    return x / (x.pow(2).mean(dim=2, keepdim=True) + EPSILON).sqrt() * scale
