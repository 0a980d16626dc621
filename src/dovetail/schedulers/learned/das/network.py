"""DAS in torch, in batches, for training.  `forward` has the equations and decides; tests hold the two together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dovetail.schedulers.learned.das.forward import EPSILON, OF_PLACE, SPEED_AT, positions
from dovetail.schedulers.learned.das.random_walk import LEAST_SIMILARITY, LONGEST_WALK, OLDEST
from dovetail.schedulers.learned.das.shape import DasShape, Parameters


class Placed(NamedTuple):
    """Affinities of B jobs for M machines, and what they come from."""

    mean: Tensor  # (B, M)
    speed: Tensor  # (B, M) expected log of speed / expected alone
    variance: Tensor  # (B, M) of what the process expects, in units of its own; 1 where there is none
    own: Tensor  # (B, M) and
    factor: Tensor  # (B, M, d) whose squares add up to it: the covariance is diag(own) + factor factor'


class Near(NamedTuple):
    """Where B x N nodes are, one-hot; zeros for a machine of one node alone."""

    rack: Tensor  # (B, N, racks)
    machine: Tensor  # (B, N, machines of several nodes)


class DasNetwork(nn.Module):
    def __init__(self, shape: DasShape, parameters: Parameters) -> None:
        super().__init__()
        self.shape = shape
        self._seen = [torch.as_tensor(part) for part in shape.seen()]
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

    def judged_jobs(self, jobs: Tensor, there: Tensor, machines: Tensor) -> tuple[Tensor, Tensor]:
        """(B, J, 2) priority, readiness; from (B, J, columns), of which `there` (B, J) exist, and (B, M, columns).

        And (B, J) how long each has to wait, as `features.gpu` measures what it has waited.
        """
        p = self.named
        jobs = jobs * self._seen[0]
        x = torch.tanh(jobs @ p["order.job.weight"] + p["order.job.bias"])
        if self.shape.communicate:
            squeezed = torch.tanh(machines.mean(dim=1) @ p["order.squeeze.weight"] + p["order.squeeze.bias"])
            heard = squeezed[:, None].expand_as(x)
            gate = torch.sigmoid(torch.cat((x, heard), dim=2) @ p["order.gate.weight"] + p["order.gate.bias"])
            x = gate * heard + (1.0 - gate) * x
        x = x + torch.as_tensor(positions(x.shape[1], self.shape.width))
        for layer in range(self.shape.layers):
            x = self._encode(x, there, f"order.layer{layer}")
        rule, wait = jobs @ p["order.base"], x @ p["order.wait.weight"] + p["order.wait.bias"]
        scores = torch.stack((rule, torch.zeros_like(rule)), dim=2) + x @ p["order.out.weight"] + p["order.out.bias"]
        priority, ready = (scores + wait * p["order.trust"]).unbind(dim=2)
        most = self.shape.most_ready
        return torch.stack((priority, most * torch.tanh(ready / most)), dim=2), wait[..., 0]

    def rule_of_start(self, columns: Tensor) -> Tensor:
        """(B,) what speaks for starting by the rule, of (B, start columns)."""
        return (columns * self._seen[1]) @ self.named["start.base"]

    def rule_of_unseen(self, columns: Tensor) -> Tensor:
        """(B,) what the columns would add to that rule that the agent does not see."""
        return (columns * (1.0 - self._seen[1])) @ self.named["start.base"].detach()

    def affinities(self, nodes: Tensor, near: Near, surprise: Tensor, age: Tensor, there: Tensor) -> Placed:
        """Of B jobs.  nodes: (B, M + n, columns), machines first, then the history, of which those `there` (B, M + n)
        exist; surprise and age: (B, n)."""
        p, machines = self.named, nodes.shape[1] - surprise.shape[1]
        hidden = torch.relu(nodes @ p["place.in.weight"] + p["place.in.bias"])
        speed = (hidden[:, :machines] @ p["place.prior.weight"])[..., 0] + p["place.prior.bias"][0]
        learned = (hidden[:, :machines] @ p["place.out.weight"])[..., 0] + p["place.out.bias"][0]
        fast = p["place.speed"][0] * (speed + nodes[:, :machines, SPEED_AT])
        affinity = nodes[:, :machines, :OF_PLACE] @ p["place.base"] + fast + learned
        variance = own = torch.ones_like(speed)
        factor = torch.zeros((*speed.shape, 0), dtype=speed.dtype)
        if self.shape.random_walk:
            amplitude = p["place.walk.amplitude"][0].exp()
            mean, own, factor = self._posterior(hidden, near, surprise / amplitude, age, there)
            variance = own + factor.pow(2).sum(dim=2)
            speed = speed + amplitude * mean
            affinity = affinity + p["place.walk.trust"][0] * amplitude * mean
        return Placed(affinity, speed, variance, own, factor)

    def _posterior(
        self, hidden: Tensor, near: Near, values: Tensor, age: Tensor, exists: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        p, machines = self.named, hidden.shape[1] - values.shape[1]
        learned = functional.softplus(hidden @ p["place.walk.weight"] + p["place.walk.bias"])
        close = functional.softplus(p["place.walk.topology"][0]), functional.softplus(p["place.walk.machine"][0])
        features = torch.cat((learned, near.rack * close[0], near.machine * close[1]), dim=2) * exists[..., None]
        degree = features @ features.sum(dim=1)[..., None]
        spread = features / degree.clamp(min=LEAST_SIMILARITY).sqrt()
        walk = torch.sigmoid(p["place.walk.length"][0]).clamp(max=LONGEST_WALK)
        core_inverse = torch.eye(spread.shape[2], dtype=spread.dtype) / walk - spread.mT @ spread
        own = 1.0 / (1.0 + _factor(spread, core_inverse).pow(2).sum(dim=2))
        spread = spread * own.sqrt()[..., None]
        seen, here = spread[:, machines:], spread[:, :machines]
        values = values * exists[:, machines:]
        total = own[:, machines:] + self._noise(features[:, machines:], values, age)
        precision = core_inverse + seen.mT @ (seen / total[..., None])
        weights = torch.linalg.solve(precision, (seen.mT @ (values / total)[..., None]))
        return (here @ weights)[..., 0], own[:, :machines], _factor(here, precision)

    def _noise(self, features: Tensor, values: Tensor, age: Tensor) -> Tensor:
        """(B, n) variances of what was observed."""
        p = self.named
        near = features @ features.sum(dim=1)[..., None]
        powers = features.mT @ torch.stack((values, values**2), dim=2)  # (B, d, 2)
        first, second = (features @ powers / near.clamp(min=LEAST_SIMILARITY)).unbind(dim=2)
        old = torch.expm1((p["place.walk.age"][0].exp() * age).clamp(max=OLDEST))
        return p["place.walk.noise"][0].exp() + (second - first**2).clamp(min=0.0) + old

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


def _factor(spread: Tensor, precision: Tensor) -> Tensor:
    """(B, N, d) F with F F' = S precision^-1 S'."""
    lower = torch.linalg.cholesky((precision + precision.mT) / 2.0)
    found: Tensor = torch.linalg.solve_triangular(lower, spread.mT, upper=False).mT
    return found


def _norm(x: Tensor, scale: Tensor) -> Tensor:
    return x / (x.pow(2).mean(dim=2, keepdim=True) + EPSILON).sqrt() * scale
