"""gpu/mosa: multi-objective simulated annealing over order and places (Ulungu, Teghem, Fortemps, Tuyttens 1999).

From a solution x a neighbour y is drawn: two jobs change places in the order, one goes elsewhere in it, or one is
placed by another rule or on other types.  With f1 the mean completion time, f2 the mean fee, both relative to the first
solution, and l a weight drawn anew around `weight`, y replaces x with probability

    min(1, exp(-(l (f1(y) - f1(x)) + (1 - l) (f2(y) - f2(x))) / T)),      T from `hot` to `cold`, geometrically

Solutions that no other dominates are kept; the one with the least weight * f1 + (1 - weight) * f2 is carried out.
Departures: the weight is drawn anew at every step instead of a run for each of a fixed set of weights; the archive
keeps `kept` solutions.  What jobs are ordered and what a solution is worth: `search`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dovetail.core.gpu import Floats, GpuView, Ints
from dovetail.schedulers.optimise.gpu.search import EACH, Search, check_search


@dataclass(frozen=True)
class MosaParams:
    evaluations: int = field(default=300, metadata={"help": "of solutions, for every decision"})
    window: int = field(default=24, metadata={"help": "jobs that are ordered at a time"})
    weight: float = field(default=0.8, metadata={"help": "of completion time; the rest is that of the fee"})
    hot: float = field(default=0.01, metadata={"help": "temperature at the start"})
    cold: float = field(default=0.0003, metadata={"help": "temperature at the end"})
    kept: int = field(default=16, metadata={"help": "solutions in the archive"})

    def __post_init__(self) -> None:
        check_search(self.evaluations, self.window, self.weight, self.kept)
        if not 0.0 < self.cold <= self.hot < float("inf"):
            raise ValueError(f"temperatures are {self.hot} to {self.cold}; expected above 0, hot first")


class Mosa(Search):
    Params = MosaParams
    TUNE: ClassVar = {"weight": (0.25, 0.5, 0.8, 1.0), "hot": (0.002, 0.01, 0.05)}

    def __init__(self, params: MosaParams = MosaParams()) -> None:
        super().__init__(params.window)
        self.params = params

    def search(
        self, view: GpuView, jobs: Ints, first: Floats, key: int, starts: Ints, machines: Ints, scores: Floats
    ) -> int:
        from dovetail.schedulers.kernels.gpu_search import anneal

        params, state, types, price = self.facts()
        p = self.params
        settings = (min(p.evaluations, EACH * len(jobs)), p.weight, p.hot, p.cold, p.kept, key)
        return int(anneal(view, params, state, jobs, types, price, first, *settings, starts, machines, scores))
