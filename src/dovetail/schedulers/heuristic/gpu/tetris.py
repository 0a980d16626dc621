"""gpu/tetris: job and machine that match best, as published: `orders/tetris` and `places/alignment` together."""

from __future__ import annotations

from dovetail.schedulers.heuristic.gpu.orders.tetris import Tetris as Order
from dovetail.schedulers.heuristic.gpu.pairing import pair
from dovetail.schedulers.heuristic.gpu.places.alignment import Alignment

Tetris = pair(Order, Alignment)
