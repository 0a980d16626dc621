"""The gpu family: training jobs that need all their workers at once, on machines with GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.evaluation.family import Family
from dovetail.evaluation.metrics_gpu import METRICS
from dovetail.records.gpu import GpuRun
from dovetail.records.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dovetail.evaluation.comparison import ComparedRow
    from dovetail.evaluation.job_story_gpu import JobStory
    from dovetail.evaluation.report.charts import Chart
    from dovetail.evaluation.report.picture import Picture, Shown
    from dovetail.records.directory import Records


class GpuFamily(Family):
    """Ranked by the mean time from a job's arrival to its completion."""

    name: ClassVar = "gpu"
    metrics: ClassVar = METRICS
    yardstick: ClassVar = "avg_jct_s"
    verdict: ClassVar = ("completes a job in {mean}", "completes jobs soonest: in {mean}")

    def shown(self, rows: Sequence[ComparedRow]) -> list[str]:
        """Stops only where there were any."""
        never = all(row.metrics["stops"].mean == 0.0 for row in rows if "stops" in row.metrics)
        return [name for name in super().shown(rows) if not (never and name == "stops")]

    def options_in_force(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options without those that have no effect; of machines that are listed, how many of each sort."""
        off: set[str] = set()
        fails, stops = options.get("mean_time_to_failure_s"), options.get("preemption")
        off |= set() if fails else {"mean_time_to_failure_s", "repair_s", "checkpoint_s"}
        off |= set() if stops else {"quantum_s"}
        off |= set() if fails or stops else {"restart_s"}
        off |= set() if options.get("interval_s") else {"interval_s"}
        off |= set() if options.get("mood_sigma") else {"mood_sigma", "mood_period_s", "mood_every_s"}
        kept = {name: value for name, value in options.items() if name not in off}
        cluster = kept.pop("cluster", None)
        return {**_machines(cluster), **kept} if isinstance(cluster, Mapping) else kept

    def compile(self, scheduler: Any) -> None:
        """The kernel, which needs no simulator, then what `decide` needs."""
        from dovetail.core.gpu import HasKernel
        from dovetail.core.seeds import SeedTree
        from dovetail.evaluation.matrix_cell import run_python
        from dovetail.evaluation.setting_gpu import GpuSetting
        from dovetail.sim.kernels.gpu_compile import compile_kernel

        opened = GpuSetting(jobs=1).open()
        world = opened.world(opened.sequence(0), SeedTree(0))
        scheduler.reset(world.info_for(scheduler), SeedTree(0).generator())
        kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
        if kernel is not None:
            compile_kernel(kernel)
        run_python(world, scheduler, SeedTree(0).generator(), decisions=1)

    def charts(self, shown: Sequence[Shown]) -> tuple[Chart, ...]:
        from dovetail.evaluation.report.charts_gpu import make_charts

        return make_charts(_runs(shown))

    def picture(self, records: Records, shown: Sequence[Shown]) -> Picture:
        from dovetail.evaluation.report.placement_gpu import placement

        return placement(_runs(shown))

    def figures(self, records: Records, shown: Sequence[Shown]) -> list[tuple[str, Callable[[], Figure]]]:
        from dovetail.evaluation.report.figures_gpu import placement_figures

        return placement_figures(_runs(shown))

    def explain_text(self, run: Run, job: int) -> str:
        from dovetail.evaluation.explain_gpu import explain_text

        return explain_text(_story(run, job))

    def explain_json(self, run: Run, job: int) -> dict[str, Any]:
        from dovetail.evaluation.explain_gpu import explain_json

        return explain_json(_story(run, job))


def _machines(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """What a person wants to know of the machines."""
    listed = cluster.get("listed") or []
    if not listed:
        return {name: value for name, value in cluster.items() if name != "listed"}
    sorts: dict[str, int] = {}
    for one in listed:
        name = f"{one['type']} × {one['gpus']}"
        sorts[name] = sorts.get(name, 0) + 1
    return {"machines": len(listed), "listed": [f"{count} of {name}" for name, count in sorts.items()]}


def _story(run: Run, job: int) -> JobStory:
    from dovetail.evaluation.job_story_gpu import JobStory

    return JobStory(_own(run), job)


def _runs(shown: Sequence[Shown]) -> list[tuple[int, str, GpuRun]]:
    return [(place, label, _own(run)) for place, label, run in shown]


def _own(run: Run) -> GpuRun:
    assert isinstance(run, GpuRun), f"{run.run} is a run of {run.FAMILY}"
    return run
