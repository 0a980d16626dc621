"""Processes of this machine: the default engine, which needs nothing but Python."""

from __future__ import annotations

import multiprocessing
import os
import sys

from dovetail.execution.probes.finding import Finding


def probe() -> Finding:
    missing = []
    if "fork" not in multiprocessing.get_all_start_methods():
        missing.append("a system whose processes can fork, such as Linux: executors are started that way")
    if not hasattr(os, "pidfd_open") and sys.platform == "linux":
        missing.append("a Python built with pidfd_open, as all since 3.9 are")
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    there = (f"Python {sys.version.split()[0]}", f"{processors} processors")
    return Finding("local", there, tuple(missing), use="dovetail up")
