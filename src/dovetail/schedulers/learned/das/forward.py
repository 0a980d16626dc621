"""DAS deciding: the forward pass, compiled, for the default install and live engines.  `network` is the same in torch.

Ordering agent.  Cluster matrix S^c (machines x features) and job matrix S^j (jobs x features, embedded).
Squeeze-and-communicate:  s = AvgPool(S^c),  delta = sigmoid(W3 [S^j ; f(s)] + b3),
S~^j = delta f(s) + (1 - delta) S^j;  then positions by submission, a Transformer encoder, and for each job how long it
will have to wait, if it does not start now, and two scores: its priority, and how ready it is to start.

Placement agent.  A node is a machine as the job at hand would find it, or one as an earlier job found it; what became
of those (how much faster they were than their company explains) is the history of the random-walk Gaussian process
(`random_walk`): machines that look alike for the job, stand in one rack or are the same are close in its graph.  Its
posterior corrects a learned guess of how fast the job would be.  Affinity = both, weighed, plus what is learned beside.

Departures: scores are a rule of thumb plus a learned correction, which begins at zero: the untrained network is a
sensible scheduler, and learning goes on from there.  A job that is next may be let wait: it starts if a rule
(`starts_now`) and its readiness come to 0 or more together.  The ordering agent expects waits as the placement agent
expects speeds: both are learned from what was measured, and weighed in the scores.  Readiness lies within
`DasShape.most_ready` of 0: on work of another kind than it learned from, an agent that expects long waits would make
them come true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from dovetail.core.gpu import Floats
from dovetail.features.gpu_neighbours import Neighbours
from dovetail.schedulers.learned.das.algebra import by_vector, product
from dovetail.schedulers.learned.das.jit import OPTIONS
from dovetail.schedulers.learned.das.random_walk import factor_at, noise_of, posterior_at, walk_among
from dovetail.schedulers.learned.das.shape import NODE_COLUMNS, PLACE_COLUMNS, DasShape, Parameters

SPEED_AT = NODE_COLUMNS.index("speed of its type")
OF_PLACE = len(PLACE_COLUMNS)
EPSILON = 1e-5

SCALARS = ("place.speed", "place.rack")
WALK_SCALARS = (
    "place.walk.topology",
    "place.walk.machine",
    "place.walk.length",
    "place.walk.noise",
    "place.walk.amplitude",
    "place.walk.age",
    "place.walk.trust",
)
SPEED, RACK, TOPOLOGY, MACHINE, LENGTH, NOISE, AMPLITUDE, AGE, TRUST, READY = range(10)


class Weights(NamedTuple):
    """All parameters as compiled code takes them; parts that the network does not have are empty."""

    heads: int
    scalars: Floats  # (10,) as named above, and how ready a job may be
    order_base: Floats
    job: Floats
    job_bias: Floats
    squeeze: Floats
    squeeze_bias: Floats
    gate: Floats
    gate_bias: Floats
    query: Floats  # (layers, width, width), and so on
    key: Floats
    value: Floats
    mix: Floats
    norm1: Floats
    norm2: Floats
    up: Floats
    up_bias: Floats
    down: Floats
    down_bias: Floats
    order_out: Floats
    order_out_bias: Floats
    place_base: Floats
    place_in: Floats
    place_in_bias: Floats
    prior: Floats
    prior_bias: Floats
    place_out: Floats
    place_out_bias: Floats
    walk: Floats
    walk_bias: Floats
    start_base: Floats
    order_wait: Floats
    order_wait_bias: Floats
    order_trust: Floats

    @classmethod
    def of(cls, shape: DasShape, parameters: Parameters) -> Weights:
        def get(name: str, dimensions: int = 2) -> Floats:
            found = parameters.get(name, np.zeros((0,) * dimensions))
            return np.ascontiguousarray(found, np.float64)

        def layered(name: str) -> Floats:
            return np.ascontiguousarray([parameters[f"order.layer{layer}.{name}"] for layer in range(shape.layers)])

        jobs, starts = shape.seen()
        scalars = np.zeros(len(SCALARS) + len(WALK_SCALARS) + 1)
        for place, name in enumerate((*SCALARS, *WALK_SCALARS)):
            scalars[place] = parameters[name][0] if name in parameters else 0.0
        scalars[READY] = shape.most_ready
        return cls(
            heads=shape.heads,
            scalars=scalars,
            order_base=get("order.base", 1) * jobs,
            job=get("order.job.weight") * jobs[:, None],
            job_bias=get("order.job.bias", 1),
            squeeze=get("order.squeeze.weight"),
            squeeze_bias=get("order.squeeze.bias", 1),
            gate=get("order.gate.weight"),
            gate_bias=get("order.gate.bias", 1),
            query=layered("query.weight"),
            key=layered("key.weight"),
            value=layered("value.weight"),
            mix=layered("mix.weight"),
            norm1=layered("norm1"),
            norm2=layered("norm2"),
            up=layered("up.weight"),
            up_bias=layered("up.bias"),
            down=layered("down.weight"),
            down_bias=layered("down.bias"),
            order_out=get("order.out.weight"),
            order_out_bias=get("order.out.bias", 1),
            place_base=get("place.base", 1),
            place_in=get("place.in.weight"),
            place_in_bias=get("place.in.bias", 1),
            prior=get("place.prior.weight"),
            prior_bias=get("place.prior.bias", 1),
            place_out=get("place.out.weight"),
            place_out_bias=get("place.out.bias", 1),
            walk=get("place.walk.weight"),
            walk_bias=get("place.walk.bias", 1),
            start_base=get("start.base", 1) * starts,
            order_wait=get("order.wait.weight"),
            order_wait_bias=get("order.wait.bias", 1),
            order_trust=get("order.trust", 1),
        )


class DasForward:
    """A network: its parameters by name, and as compiled code takes them."""

    def __init__(self, shape: DasShape, parameters: Parameters) -> None:
        self.shape = shape
        self.parameters = parameters
        self.weights = Weights.of(shape, parameters)

    def neighbours(self, kinds: Sequence[str]) -> Neighbours:
        """What it has learned of these kinds."""
        parts = (self.parameters[f"neighbours.{name.replace('_', '.')}"] for name in Neighbours._fields)
        return Neighbours(*parts).rows(self.shape.kinds, kinds)


@njit(**OPTIONS)
def judged_jobs(w, jobs, machines):
    """(J, 2) priority and readiness, from (J, job columns) and (M, machine columns)."""
    found = np.zeros((jobs.shape[0], 2)) + w.order_out_bias
    found[:, 0] += by_vector(jobs, w.order_base)
    if not (w.order_out.any() or w.order_trust.any()):  # nothing is added to the rules of thumb: not yet trained
        return found
    x = np.tanh(product(jobs, w.job) + w.job_bias)
    count, width = x.shape
    if w.squeeze.shape[0] > 0:
        pooled = machines.sum(axis=0) / machines.shape[0]
        squeezed = np.tanh(product(pooled.reshape((1, -1)), w.squeeze)[0] + w.squeeze_bias)
        both = np.empty((count, 2 * width))
        both[:, :width] = x
        both[:, width:] = squeezed
        gate = _sigmoid(product(both, w.gate) + w.gate_bias)
        x = gate * squeezed + (1.0 - gate) * x
    x = x + positions(count, width)
    for layer in range(w.query.shape[0]):
        x = _encode(w, layer, x)
    wait = product(x, w.order_wait) + w.order_wait_bias
    found += product(x, w.order_out) + wait * w.order_trust
    found[:, 1] = w.scalars[READY] * np.tanh(found[:, 1] / w.scalars[READY])
    return found


@njit(**OPTIONS)
def starts_now(w, columns):
    """What speaks for starting a job now by the rule, of (start columns,)."""
    found = 0.0
    for c in range(columns.shape[0]):
        found += w.start_base[c] * columns[c]
    return found


@njit(**OPTIONS)
def affinity(w, nodes, at, rack, remembered, surprise, age, doubtful):
    """Of (M, node columns), the machines that a job may use; `at`: which they are, then those of the history.

    Of that, `remembered` is what the random walk made of its nodes, `surprise` how it turned out, and `age` how many
    hours ago.  (M,) affinity, (M,) expected log of speed / expected alone, (M,) variance of what the process expects,
    before anything is seen 1 (and always, unless `doubtful`: it is wanted), and (M, rank) to remember.
    """
    machines = nodes.shape[0]
    hidden = np.maximum(product(nodes, w.place_in) + w.place_in_bias, 0.0)
    speed = by_vector(hidden, w.prior[:, 0]) + w.prior_bias[0]
    found = by_vector(hidden, w.place_out[:, 0]) + w.place_out_bias[0]
    found += w.scalars[SPEED] * (speed + nodes[:, SPEED_AT])
    found += by_vector(nodes[:, :OF_PLACE], w.place_base)
    variance, walked = np.ones(machines), np.zeros((machines, remembered.shape[1]))
    if w.walk.shape[0] > 0:
        amplitude = np.exp(w.scalars[AMPLITUDE])
        walked, here, own, mean, lower = process(w, hidden, at, rack, remembered, surprise / amplitude, age)
        speed += amplitude * mean
        found += w.scalars[TRUST] * amplitude * mean
        if doubtful:
            variance = own + (factor_at(here, lower) ** 2).sum(axis=1)
    return found, speed, variance, walked


@njit(**OPTIONS)
def process(w, hidden, at, rack, remembered, values, age):
    """The random walk at the M machines: (M, rank) its features, S~ and 1 / r of them, and the posterior after `values`
    were seen, in units of the process: (M,) mean, and the L of its covariance (`random_walk`)."""
    machines = hidden.shape[0]
    walked = _softplus(product(hidden, w.walk) + w.walk_bias)
    features = similar(w, walked, remembered, at, rack)
    spread, own, core_inverse = walk_among(features, 1.0 / (1.0 + np.exp(-w.scalars[LENGTH])))
    noise = noise_of(features[machines:], values, np.exp(w.scalars[NOISE]), np.exp(w.scalars[AGE]), age)
    here = spread[:machines]
    mean, lower = posterior_at(here, spread[machines:], own[machines:], core_inverse, values, noise)
    return walked, here, own[:machines], mean, lower


@njit(**OPTIONS)
def covariance_of(w, nodes, at, rack, remembered, surprise, age):
    """(M,) own and (M, d) factor of what the process expects, as `Posterior` has them; ones and nothing without it."""
    if w.walk.shape[0] == 0:
        return np.ones(nodes.shape[0]), np.zeros((nodes.shape[0], 0))
    hidden = np.maximum(product(nodes, w.place_in) + w.place_in_bias, 0.0)
    values = surprise / np.exp(w.scalars[AMPLITUDE])
    _, here, own, _, lower = process(w, hidden, at, rack, remembered, values, age)
    return own.copy(), factor_at(here, lower)


@njit(**OPTIONS)
def similar(w, walked, remembered, at, rack):
    """Z of the random walk: learned features, a column for each rack, and one for each machine of several nodes."""
    machines, rank = walked.shape
    column, columns = meeting_places(at, rack.shape[0])
    racks = rack.max() + 1
    found = np.zeros((at.shape[0], rank + racks + columns))
    found[:machines, :rank] = walked
    found[machines:, :rank] = remembered
    near, same = np.log1p(np.exp(w.scalars[TOPOLOGY])), np.log1p(np.exp(w.scalars[MACHINE]))
    for node in range(at.shape[0]):
        found[node, rank + rack[at[node]]] = near
        if column[at[node]] >= 0:
            found[node, rank + racks + column[at[node]]] = same
    return found


@njit(**OPTIONS)
def meeting_places(at, machines):
    """(M,) a number for each machine that two nodes or more share, -1 for others; and how many these are."""
    count = np.zeros(machines, np.int64)
    for machine in at:
        count[machine] += 1
    number, columns = np.full(machines, -1, np.int64), 0
    for machine in range(machines):
        if count[machine] > 1:
            number[machine] = columns
            columns += 1
    return number, columns


@njit(**OPTIONS)
def positions(count, width):
    """(count, width) sines, then cosines, of the place in the queue."""
    half = (width + 1) // 2
    found = np.empty((count, width))
    for c in range(width):
        step = 10_000.0 ** ((c % half) / half)
        for i in range(count):
            found[i, c] = np.sin(i / step) if c < half else np.cos(i / step)
    return found


@njit(**OPTIONS)
def _encode(w, layer, x):
    count, width = x.shape
    each = width // w.heads
    normed = _norm(x, w.norm1[layer])
    query, key, value = product(normed, w.query[layer]), product(normed, w.key[layer]), product(normed, w.value[layer])
    mixed = np.empty((count, width))
    for head in range(w.heads):
        mine = slice(head * each, (head + 1) * each)
        scores = product(query[:, mine], key[:, mine].T) / np.sqrt(each)
        for i in range(count):
            scores[i] = np.exp(scores[i] - scores[i].max())
            scores[i] /= scores[i].sum()
        mixed[:, mine] = product(scores, value[:, mine])
    x = x + product(mixed, w.mix[layer])
    up = np.maximum(product(_norm(x, w.norm2[layer]), w.up[layer]) + w.up_bias[layer], 0.0)
    return x + product(up, w.down[layer]) + w.down_bias[layer]


@njit(**OPTIONS)
def _norm(x, scale):
    found = np.empty_like(x)
    for i in range(x.shape[0]):
        found[i] = x[i] / np.sqrt((x[i] ** 2).mean() + EPSILON) * scale
    return found


@njit(**OPTIONS)
def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@njit(**OPTIONS)
def _softplus(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
