"""Fits the speed model to measured throughputs: alone, in pairs on one device, and with workers apart.

speed       Relative to the reference type.  Types that were not measured follow the speed of their memory,
            (bandwidth / that of the reference) ^ e, where e between 0 and 1 is fitted to the types that were: work that
            is bound by its host does not gain from a faster GPU.
network     1 + network * (1 - 1 / workers) is fitted to how much slower workers on machines of their own are, by least
            squares of logarithms over all types and numbers of workers.  Kinds that were measured with one worker only
            get the median of the others.
device      Slow-down of k beside j, less 1, is factored into non-negative matrices, sensitivity of k times pressure of
            j (errors count relative to the slow-down).  Pairs of the reference
            type are taken where there are any: slow-downs differ by type, and one model has to serve.
host        Nobody measured it here, so this part is ours.  What a kind wants of processors and memory is 1 - e; what it
            wants of PCIe and of the network card is its network, as a share of the highest.  Two constants are chosen
            such that on a machine of four whole-GPU jobs the median speed is 0.96 over kinds drawn alike, and 0.80 over
            the most demanding quarter of them: figures of a published study of other machines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, TYPE_INDEX
from dovetail.cluster.gpu_speed import CPU_KIND, SpeedModel
from dovetail.core.dag import Bools, Floats, Ints
from dovetail.core.errors import DovetailError

RANKS = (1, 2, 3, 4, 5, 6)
RACK_HOP = 0.5  # ours: to cross racks costs half of what it costs to leave the machine
SHARED_SPEED, BUSY_SPEED = 0.96, 0.80
NEIGHBOURS = 3  # whole-GPU jobs beside one on a machine of four GPUs
_ROUNDS = 3000
_RIDGE = 3e-3
_NOTHING = 1e-3  # a factor below it is 0
_LEAST = 0.1  # of what a kind wants of its host, as a share of the most that any does
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Measured:
    """Throughputs, in any unit that is the same for all of a kind."""

    alone: dict[tuple[str, int, int, bool], float]  # kind, type, workers, each on a machine of its own
    pairs: dict[tuple[str, str, int], float]  # kind, the one beside it on the same device, type

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(kind for kind, *_ in self.alone))


@dataclass(frozen=True)
class PairError:
    """How far the fit of a rank is from measured speeds beside another: |predicted / measured - 1|."""

    rank: int
    median: float
    p90: float
    held_out_median: float
    held_out_p90: float


@dataclass(frozen=True, eq=False)
class SpeedFit:
    """A fitted model, and how far it is from what was measured."""

    model: SpeedModel
    elasticity: Floats  # (K,) of speed with the bandwidth of memory; the last kind is `cpu`
    pairs: int
    pair_errors: tuple[PairError, ...]
    apart: int  # measurements with workers apart
    apart_median_error: float
    apart_p90_error: float
    shared_speed: float
    busy_speed: float
    notes: tuple[str, ...] = field(default=())


def fit_speeds(measured: Measured, rank: int | None = None) -> SpeedFit:
    """The model that is closest to the measurements; without `rank`, that of the least error on pairs held out."""
    kinds = measured.kinds
    if not kinds:
        raise DovetailError("no throughput of a kind alone; a speed model needs at least one")
    speed, elasticity = _speeds(measured, kinds)
    network, apart_error = _network(measured, kinds)
    slow, known = _slow_downs(measured, kinds)
    errors: tuple[PairError, ...] = ()
    notes = []
    if known.sum() >= 10 * _FOLDS:
        errors = tuple(_pair_error(slow, known, each) for each in RANKS if each < len(kinds))
        best = min(errors, key=lambda error: error.held_out_median).rank if rank is None else rank
    else:
        best = 1 if rank is None else rank
        notes.append(f"only {int(known.sum())} pairs were measured: rank {best} is not checked on pairs held out")
    sensitivity, pressure = _factor(slow, known, best)
    host, shared, busy = _host(elasticity, network)
    cpu_host = np.array([[float(host[:, 0].mean()), 0.0, 0.0]])
    model = SpeedModel(
        kind_name=(*kinds, CPU_KIND),
        speed=np.vstack((speed, np.ones((1, len(GPU_TYPES))))),
        network=np.append(network, 0.0),
        host_pressure=np.vstack((host, np.zeros((1, 3)))),
        host_sensitivity=np.vstack((host, cpu_host)),
        device_pressure=np.vstack((pressure, np.zeros((1, best)))),
        device_sensitivity=np.vstack((sensitivity, np.zeros((1, best)))),
        rack_hop=RACK_HOP,
    )
    return SpeedFit(
        model=model,
        elasticity=np.append(elasticity, 0.0),
        pairs=int(known.sum()),
        pair_errors=errors,
        apart=apart_error.size,
        apart_median_error=float(np.median(apart_error)) if apart_error.size else float("nan"),
        apart_p90_error=float(np.quantile(apart_error, 0.9)) if apart_error.size else float("nan"),
        shared_speed=shared,
        busy_speed=busy,
        notes=tuple(notes),
    )


def _speeds(measured: Measured, kinds: tuple[str, ...]) -> tuple[Floats, Floats]:
    """(K, T) speeds and (K,) elasticities."""
    bandwidth = np.array([kind.memory_gb_s for kind in GPU_TYPES])
    ratio = np.log(bandwidth / bandwidth[0])
    speed = np.zeros((len(kinds), len(GPU_TYPES)))
    elasticity = np.zeros(len(kinds))
    for row, kind in enumerate(kinds):
        found = {t: measured.alone.get((kind, t, 1, False)) for t in range(len(GPU_TYPES))}
        here = np.array([t for t, value in found.items() if value], np.int64)
        if not here.size:
            raise DovetailError(f"kind {kind}: no throughput of one worker alone on any type")
        throughput = np.array([found[int(t)] or np.nan for t in here])
        log = np.log(throughput)
        x = ratio[here] - ratio[here].mean()
        slope = float(x @ (log - log.mean()) / (x @ x)) if (x @ x) > 1e-12 else 1.0
        elasticity[row] = min(max(slope, 0.0), 1.0)
        level = float((log - elasticity[row] * ratio[here]).mean())
        reference = found[0] or float(np.exp(level))
        speed[row] = np.exp(elasticity[row] * ratio)
        speed[row, here] = throughput / reference
    return speed, elasticity


def _network(measured: Measured, kinds: tuple[str, ...]) -> tuple[Floats, Floats]:
    """(K,) and errors of the slow-downs; workers apart that were faster than together count as equally fast."""
    network = np.full(len(kinds), np.nan)
    errors = []
    grid = np.concatenate(([0.0], np.geomspace(1e-3, 30, 2000)))
    for row, kind in enumerate(kinds):
        apart, slow = [], []
        for (name, kind_type, workers, spread), value in measured.alone.items():
            together = measured.alone.get((name, kind_type, workers, False))
            if name == kind and spread and workers > 1 and together:
                apart.append(1 - 1 / workers)
                slow.append(max(together / value, 1.0))
        if not slow:
            continue
        predicted = 1 + grid[:, None] * np.array(apart)
        loss = (np.log(predicted / np.array(slow)) ** 2).sum(axis=1)
        network[row] = grid[loss.argmin()]
        errors += np.abs(np.array(slow) / predicted[loss.argmin()] - 1).tolist()
    known = np.isfinite(network)
    network[~known] = float(np.median(network[known])) if known.any() else 0.0
    return network, np.array(errors)


def _slow_downs(measured: Measured, kinds: tuple[str, ...]) -> tuple[Floats, Bools]:
    """(K, K) time beside another / time alone, less 1, and which were measured."""
    slow = np.zeros((len(kinds), len(kinds)))
    known = np.zeros(slow.shape, np.bool_)
    place = {kind: row for row, kind in enumerate(kinds)}
    types = {kind_type for *_, kind_type in measured.pairs}
    chosen = TYPE_INDEX["V100"] if TYPE_INDEX["V100"] in types else min(types, default=0)
    for (kind, other, kind_type), value in measured.pairs.items():
        alone = measured.alone.get((kind, kind_type, 1, False))
        if kind_type == chosen and other in place and alone:
            slow[place[kind], place[other]] = max(alone / value - 1, 0.0)
            known[place[kind], place[other]] = True
    return slow, known


def _factor(slow: Floats, known: Bools, rank: int) -> tuple[Floats, Floats]:
    """(K, rank) sensitivities and (K, rank) pressures whose products are closest to the slow-downs that are known.

    Multiplicative updates (Lee and Seung 2001), which never turn negative; a little ridge keeps rows with few
    measurements in bounds.
    """
    rng = np.random.default_rng(rank)  # a start, always the same
    weight = known / (1 + slow) ** 2
    target = weight * slow
    sensitivity, pressure = rng.uniform(0.1, 1.0, (2, len(slow), rank))
    for _ in range(_ROUNDS):
        product = weight * (sensitivity @ pressure.T)
        sensitivity *= target @ pressure / (product @ pressure + _RIDGE * sensitivity + 1e-12)
        product = weight * (sensitivity @ pressure.T)
        pressure *= target.T @ sensitivity / (product.T @ sensitivity + _RIDGE * pressure + 1e-12)
    scale = np.maximum(pressure.max(axis=0), 1e-12)
    sensitivity, pressure = sensitivity * scale, pressure / scale
    sensitivity[sensitivity < _NOTHING], pressure[pressure < _NOTHING] = 0.0, 0.0
    order = np.argsort(-sensitivity.mean(axis=0), kind="stable")
    return sensitivity[:, order], pressure[:, order]


def _pair_error(slow: Floats, known: Bools, rank: int) -> PairError:
    """Errors of the fit to all pairs, and of fits to four fifths of them on the fifth that was left out."""

    def errors(fitted: Bools, asked: Bools) -> Floats:
        sensitivity, pressure = _factor(slow, fitted, rank)
        predicted = 1 + sensitivity @ pressure.T
        return np.abs((1 + slow[asked]) / predicted[asked] - 1)

    fold = np.random.default_rng(0).integers(_FOLDS, size=slow.shape)
    inside = errors(known, known)
    outside = np.concatenate([errors(known & (fold != out), known & (fold == out)) for out in range(_FOLDS)])
    return PairError(
        rank,
        float(np.median(inside)),
        float(np.quantile(inside, 0.9)),
        float(np.median(outside)),
        float(np.quantile(outside, 0.9)),
    )


def _host(elasticity: Floats, network: Floats) -> tuple[Floats, float, float]:
    """(K, 3) pressures, which are also the sensitivities, and the median speeds that they were chosen for."""
    most = max(float(network.max()), 1e-12)
    wants = _LEAST + (1 - _LEAST) * np.column_stack((1 - elasticity, network / most, network / most))
    rng = np.random.default_rng(0)
    everyone = np.arange(len(wants))
    hungry = np.argsort(-wants[:, :2].sum(axis=1), kind="stable")[: max(len(wants) // 4, 1)]
    draws = [rng.choice(who, (4000, NEIGHBOURS + 1)) for who in (everyone, hungry)]

    def medians(power: float, scale: float) -> tuple[float, float]:
        shared, busy = (_median_speed(np.sqrt(scale) * wants**power, draw) for draw in draws)
        return shared, busy

    def scale_for(power: float) -> float:
        low, high = 0.0, 1e3
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if medians(power, middle)[0] > SHARED_SPEED else (low, middle)
        return (low + high) / 2

    # The higher the power, the further the demanding ones are from the others.
    powers = np.linspace(0.25, 3.0, 56)
    power = float(min(powers, key=lambda each: abs(medians(each, scale_for(each))[1] - BUSY_SPEED)))
    scale = scale_for(power)
    return np.sqrt(scale) * wants**power, *medians(power, scale)


def _median_speed(each: Floats, draw: Ints) -> float:
    """Of the first of each row beside the others; nobody of them is on several machines."""
    felt = each[draw[:, 0], :2]
    pressed = each[draw[:, 1:], :2].sum(axis=1)
    return float(np.median(1 / (1 + (felt * pressed).sum(axis=1))))
