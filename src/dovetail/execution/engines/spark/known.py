"""What is known of kinds of job before they run: their stages, how many tasks each has and how long one takes.

From a workload, such as one imported from event logs.  A job is of the kind that has its name (its description, its
group), or else of the only kind with just these stages; otherwise it is unknown, and said to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dovetail.workloads.dag import DagCatalogue


class KnownStage(NamedTuple):
    name: str
    tasks: int
    mean_s: float
    parents: tuple[int, ...]  # positions in the kind


class Kind(NamedTuple):
    name: str
    stages: tuple[KnownStage, ...]  # parents first


class Known:
    def __init__(self, kinds: Sequence[Kind] = ()) -> None:
        self._by_name = {kind.name: kind for kind in kinds}
        self._by_shape: dict[tuple[int, ...], list[Kind]] = {}
        for kind in kinds:
            self._by_shape.setdefault(tuple(sorted(stage.tasks for stage in kind.stages)), []).append(kind)

    @classmethod
    def of(cls, catalogue: DagCatalogue) -> Known:
        """The kinds of job of a workload."""
        return cls([_kind(catalogue, dag) for dag in range(catalogue.num_dags)])

    def __len__(self) -> int:
        return len(self._by_name)

    def kind(self, names: Sequence[str], tasks: Sequence[int]) -> Kind | None:
        """By the first of these names that is known, else by the tasks of its stages, if that is unambiguous.

        One stage with so many tasks could be anything's, so a job of one stage is known by name only.
        """
        for name in names:
            if name in self._by_name:
                return self._by_name[name]
        found = self._by_shape.get(tuple(sorted(tasks)), []) if len(tasks) > 1 else []
        return found[0] if len(found) == 1 else None


def _kind(catalogue: DagCatalogue, dag: int) -> Kind:
    first, last = int(catalogue.stage_ptr[dag]), int(catalogue.stage_ptr[dag + 1])
    edges = slice(int(catalogue.edge_ptr[dag]), int(catalogue.edge_ptr[dag + 1]))
    parents: dict[int, list[int]] = {row: [] for row in range(last - first)}
    for parent, child in zip(catalogue.edge_parent[edges], catalogue.edge_child[edges], strict=True):
        parents[int(child)].append(int(parent))
    order = [int(row) for row in np.argsort(catalogue.stage_level[first:last], kind="stable")]
    place = {row: at for at, row in enumerate(order)}
    stages = tuple(
        KnownStage(
            catalogue.stage_name[first + row],
            int(catalogue.num_tasks[first + row]),
            float(catalogue.stage_mean_s[first + row]),
            tuple(place[parent] for parent in parents[row]),
        )
        for row in order
    )
    return Kind(catalogue.dag_name[dag], stages)
