"""How fast a training job runs where it stands: GPU type, neighbours, network, and moods of machines.

With its workers on machines m, a job of kind k runs at speed

    min over m of  speed[k, type(m)] * mood(m, t) / (1 + host(k, m)) / (1 + device(k, m))  /  (1 + network[k] * apart)

    host(k, m)    sum over r of host_sensitivity[k, r] * pressure of others' workers on m, gpus * host_pressure[., r]
                  each; r = processors and memory, PCIe, network card (the last only among jobs on several machines)
    device(k, m)  sum over q of device_sensitivity[k, q] * device_pressure[., q] of other jobs' workers on the device
    apart         machine_hop * (1 - 1 / machines) + rack_hop * (1 - 1 / racks)

Speed 1 is: all workers on one machine of the reference type, nobody else there.

`default_speeds` are fitted to published measurements (`experiments/gpu_speeds.py` repeats that, docs/gpu-model.md says
how well they fit); `gpu_speed_file` reads measurements of your own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from dovetail.core.dag import Floats
from dovetail.core.errors import UnknownName

HOST_RESOURCES = ("processors and memory", "pcie", "network card")
NETWORK_CARD = HOST_RESOURCES.index("network card")
PROCESSORS = HOST_RESOURCES.index("processors and memory")
CPU_KIND = "cpu"
"""Work without a GPU: as fast on every type, and no pressure on devices."""
DEFAULT_FILE = Path(__file__).parent / "gpu_speeds.json"


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

    def rows(self, kinds: Sequence[str]) -> SpeedModel:
        """The same for these kinds in this order, as a workload names them."""
        place = {name: row for row, name in enumerate(self.kind_name)}
        for name in kinds:
            if name not in place:
                raise UnknownName("kind of training", name, place)
        rows = np.array([place[name] for name in kinds], np.int64)
        return replace(
            self,
            kind_name=tuple(kinds),
            speed=self.speed[rows],
            network=self.network[rows],
            host_pressure=self.host_pressure[rows],
            host_sensitivity=self.host_sensitivity[rows],
            device_pressure=self.device_pressure[rows],
            device_sensitivity=self.device_sensitivity[rows],
        )


@cache
def default_speeds() -> SpeedModel:
    """The model that is shipped."""
    from dovetail.cluster.gpu_speed_file import read_speeds

    return read_speeds(DEFAULT_FILE)
