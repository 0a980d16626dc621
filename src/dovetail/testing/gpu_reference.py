"""The gpu world in plain Python: `docs/gpu-model.md` line by line, slow on purpose.

It shares no code with the compiled simulator.  Tests run both on the same workload, keys and decisions and expect the
same trajectory; benchmarks use it as "what plain Python does".

The world is one generator, `_run`, that looks for the earliest event among all there could be, handles it, and yields
a view whenever the scheduler is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dovetail.cluster.gpu_speed import SpeedModel
from dovetail.core.errors import InvalidDecision
from dovetail.core.gpu import GpuDecision, GpuView
from dovetail.sim.gpu.options import GpuOptions
from dovetail.testing.gpu_reference_referee import Free, Order, Referee
from dovetail.testing.gpu_reference_state import (
    Job,
    State,
    Worker,
    build_jobs,
    build_machines,
    exponential,
    last_multiple,
    mood,
    speed,
    usd_per_hour,
)
from dovetail.testing.gpu_reference_view import build_view, rows_of
from dovetail.workloads.gpu import GpuWorkload

COMPLETION, DOWN, UP, ARRIVAL, MOOD, QUANTUM, ASKING = range(7)
Event = tuple[float, int, int]
Segment = tuple[int, float, float, str, list[tuple[int, int, int]]]
"""job, start_s, end_s, why it ended, rows of (machine, device, workers)"""


class ReferenceGpuWorld:
    """A `World` for gpu jobs.  The keys are those of the failures and of the moods."""

    def __init__(
        self, workload: GpuWorkload, model: SpeedModel, options: GpuOptions, failure_key: int, mood_key: int
    ) -> None:
        self._model = model
        self._options = options
        self._failure_key = failure_key
        self._mood_key = mood_key
        self.jobs = build_jobs(workload, model)
        self._machines = build_machines(options.cluster)
        if options.mean_time_to_failure_s > 0:
            for machine in self._machines:
                machine.next_s = self._draw_s(machine.number, options.mean_time_to_failure_s)
        self._waiting: list[Job] = []  # by arrival
        self._running: list[Job] = []  # by start
        self._completions: dict[Job, float] = {}
        self._now_s = 0.0
        self._look = 0
        self._changed = False  # since the scheduler was asked last
        self._again = False  # it has stopped a job, and is asked a second time
        self._stale = False  # speeds have to be worked out
        self._view: GpuView | None = None
        self._story = self._run()
        self.segments: list[Segment] = []
        self.machine_log: list[tuple[float, int, bool]] = []
        self.events = 0
        self.decisions = 0
        self.asked = 0

    # --- the two verbs of a world ---

    def advance(self) -> GpuView | None:
        """Run to the next moment that needs a decision; None when all jobs are complete."""
        if self._view is None:
            self._view = next(self._story, None)
        return self._view

    def apply(self, decisions: Sequence[GpuDecision]) -> None:
        """Carry out decisions on the view last returned, or raise `InvalidDecision` and change nothing."""
        if self._view is None:
            raise InvalidDecision("no view waits for a decision: call advance() first")
        ends = not self._running and self._all_have_come() and all(machine.up for machine in self._machines)
        may_stop = self._options.preemption and not self._again
        free = Free(self._machines, self._running)
        referee = Referee(self._model, list(self._waiting), list(self._running), free, may_stop, stalled=ends)
        self._carry_out(referee.check(decisions))
        self._view = None

    def _carry_out(self, orders: list[Order]) -> None:
        self._look = last_multiple(self._now_s, self._options.mood_every_s)
        for order in orders:
            if order.placed:
                self._start(order.job, order.placed)
        stopped = [order.job for order in orders if not order.placed]
        for job in stopped:
            self._back_to_queue(job, "stopped")
        self.decisions += len(orders)
        self._stale = self._stale or bool(orders)
        self._again = bool(stopped)
        self._changed = self._changed or self._again

    # --- events ---

    def _run(self) -> Iterator[GpuView]:
        while any(job.state is not State.COMPLETE for job in self.jobs):
            time_s, kind, number = min(self._possible_events(), default=(math.inf, ASKING, 0))
            if self._stale and (time_s > self._now_s or kind == ASKING):
                self._set_speeds()
                continue
            self._now_s = time_s
            if kind == ASKING:
                self._changed = False
                self.asked += 1
                yield build_view(time_s, self.jobs, self._waiting, self._running, self._machines)
            elif kind == QUANTUM:
                self._changed = True
            else:
                self.events += 1
                self._handle(kind, number)

    def _possible_events(self) -> Iterator[Event]:
        options, now_s = self._options, self._now_s
        for job, time_s in self._completions.items():
            yield time_s, COMPLETION, job.number
        for machine in self._machines:
            if machine.next_s < math.inf:
                yield machine.next_s, DOWN if machine.up else UP, machine.number
        to_come = next((job for job in self.jobs if job.state is State.TO_COME), None)
        if to_come is not None:
            yield to_come.arrival_s, ARRIVAL, to_come.number
        if self._running and options.mood_sigma > 0:
            yield (self._look + 1) * options.mood_every_s, MOOD, 0
        if self._running and self._waiting and options.preemption:
            yield (last_multiple(now_s, options.quantum_s) + 1) * options.quantum_s, QUANTUM, 0
        if self._changed and self._waiting:
            if self._again or options.interval_s == 0:
                yield now_s, ASKING, 0
            else:
                count = last_multiple(now_s, options.interval_s)
                count += count * options.interval_s < now_s
                yield count * options.interval_s, ASKING, 0

    def _handle(self, kind: int, number: int) -> None:
        self._stale = True
        if kind == MOOD:
            self._look += 1
            return
        self._changed = True
        if kind == COMPLETION:
            job = self.jobs[number]
            self._leave_machines(job, "complete")
            job.state, job.finish_s = State.COMPLETE, self._now_s
        elif kind == ARRIVAL:
            self._join_queue(self.jobs[number])
        else:
            self._turn(number, up=kind == UP)

    def _turn(self, number: int, up: bool) -> None:
        """A machine goes down or comes back."""
        machine = self._machines[number]
        machine.up = up
        self.machine_log.append((self._now_s, number, up))
        mean_s = self._options.mean_time_to_failure_s if up else self._options.repair_s
        machine.next_s = self._now_s + self._draw_s(number, mean_s)
        if not up:
            for job in sorted(self._running, key=lambda job: job.number):
                if number in job.machines:
                    self._back_to_queue(job, "machine lost")

    def _draw_s(self, number: int, mean_s: float) -> float:
        machine = self._machines[number]
        machine.draws += 1
        return exponential(self._failure_key, number, machine.draws - 1, mean_s)

    def _all_have_come(self) -> bool:
        return all(job.state is not State.TO_COME for job in self.jobs)

    # --- jobs ---

    def _join_queue(self, job: Job) -> None:
        job.state = State.WAITING
        self._waiting.append(job)
        self._waiting.sort(key=lambda job: (job.arrival_s, job.number))

    def _start(self, job: Job, placed: list[Worker]) -> None:
        self._waiting.remove(job)
        self._running.append(job)
        job.state, job.placed = State.RUNNING, placed
        job.start_s = job.since_s = self._now_s
        if math.isnan(job.first_start_s):
            job.first_start_s = self._now_s
        job.left_s = job.work_s - job.done_s + (self._options.restart_s if job.stops else 0.0)
        job.speed = 0.0

    def _leave_machines(self, job: Job, why: str) -> None:
        span_s = self._now_s - job.start_s
        job.running_s += span_s
        job.served_s += span_s * job.workers * job.gpus
        job.fee += span_s / 3600 * usd_per_hour(job, self._machines)
        self.segments.append((job.number, job.start_s, self._now_s, why, rows_of(job)))
        self._running.remove(job)
        self._completions.pop(job, None)
        job.placed = []

    def _back_to_queue(self, job: Job, why: str) -> None:
        done_s, every_s = job.done_at(self._now_s), self._options.checkpoint_s
        if why == "machine lost" and every_s > 0:
            done_s = max(job.done_s, math.floor(done_s / every_s) * every_s)
        self._leave_machines(job, why)
        job.done_s = done_s
        job.stops += 1
        self._join_queue(job)

    def _set_speeds(self) -> None:
        """Of all running jobs.  Only where it has changed a new completion is worked out, so rounding stays away."""
        self._stale = False
        used = {number for job in self._running for number in job.machines}
        moods = {number: mood(self._options, self._mood_key, number, self._look) for number in used}
        for job in self._running:
            now = speed(job, self._running, self._machines, moods, self._model)
            if now != job.speed:
                job.left_s = job.left_at(self._now_s)
                job.since_s = self._now_s
                job.speed = now
                self._completions[job] = self._now_s + job.left_s / now


def finish_times(world: ReferenceGpuWorld) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([job.finish_s for job in world.jobs])
