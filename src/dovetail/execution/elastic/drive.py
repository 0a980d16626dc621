"""Coordinators without a controller: for calibration, and for whoever trains a single job by hand."""

from __future__ import annotations

import time
from collections.abc import Callable

from dovetail.core.errors import DovetailError
from dovetail.execution.elastic.coordinator import Coordinator, Tally
from dovetail.execution.elastic.fleet import Fleet

LOOK_S = 0.1
PATIENCE_S = 120.0


def wait_until(
    fleet: Fleet, coordinator: Coordinator, condition: Callable[[], bool], patience_s: float = PATIENCE_S
) -> None:
    """Pass on what the fleet tells until the condition holds."""
    give_up_s = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > give_up_s:
            raise DovetailError(f"a training job did not get any further within {patience_s:g} s")
        for event in fleet.poll(LOOK_S):
            coordinator.handle(event, time.monotonic())
        coordinator.on_time(time.monotonic())


def one_slot(
    fleet: Fleet,
    coordinator: Coordinator,
    workers: int,
    servers: int,
    slot_s: float,
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[Tally, float]:
    """Train for a slot with so many workers and servers; what came of it, and how many seconds it took.

    `meanwhile` is called once, in the middle of it.
    """
    coordinator.stand([0] * workers, [0] * servers, time.monotonic())
    wait_until(fleet, coordinator, lambda: coordinator.is_standing)
    start_s = time.monotonic()
    coordinator.train(start_s, start_s + slot_s)
    wait_until(fleet, coordinator, lambda: coordinator.is_trained or time.monotonic() >= start_s + slot_s / 2)
    meanwhile()
    wait_until(fleet, coordinator, lambda: coordinator.is_trained or time.monotonic() >= start_s + slot_s)
    coordinator.halt(time.monotonic())
    wait_until(fleet, coordinator, lambda: coordinator.is_halted)
    return coordinator.last, time.monotonic() - start_s
