"""How fast a training job runs where it stands: GPU type, neighbours, network, and moods of machines.

With its workers on machines m, a job of kind k runs at speed

    min over m of  speed[k, type(m)] * mood(m, t) / (1 + host(k, m)) / (1 + device(k, m))  /  (1 + network[k] * apart)

    host(k, m)    sum over r of host_sensitivity[k, r] * pressure of other jobs' workers on m, gpus * host_pressure[., r]
                  each; r = processors and memory, PCIe, network card (the last only among jobs on several machines)
    device(k, m)  sum over q of device_sensitivity[k, q] * device_pressure[., q] of other jobs' workers on the same device
    apart         machine_hop * (1 - 1 / machines) + rack_hop * (1 - 1 / racks)

Speed 1 is: all workers on one machine of the reference type, nobody else there.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.dag import Floats

HOST_RESOURCES = ("processors and memory", "pcie", "network card")
NETWORK_CARD = HOST_RESOURCES.index("network card")


@dataclass(frozen=True, eq=False)
class SpeedModel:
    """Numbers of the formula above, for K kinds of training and the T types of `GPU_TYPES`; Q columns for devices."""

    kind_name: tuple[str, ...]  # (K,)
    speed: Floats  # (K, T) relative to the reference type; 0: cannot run there
    network: Floats  # (K,)
    host_pressure: Floats  # (K, 3) of a worker, for each of its GPUs
    host_sensitivity: Floats  # (K, 3)
    device_pressure: Floats  # (K, Q) of a worker on a device that it shares
    device_sensitivity: Floats  # (K, Q)
    machine_hop: float = 1.0
    rack_hop: float = 1.0
