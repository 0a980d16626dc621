"""The elastic family: training jobs of workers and parameter servers, whose numbers may change every slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.evaluation.family import Family
from dovetail.evaluation.metrics_elastic import METRICS
from dovetail.records.elastic import ElasticRun
from dovetail.records.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dovetail.evaluation.comparison import ComparedRow
    from dovetail.evaluation.job_story_elastic import JobStory
    from dovetail.evaluation.report.charts import Chart
    from dovetail.evaluation.report.picture import Picture, Shown
    from dovetail.records.directory import Records


class ElasticFamily(Family):
    """Ranked by the sum of what the completions of jobs were worth."""

    name: ClassVar = "elastic"
    metrics: ClassVar = METRICS
    yardstick: ClassVar = "total_utility"
    verdict: ClassVar = ("gains a total utility of {mean}", "gains most: a total utility of {mean}")

    def shown(self, rows: Sequence[ComparedRow]) -> list[str]:
        """Promises only where one was broken, which the simulator never lets happen."""
        kept = all(row.metrics["promises_kept"].mean == 1.0 for row in rows if "promises_kept" in row.metrics)
        return [name for name in super().shown(rows) if not (kept and name == "promises_kept")]

    def charts(self, shown: Sequence[Shown]) -> tuple[Chart, ...]:
        from dovetail.evaluation.report.charts_elastic import make_charts

        return make_charts(_runs(shown))

    def picture(self, records: Records, shown: Sequence[Shown]) -> Picture:
        from dovetail.evaluation.report.allocation_elastic import allocation

        return allocation(_runs(shown))

    def figures(self, records: Records, shown: Sequence[Shown]) -> list[tuple[str, Callable[[], Figure]]]:
        from dovetail.evaluation.report.figures_elastic import allocation_figures

        return allocation_figures(_runs(shown))

    def explain_text(self, run: Run, job: int) -> str:
        from dovetail.evaluation.explain_elastic import explain_text

        return explain_text(_story(run, job))

    def explain_json(self, run: Run, job: int) -> dict[str, Any]:
        from dovetail.evaluation.explain_elastic import explain_json

        return explain_json(_story(run, job))


def _story(run: Run, job: int) -> JobStory:
    from dovetail.evaluation.job_story_elastic import JobStory

    return JobStory(_own(run), job)


def _runs(shown: Sequence[Shown]) -> list[tuple[int, str, ElasticRun]]:
    return [(place, label, _own(run)) for place, label, run in shown]


def _own(run: Run) -> ElasticRun:
    assert isinstance(run, ElasticRun), f"{run.run} is a run of {run.FAMILY}"
    return run
