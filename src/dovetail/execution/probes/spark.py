"""PySpark of a version that was tested, and a Java that it runs on."""

from __future__ import annotations

from dovetail.execution.engines.spark.versions import TESTED
from dovetail.execution.probes.finding import Finding, package_version
from dovetail.execution.probes.java import find_java

USE = "dovetail run spark APPLICATION.py"


def probe() -> Finding:
    there, missing, notes = [], [], []
    package = package_version("pyspark")
    if package is None:
        missing.append("the package pyspark: pip install 'dovetail[spark]'")
    else:
        there.append(package)
        if package.split()[1] not in TESTED:
            tested = " or ".join(TESTED)
            notes.append(f"{tested} was tested; others can be watched, not steered: pip install pyspark=={TESTED[-1]}")
    java, no_java = find_java(17, 21)
    there += [] if java is None else [java]
    missing += [] if no_java is None else [no_java]
    return Finding("spark", tuple(there), tuple(missing), tuple(notes), USE)
