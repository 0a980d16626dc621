"""Random query plans over a made-up warehouse: which tables are read, how they are joined, how much flows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.core.dag import Floats, Ints
from dovetail.workloads.dag import pointer
from dovetail.workloads.generate.durations import normal

TABLES = ("events", "orders", "offers", "clients", "goods", "vendors", "places", "zones")
TASKS_PER_GB = (5.93, 1.33, 0.91, 0.19, 0.19, 0.02, 0.001, 0.001)  # blocks read per GB of input
TABLE_ODDS = (0.12, 0.15, 0.06, 0.17, 0.14, 0.16, 0.12, 0.08)  # of being the next table of a plan
FIRST_ODDS = (0.75, 0.9, 1.0)  # cumulative: every plan reads at least one of the three large tables
SCAN, SHUFFLE, RESULT = 0, 1, 2  # kinds of stage

_MOST_TABLES = 8
_TABLES_SCALE = 5.2  # of the exponential, cut at _MOST_TABLES, that the number of tables is drawn from
_BUSHY = 0.3  # chance that a join takes two scans instead of the last join's result and a scan
_SHARED = 0.2  # chance that one scan of a query feeds a second join
_RESULT_TASKS = (1, 1, 1, 1, 2, 3, 5, 6)


@dataclass(frozen=True, eq=False)
class Plans:
    """P stages of Q queries, parents before children, and E edges; volumes are in blocks per GB of input."""

    stage_ptr: Ints  # (Q + 1,)
    stage_name: tuple[str, ...]  # (P,)
    kind: Ints  # (P,) SCAN, SHUFFLE or RESULT
    volume: Floats  # (P,) what the stage reads
    result_tasks: Ints  # (P,) tasks of a result stage, 0 for others
    edge_ptr: Ints  # (Q + 1,)
    edge_parent: Ints  # (E,) stage of the query
    edge_child: Ints  # (E,)


class _Plan:
    """One query while it is drawn."""

    def __init__(self) -> None:
        self.name: list[str] = []
        self.kind: list[int] = []
        self.parents: list[list[int]] = []
        self.table: list[int] = []
        self.result_tasks: list[int] = []

    def add(self, name: str, kind: int, parents: list[int], table: int = -1, tasks: int = 0) -> int:
        again = sum(1 for other in self.name if other == name or other.startswith(f"{name}-"))
        self.name.append(f"{name}-{again + 1}" if again else name)
        self.kind.append(kind)
        self.parents.append(parents)
        self.table.append(table)
        self.result_tasks.append(tasks)
        return len(self.name) - 1


def draw_plans(queries: int, rng: np.random.Generator) -> Plans:
    """Plans of very different sizes: the numbers of tables are spread evenly over their distribution."""
    spread = (np.argsort(rng.random(queries)) + rng.random(queries)) / queries
    cut = 1 - np.exp(-_MOST_TABLES / _TABLES_SCALE)
    tables = 1 + np.floor(-_TABLES_SCALE * np.log(1 - spread * cut)).astype(np.int64)
    drawn = [_draw_plan(int(n), rng) for n in tables]
    edges = [[(p, c) for c, above in enumerate(plan.parents) for p in above] for plan in drawn]
    edge = np.array([pair for part in edges for pair in part], dtype=np.int64).reshape(-1, 2)
    return Plans(
        stage_ptr=pointer(np.array([len(plan.name) for plan in drawn])),
        stage_name=tuple(name for plan in drawn for name in plan.name),
        kind=np.array([kind for plan in drawn for kind in plan.kind]),
        volume=np.concatenate([_volumes(plan, rng) for plan in drawn]),
        result_tasks=np.array([tasks for plan in drawn for tasks in plan.result_tasks]),
        edge_ptr=pointer(np.array([len(part) for part in edges])),
        edge_parent=edge[:, 0].copy(),
        edge_child=edge[:, 1].copy(),
    )


def _draw_plan(num_tables: int, rng: np.random.Generator) -> _Plan:
    plan = _Plan()
    odds = np.cumsum(TABLE_ODDS) / np.sum(TABLE_ODDS)
    tables = [int(t) for t in np.searchsorted(odds, rng.random(num_tables), side="right")]
    large = int(np.searchsorted(FIRST_ODDS, rng.random(), side="right"))
    tables[0] = large if num_tables > 1 else 0
    trees = [
        plan.add(f"scan-{TABLES[tables[0]]}", SCAN, [], table=tables[0])
    ]  # results that are not joined yet, the latest last
    waiting = tables[1:]
    while waiting or len(trees) > 1:
        if waiting:
            table = waiting.pop()
            trees.append(plan.add(f"scan-{TABLES[table]}", SCAN, [], table=table))
            if waiting and rng.random() < _BUSHY:
                continue
        right, left = trees.pop(), trees.pop()
        trees.append(plan.add("join", SHUFFLE, [left, right]))
    _share_a_scan(plan, rng)
    last = trees[0]
    for _ in range(_aggregates(num_tables, rng)):
        last = plan.add("aggregate", SHUFFLE, [last])
    plan.add("result", RESULT, [last], tasks=_RESULT_TASKS[int(rng.random() * len(_RESULT_TASKS))])
    return plan


def _aggregates(num_tables: int, rng: np.random.Generator) -> int:
    """0 to 3 shuffles after the joins."""
    u = rng.random()
    if num_tables == 1:
        return int(u * 3)
    return 1 + int(u > 0.3) + int(u > 0.75)


def _share_a_scan(plan: _Plan, rng: np.random.Generator) -> None:
    """Adds an edge from an early scan to the last join, so that not every plan is a tree."""
    joins = [s for s, kind in enumerate(plan.kind) if kind == SHUFFLE]
    if len(joins) > 1 and rng.random() < _SHARED and 0 not in plan.parents[joins[-1]]:
        plan.parents[joins[-1]].append(0)


def _volumes(plan: _Plan, rng: np.random.Generator) -> Floats:
    """(stages,) what each stage reads: a scan its table, any other what its parents let through."""
    size = len(plan.name)
    keep = np.where(np.array(plan.kind) == SCAN, 0.02, 0.4) * np.exp(1.3 * normal(rng, (size,)))
    keep = np.minimum(keep, 0.6)
    volume = np.zeros(size)
    for stage in range(size):
        if plan.kind[stage] == SCAN:
            volume[stage] = TASKS_PER_GB[plan.table[stage]]
        else:
            volume[stage] = sum(volume[p] * keep[p] for p in plan.parents[stage])
    return volume
