"""The dag family: batch jobs that are DAGs of stages, run by executors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.evaluation.family import Family
from dovetail.evaluation.metrics_dag import METRICS
from dovetail.records.dag import DagRun
from dovetail.records.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dovetail.evaluation.comparison import ComparedRow
    from dovetail.evaluation.job_story_dag import JobStory
    from dovetail.evaluation.report.charts import Chart
    from dovetail.evaluation.report.picture import Picture, Shown
    from dovetail.records.directory import Records


class DagFamily(Family):
    """Ranked by the mean time from a job's arrival to its completion."""

    name: ClassVar = "dag"
    metrics: ClassVar = METRICS
    yardstick: ClassVar = "avg_jct_s"
    verdict: ClassVar = ("completes a job in {mean}", "completes jobs soonest: in {mean}")

    def shown(self, rows: Sequence[ComparedRow]) -> list[str]:
        """Weights and deadlines only where some job has one."""
        names = super().shown(rows)
        if all(_same(row, "weighted_jct_s", "avg_jct_s") for row in rows):
            names = [name for name in names if name != "weighted_jct_s"]
        if all(row.metrics["late_s"].mean == 0.0 for row in rows if "late_s" in row.metrics):
            names = [name for name in names if name != "late_s"]
        return names

    def options_in_force(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options without those of troubles that are switched off."""
        off: set[str] = set()
        if not options.get("straggler_probability"):
            off |= {"straggler_probability", "straggler_factor"}
        if not options.get("mean_time_to_failure_s"):
            off |= {"mean_time_to_failure_s", "repair_s"}
        return {name: value for name, value in options.items() if name not in off}

    def compile(self, scheduler: Any) -> None:
        """The kernel first, which needs no simulator, then what `decide` needs."""
        from dovetail.core.dag import ANY_CLUSTER, HasKernel
        from dovetail.core.seeds import SeedTree
        from dovetail.evaluation.matrix_cell import run_python
        from dovetail.sim.dag import DagOptions, DagWorld
        from dovetail.sim.kernels.dag_compile import compile_kernel
        from dovetail.workloads import Arrivals, open_source

        scheduler.reset(ANY_CLUSTER, SeedTree(0).generator())
        kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
        if kernel is not None:
            compile_kernel(kernel)
        workload = open_source("tpch-like").sequence(1, Arrivals("batch"), SeedTree(0))
        run_python(DagWorld(workload, DagOptions(), SeedTree(0)), scheduler, SeedTree(0).generator(), decisions=1)

    def charts(self, shown: Sequence[Shown]) -> tuple[Chart, ...]:
        from dovetail.evaluation.report.charts_dag import make_charts

        return make_charts(_runs(shown))

    def picture(self, records: Records, shown: Sequence[Shown]) -> Picture:
        from dovetail.evaluation.report.gantt_dag import gantt

        return gantt(_runs(shown), float(records.options.get("moving_delay_s") or 0.0))

    def figures(self, records: Records, shown: Sequence[Shown]) -> list[tuple[str, Callable[[], Figure]]]:
        from dovetail.evaluation.report.figures_dag import gantt_figures

        return gantt_figures(_runs(shown), float(records.options.get("moving_delay_s") or 0.0))

    def explain_text(self, run: Run, job: int) -> str:
        from dovetail.evaluation.explain_dag import explain_text

        return explain_text(_story(run, job))

    def explain_json(self, run: Run, job: int) -> dict[str, Any]:
        from dovetail.evaluation.explain_dag import explain_json

        return explain_json(_story(run, job))


def _story(run: Run, job: int) -> JobStory:
    from dovetail.evaluation.job_story_dag import JobStory

    return JobStory(_own(run), job)


def _runs(shown: Sequence[Shown]) -> list[tuple[int, str, DagRun]]:
    return [(place, label, _own(run)) for place, label, run in shown]


def _own(run: Run) -> DagRun:
    assert isinstance(run, DagRun), f"{run.run} is a run of {run.FAMILY}"
    return run


def _same(row: ComparedRow, one: str, other: str) -> bool:
    return one in row.metrics and math.isclose(row.metrics[one].mean, row.metrics[other].mean, rel_tol=1e-9)
