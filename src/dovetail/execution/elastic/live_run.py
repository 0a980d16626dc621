"""A live run, from the first slot to the last: the controller, a coordinator for each job, and a fleet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dovetail.execution.elastic.controller import SlotController
from dovetail.execution.elastic.coordinator import Coordinator, Tally
from dovetail.execution.elastic.data import Data
from dovetail.execution.elastic.fleet import Fleet
from dovetail.execution.elastic.live_workload import LiveWorkload
from dovetail.execution.elastic.messages import (
    Complete,
    End,
    Event,
    Halt,
    Halted,
    Instruction,
    Notice,
    Stand,
    Standing,
    Started,
    TimePassed,
    Train,
)
from dovetail.execution.elastic.network import Network, load_torch
from dovetail.execution.elastic.snapshot import Snapshot
from dovetail.execution.elastic.training_job import TrainingJob
from dovetail.sim.elastic.result import ElasticResult

LOOK_S = 0.5  # at least so often it is looked whether something hangs


@dataclass
class SlotStory:
    """How a slot went, in real seconds from the start of the run."""

    slot: int
    asked_s: float  # the scheduler has decided
    began_s: float = float("nan")
    halted_s: float = float("nan")  # told to halt
    ended_s: float = float("nan")  # everything is safe


@dataclass
class JobStory:
    """How a job fared: the loss on samples that nobody trains on, at first and after each slot in which it stood."""

    losses: list[tuple[int, float]]  # slot (-1: at first), loss
    batches_done: int = 0
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, eq=False)
class LiveResult:
    result: ElasticResult
    slots: list[SlotStory]
    jobs: list[JobStory]
    late: tuple[int, ...]  # jobs that were promised more than they got
    notices: tuple[str, ...]
    wall_s: float


class Yardstick:
    """The loss of a job's model on held-out samples."""

    def __init__(self, job: TrainingJob) -> None:
        self._network = Network.open(job.model, job.seed)
        self._samples = Data(job).held_out()

    def loss(self, snapshot: Snapshot) -> float:
        with self._network.at(snapshot.parameters):
            return self._network.loss(*self._samples)


class LiveRun:
    """`checkpoints`: a folder for them.  `kill_every_s`: so often a worker or server, drawn by `rng`, is killed."""

    def __init__(
        self,
        workload: LiveWorkload,
        controller: SlotController,
        fleet: Fleet,
        *,
        checkpoints: Path | None = None,
        kill_every_s: float = 0.0,
        rng: np.random.Generator | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._workload = workload
        self._controller = controller
        self._fleet = fleet
        self._checkpoints = checkpoints
        self._kill_every_s = kill_every_s
        self._rng = rng
        self._tell = tell
        self._coordinators: dict[int, Coordinator] = {}
        self._yardsticks: dict[int, Yardstick] = {}
        self._standing: set[int] = set()  # asked to stand, not said yet
        self._training: set[int] = set()
        self._halting: set[int] = set()
        self._events: deque[Event] = deque()
        self._slots: list[SlotStory] = []
        self._jobs = [JobStory([]) for _ in workload.training]
        self._notices: list[str] = []
        self._is_over = False

    def run(self) -> LiveResult:
        """The fleet is open before and after."""
        load_torch()  # takes a second, which is nobody's slot
        self._start_s = time.monotonic()
        kill_at_s = self._start_s + self._kill_every_s if self._kill_every_s else float("inf")
        self._events.append(Started())
        while not self._is_over:
            self._decide()
            self._notice_ends()
            if self._events or self._is_over:
                continue
            now_s = time.monotonic()
            for event in self._fleet.poll(min(LOOK_S, self._controller.next_timer_s - now_s, kill_at_s - now_s)):
                for coordinator in self._coordinators.values():
                    if coordinator.owns(event.role):
                        coordinator.handle(event, time.monotonic())
            now_s = time.monotonic()
            for coordinator in self._coordinators.values():
                coordinator.on_time(now_s)
            if now_s >= self._controller.next_timer_s:
                self._events.append(TimePassed())
            if now_s >= kill_at_s:
                kill_at_s = now_s + self._kill_every_s
                self._kill_one()
        for job, coordinator in self._coordinators.items():
            self._jobs[job].tally = coordinator.total
        return LiveResult(
            self._controller.world.result(),
            self._slots,
            self._jobs,
            tuple(sorted(self._controller.late)),
            tuple(self._notices),
            time.monotonic() - self._start_s,
        )

    def _decide(self) -> None:
        while self._events:
            now_s = time.monotonic()
            for instruction in self._controller.handle(now_s, self._events.popleft()):
                self._carry_out(instruction, time.monotonic())

    def _carry_out(self, instruction: Instruction, now_s: float) -> None:
        if isinstance(instruction, Stand):
            self._new_slot(now_s)
            self._coordinator(instruction.job).stand(instruction.workers, instruction.servers, now_s)
            if instruction.workers:
                self._standing.add(instruction.job)
        elif isinstance(instruction, Train):
            self._slots[-1].began_s = now_s - self._start_s
            self._coordinators[instruction.job].train(now_s, instruction.until_s)
            self._training.add(instruction.job)
        elif isinstance(instruction, Halt):
            self._slots[-1].halted_s = now_s - self._start_s
            self._coordinators[instruction.job].halt(now_s)
            self._training.discard(instruction.job)
            self._halting.add(instruction.job)
        elif isinstance(instruction, End):
            self._coordinators[instruction.job].end()
        elif isinstance(instruction, Notice):
            self._notices.append(instruction.text)
            self._tell(instruction.text)
        else:
            self._is_over = True

    def _new_slot(self, now_s: float) -> None:
        slot = self._controller.slot
        if not self._slots or self._slots[-1].slot != slot:
            self._slots.append(SlotStory(slot, now_s - self._start_s))

    def _coordinator(self, job: int) -> Coordinator:
        if job not in self._coordinators:
            training = self._workload.training[job]
            snapshot = Snapshot.first(training)
            self._yardsticks[job] = Yardstick(training)
            self._jobs[job].losses.append((-1, self._yardsticks[job].loss(snapshot)))
            self._coordinators[job] = Coordinator(
                training, snapshot, self._fleet, lambda snapshot: self._keep(job, snapshot)
            )
        return self._coordinators[job]

    def _keep(self, job: int, snapshot: Snapshot) -> None:
        if self._checkpoints is not None:
            snapshot.save(self._checkpoints / f"{self._workload.table.job_name[job]}.safetensors")

    def _notice_ends(self) -> None:
        """What coordinators have achieved, as events."""
        for job in sorted(self._standing):
            if self._coordinators[job].is_standing:
                self._standing.discard(job)
                self._events.append(Standing(job))
        for job in sorted(self._training):
            if self._coordinators[job].is_trained:
                self._training.discard(job)
                self._events.append(Complete(job))
        for job in sorted(self._halting):
            if self._coordinators[job].is_halted:
                self._halting.discard(job)
                self._halted(job)

    def _halted(self, job: int) -> None:
        snapshot, story = self._coordinators[job].snapshot, self._jobs[job]
        story.batches_done = snapshot.batches_done
        story.losses.append((self._controller.slot, self._yardsticks[job].loss(snapshot)))
        self._slots[-1].ended_s = time.monotonic() - self._start_s
        self._events.append(Halted(job, snapshot.batches_done))

    def _kill_one(self) -> None:
        roles = [role for job in sorted(self._training) for role in self._coordinators[job].roles]
        if roles and self._rng is not None:
            self._fleet.kill(int(self._rng.choice(roles)), "killed on purpose")
