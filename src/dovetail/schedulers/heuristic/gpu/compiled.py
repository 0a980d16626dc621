"""An order and a place as the compiled twin takes them: numbers in `params` and `state`."""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import GpuInfo, GpuKernel, Ints
from dovetail.schedulers.heuristic.gpu.order import OrderPart
from dovetail.schedulers.heuristic.gpu.orders.drf import totals
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.kernels.gpu_codes import CLASSES, MOST_CLASSES


def queue_kernel_of(info: GpuInfo, order: OrderPart, place: PlacePart) -> GpuKernel:
    """From the start: `reset` must have come before."""
    from dovetail.schedulers.kernels.gpu_queue import queue_kernel

    header = [
        float(order.CODE),
        float(place.CODE),
        *_four(order.numbers()),
        *_four(place.numbers()),
        *(max(float(part.max()), 1e-9) for part in (info.machine_gpus, info.machine_cpus, info.machine_memory)),
        *totals(info).tolist(),
        float(len(info.type_name)),
        float(len(info.kind_name)),
        float(place.WHY),
        float(order.REASON),
    ]
    params = np.concatenate(
        [
            np.array(header),
            info.machine_gpus.astype(np.float64),
            info.machine_cpus,
            info.machine_memory,
            info.kind_speed.ravel(),
            info.kind_network,
        ]
    )
    state = np.zeros(CLASSES + 5 * MOST_CLASSES, np.int64)
    state[1:4] = order.key(), place.key(), -1
    return GpuKernel(
        queue_kernel,
        params,
        np.concatenate([state, info.machine_type, info.machine_rack, kind_masks(info)]),
        wants_running=order.WANTS_RUNNING,
    )


def kind_masks(info: GpuInfo) -> Ints:
    """(K,) a bit for each type of the cluster on which a kind of training can run."""
    types = np.arange(len(info.type_name), dtype=np.int64)
    bits = np.where(np.isin(types, info.machine_type), 1 << types, 0)
    masks: Ints = ((info.kind_speed > 0.0) * bits).sum(axis=1)
    return masks


def _four(numbers: tuple[float, ...]) -> tuple[float, ...]:
    return (*numbers, *(0.0,) * (4 - len(numbers)))
