"""Reader of a list of machines: CSV with a header line, or TOML.

    name,type,gpus,cpus,memory,rack        a machine in each line; memory in GB
    kind,count,rack                        or so many of a kind (`MACHINE_KINDS`)
    sn,cpu_milli,memory_mib,gpu,model      or as the node lists of the public trace of 2023

    [[machine]]                            the same in TOML
    kind = "v100x4"
    count = 8

`name` (m0, m1, ...), `count` (1) and `rack` (16 machines in each, in order) may be missing.  A machine without GPUs
needs no type.  Everything that is wrong is listed with file, row and field; nothing is repaired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from dovetail.cluster.gpu import (
    GPU_TYPES,
    MACHINE_KINDS,
    MAX_DEVICES,
    MAX_MACHINES,
    RACK,
    GpuCluster,
    Machine,
    cluster_of,
    gpu_type,
)
from dovetail.core.config import read_toml
from dovetail.core.delimited import read_text, refusal, split_rows
from dovetail.core.errors import Fault, InvalidWorkload, UnknownName
from dovetail.core.suggest import did_you_mean

OWN = ("name", "kind", "count", "type", "gpus", "cpus", "memory", "rack")
TRACE = {"sn": ("name", 1.0), "cpu_milli": ("cpus", 1e3), "memory_mib": ("memory", 1024.0), "gpu": ("gpus", 1.0)}
"""Columns of the node list: ours, and by what to divide."""


def read_machines(path: Path) -> GpuCluster:
    """The cluster of the machines in this file; `InvalidWorkload` with all faults if anything is wrong with it."""
    rows = _toml_rows(path) if path.suffix.lower() == ".toml" else _csv_rows(path)
    reading = _Reading(str(path))
    for number, row in rows:
        reading.machine(number, row)
    if not reading.faults and not reading.machines:
        raise refusal(path, None, "no machines", "at least one")
    if reading.faults:
        raise InvalidWorkload(reading.faults)
    return cluster_of(tuple(reading.machines))


def _toml_rows(path: Path) -> list[tuple[int, dict[str, object]]]:
    values = read_toml(path)
    rows = values.get("machine")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise refusal(path, None, "no list of machines", "[[machine]] with kind, or type, gpus, cpus and memory")
    other = [key for key in values if key != "machine"]
    if other:
        raise refusal(path, None, f"unknown key {other[0]!r}", "[[machine]] only")
    return [(number, dict(row)) for number, row in enumerate(rows, 1)]


def _csv_rows(path: Path) -> list[tuple[int, dict[str, object]]]:
    lines = split_rows(path, read_text(path, "a CSV file with a header line and a machine in each further line"))
    (line, header), body = lines[0], lines[1:]
    header = [name.lower() for name in header]
    faults = []
    known = (*OWN, *TRACE, "model")
    for name in header:
        if name not in known:
            faults.append(Fault(str(path), line, name, f"unknown column{did_you_mean(name, known)}", ""))
        elif header.count(name) > 1 and name not in (fault.field for fault in faults):
            faults.append(Fault(str(path), line, name, f"{header.count(name)} columns of this name", "one"))
    for number, values in body:
        if len(values) != len(header):
            faults.append(Fault(str(path), number, None, f"{len(values)} values", f"{len(header)}, as in the header"))
    if faults:
        raise InvalidWorkload(faults)
    return [(number, {k: v for k, v in zip(header, values, strict=True) if v}) for number, values in body]


class _Reading:
    """Turns rows into machines and notes what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.machines: list[Machine] = []
        self.faults: list[Fault] = []
        self._lines: dict[str, int] = {}

    def machine(self, row: int, values: Mapping[str, object]) -> None:
        before = len(self.faults)
        given = {**values}
        factor = {}
        for column, (name, by) in TRACE.items():
            if column in given:
                given[name], factor[name] = given.pop(column), by
        if "model" in given:
            given["type"] = given.pop("model")
        for name in given:
            if name not in OWN:
                self._refuse(row, name, f"unknown key{did_you_mean(name, OWN)}", "")
        count = self._number(row, given, "count", 1, least=1, most=MAX_MACHINES, whole=True)
        rack = self._number(row, given, "rack", -1, least=0, most=MAX_MACHINES, whole=True)
        if "kind" in given:
            name, gpus, cpus, memory = self._of_kind(row, given)
        else:
            gpus = self._number(row, given, "gpus", None, least=0, most=MAX_DEVICES, whole=True)
            name = self._type(row, given, needed=gpus > 0)
            cpus = self._number(row, given, "cpus", None, least=1e-9, most=1e6) / factor.get("cpus", 1.0)
            memory = self._number(row, given, "memory", None, least=1e-9, most=1e9) / factor.get("memory", 1.0)
        if len(self.faults) > before:
            return
        if len(self.machines) + count > MAX_MACHINES:
            self._refuse(row, "count", f"{len(self.machines) + int(count):,} machines", f"{MAX_MACHINES:,} at most")
            return
        for each in range(int(count)):
            place = len(self.machines)
            called = str(given.get("name", f"m{place}")) + (f"-{each}" if "name" in given and count > 1 else "")
            if called in self._lines:
                self._refuse(row, "name", f"{called!r} is in row {self._lines[called]} already", "every name once")
                return
            self._lines[called] = row
            where = int(rack) if rack >= 0 else place // RACK
            self.machines.append(Machine(called, name, int(gpus), cpus, memory, where))

    def _of_kind(self, row: int, given: Mapping[str, object]) -> tuple[str, float, float, float]:
        for name in ("type", "gpus", "cpus", "memory"):
            if name in given:
                self._refuse(row, name, "given beside a kind, which says it already", "one or the other")
        kind = MACHINE_KINDS.get(str(given["kind"]))
        if kind is None:
            problem = f"unknown kind of machine {given['kind']!r}{did_you_mean(str(given['kind']), MACHINE_KINDS)}"
            self._refuse(row, "kind", problem, "")
            return "", 0.0, 0.0, 0.0
        return kind.type, kind.gpus, kind.cpus, kind.memory

    def _type(self, row: int, given: Mapping[str, object], *, needed: bool) -> str:
        if "type" not in given:
            if needed:
                self._refuse(row, "type", "missing", "a type of GPU")
            return GPU_TYPES[0].name
        try:
            return GPU_TYPES[gpu_type(str(given["type"]))].name
        except UnknownName as error:
            self._refuse(row, "type", str(error), "")
            return ""

    def _number(
        self,
        row: int,
        given: Mapping[str, object],
        name: str,
        default: float | None,
        *,
        least: float,
        most: float,
        whole: bool = False,
    ) -> float:
        if name not in given:
            if default is None:
                self._refuse(row, name, "missing", "a number")
            return 1.0 if default is None else default
        text = given[name]
        try:
            value = math.nan if isinstance(text, bool) or "_" in str(text) else float(str(text))
        except ValueError:
            value = math.nan
        if not least <= value <= most or (whole and value != math.floor(value)):
            kind = "a whole number" if whole else "a number"
            start = f"above {0:g}" if 0 < least < 1e-6 else f"from {least:g}"
            self._refuse(row, name, f"{text!r}", f"{kind} {start} to {most:,.0f}")
            return 1.0
        return value

    def _refuse(self, row: int, field: str, problem: str, expected: str) -> None:
        self.faults.append(Fault(self.file, row, field, problem, expected))
