"""The stream family: long-running jobs of operators, whose numbers of instances are to follow what comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.evaluation.family import Family
from dovetail.evaluation.metrics_stream import METRICS
from dovetail.records.run import Run
from dovetail.records.stream import StreamRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dovetail.evaluation.job_story_stream import JobStory
    from dovetail.evaluation.report.charts import Chart
    from dovetail.evaluation.report.picture import Picture, Shown
    from dovetail.records.directory import Records


class StreamFamily(Family):
    """Ranked by the mean reward of an interval: little latency, and instances that are busy."""

    name: ClassVar = "stream"
    metrics: ClassVar = METRICS
    yardstick: ClassVar = "reward"
    verdict: ClassVar = ("gains a reward of {mean}", "gains most: a reward of {mean}")

    def charts(self, shown: Sequence[Shown]) -> tuple[Chart, ...]:
        from dovetail.evaluation.report.charts_stream import make_charts

        return make_charts(_runs(shown))

    def picture(self, records: Records, shown: Sequence[Shown]) -> Picture:
        from dovetail.evaluation.report.instances_stream import instances

        return instances(_runs(shown))

    def figures(self, records: Records, shown: Sequence[Shown]) -> list[tuple[str, Callable[[], Figure]]]:
        from dovetail.evaluation.report.figures_stream import instance_figures

        return instance_figures(_runs(shown))

    def explain_text(self, run: Run, job: int) -> str:
        from dovetail.evaluation.explain_stream import explain_text

        return explain_text(_story(run, job))

    def explain_json(self, run: Run, job: int) -> dict[str, Any]:
        from dovetail.evaluation.explain_stream import explain_json

        return explain_json(_story(run, job))


def _story(run: Run, job: int) -> JobStory:
    from dovetail.evaluation.job_story_stream import JobStory

    return JobStory(_own(run), job)


def _runs(shown: Sequence[Shown]) -> list[tuple[int, str, StreamRun]]:
    return [(place, label, _own(run)) for place, label, run in shown]


def _own(run: Run) -> StreamRun:
    assert isinstance(run, StreamRun), f"{run.run} is a run of {run.FAMILY}"
    return run
