"""gpu/random: any waiting job, any machine with room: the floor that all others must beat."""

from __future__ import annotations

from dovetail.schedulers.heuristic.gpu.orders.random import Random as Order
from dovetail.schedulers.heuristic.gpu.pairing import pair
from dovetail.schedulers.heuristic.gpu.places.random import Random as Place

Random = pair(Order, Place)
