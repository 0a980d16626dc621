"""Reader of speeds: throughputs that somebody measured, which are then fitted, or numbers that were fitted already.

CSV with a header line, a measurement in each further line:

    type,kind,speed             throughput of one worker alone on a GPU of that type, in any unit
    ...,workers,apart           of so many workers (1); apart = 1: each on a machine of its own (0)
    ...,beside                  kind of the job that shares the GPU with it; none: alone

JSON, the layout that measurements of training throughput were published in:

    {"v100": {"('ResNet-18 (batch size 16)', 1)": {"null": 32.4, "('LM (batch size 5)', 1)": [24.1, 70.2]}, ...},
     "v100_unconsolidated": {...}}

type; model and workers; alone, or both throughputs beside another.  Throughputs of 0 mean that it did not run and are
left out.  JSON with `kinds` is a fitted model, as `write_speeds` writes it.  Keys are read as literals and never
executed.  Everything that is wrong is listed with file, row (or place) and field.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.cluster.gpu import GPU_TYPES, gpu_type
from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.cluster.gpu_speed_fit import Measured, fit_speeds
from dovetail.core.delimited import read_text, refusal, split_rows
from dovetail.core.errors import Fault, InvalidWorkload, UnknownName
from dovetail.core.suggest import did_you_mean

SCHEMA = 1
NEEDED = ("type", "kind", "speed")
COLUMNS = (*NEEDED, "workers", "apart", "beside")
APART = "_unconsolidated"
_TABLES = ("host_pressure", "host_sensitivity", "device_pressure", "device_sensitivity")
_MOST = 1e12


def read_speeds(path: Path) -> SpeedModel:
    """The model in this file, or the one that fits the measurements in it."""
    text = read_text(path, "a CSV or JSON file of speeds")
    if path.suffix.lower() != ".json" and not text.lstrip().startswith("{"):
        return fit_speeds(_read_csv(path, text)).model
    values = _parse(path, text)
    return _model(path, values) if "kinds" in values else fit_speeds(_measured(path, values)).model


def read_measured(path: Path) -> Measured:
    """The measurements in this file."""
    text = read_text(path, "a CSV or JSON file of throughputs")
    if path.suffix.lower() != ".json" and not text.lstrip().startswith("{"):
        return _read_csv(path, text)
    return _measured(path, _parse(path, text))


def write_speeds(model: SpeedModel, path: Path, made: Mapping[str, Any]) -> None:
    """The model as JSON; `made` says how it was made."""
    kinds = []
    for row, name in enumerate(model.kind_name):
        kind: dict[str, Any] = {"name": name}
        kind["speed"] = {gpu.name: _round(model.speed[row, t]) for t, gpu in enumerate(GPU_TYPES)}
        kind["network"] = _round(model.network[row])
        kind |= {table: [_round(value) for value in getattr(model, table)[row]] for table in _TABLES}
        kinds.append(kind)
    hops = {"machine_hop": model.machine_hop, "rack_hop": model.rack_hop}
    lines = ",\n".join(f"    {json.dumps(kind)}" for kind in kinds)
    head = json.dumps({"schema": SCHEMA, "made": dict(made), **hops}, indent=2)
    path.write_text(f'{head[:-2]},\n  "kinds": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


def kind_name(model: str) -> str:
    """`ResNet-18 (batch size 16)` as `resnet-18-b16`."""
    plain = re.sub(r"\s*\(batch size (\d+)\)$", r"-b\1", model.strip())
    return re.sub(r"\s+", "-", plain).lower()


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refusal(path, None, f"not JSON: {str(error)[:120]}", "a JSON object") from None
    if not isinstance(values, dict):
        raise refusal(path, None, "not a JSON object", "types of GPU, or `kinds` of a fitted model")
    return values


def _read_csv(path: Path, text: str) -> Measured:
    lines = split_rows(path, text)
    (first, header), body = lines[0], lines[1:]
    header = [name.lower() for name in header]
    faults = [
        Fault(str(path), first, name, f"unknown column{did_you_mean(name, COLUMNS)}", "")
        for name in header
        if name not in COLUMNS
    ]
    faults += [
        Fault(str(path), first, name, "missing column", ", ".join(NEEDED)) for name in NEEDED if name not in header
    ]
    if faults:
        raise InvalidWorkload(faults)
    if not body:
        raise refusal(path, None, "no measurements: there is a header line only", "a measurement in each line")
    reading = _Reading(str(path))
    for line, values in body:
        if len(values) != len(header):
            reading.refuse(line, None, f"{len(values)} values", f"{len(header)}, as in the header")
            continue
        row = {name: value for name, value in zip(header, values, strict=True) if value}
        reading.row(line, row)
    return reading.done()


def _measured(path: Path, values: Mapping[str, Any]) -> Measured:
    reading = _Reading(str(path))
    for number, (name, kinds) in enumerate(values.items(), 1):
        apart = name.endswith(APART)
        plain = name[: -len(APART)] if apart else name
        if not isinstance(kinds, dict):
            reading.refuse(number, name, "not an object", "kinds of training")
            continue
        for key, partners in kinds.items():
            kind = reading.key(number, f"{name}.{key}", key)
            if kind is None or not isinstance(partners, dict):
                if kind is not None:
                    reading.refuse(number, f"{name}.{key}", "not an object", '"null" and the kinds beside it')
                continue
            for other, value in partners.items():
                row: dict[str, object] = {"type": plain, "kind": kind[0], "workers": kind[1], "apart": int(apart)}
                if other == "null":
                    row["speed"] = value
                else:
                    beside = reading.key(number, f"{name}.{key}.{other}", other)
                    both = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
                    if beside is None or not both:
                        if beside is not None:
                            reading.refuse(number, f"{name}.{key}.{other}", f"{value!r}", "two throughputs")
                        continue
                    if apart or kind[1] != 1 or beside[1] != 1:
                        continue  # pairs count where each is one worker
                    row |= {"beside": beside[0], "speed": value[0]}
                reading.row(number, row, place=f"{name}.{key}.{other}")
    return reading.done()


class _Reading:
    """Collects measurements and what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Fault] = []
        self.alone: dict[tuple[str, int, int, bool], float] = {}
        self.pairs: dict[tuple[str, str, int], float] = {}

    def key(self, number: int, place: str, text: str) -> tuple[str, int] | None:
        try:
            model, workers = ast.literal_eval(text)
            if isinstance(model, str) and isinstance(workers, int) and workers >= 1:
                return kind_name(model), workers
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            pass
        self.refuse(number, place, f"not a model and its workers: {text[:60]!r}", "('ResNet-18 (batch size 16)', 1)")
        return None

    def row(self, number: int, row: Mapping[str, object], place: str | None = None) -> None:
        for name in NEEDED:
            if name not in row:
                self.refuse(number, place or name, "missing", "a value")
                return
        try:
            kind_type = gpu_type(str(row["type"]))
        except UnknownName as error:
            self.refuse(number, place or "type", str(error), "")
            return
        speed = self._number(number, row, "speed", place, least=0.0)
        workers = self._number(number, row, "workers", place, least=1.0, default=1.0)
        apart = self._number(number, row, "apart", place, least=0.0, default=0.0)
        if speed is None or workers is None or apart is None:
            return
        if workers != math.floor(workers) or apart not in (0, 1):
            self.refuse(number, place or "workers", "not whole workers, or apart is not 0 or 1", "1, 2, ... and 0 or 1")
            return
        if speed == 0:
            return
        kind, beside = str(row["kind"]), row.get("beside")
        if beside is None:
            key = (kind, kind_type, int(workers), bool(apart))
            if key in self.alone:
                self.refuse(number, place or "kind", f"{kind} was measured so already", "every measurement once")
            self.alone[key] = speed
        elif workers > 1 or apart:
            self.refuse(number, place or "beside", "a pair of several workers", "one worker each on one GPU")
        else:
            pair = (kind, str(beside), kind_type)
            if pair in self.pairs:
                self.refuse(number, place or "beside", f"{kind} beside {beside} was measured already", "once")
            self.pairs[pair] = speed

    def done(self) -> Measured:
        if not self.faults:
            known = {kind for kind, _, workers, apart in self.alone if workers == 1 and not apart}
            for kind in dict.fromkeys(
                [kind for kind, *_ in self.alone] + [name for pair in self.pairs for name in pair[:2]]
            ):
                if kind not in known:
                    self.refuse(None, "kind", f"{kind} was never measured alone", "one worker alone on some type")
        if not self.faults and not self.alone:
            self.refuse(None, None, "no measurements", "at least one kind alone")
        if self.faults:
            raise InvalidWorkload(self.faults)
        return Measured(self.alone, self.pairs)

    def refuse(self, row: int | None, field: str | None, problem: str, expected: str) -> None:
        self.faults.append(Fault(self.file, row, field, problem, expected))

    def _number(
        self,
        number: int,
        row: Mapping[str, object],
        name: str,
        place: str | None,
        *,
        least: float,
        default: float | None = None,
    ) -> float | None:
        if name not in row:
            return default
        text = row[name]
        try:
            value = math.nan if isinstance(text, bool) or "_" in str(text) else float(str(text))
        except ValueError:
            value = math.nan
        if not least <= value <= _MOST:
            if math.isnan(value):
                problem = f"not a number: {text!r}"
            else:
                problem = f"{value:g} is {f'below {least:g}' if value < least else f'above {_MOST:g}'}"
            self.refuse(number, place or name, problem[:100], f"a number from {least:g} upwards")
            return None
        return value


def _model(path: Path, values: Mapping[str, Any]) -> SpeedModel:
    """A fitted model; types that it does not name follow no measurement, so they are faults."""
    faults: list[Fault] = []

    def refuse(row: int | None, field: str, problem: str, expected: str) -> None:
        faults.append(Fault(str(path), row, field, problem, expected))

    def number(row: int | None, field: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
            refuse(row, field, f"{value!r}", "a number from 0 upwards")
            return 0.0
        return float(value)

    if values.get("schema") != SCHEMA:
        refuse(None, "schema", f"unknown schema version {values.get('schema')!r}", str(SCHEMA))
    kinds = values["kinds"]
    if not isinstance(kinds, list) or not kinds or not all(isinstance(kind, dict) for kind in kinds):
        refuse(None, "kinds", "no list of kinds", "an object for each")
        raise InvalidWorkload(faults)
    names, speed, network = [], [], []
    tables: dict[str, list[list[float]]] = {table: [] for table in _TABLES}
    for row, kind in enumerate(kinds):
        name = kind.get("name")
        if not isinstance(name, str) or not name or name in names:
            refuse(row, "name", f"{name!r}", "a name that no other kind has")
        names.append(str(name))
        by_type = kind.get("speed")
        by_type = by_type if isinstance(by_type, dict) else {}
        for gpu in by_type:
            if gpu not in (each.name for each in GPU_TYPES):
                refuse(row, "speed", f"unknown type of GPU {gpu!r}", ", ".join(each.name for each in GPU_TYPES))
        speed.append([number(row, f"speed.{gpu.name}", by_type.get(gpu.name)) for gpu in GPU_TYPES])
        network.append(number(row, "network", kind.get("network")))
        for table in _TABLES:
            cells = kind.get(table)
            width = 3 if table.startswith("host") else len(kinds[0].get(table) or ())
            if not isinstance(cells, list) or len(cells) != width or width == 0:
                refuse(row, table, f"{cells!r}"[:60], f"a list of {width or 'at least one'} numbers")
                cells = [0.0] * max(width, 1)
            tables[table].append([number(row, table, cell) for cell in cells])
    hops = {name: number(None, name, values.get(name, 1.0)) for name in ("machine_hop", "rack_hop")}
    if not faults and len(tables["device_pressure"][0]) != len(tables["device_sensitivity"][0]):
        refuse(None, "device_pressure", "not as many columns as device_sensitivity", "as many")
    if faults:
        raise InvalidWorkload(faults)
    return SpeedModel(
        kind_name=tuple(names),
        speed=np.array(speed),
        network=np.array(network),
        host_pressure=np.array(tables["host_pressure"]),
        host_sensitivity=np.array(tables["host_sensitivity"]),
        device_pressure=np.array(tables["device_pressure"]),
        device_sensitivity=np.array(tables["device_sensitivity"]),
        machine_hop=hops["machine_hop"],
        rack_hop=hops["rack_hop"],
    )


def _round(value: float) -> float:
    return float(f"{value:.4g}")
