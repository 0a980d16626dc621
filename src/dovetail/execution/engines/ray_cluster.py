"""A Ray cluster: found at its address, or started on this machine for as long as this program needs it."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import threading
from typing import Any

from dovetail.core.errors import ConfigError
from dovetail.core.extras import require

CONNECT_S = 10.0


def connect(address: str | None, processors: float | None, object_store_bytes: int, needed_by: str) -> tuple[Any, bool]:
    """The module, connected; and False if this program did so before and stays in charge of it.

    Without an address a Ray is started here that thinks it has so many `processors`; None: those of the machine.
    """
    if address is not None:
        _check(address)
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")  # read on import; else a try takes a quarter of an hour
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to Ray's makers
    ray: Any = require("ray", needed_by)
    if ray.is_initialized():
        return ray, False
    handler = signal.getsignal(signal.SIGTERM)
    try:
        _init(ray, address, processors, object_store_bytes)
    finally:  # Ray takes the signal for itself, but whoever serves here wants to end in good order
        if threading.current_thread() is threading.main_thread() and handler is not None:
            signal.signal(signal.SIGTERM, handler)
    return ray, True


def _init(ray: Any, address: str | None, processors: float | None, object_store_bytes: int) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        ray.init(
            "local",
            num_cpus=None if processors is None else math.ceil(processors),
            object_store_memory=object_store_bytes,
            include_dashboard=False,
            **quiet,
        )
        return
    try:
        ray.init(address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"address {address}: {error}") from error


def _check(address: str) -> None:
    """Whether somebody listens at HOST:PORT; Ray itself would take minutes to say that nobody does."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise ConfigError(f"address is {address!r}; expected HOST:PORT of the head of a Ray cluster, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(f"address {address}: no Ray cluster answers there ({error})") from error
