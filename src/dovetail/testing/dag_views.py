"""Views of the dag family made without a world: by hand for a test with a known answer, or at random.

A view made here is consistent in the sense of `docs/dag-model.md`: job totals are the sums of their stages, a
stage is ready when its parents are complete and valid only when they are saturated, paths and work follow
from the durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dovetail.core.dag import Bools, DagDecision, DagInfo, DagView, ExecutorClass, Ints
from dovetail.core.protocols import Scheduler

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ANY_SIZE = (ExecutorClass(50, cpu=float("inf"), memory=float("inf")),)


@dataclass(frozen=True)
class StageSketch:
    """One stage; what is left out follows from the rest: nothing finished, running or claimed."""

    tasks: int = 1
    mean_s: float = 1.0
    parents: tuple[int, ...] = ()  # earlier stages of the job
    left: int | None = None
    running: int = 0
    unclaimed: int | None = None
    cpu: float = 1.0
    memory: float = 0.0
    chosen: bool = False  # already chosen in this round, so not valid


@dataclass(frozen=True)
class JobSketch:
    stages: Sequence[StageSketch]
    executors: int = 0  # held; those on offer are not counted
    arrival_s: float = 0.0
    weight: float = 1.0
    deadline_s: float = float("inf")


def make_view(
    jobs: Sequence[JobSketch],
    *,
    offered: int | Sequence[int] = 1,
    source_job: int = -1,
    source_stage: int = -1,
    classes: Sequence[ExecutorClass] = ANY_SIZE,
    time_s: float = 0.0,
) -> DagView:
    """A view of these jobs.  `offered` is a number of executors (of class 0) or one per class."""
    by_class = np.zeros(len(classes), np.int64)
    by_class[: 1 if isinstance(offered, int) else len(offered)] = offered
    stages = [stage for job in jobs for stage in job.stages]
    ptr = np.cumsum([0] + [len(job.stages) for job in jobs]).astype(np.int64)
    stage_job = np.repeat(np.arange(len(jobs)), np.diff(ptr)).astype(np.int64)
    left = _ints(stage.tasks if stage.left is None else stage.left for stage in stages)
    running = _ints(stage.running for stage in stages)
    unclaimed = _ints(
        n - stage.running if stage.unclaimed is None else stage.unclaimed
        for stage, n in zip(stages, left.tolist(), strict=True)
    )
    edges = [
        (int(ptr[j]) + parent, int(ptr[j]) + child)
        for j, job in enumerate(jobs)
        for child, stage in enumerate(job.stages)
        for parent in stage.parents
    ]
    ready, valid = np.ones(len(stages), np.bool_), np.zeros(len(stages), np.bool_)
    path = np.array([stage.mean_s for stage in stages], np.float64)
    for v, stage in enumerate(stages):
        first = int(ptr[stage_job[v]])
        parents = [first + parent for parent in stage.parents]
        ready[v] = all(left[parent] == 0 for parent in parents)
        fits = any(
            n and c.cpu >= stage.cpu and c.memory >= stage.memory for n, c in zip(by_class, classes, strict=True)
        )
        valid[v] = fits and not stage.chosen and unclaimed[v] > 0 and all(unclaimed[parent] == 0 for parent in parents)
    for parent, child in sorted(edges, reverse=True):  # parents come earlier, so children are done first
        path[parent] = max(path[parent], stages[parent].mean_s + path[child])
    work = [sum(stage.tasks * stage.mean_s for stage in job.stages) for job in jobs]
    mean_s = np.array([stage.mean_s for stage in stages], np.float64)
    return _frozen(
        DagView(
            time_s=time_s,
            source_job=source_job,
            source_stage=source_stage,
            source_executors=int(by_class.sum()),
            source_by_class=by_class,
            job_id=np.arange(len(jobs), dtype=np.int64),
            job_arrival_s=np.array([job.arrival_s for job in jobs], np.float64),
            job_weight=np.array([job.weight for job in jobs], np.float64),
            job_deadline_s=np.array([job.deadline_s for job in jobs], np.float64),
            job_executors=_ints(job.executors for job in jobs),
            job_unclaimed=np.add.reduceat(unclaimed, ptr[:-1]),
            job_work_s=np.array(work, np.float64),
            job_work_left_s=np.add.reduceat(left * mean_s, ptr[:-1]),
            job_stage_ptr=ptr,
            stage_id=_ints(v for job in jobs for v in range(len(job.stages))),
            stage_job=stage_job,
            stage_tasks=_ints(stage.tasks for stage in stages),
            stage_left=left,
            stage_running=running,
            stage_unclaimed=unclaimed,
            stage_profile=np.full(len(stages), -1, np.int64),
            stage_mean_s=mean_s,
            stage_critical_path_s=path,
            stage_cpu=np.array([stage.cpu for stage in stages], np.float64),
            stage_memory=np.array([stage.memory for stage in stages], np.float64),
            stage_ready=ready,
            stage_valid=valid,
            edge_parent=_ints(parent for parent, _ in edges),
            edge_child=_ints(child for _, child in edges),
        )
    )


def info_for(classes: Sequence[ExecutorClass] = ANY_SIZE, moving_delay_s: float = 2.0) -> DagInfo:
    return DagInfo(sum(kind.count for kind in classes), tuple(classes), moving_delay_s)


def ask(
    scheduler: Scheduler[DagInfo, DagView, DagDecision],
    view: DagView,
    classes: Sequence[ExecutorClass] = ANY_SIZE,
) -> DagDecision | None:
    """What a scheduler that was just reset says to one view; None if it declines."""
    scheduler.reset(info_for(classes), np.random.default_rng(0))
    decisions = scheduler.decide(view)
    return decisions[0] if decisions else None


def random_view(
    rng: np.random.Generator,
    classes: Sequence[ExecutorClass] = ANY_SIZE,
    *,
    max_jobs: int = 8,
    max_stages: int = 9,
    coarse: bool = False,
) -> DagView:
    """Jobs in all states of progress.  `coarse` draws durations from few values, so that ties are common."""
    jobs = [
        _random_job(rng, classes, int(rng.integers(1, max_stages + 1)), coarse)
        for _ in range(rng.integers(1, max_jobs + 1))
    ]
    arrivals = np.sort(rng.uniform(0.0, 100.0, len(jobs)))
    counts = [kind.count for kind in classes]
    free = [int(rng.integers(0, count + 1)) for count in counts]
    free[int(rng.integers(len(free)))] += 0 if any(free) else 1
    busy = sum(counts) - sum(free)
    held = rng.multinomial(busy, np.ones(len(jobs) + 1) / (len(jobs) + 1))
    source_job = int(rng.integers(-1, len(jobs)))
    source_stage = -1
    sketches = []
    for j, stages in enumerate(jobs):
        sketches.append(JobSketch(stages, int(held[j]), float(arrivals[j])))
    if source_job >= 0 and rng.random() < 0.5:  # a stage that ran dry
        first = sum(len(job.stages) for job in sketches[:source_job])
        dry = [v for v, stage in enumerate(jobs[source_job]) if stage.unclaimed == 0]
        source_stage = first + dry[0] if dry else -1
    return make_view(
        sketches,
        offered=free,
        source_job=source_job,
        source_stage=source_stage,
        classes=classes,
        time_s=100.0,
    )


def _random_job(
    rng: np.random.Generator, classes: Sequence[ExecutorClass], size: int, coarse: bool
) -> list[StageSketch]:
    largest_cpu = min(max(kind.cpu for kind in classes), 8.0)
    largest_memory = min(max(kind.memory for kind in classes), 8.0)
    stages: list[StageSketch] = []
    for v in range(size):
        parents = tuple(p for p in range(v) if rng.random() < 2.0 / (v + 1))
        tasks = int(rng.integers(1, 9))
        complete = all(stages[p].left == 0 for p in parents)
        # tasks run only after all parents; they may be claimed once the parents are saturated
        saturated = all(stages[p].unclaimed == 0 for p in parents)
        left = _progress(rng, tasks) if complete else tasks
        running = int(rng.integers(0, left + 1)) if complete else 0
        claimable = left - running
        unclaimed = _progress(rng, claimable) if saturated else left
        demand = (0.25, 0.5, 0.75, 1.0)
        stages.append(
            StageSketch(
                tasks=tasks,
                mean_s=float(rng.integers(1, 4)) if coarse else float(rng.uniform(0.1, 30.0)),
                parents=parents,
                left=left,
                running=running,
                unclaimed=unclaimed,
                cpu=largest_cpu * float(rng.choice(demand)),
                memory=largest_memory * float(rng.choice(demand)),
                chosen=bool(rng.random() < 0.1),
            )
        )
    return stages


def _progress(rng: np.random.Generator, whole: int) -> int:
    """None, all, or some of it, each often enough."""
    return (0, whole, int(rng.integers(0, whole + 1)))[int(rng.integers(3))]


FOUR_SIZES = tuple(ExecutorClass(count, 1.0, memory) for count, memory in ((5, 0.25), (4, 0.5), (3, 0.75), (8, 1.0)))


def dag_views(classes: Sequence[ExecutorClass] = ANY_SIZE) -> SearchStrategy[DagView]:
    """Random consistent views with something on offer; shrinks towards few small jobs."""
    from hypothesis import strategies as st  # a tool of the tests: not part of the default install

    def build(seed: int, jobs: int, stages: int, coarse: bool) -> DagView:
        return random_view(np.random.default_rng(seed), classes, max_jobs=jobs, max_stages=stages, coarse=coarse)

    return st.builds(build, st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.booleans())


def without_saturated_jobs(view: DagView) -> tuple[DagView, Ints]:
    """The view as a compiled scheduler may get it, and the stage indices its stages had before."""
    jobs = view.job_unclaimed.nonzero()[0]
    stages = np.isin(view.stage_job, jobs).nonzero()[0]
    new_job = np.full(len(view.job_id), -1, np.int64)
    new_job[jobs] = np.arange(len(jobs))
    new_stage = np.full(len(view.stage_id), -1, np.int64)
    new_stage[stages] = np.arange(len(stages))
    kept: Bools = new_stage[view.edge_parent] >= 0
    source_job = int(new_job[view.source_job]) if view.source_job >= 0 else -1
    source_stage = int(new_stage[view.source_stage]) if view.source_stage >= 0 else -1
    fields = view._asdict()
    for name, array in fields.items():
        if name.startswith("job_") and name != "job_stage_ptr":
            fields[name] = array[jobs]
        elif name.startswith("stage_"):
            fields[name] = array[stages]
    sizes = np.diff(view.job_stage_ptr)[jobs]
    fields.update(
        source_job=source_job,
        source_stage=source_stage,
        job_stage_ptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        stage_job=new_job[view.stage_job[stages]],
        edge_parent=new_stage[view.edge_parent[kept]],
        edge_child=new_stage[view.edge_child[kept]],
    )
    return _frozen(DagView(**fields)), stages


def _ints(values: object) -> Ints:
    return np.array(list(values), np.int64)  # type: ignore[call-overload]


def _frozen(view: DagView) -> DagView:
    for array in view:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return view
