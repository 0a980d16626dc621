"""The things of the dag world as plain objects: jobs, stages, executors, groups of free executors, a round.

`docs/dag-model.md` defines every word used here.  The objects only remember, and answer questions about
themselves; what happens to them is in `dag_reference`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from dovetail.workloads.dag import DagWorkload

NEVER = -1  # "last offered at" of what counts as not offered; versions start at 0


class State(Enum):
    FREE = "free"
    BUSY = "busy"
    MOVING = "moving"
    PARKED = "parked"
    AWAY = "away"  # being repaired


@dataclass(eq=False)
class Executor:
    number: int
    executor_class: int
    state: State = State.FREE
    home: Job | None = None
    stage: Stage | None = None  # busy: what it runs; moving: where it goes; parked: what it waits for
    last_stage: Stage | None = None  # of the last task run since it came to its home
    wave: int = -1  # of the task it runs
    start_s: float = 0.0  # of the task it runs
    next_failure_s: float = float("inf")
    failures_drawn: int = 0


@dataclass(eq=False)
class Group:
    """The free executors with one home, those free longest first; `job` is None for the common group."""

    job: Job | None
    executors: list[Executor] = field(default_factory=list)
    offered: int = NEVER


@dataclass(frozen=True, eq=False)
class Commitment:
    """A promise: an executor of this class, when it leaves the stage that holds this, goes to `target`."""

    executor_class: int
    target: Stage


@dataclass(eq=False)
class Stage:
    job: Job = field(repr=False)
    id: int  # position in its job
    number: int  # position in the workload: stages of job 0, then of job 1, ...
    row: int  # position in the catalogue
    tasks: int
    cpu: float
    memory: float
    mean_s: float
    not_started: int
    critical_path_s: float = 0.0
    parents: list[Stage] = field(default_factory=list, repr=False)
    children: list[Stage] = field(default_factory=list, repr=False)
    incomplete_parents: int = 0
    finished: int = 0
    starts: int = 0  # of tasks, those lost later included
    executors: list[Executor] = field(default_factory=list, repr=False)  # running a task of this stage
    commitments: list[Commitment] = field(default_factory=list, repr=False)  # held by this stage, oldest first
    reservations: int = 0  # of tasks of this stage
    saturated_at_last_look: bool = False
    offered: int = NEVER

    @property
    def ready(self) -> bool:
        return self.incomplete_parents == 0

    @property
    def dry(self) -> bool:
        return self.not_started == 0

    @property
    def complete(self) -> bool:
        return self.finished == self.tasks

    @property
    def unclaimed(self) -> int:
        return max(0, self.not_started - self.reservations)

    @property
    def saturated(self) -> bool:
        return self.unclaimed == 0


@dataclass(eq=False)
class Job:
    number: int
    arrival_s: float
    weight: float
    deadline_s: float
    work_s: float = 0.0
    stages: list[Stage] = field(default_factory=list, repr=False)
    edges: list[tuple[Stage, Stage]] = field(default_factory=list, repr=False)
    at_home: int = 0  # executors whose home this is
    moving_here: int = 0
    promised_here: int = 0  # commitments to a stage of this job, held by stages of other jobs
    promised_away: int = 0  # commitments to stages of other jobs, held by stages of this job
    parked: list[Executor] = field(default_factory=list, repr=False)  # in the order they were parked
    group: Group = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.group = Group(self)

    @property
    def complete(self) -> bool:
        return all(stage.complete for stage in self.stages)


@dataclass(eq=False)
class Round:
    """Executors of one source on offer: a group's, or a stage's with `leaver` as its only free executor."""

    job: Job | None
    on_offer: list[int]  # still unassigned, by class
    group: Group | None = None
    stage: Stage | None = None
    leaver: Executor | None = None  # None once it has been given away
    chosen: set[Stage] = field(default_factory=set)
    declined: bool = False


def build_jobs(workload: DagWorkload) -> list[Job]:
    """All jobs of a workload as objects, nothing started."""
    jobs: list[Job] = []
    stages_so_far = 0
    for number in range(workload.num_jobs):
        job = Job(
            number,
            float(workload.arrival_s[number]),
            float(workload.weight[number]),
            float(workload.deadline_s[number]),
        )
        _add_stages(job, workload, stages_so_far)
        stages_so_far += len(job.stages)
        jobs.append(job)
    return jobs


def _add_stages(job: Job, workload: DagWorkload, first_number: int) -> None:
    catalogue = workload.catalogue
    dag = int(workload.job_dag[job.number])
    for position, row in enumerate(range(catalogue.stage_ptr[dag], catalogue.stage_ptr[dag + 1])):
        tasks, mean_s = int(catalogue.num_tasks[row]), float(catalogue.stage_mean_s[row])
        cpu, memory = float(catalogue.cpu[row]), float(catalogue.memory[row])
        stage = Stage(job, position, first_number + position, row, tasks, cpu, memory, mean_s, not_started=tasks)
        job.stages.append(stage)
        job.work_s += tasks * mean_s
    for edge in range(catalogue.edge_ptr[dag], catalogue.edge_ptr[dag + 1]):
        parent = job.stages[catalogue.edge_parent[edge]]
        child = job.stages[catalogue.edge_child[edge]]
        parent.children.append(child)
        child.parents.append(parent)
        child.incomplete_parents += 1
        job.edges.append((parent, child))
    for stage in reversed(_parents_first(job)):
        stage.critical_path_s = stage.mean_s + max((c.critical_path_s for c in stage.children), default=0.0)


def _parents_first(job: Job) -> list[Stage]:
    waiting_for = {stage: stage.incomplete_parents for stage in job.stages}
    order = [stage for stage in job.stages if stage.ready]
    for stage in order:  # grows while it is walked
        for child in stage.children:
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                order.append(child)
    return order
