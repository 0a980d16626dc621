"""dag/composed: four parts, each of which answers one verb, put together to a scheduler.

    dag/composed:order=srtf,size=hesrpt:speedup=0.8,place=smallest-fit,dispatch=local

Order and size decide as a list scheduler does (`list_rule`); dispatch says which stages compete, place which executors
the chosen one gets.  Without a part that the compiled list scheduler does not know it runs compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dovetail.adaptation.composition import Composition, parse_composition
from dovetail.adaptation.parts import PARTS
from dovetail.adaptation.parts.dispatch import DispatchPart
from dovetail.adaptation.parts.order import OrderPart
from dovetail.adaptation.parts.place import PlacePart, SmallestFit
from dovetail.adaptation.parts.size import SizePart
from dovetail.core.dag import DagDecision, DagInfo, DagKernel, DagView
from dovetail.core.handover import HasState, State
from dovetail.schedulers.heuristic.dag.list_rule import ListRule
from dovetail.schedulers.heuristic.dag.list_scheduling import ListScheduler


class Composed(ListScheduler):
    KIND = "composed"

    @dataclass(frozen=True)
    class Params:
        order: str = field(default="las", metadata={"help": "which job first: `dovetail list --parts`"})
        size: str = field(default="equal-threads", metadata={"help": "how many executors a job may hold"})
        place: str = field(default="smallest-fit", metadata={"help": "which class of executor"})
        dispatch: str = field(default="local", metadata={"help": "who competes for them"})

        def __post_init__(self) -> None:
            parse_composition("+".join((self.order, self.size, self.place, self.dispatch)))

    def __init__(self, params: Params = Params()) -> None:
        self.params = params
        self.order: OrderPart = PARTS.create(f"order/{params.order}")
        self.size: SizePart = PARTS.create(f"size/{params.size}")
        self.place: PlacePart = PARTS.create(f"place/{params.place}")
        self.dispatch: DispatchPart = PARTS.create(f"dispatch/{params.dispatch}")
        super().__init__(
            ListRule(
                order=self.order.RULE,
                size=replace(self.size.rule, keep=self.dispatch.KEEP),
                reason=self.order.REASON,
            )
        )

    @classmethod
    def of(cls, composition: Composition) -> Composed:
        return cls(cls.Params(composition.order, composition.size, composition.place, composition.dispatch))

    @property
    def batch_s(self) -> float:
        """For engines: seconds of work to hand to an executor at a time."""
        return self.dispatch.batch_s

    def reset(self, info: DagInfo, rng: np.random.Generator) -> None:
        super().reset(info, rng)
        for part in (self.order, self.place, self.dispatch):
            part.reset(info, rng)

    def kernel(self) -> DagKernel | None:  # type: ignore[override] # a list scheduler always has one
        plain = type(self.order).keys is OrderPart.keys and isinstance(self.place, SmallestFit)
        return super().kernel() if plain and not self.dispatch.NARROWS else None

    def decide(self, view: DagView) -> Sequence[DagDecision]:
        competing = self.dispatch.competing(view)
        narrow = view if competing is None else view._replace(stage_valid=view.stage_valid & competing)
        decisions = super().decide(narrow)
        if not decisions:
            return ()
        (decision,) = decisions
        job = view.stage_job.item(decision.stage)
        held = view.job_executors.item(job)
        # the limit of a job that takes all that is on offer may be that of several classes, or beyond a reserved part
        limit = min(decision.limit, held + self.dispatch.most(view, job))
        return (decision._replace(limit=limit, executor_class=self.place.executor_class(view, decision.stage)),)

    def _job_keys(self, view: DagView) -> Sequence[float]:
        keys = self.order.keys(view)
        return super()._job_keys(view) if keys is None else keys

    def export_state(self) -> State:
        """What the parts remember, by verb and name, so that only the same part takes it over."""
        return {name: part.export_state() for name, part in self._with_state().items()}

    def import_state(self, state: State) -> Sequence[str]:
        taken = []
        for name, part in self._with_state().items():
            given = state.get(name)
            if isinstance(given, Mapping) and part.import_state(given):
                taken.append(name)
        return taken

    def _with_state(self) -> dict[str, HasState]:
        parts = {f"order/{self.params.order}": self.order, f"dispatch/{self.params.dispatch}": self.dispatch}
        return {name: part for name, part in parts.items() if isinstance(part, HasState)}
