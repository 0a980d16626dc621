"""The best that any sequence of decisions comes to, in worlds so small that all of them can be tried.

Depth first over everything a scheduler may say: at every decision, each stage that may be chosen with each number of
executors that it can be given, and declining.  Two kinds of branches are cut off, and neither can hide a better run:
those whose lower bound is not below the best run known (`DagSearchWorld.bound`), and states that were reached before
at no higher cost (`DagSearchWorld.state`).

The optimum knows the durations and the arrivals of its world.  For a fair comparison with schedulers, which do not,
give it durations without chance and jobs that arrive together.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.core.dag import Ints
from dovetail.core.seeds import SeedTree
from dovetail.sim.dag.options import DagOptions
from dovetail.testing.dag_search_world import Choice, DagSearchWorld
from dovetail.workloads.dag import DagWorkload

TOLERANCE_S = 1e-6  # of the sum of completion times: a run must be better by more than this to count


@dataclass(frozen=True)
class Optimum:
    """The least average completion time.  If not `proven`, the time was up, and it is only the best one found."""

    avg_jct_s: float
    proven: bool
    choices: tuple[Choice, ...]  # of that run; none if no run is better than the one known before
    states: int  # decisions looked at


class Node(NamedTuple):
    """A state that waits for a decision, and the least that a run through it can cost."""

    bound: float
    path: tuple[Choice, ...]
    saved: Ints
    choices: list[Choice]


def find_optimum(
    workload: DagWorkload,
    options: DagOptions,
    seeds: SeedTree,
    *,
    known_s: float = float("inf"),
    limit_s: float = float("inf"),
    prune: bool = True,
) -> Optimum:
    """Try every run of this world.

    `known_s` is an average completion time that is known to be possible, which saves work; `limit_s` the CPU time after
    which to give up; `prune=False` tries really everything (to check that nothing is lost by cutting off).
    """
    world = DagSearchWorld(workload, options, seeds)
    jobs = len(workload.job_dag)
    best = known_s * jobs
    best_path: tuple[Choice, ...] = ()
    deadline = time.process_time() + limit_s
    reached: dict[tuple[object, ...], float] = {}  # at which cost
    open_nodes = [Node(0.0, (), world.save(), world.choices())]
    states = 0
    while open_nodes:
        if time.process_time() > deadline:
            return Optimum(best / jobs, False, best_path, states)
        node = open_nodes.pop()
        if prune and node.bound > best - TOLERANCE_S:
            continue
        states += 1
        below: list[Node] = []
        for choice in node.choices:
            world.restore(node.saved)
            path = (*node.path, choice)
            if not world.step(choice):
                if world.complete and world.cost < best - TOLERANCE_S:
                    best, best_path = world.cost, path
                continue
            bound = 0.0
            if prune:
                bound = world.bound()
                if bound > best - TOLERANCE_S:
                    continue
                state = world.state()
                if reached.get(state, float("inf")) <= world.cost:
                    continue
                reached[state] = world.cost
            below.append(Node(bound, path, world.save(), world.choices()))
        open_nodes += sorted(below, key=lambda child: child.bound, reverse=True)
    return Optimum(best / jobs, True, best_path, states)
