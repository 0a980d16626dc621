"""The TPC-H jobs that Decima (SIGCOMM 2019) was measured and trained on, in their original folders.

Layout: `<root>/<size>/adj_mat_<query>.npy` (N x N, a 1 at i, j is an edge from stage i to stage j) and
`<root>/<size>/task_duration_<query>.npy`, a pickled dict: stage -> wave -> executors -> durations in
milliseconds. The sizes that exist are read (`2g` ... `100g`; `80g` is missing from most copies).

What is done to the samples, as the published simulator does it:
- a stage has as many tasks as first + rest wave have samples at the smallest executor count;
- `first_wave` lists also contain the `fresh_durations`; those are taken out, one for one.  Where that
  leaves nothing, the cleaned first wave of the next smaller executor count stands in, and failing that the
  group is absent;
- the level of 2 executors is never used by that simulator, and is dropped (after it has stood in where
  needed). Departure: groups that are empty are absent here, and the simulator's own rules for missing
  groups apply.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.dag import Ints
from dovetail.core.errors import Fault, InvalidWorkload
from dovetail.core.seeds import SeedTree
from dovetail.workloads.build import CatalogueBuilder
from dovetail.workloads.demands import memory_demands
from dovetail.workloads.readers.imported import Imported
from dovetail.workloads.readers.safe_npy import UnsafeFile, read_npy
from dovetail.workloads.source import DagSource

WAVE_KEYS = ("fresh_durations", "first_wave", "rest_wave")  # in the order of WAVES
UNUSED_LEVEL = 2

_SIZE = re.compile(r"(\d+)g")
_QUERY = re.compile(r"task_duration_(\d+)\.npy")


@dataclass
class _Reading:
    """Faults and remarks gathered on the way."""

    faults: list[Fault] = field(default_factory=list)
    uneven_stages: int = 0

    def fault(self, path: Path, where: str, problem: str, expected: str) -> None:
        self.faults.append(Fault(file=str(path), row=None, field=where, problem=problem, expected=expected))


def read_tpch(root: Path, *, memory_seed: int | None = None) -> Imported[DagSource]:
    """All queries of all sizes under `root`, one dag each, named like `tpch-10g-q5`.

    With `memory_seed` each stage gets a memory demand drawn uniformly from (0, 1], as in Decima's
    multi-resource experiments; otherwise it is 0 and any executor will do.
    """
    reading = _Reading()
    builder = CatalogueBuilder("tpch")
    sizes = sorted((int(m[1]), folder) for folder in _folders(root) if (m := _SIZE.fullmatch(folder.name)))
    if not sizes:
        reading.fault(root, "folder", "no input sizes found", "folders such as 2g, 5g, 10g")
    for size, folder in sizes:
        queries = sorted((int(m[1]), p) for p in folder.iterdir() if (m := _QUERY.fullmatch(p.name)))
        if not queries:
            reading.fault(folder, "folder", "no queries found", "files such as task_duration_1.npy")
        for query, path in queries:
            _add_query(builder, reading, f"tpch-{size}g-q{query}", path, folder / f"adj_mat_{query}.npy")
    if reading.faults:
        raise InvalidWorkload(reading.faults)
    seeds = None if memory_seed is None else SeedTree(memory_seed)
    catalogue = builder.build(memory=memory_demands(builder.num_stages, seeds))
    return Imported(DagSource("tpch", catalogue), tuple(_notes(reading, [s for s, _ in sizes])))


def _folders(root: Path) -> list[Path]:
    return [p for p in root.iterdir() if p.is_dir()] if root.is_dir() else []


def _notes(reading: _Reading, sizes: list[int]) -> list[str]:
    notes = [f"read input sizes {', '.join(f'{s} GB' for s in sizes)}"]
    if reading.uneven_stages:
        notes.append(
            f"{reading.uneven_stages} stages have different numbers of tasks at different executor counts; "
            "the number at the smallest count was taken"
        )
    return notes


def _add_query(builder: CatalogueBuilder, reading: _Reading, name: str, path: Path, adj_path: Path) -> None:
    try:
        stages = read_npy(path)
    except (UnsafeFile, OSError) as error:
        return reading.fault(path, "file", _say(error), "a pickled dict of measured durations")
    try:
        adjacency = read_npy(adj_path)
    except (UnsafeFile, OSError) as error:
        return reading.fault(adj_path, "file", _say(error), "a square matrix of 0 and 1")
    before = len(reading.faults)
    parents, children = _edges(reading, adj_path, adjacency)
    if not isinstance(stages, dict) or set(stages) != set(range(len(stages))) or not stages:
        reading.fault(path, "stages", "keys are not stage numbers", "a dict with keys 0, 1, 2, ...")
    elif len(reading.faults) == before and len(stages) != len(adjacency):
        reading.fault(path, "stages", f"{len(stages)} stages", f"{len(adjacency)}, as in {adj_path.name}")
    if len(reading.faults) > before:
        return None
    builder.start_dag(name)
    for stage in range(len(stages)):
        _add_stage(builder, reading, path, stage, stages[stage])
    builder.add_edges(parents, children)
    return None


def _edges(reading: _Reading, path: Path, adjacency: Any) -> tuple[Ints, Ints]:
    none = np.empty(0, dtype=np.int64)
    square = isinstance(adjacency, np.ndarray) and adjacency.ndim == 2 and len(set(adjacency.shape)) == 1
    if not square or adjacency.dtype.kind not in "bif" or not np.isin(adjacency, (0, 1)).all():
        reading.fault(path, "matrix", "not an adjacency matrix", "a square matrix of 0 and 1")
        return none, none
    order = adjacency.astype(np.int64)
    reach = order
    for _ in range(len(order)):
        reach = np.minimum(reach @ order + order, 1)
    if cyclic := np.flatnonzero(np.diag(reach)).tolist():
        reading.fault(path, "matrix", f"stages {cyclic} form a cycle", "a graph without cycles")
    parents, children = np.nonzero(order)
    return parents, children


def _add_stage(builder: CatalogueBuilder, reading: _Reading, path: Path, stage: int, waves: Any) -> None:
    where = f"stage {stage}"
    if not isinstance(waves, dict) or not all(isinstance(waves.get(key), dict) for key in WAVE_KEYS):
        return reading.fault(path, where, "waves are missing", f"a dict with keys {', '.join(WAVE_KEYS)}")
    samples: list[dict[int, list[float]]] = []
    for key in WAVE_KEYS:
        levels: dict[int, list[float]] = {}
        for level, values in waves[key].items():
            array = _durations(values)
            if not isinstance(level, int) or level < 1 or array is None:
                return reading.fault(
                    path,
                    f"{where}, {key}, {level!r}",
                    "not a list of durations",
                    "milliseconds, finite, 0 or more",
                )
            levels[level] = array
        samples.append(levels)
    fresh, first, rest = samples
    counts = {e: len(first[e]) + len(rest.get(e, [])) for e in sorted(first)}
    if not counts or next(iter(counts.values())) == 0:
        return reading.fault(path, where, "no tasks", "at least one duration in first_wave or rest_wave")
    reading.uneven_stages += len(set(counts.values())) > 1
    builder.add_stage(str(stage), tasks=next(iter(counts.values())))
    kept = [level for level in counts if level > UNUSED_LEVEL] or list(counts)
    groups = [
        (wave, level, levels[level])
        for wave, levels in enumerate((fresh, true_first_wave(first, fresh), rest))
        for level in sorted(levels)
        if level in kept and levels[level]
    ]
    if not groups:
        reading.fault(path, where, "no durations", f"at least one with more than {UNUSED_LEVEL} executors")
    for wave, level, milliseconds in groups:
        builder.add_durations(wave, level, np.asarray(milliseconds) / 1000.0)
    return None


def true_first_wave(first: dict[int, list[float]], fresh: dict[int, list[float]]) -> dict[int, list[float]]:
    """First-wave samples without the fresh ones; where none are left, those of the next smaller level."""
    clean: dict[int, list[float]] = {}
    stand_in: list[float] = []
    for level in sorted(first):
        to_remove = Counter(fresh.get(level, []))
        kept = []
        for value in first[level]:
            if to_remove[value] > 0:
                to_remove[value] -= 1
            else:
                kept.append(value)
        stand_in = kept or stand_in
        clean[level] = stand_in
    return clean


def _durations(values: Any) -> list[float] | None:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, list) or not all(type(v) in (int, float) and 0 <= v < float("inf") for v in values):
        return None
    return values


def _say(error: Exception) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else str(error)
