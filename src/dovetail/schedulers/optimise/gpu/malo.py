"""gpu/malo: ant lions (Mirjalili 2015; several objectives 2017) with elite differential evolution.

A solution is a point in the cube of 2n numbers: n keys, by which jobs are ordered, and n genes, each a rule of placing
and a mask of types.  `population` ant lions each sit at a point.  In every round an ant walks around a lion (drawn by
roulette, the better the likelier) and around the elite, the best solution so far; it ends at the mean of the two:

    ant = (R(lion) + R(elite)) / 2,     R: a random walk of +-1 steps, scaled into [x - c, x + c],  c = 0.5 / max(I, 1)

I = 10^w t / (100 T) in round t of T, w = 2 at first, 3, 4, 5, 6 from 50, 75, 90 and 95 % on: the pits narrow.  A lion
moves to an ant that is better.  Then each lion is crossed with a mutant around the elite (differential evolution):

    v = elite + factor * (lion a - lion b),     a component is v's with probability `crossover`, the better one stays

Solutions that no other dominates are kept, as in `mosa`, and the final choice is the same.
Departures: the walks narrow a hundred times less than published, for there are tens of rounds and not thousands; the
population begins around the last decision's solution, half of it in other orders alone; "better" is by weighted sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dovetail.core.gpu import Floats, GpuView, Ints
from dovetail.schedulers.optimise.gpu.search import EACH, Search, check_search


@dataclass(frozen=True)
class MaloParams:
    evaluations: int = field(default=300, metadata={"help": "of solutions, for every decision"})
    window: int = field(default=24, metadata={"help": "jobs that are ordered at a time"})
    weight: float = field(default=0.8, metadata={"help": "of completion time; the rest is that of the fee"})
    population: int = field(default=12, metadata={"help": "ant lions"})
    steps: int = field(default=16, metadata={"help": "of a random walk"})
    factor: float = field(default=0.5, metadata={"help": "of the difference of two lions, in a mutant"})
    crossover: float = field(default=0.5, metadata={"help": "part of a mutant's components that is taken"})
    kept: int = field(default=16, metadata={"help": "solutions in the archive"})

    def __post_init__(self) -> None:
        check_search(self.evaluations, self.window, self.weight, self.kept)
        if not 2 <= self.population <= self.evaluations:
            raise ValueError(f"population is {self.population}; expected 2 to the {self.evaluations} evaluations")
        if not 1 <= self.steps <= 1000:
            raise ValueError(f"steps is {self.steps}; expected 1 to 1,000")
        if not (0.0 <= self.factor <= 2.0 and 0.0 <= self.crossover <= 1.0):
            raise ValueError(f"factor is {self.factor}, crossover {self.crossover}; expected 0 to 2, and 0 to 1")


class Malo(Search):
    Params = MaloParams
    TUNE: ClassVar = {"weight": (0.25, 0.5, 0.8, 1.0), "population": (6, 12, 24)}

    def __init__(self, params: MaloParams = MaloParams()) -> None:
        super().__init__(params.window)
        self.params = params

    def search(
        self, view: GpuView, jobs: Ints, first: Floats, key: int, starts: Ints, machines: Ints, scores: Floats
    ) -> int:
        from dovetail.schedulers.kernels.gpu_search import hunt

        params, state, types, price = self.facts()
        p = self.params
        evaluations = max(3 * p.population, min(p.evaluations, EACH * len(jobs)))
        settings = (evaluations, p.weight, p.population, p.steps, p.factor, p.crossover, p.kept, key)
        return int(hunt(view, params, state, jobs, types, price, first, *settings, starts, machines, scores))
