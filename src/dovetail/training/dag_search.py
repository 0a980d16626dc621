"""Learning from search: at some states of an episode, several decisions are tried in copies of the world.

Each copy is completed by a fast heuristic, or by the policy itself, with the same luck and the same arrivals, so what
differs in the end is due to the decision alone.  The futures are the true ones; a policy that cannot see them learns
what is best on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.core.dag import ANY_CLUSTER, Floats, HasKernel
from dovetail.core.errors import ConfigError, DovetailError
from dovetail.features import FeatureSet
from dovetail.schedulers import SCHEDULERS
from dovetail.schedulers.learned.decima.forward import PackedNetwork, choose
from dovetail.schedulers.learned.decima.inputs import DecimaInput, class_sizes, decima_input
from dovetail.schedulers.learned.decima.kernel import pack_kernel
from dovetail.schedulers.learned.decima.network import Chosen
from dovetail.sim.dag import DagOptions
from dovetail.sim.dag.batch import DagBatch, DagBatchView, Episode
from dovetail.sim.dag.fork import Fork
from dovetail.sim.dag.objective import Objective
from dovetail.training.teacher import teacher_choice
from dovetail.workloads.dag import DagCatalogue

Candidate = tuple[int, int, int]
"""node row, executor class or -1, limit"""
POLICY, TEACHER = "policy", "teacher"
"""Names for the base of a search that stand for something else."""


@dataclass(frozen=True)
class SearchPlan:
    """Where to search, and how widely."""

    share: float = 0.02  # of the decisions that leave executors where they are
    share_of_moves: float = 0.2  # of those that move them: fewer, and there is more to gain
    drawn: int = 4  # decisions drawn from the policy
    random: int = 1  # drawn from all there are
    base: str = "teacher"  # completes the copies, and proposes a decision: the plan's teacher, the policy, or a name
    span_s: float = 0.0  # the copies go on for this long; inf: to the end; 0: as `TrainPlan.against` says
    lucks: int = 1  # futures that are averaged; the first is the episode's own
    memory: int = 8000  # states that a worker keeps from iteration to iteration
    lot: int = 160  # states drawn from them for one step of the optimiser

    def __post_init__(self) -> None:
        if not (0.0 <= self.share <= 1.0 and 0.0 <= self.share_of_moves <= 1.0):
            raise ConfigError("search.share and search.share_of_moves are shares: expected 0 to 1")
        if max(self.share, self.share_of_moves) == 0.0:
            raise ConfigError("search.share and search.share_of_moves are both 0: nothing would be searched")
        if min(self.drawn, self.lucks, self.memory, self.lot) < 1 or self.random < 0:
            raise ConfigError("search.drawn, lucks, memory and lot must be 1 or more, search.random 0 or more")
        if not self.span_s >= 0.0:
            raise ConfigError(f"search.span_s is {self.span_s}; expected 0 or more seconds, or inf")


@dataclass(frozen=True)
class Searched:
    """One state, the decisions tried there, and what each cost."""

    given: DecimaInput  # of one world
    candidates: list[Candidate]
    cost: Floats


def search_base(name: str) -> Any:
    """The scheduler that completes the copies; it must run compiled."""
    scheduler = SCHEDULERS.create(name)
    try:
        scheduler.reset(ANY_CLUSTER, np.random.default_rng(0))
        compiled = isinstance(scheduler, HasKernel) and scheduler.kernel() is not None
    except DovetailError:  # it needs more than a cluster
        compiled = False
    if not compiled:
        raise ConfigError(f"search.base {name}: it cannot run compiled, so it cannot complete copies of a world")
    return scheduler


def search_episodes(
    catalogue: DagCatalogue,
    options: DagOptions,
    network: PackedNetwork,
    features: FeatureSet,
    episodes: Sequence[Episode],
    objective: Objective,
    plan: SearchPlan,
    rng: np.random.Generator,
) -> tuple[list[Searched], int, list[Any]]:
    """Play the episodes with the policy, and search at some of its states.  Also: decisions taken, and results."""
    assert plan.span_s > 0.0 and plan.base != TEACHER, "`TrainPlan.against` comes first"
    worlds = len(episodes)
    waiting = dict(enumerate(episodes))
    batch = DagBatch(catalogue, options, lambda w: waiting.pop(w, None), worlds)
    base = None if plan.base == POLICY else search_base(plan.base)
    if base is not None:
        base.reset(batch.info, rng)
    kernel = pack_kernel(network, features, batch.info) if base is None else base.kernel()
    sizes = class_sizes(batch.info)
    forks = [Fork() for _ in episodes]
    prices = objective.prices()
    found: list[Searched] = []
    results: list[Any] = []
    decisions = 0
    views, finished = batch.start()
    while views.active.any():
        given = decima_input(views, batch.info, features, classes=sizes)
        chosen = choose(network, given, rng.random((worlds, 3)))
        decisions += int((chosen.node >= 0).sum())
        taken = chosen.node >= 0
        stage = np.where(taken, given.stage[chosen.node], -1)
        job = np.where(taken, views.columns.stage_job[views.stage_ptr[:-1] + stage], -2)
        share = np.where(job == views.source_job, plan.share, plan.share_of_moves)
        for w in np.flatnonzero(taken & (rng.random(worlds) < share)).tolist():
            one = given.world(w)
            candidates = candidates_at(network, one, base, views, w, plan, rng)
            if len(candidates) > 1:
                tries = [as_decision(views, w, one, candidate) for candidate in candidates]
                cost = np.zeros(len(tries))
                for k in range(plan.lucks):
                    luck = None if k == 0 else int(rng.integers(2**63))
                    costs = forks[w].costs(batch.state_of(w), tries, kernel, luck=luck, span_s=plan.span_s)
                    cost += costs @ prices
                found.append(Searched(one, candidates, cost / plan.lucks))
        views, finished = batch.step(stage, chosen.limit, chosen.executor_class)
        results += [end.result for end in finished]
    batch.close()
    return found, decisions, results


def candidates_at(
    network: PackedNetwork,
    one: DecimaInput,
    base: Any,
    views: DagBatchView,
    w: int,
    plan: SearchPlan,
    rng: np.random.Generator,
) -> list[Candidate]:
    """Different decisions: the likeliest, some drawn from the policy, the base's, some drawn from all."""
    found: dict[Candidate, None] = {}
    for k in range(plan.drawn):
        choice = choose(network, one, None if k == 0 else rng.random((1, 3)))
        found[int(choice.node[0]), int(choice.executor_class[0]), int(choice.limit[0])] = None
    if base is not None:
        proposed = teacher_choice(base, views.world(w), one, 0)
        if proposed[0] >= 0:
            found[proposed] = None
    valid = np.flatnonzero(one.valid)
    for _ in range(plan.random):
        node = int(rng.choice(valid))
        fitting = one.offered[0] * one.fits[node]
        kind = int(rng.choice([-1, *np.flatnonzero(fitting)])) if len(fitting) > 1 else -1
        room = min(int(fitting.sum() if kind == -1 else fitting[kind]), int(one.unclaimed[node]))
        given = int(np.ceil(np.exp(rng.uniform(0, np.log(room + 1e-9))))) if room > 1 else 1
        limit = int(one.held[node]) + min(given, room)
        found[node, kind, limit] = None
    return list(found)


def as_decision(views: DagBatchView, w: int, one: DecimaInput, candidate: Candidate) -> tuple[int, int, int, int]:
    """(job, stage in it, limit, class) for the simulator."""
    node, kind, limit = candidate
    stage = int(one.stage[node])
    view = views.world(w)
    return int(view.job_id[view.stage_job[stage]]), int(view.stage_id[stage]), limit, kind


def advantages_of(found: Sequence[Searched], most: float = 3.0) -> list[Floats]:
    """For each state, how much better each decision is than their mean, in units of a typical state's differences.

    What is typical is the median: at a few states everything is at stake, and they should not silence all others.
    """
    centred: list[Floats] = [one.cost.mean() - one.cost for one in found]
    stakes = [float(np.sqrt(np.mean(one**2))) for one in centred if one.any()]
    typical = float(np.median(stakes)) if stakes else 1.0
    return [np.clip(one / typical, -most, most) for one in centred]


def as_chosen(one: Searched) -> Chosen:
    """The decisions tried at a state, as `collate` takes them."""
    node, kind, limit = np.array(one.candidates, dtype=np.int64).T
    return Chosen(np.zeros(len(node), dtype=np.int64), node, kind, limit)
