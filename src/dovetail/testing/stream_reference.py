"""The stream world in plain Python: `docs/stream-model.md` line by line, slow on purpose.

It shares no code with the compiled simulator.  Tests run both on the same workload, seeds and decisions and expect the
same trajectory; benchmarks use it as "what plain Python does".

Every step leaves an entry of what every operator and job did in it; snapshots and intervals are sums over them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.core.stream import Reason, StreamDecision, StreamView
from dovetail.sim.stream.options import StreamOptions
from dovetail.testing.stream_reference_view import JobPart, OperatorPart, Step, build_view
from dovetail.workloads.stream import StreamWorkload

NEAR_S = 1e-9  # times this near are the same


@dataclass(eq=False)
class Operator:
    number: int
    gain: float
    service_s: float
    skew: float
    variability: float
    buffer: float
    parents: list[Operator]
    children: list[Operator]
    parallelism: int
    through: float = 0.0  # n
    limit: float = 0.0  # U

    @property
    def servers(self) -> float:
        return 1 / (self.skew + (1 - self.skew) / self.parallelism)

    @property
    def capacity(self) -> float:
        """B, of operators that others feed."""
        return self.parallelism * (self.buffer + 1)

    def share(self, records: float, most: float) -> float:
        """r with L(r) + most * r = records, by halving."""
        servers, low, high = self.servers, 0.0, 1.0
        if self.variability == 0:
            return min(1.0, records / (servers + most))
        power = math.sqrt(2 * (servers + 1))
        while low < (middle := (low + high) / 2) < high:
            at_it = servers * middle + self.variability * middle**power / (1 - middle)
            low, high = (middle, high) if at_it + most * middle < records else (low, middle)
        return (low + high) / 2


@dataclass(eq=False)
class Job:
    number: int
    operators: list[Operator]
    rate: list[float]
    totals: list[float]  # N at the start of each bin, and at the end
    bin_s: float
    pause_s: float  # how long a rescale takes
    checkpoint_s: float
    arrived: float = 0.0  # N
    delivered: float = 0.0  # m
    saved: float = 0.0  # q
    up_s: float = 0.0
    due_s: float = 0.0
    rescaled_s: float = -math.inf
    delays: list[tuple[float, float]] = field(default_factory=list)  # (records, delay_s) of results

    def came_by(self, time_s: float) -> float:
        """N(t)."""
        whole = int(time_s / self.bin_s + 1e-9)
        new = self.rate[whole] * (time_s - whole * self.bin_s) if whole < len(self.rate) else 0.0
        return self.totals[whole] + new

    def arrival_s(self, record: float, *, first: bool) -> float:
        """N^-1: when it arrived; where nothing came for a while the first such time, or the last."""
        later = (bisect_left if first else bisect_right)(self.totals, record)  # the first end of a bin that is beyond
        if later == len(self.totals):
            return len(self.rate) * self.bin_s
        place = max(0, later - 1)
        return place * self.bin_s + (record - self.totals[place]) / self.rate[place]

    def could_be(self, operator: Operator) -> float:
        """a: how far what feeds the operator is."""
        return min((parent.through for parent in operator.parents), default=self.arrived)


class ReferenceStreamWorld:
    """A `World` for streaming jobs."""

    def __init__(self, workload: StreamWorkload, options: StreamOptions, seeds: SeedTree) -> None:
        self.workload = workload
        self.options = options
        shape = (workload.rate.shape[1], workload.num_operators)
        normal = seeds.child("service").generator().standard_normal(shape)
        self._factor = np.exp(options.noise * normal - options.noise**2 / 2).tolist()
        self.operators: list[Operator] = []
        for i in range(workload.num_operators):
            parents = [self.operators[p] for p in workload.edge_from[workload.edge_to == i].tolist()]
            self.operators.append(
                Operator(
                    number=i,
                    gain=float(workload.gain[i]),
                    service_s=float(workload.op_service_s[i]),
                    skew=float(workload.op_skew[i]),
                    variability=float(workload.op_variability[i]),
                    buffer=float(workload.op_buffer[i]),
                    parents=parents,
                    children=[],
                    parallelism=int(workload.op_start[i]),
                )
            )
            for parent in parents:
                parent.children.append(self.operators[i])
        self.jobs = [self._job(j) for j in range(workload.num_jobs)]
        self._steps = 0
        self._view: StreamView | None = None
        self.entries: list[Step] = []

    def _job(self, number: int) -> Job:
        workload = self.workload
        own = workload.op_job == number
        state_mb = float(workload.op_state_mb[own].sum())
        checkpoint_s = float(workload.job_checkpoint_s[number])
        return Job(
            number=number,
            operators=[operator for operator in self.operators if own[operator.number]],
            rate=workload.rate[number].tolist(),
            totals=[0.0, *np.cumsum(workload.rate[number] * workload.bin_s).tolist()],
            bin_s=workload.bin_s,
            pause_s=float(workload.job_restart_s[number]) + state_mb / self.options.restore_mb_s,
            checkpoint_s=checkpoint_s,
            due_s=checkpoint_s,
        )

    @property
    def time_s(self) -> float:
        return self._steps * self.options.step_s

    def advance(self) -> StreamView | None:
        options = self.options
        intervals = int(self.workload.duration_s / options.interval_s + 1e-9)
        if self._view is None and self.time_s < intervals * options.interval_s - NEAR_S:
            counts = self._steps > 0
            for _ in range(round(options.interval_s / options.step_s)):
                self._step(counts)
            if self.time_s < intervals * options.interval_s - NEAR_S:
                self._view = build_view(self)
        return self._view

    def apply(self, decisions: Sequence[StreamDecision]) -> None:
        if self._view is None:
            raise InvalidDecision("nothing was asked")
        wanted = self._check(decisions)
        for job in self.jobs:
            if any(wanted[operator.number] != operator.parallelism for operator in job.operators):
                self._rescale(job, wanted)
        self._view = None

    def _check(self, decisions: Sequence[StreamDecision]) -> list[int]:
        wanted = [operator.parallelism for operator in self.operators]
        named: set[int] = set()
        if not isinstance(decisions, Sequence):
            raise InvalidDecision(f"expected a sequence of StreamDecision, not {decisions!r}")
        for decision in decisions:
            if not (isinstance(decision, tuple) and len(decision) == len(StreamDecision._fields)):
                raise InvalidDecision(f"expected a StreamDecision, not {decision!r}")
            operator, parallelism, reason, demand = decision
            for whole in (operator, parallelism, reason):
                if not isinstance(whole, int | np.integer) or isinstance(whole, bool):
                    raise InvalidDecision(f"expected whole numbers, not {whole!r}")
            if reason not in range(len(Reason)) or not isinstance(demand, float | int) or demand < 0:
                raise InvalidDecision(f"unknown reason {reason}, or demand {demand!r}")
            if operator not in range(len(wanted)) or operator in named:
                raise InvalidDecision(f"operator {operator} is unknown or named twice")
            if parallelism not in range(1, int(self.workload.op_max[operator]) + 1):
                raise InvalidDecision(f"operator {operator}: parallelism {parallelism} is out of bounds")
            named.add(operator)
            wanted[operator] = parallelism
        if sum(wanted) > self.workload.slots:
            raise InvalidDecision(f"{sum(wanted)} instances for {self.workload.slots} slots")
        return wanted

    def _rescale(self, job: Job, wanted: list[int]) -> None:
        job.rescaled_s = self.time_s
        job.up_s = self.time_s + job.pause_s
        job.due_s = job.up_s + job.checkpoint_s
        for operator in job.operators:
            operator.parallelism = wanted[operator.number]
            operator.through = job.saved

    # --- a step ---

    def _step(self, counts: bool) -> None:
        start_s, end_s = self.time_s, (self._steps + 1) * self.options.step_s
        self._steps += 1
        entry = Step(operators=[], jobs=[])
        for job in self.jobs:
            before = job.arrived
            could_before = [job.could_be(operator) for operator in job.operators]
            job.arrived = job.came_by(end_s)
            up_s = min(self.options.step_s, end_s - job.up_s)
            up_s = up_s if up_s > NEAR_S else 0.0
            done, held = self._go_on(job, up_s, int(start_s / self.workload.bin_s + 1e-9))
            left, delay_s = self._deliver(job, start_s, end_s) if up_s else (0.0, 0.0)
            if counts and left:
                job.delays.append((left, delay_s))
            if up_s and end_s >= job.due_s - NEAR_S:
                job.saved = min(operator.through for operator in job.operators)
                while job.due_s <= end_s + NEAR_S:
                    job.due_s += job.checkpoint_s
            for place, operator in enumerate(job.operators):
                could = job.could_be(operator)
                service_s = self._service_s(operator, start_s)
                entry.operators.append(
                    OperatorPart(
                        came=operator.gain * (could - could_before[place]),
                        done=operator.gain * done[place],
                        busy_s=operator.gain * done[place] * service_s,
                        blocked_s=operator.gain * held[place] * service_s,
                        queued=operator.gain * (could - operator.through),
                        owned_s=operator.parallelism * self.options.step_s,
                        parallelism=operator.parallelism,
                        drain_s=service_s / operator.servers,
                    )
                )
            oldest_s = max(0.0, end_s - job.arrival_s(job.delivered, first=False))
            entry.jobs.append(
                JobPart(
                    came=job.arrived - before,
                    left=left,
                    delay_s=left * delay_s,
                    lag=job.arrived - job.delivered,
                    down_s=self.options.step_s - up_s,
                    oldest_s=oldest_s,
                )
            )
        self.entries.append(entry)

    def _service_s(self, operator: Operator, time_s: float) -> float:
        return operator.service_s * float(self._factor[int(time_s / self.workload.bin_s + 1e-9)][operator.number])

    def _go_on(self, job: Job, up_s: float, column: int) -> tuple[list[float], list[float]]:
        """How far each operator got, and how much further with what stands at it, had nobody held it up."""
        done, held = [], []
        most = {
            operator: operator.servers * up_s / (operator.service_s * self._factor[column][operator.number])
            for operator in job.operators
        }
        for operator in reversed(job.operators):
            if operator.gain == 0:
                continue
            full = operator.share(operator.capacity, 0.0) if operator.parents else 1.0
            operator.limit = operator.through + most[operator] * full / operator.gain
            for child in operator.children:
                if child.gain > 0:
                    operator.limit = min(operator.limit, child.limit + child.capacity / child.gain)
        for operator in job.operators:
            could, before = job.could_be(operator), operator.through
            wanted = could
            if operator.gain > 0 and up_s > 0:
                share = operator.share(operator.gain * (could - before), most[operator])
                wanted = min(before + most[operator] * share / operator.gain, could)
                if (could - wanted) * min(operator.gain, 1) <= 1e-9 + 1e-15 * job.arrived:
                    wanted = could
                operator.through = max(before, min(wanted, operator.limit))
            elif operator.gain == 0:
                operator.through = could
            else:
                wanted = before
            done.append(operator.through - before)
            held.append(0.0)
            if operator.through < wanted:
                share = operator.share(operator.gain * (could - operator.through), 0.0)
                held[-1] = max(0.0, most[operator] * share / operator.gain - done[-1])
        return done, held

    def _deliver(self, job: Job, start_s: float, end_s: float) -> tuple[float, float]:
        """How many, and their mean delay."""
        through = min(operator.through for operator in job.operators if not operator.children)
        if through <= job.delivered:
            return 0.0, 0.0
        first_s = max(0.0, start_s - job.arrival_s(job.delivered, first=False))
        last_s = max(0.0, end_s - job.arrival_s(through, first=True))
        left = through - job.delivered
        job.delivered = through
        return left, (first_s + last_s) / 2
