"""Flink: its Python package, or an unpacked distribution that FLINK_HOME names; and a Java that it runs on."""

from __future__ import annotations

import os
from pathlib import Path

from dovetail.execution.probes.finding import Finding, package_version
from dovetail.execution.probes.java import find_java

WANTED = "2.3.0"


def probe() -> Finding:
    there, missing, notes = [], [], []
    home = os.environ.get("FLINK_HOME")
    package = package_version("apache-flink", "apache-flink-libraries")
    if home and (Path(home) / "bin" / "flink").exists():
        there.append(f"Flink in {home}")
    elif package is not None:
        there.append(package)
        if package.split()[1] != WANTED:
            notes.append(f"{WANTED} is what Dovetail's models were made for")
    else:
        where = f"FLINK_HOME is {home}, where no bin/flink is; " if home else ""
        missing.append(
            f"Flink: {where}pip install apache-flink-libraries=={WANTED}, or unpack it and set FLINK_HOME to it"
        )
    java, no_java = find_java(11, 21)
    there += [] if java is None else [java]
    missing += [] if no_java is None else [no_java]
    return Finding("flink", tuple(there), tuple(missing), tuple(notes))
