"""The machines of the fastest type for this kind of training on which the gang fits; among those, close together.

Types are tried one after another, so that no worker waits for one of a slower type; a gang that fits no single type now
stands on several.
"""

from __future__ import annotations

import numpy as np

from dovetail.core.gpu import Place
from dovetail.schedulers.heuristic.gpu.place import PlacePart
from dovetail.schedulers.heuristic.gpu.places.topology import choose
from dovetail.schedulers.heuristic.gpu.room import Gang, Need, Room
from dovetail.schedulers.kernels.gpu_codes import PlaceCode


class Fastest(PlacePart):
    WHY = Place.CLOSE_TOGETHER
    CODE = PlaceCode.FASTEST

    def gang(self, room: Room, need: Need, job: int) -> Gang | None:
        speed = room.info.kind_speed[need.kind]
        types = np.flatnonzero(need.allowed).tolist()
        for one in sorted(types, key=lambda t: (-speed[t], t)):
            alone = need._replace(allowed=np.arange(len(speed)) == one)
            chosen = choose(room, room.capacity(alone), need.workers)
            if chosen is not None:
                return Gang(chosen, [room.take(machine, need) for machine in chosen], float(speed[one]))
        chosen = choose(room, room.capacity(need), need.workers)
        if chosen is None:
            return None
        slowest = min(float(speed[room.info.machine_type[machine]]) for machine in chosen)
        return Gang(chosen, [room.take(machine, need) for machine in chosen], slowest)
