"""A kind of work, as far as comparisons, reports and explanations depend on it.

Everything that runs, tabulates and draws comparisons is written once for all families and asks a `Family` for what
differs: which metrics there are and by which of them schedulers are ranked, what is worth a column, which charts and
which picture a report has, and how the story of a job is told.  What a family's cells are and how they are run is its
`Setting`'s to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.core.errors import UnknownName
from dovetail.evaluation.metric import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dovetail.evaluation.comparison import ComparedRow
    from dovetail.evaluation.report.charts import Chart
    from dovetail.evaluation.report.picture import Picture, Shown
    from dovetail.records.directory import Records
    from dovetail.records.run import Run

FAMILIES = {
    "dag": "dovetail.evaluation.family_dag:DagFamily",
    "elastic": "dovetail.evaluation.family_elastic:ElasticFamily",
    "gpu": "dovetail.evaluation.family_gpu:GpuFamily",
    "stream": "dovetail.evaluation.family_stream:StreamFamily",
}
"""Name -> its class, imported when the first thing of that family is asked for."""


class Family(ABC):
    """One kind of work."""

    name: ClassVar[str]
    metrics: ClassVar[Mapping[str, Metric]]  # all of them, in the order of the table
    yardstick: ClassVar[str]  # what schedulers are ranked by, unless another metric is named
    verdict: ClassVar[tuple[str, str]]  # what one scheduler alone does, and what the best does; {mean} is filled in

    def shown(self, rows: Sequence[ComparedRow]) -> list[str]:
        """The metrics worth a column."""
        return [name for name in self.metrics if name in rows[0].metrics]

    def options_in_force(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the cluster without those that have no effect."""
        return dict(options)

    def compile(self, scheduler: Any) -> None:  # noqa: B027 - most families have nothing that compiles by itself
        """Compile what the scheduler needs and what takes long, into the cache on disk."""

    @abstractmethod
    def charts(self, shown: Sequence[Shown]) -> tuple[Chart, ...]:
        """The line charts of a report; none without runs."""

    @abstractmethod
    def picture(self, records: Records, shown: Sequence[Shown]) -> Picture:
        """Who had what when: the picture of a report below the charts."""

    @abstractmethod
    def figures(self, records: Records, shown: Sequence[Shown]) -> list[tuple[str, Callable[[], Figure]]]:
        """The same as figures for slides and papers: (name, function that draws it)."""

    @abstractmethod
    def explain_text(self, run: Run, job: int) -> str:
        """The story of one job, for people."""

    @abstractmethod
    def explain_json(self, run: Run, job: int) -> dict[str, Any]:
        """The same for programs."""


@cache
def family_named(name: str) -> Family:
    """The family of that name."""
    if name not in FAMILIES:
        raise UnknownName("family", name, FAMILIES)
    module, attribute = FAMILIES[name].split(":")
    made: Family = getattr(import_module(module), attribute)()
    return made
