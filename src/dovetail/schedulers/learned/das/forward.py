"""DAS deciding: the forward pass in numpy, for the default install and live engines.  `network` is the same in torch.

Ordering agent.  Cluster matrix S^c (machines x features) and job matrix S^j (jobs x features, embedded).
Squeeze-and-communicate:  s = AvgPool(S^c),  delta = sigmoid(W3 [S^j ; f(s)] + b3),
S~^j = delta f(s) + (1 - delta) S^j;  then positions by submission, a Transformer encoder, and a score for each job.

Placement agent.  A node is a machine as the job at hand would find it, or one as an earlier job found it; what became
of those (measured speed against expected) is the history of the random-walk Gaussian process (`random_walk`), whose
posterior says how fast the job would be.  Affinity = that, weighed, plus what is learned beside it.

Departure: both scores are a rule of thumb plus a learned correction, which begins at zero: the untrained network is a
sensible scheduler, and learning goes on from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.core.gpu import Floats, Ints
from dovetail.features.gpu import JOB_COLUMNS, PAIR_COLUMNS
from dovetail.schedulers.learned.das.random_walk import Posterior, RandomWalk
from dovetail.schedulers.learned.das.shape import ORDER_BASE, PLACE_BASE, DasShape, Parameters

ORDER_BASE_AT = [JOB_COLUMNS.index(name) for name in ORDER_BASE]
PLACE_BASE_AT = [PAIR_COLUMNS.index(name) for name in PLACE_BASE]
SPEED_AT = PAIR_COLUMNS.index("speed of its type")
EPSILON = 1e-5


class History(NamedTuple):
    """Where earlier jobs were put, and how fast they were."""

    nodes: Floats  # (n, len(NODE_COLUMNS))
    rack: Ints  # (n,)
    log_ratio: Floats  # (n,) measured speed / expected


class Affinity(NamedTuple):
    """Of the machines for one job."""

    mean: Floats  # (M,)
    speed: Floats  # (M,) expected log of speed / expected alone
    posterior: Posterior  # of `speed`, without its prior mean, in units of the amplitude
    spread: float  # standard deviation of an action in units of the posterior's


class DasForward:
    def __init__(self, shape: DasShape, parameters: Parameters) -> None:
        self.shape = shape
        self.parameters = parameters

    def priorities(self, jobs: Floats, machines: Floats) -> Floats:
        """(J,) from (J, job columns) and (M, machine columns)."""
        p = self.parameters
        x = np.tanh(jobs @ p["order.job.weight"] + p["order.job.bias"])
        if self.shape.communicate:
            squeezed = np.tanh(machines.mean(axis=0) @ p["order.squeeze.weight"] + p["order.squeeze.bias"])
            both = np.concatenate((x, np.broadcast_to(squeezed, x.shape)), axis=1)
            gate = _sigmoid(both @ p["order.gate.weight"] + p["order.gate.bias"])
            x = gate * squeezed + (1.0 - gate) * x
        x = x + positions(len(x), self.shape.width)
        for layer in range(self.shape.layers):
            x = self._encode(x, f"order.layer{layer}")
        learned = (x @ p["order.out.weight"])[:, 0] + p["order.out.bias"][0]
        found: Floats = jobs[:, ORDER_BASE_AT] @ p["order.base"] + learned
        return found

    def affinity(self, nodes: Floats, pairs: Floats, rack: Ints, history: History) -> Affinity:
        """Of (M, node columns), of which `pairs` are the columns of pairs; `rack`: of each machine."""
        p, machines = self.parameters, len(nodes)
        every = np.concatenate((nodes, history.nodes)) if self.shape.random_walk else nodes
        hidden = np.maximum(every @ p["place.in.weight"] + p["place.in.bias"], 0.0)
        prior = (hidden @ p["place.prior.weight"])[:, 0] + p["place.prior.bias"][0]
        speed = prior[:machines]
        if self.shape.random_walk:
            amplitude = float(np.exp(p["place.walk.amplitude"][0]))
            walk = RandomWalk.of(self._similar(hidden, np.concatenate((rack, history.rack))), self._length())
            noise = float(np.exp(p["place.walk.noise"][0]))
            surprise = (history.log_ratio - prior[machines:]) / amplitude
            posterior = walk.posterior(slice(machines, len(every)), surprise, slice(0, machines), noise)
            speed = speed + amplitude * posterior.mean
        else:
            posterior = Posterior(np.zeros(machines), np.zeros((machines, 1)))
        learned = (hidden[:machines] @ p["place.out.weight"])[:, 0] + p["place.out.bias"][0]
        fast = p["place.speed"][0] * (speed + pairs[:, SPEED_AT])
        mean: Floats = pairs[:, PLACE_BASE_AT] @ p["place.base"] + fast + learned
        return Affinity(mean, speed, posterior, float(np.exp(p["place.log_std"][0])))

    def _similar(self, hidden: Floats, rack: Ints) -> Floats:
        """(n, rank + racks) features, 0 or more, whose products are the similarities."""
        p = self.parameters
        learned = _softplus(hidden @ p["place.walk.weight"] + p["place.walk.bias"])
        near = np.zeros((len(hidden), int(rack.max()) + 1))
        near[np.arange(len(rack)), rack] = _softplus(p["place.walk.topology"][0])
        return np.concatenate((learned, near), axis=1)

    def _length(self) -> float:
        return float(_sigmoid(self.parameters["place.walk.length"][0]))

    def _encode(self, x: Floats, name: str) -> Floats:
        p, heads = self.parameters, self.shape.heads
        count, width = x.shape
        normed = _norm(x, p[f"{name}.norm1"])
        query, key, value = (
            (normed @ p[f"{name}.{part}.weight"]).reshape(count, heads, width // heads).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width // heads)
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        x = x + (weights @ value).transpose(1, 0, 2).reshape(count, width) @ p[f"{name}.mix.weight"]
        up = np.maximum(_norm(x, p[f"{name}.norm2"]) @ p[f"{name}.up.weight"] + p[f"{name}.up.bias"], 0.0)
        found: Floats = x + up @ p[f"{name}.down.weight"] + p[f"{name}.down.bias"]
        return found


def positions(count: int, width: int) -> Floats:
    """(count, width) sines and cosines of the place in the queue."""
    half = (width + 1) // 2
    angle = np.arange(count)[:, None] / 10_000.0 ** (np.arange(half)[None] / max(half, 1))
    both = np.concatenate((np.sin(angle), np.cos(angle)), axis=1)
    found: Floats = both[:, :width]
    return found


def _norm(x: Floats, scale: Floats) -> Floats:
    found: Floats = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + EPSILON) * scale
    return found


def _sigmoid(x: Floats) -> Floats:
    found: Floats = 1.0 / (1.0 + np.exp(-x))
    return found


def _softplus(x: Floats) -> Floats:
    found: Floats = np.logaddexp(0.0, x)
    return found
