"""Real work in real time, by the same schedulers that were proven in the simulator."""

from __future__ import annotations
