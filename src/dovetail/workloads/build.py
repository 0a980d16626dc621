"""Puts a catalogue together stage by stage."""

from __future__ import annotations

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.workloads.dag import DagCatalogue, pointer


class CatalogueBuilder:
    """Collects dags one by one: start a dag, add its stages, each with its durations, then its edges."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._dags: list[str] = []
        self._stages_of: list[int] = []
        self._edges_of: list[int] = []
        self._stages: list[str] = []
        self._tasks: list[int] = []
        self._cpu: list[float] = []
        self._parents: list[Ints] = []
        self._children: list[Ints] = []
        self._groups: list[tuple[int, int, int]] = []
        self._samples: list[Floats] = []

    @property
    def num_stages(self) -> int:
        return len(self._stages)

    def start_dag(self, name: str) -> None:
        self._dags.append(name)
        self._stages_of.append(0)
        self._edges_of.append(0)

    def add_stage(self, name: str, *, tasks: int, cpu: float = 1.0) -> None:
        self._stages_of[-1] += 1
        self._stages.append(name)
        self._tasks.append(tasks)
        self._cpu.append(cpu)

    def add_durations(self, wave: int, executors: int, seconds: Floats) -> None:
        """Samples of the stage added last; an empty group is left out."""
        if seconds.size:
            self._groups.append((len(self._stages) - 1, wave, executors))
            self._samples.append(seconds)

    def add_edges(self, parents: Ints, children: Ints) -> None:
        """Edges of the dag started last, by stage index within it."""
        self._edges_of[-1] += parents.size
        self._parents.append(parents)
        self._children.append(children)

    def build(self, *, memory: Floats | None = None) -> DagCatalogue:
        order = sorted(range(len(self._groups)), key=self._groups.__getitem__)
        groups = np.array([self._groups[g] for g in order], dtype=np.int64).reshape(-1, 3)
        samples = [self._samples[g] for g in order]
        return DagCatalogue(
            name=self._name,
            dag_name=tuple(self._dags),
            stage_ptr=pointer(np.array(self._stages_of, dtype=np.int64)),
            stage_name=tuple(self._stages),
            num_tasks=np.array(self._tasks, dtype=np.int64),
            cpu=np.array(self._cpu, dtype=np.float64),
            memory=np.zeros(len(self._stages)) if memory is None else memory,
            edge_ptr=pointer(np.array(self._edges_of, dtype=np.int64)),
            edge_parent=_joined(self._parents, np.int64),
            edge_child=_joined(self._children, np.int64),
            duration_stage=groups[:, 0].copy(),
            duration_wave=groups[:, 1].copy(),
            duration_executors=groups[:, 2].copy(),
            duration_ptr=pointer(np.array([s.size for s in samples], dtype=np.int64)),
            duration_s=_joined(samples, np.float64),
        )


def _joined(parts: list[Ints] | list[Floats], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)
