"""What a scheduler, a world and a workload of the gpu family must do.  `conformance` is the way in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dovetail.cluster.gpu import GpuCluster
from dovetail.cluster.gpu_speed import SpeedModel, default_speeds
from dovetail.core.errors import ConfigError, InvalidDecision
from dovetail.core.gpu import Floats, GpuDecision, GpuView, HasKernel, Ints, Place, Reason
from dovetail.core.protocols import World
from dovetail.core.seeds import SeedTree
from dovetail.sim.gpu import GpuOptions, GpuResult, GpuScheduler, GpuWorld
from dovetail.testing.conformance import global_random_state
from dovetail.workloads.gpu import GpuWorkload
from dovetail.workloads.gpu_arrivals import GpuArrivals
from dovetail.workloads.gpu_source import GpuSource, open_gpu

SMALL = "small:largest_gang=8,longest_s=7200"
MOST_STEPS = 100_000
SLACK = 1e-9


class Case(NamedTuple):
    """A short run: what goes into a world but for its seeds."""

    workload: GpuWorkload
    model: SpeedModel
    options: GpuOptions


def small_cases(seed: int = 0) -> list[Case]:
    """A handful: room for all, a crowd on two types, failing machines, decisions at intervals, preemption."""
    seeds, model = SeedTree(seed).child("conformance"), default_speeds()
    same, mixed = GpuCluster(4, ("v100x4",), rack=2), GpuCluster(4, ("v100x4", "t4x4"), rack=2)
    plain = GpuOptions(mixed)
    failing = replace(plain, mean_time_to_failure_s=20_000.0, repair_s=600.0, checkpoint_s=600.0)
    return [
        Case(_sequence(8, "poisson:load=0.4", same, seeds.child("room")), model, GpuOptions(same)),
        Case(_sequence(14, "batch", mixed, seeds.child("crowd")), model, plain),
        Case(_sequence(14, "poisson:load=1.5", mixed, seeds.child("failing")), model, failing),
        Case(_sequence(10, "uniform:load=1.2", mixed, seeds.child("slow")), model, replace(plain, interval_s=300.0)),
        Case(_sequence(12, "poisson:load=2", same, seeds.child("stop")), model, GpuOptions(same, preemption=True)),
    ]


def _sequence(jobs: int, arrivals: str, cluster: GpuCluster, seeds: SeedTree) -> GpuWorkload:
    kind, _, load = arrivals.partition(":load=")
    return open_gpu(SMALL).sequence(jobs, GpuArrivals(kind, load=float(load) if load else None), cluster, seeds)


def check_scheduler(make: Callable[[], GpuScheduler], *, seed: int = 0) -> None:
    """A scheduler is valid, deterministic, forgets at `reset`, leaves the view alone, says why, and its kernel (if
    any) agrees with it."""
    for number, case in enumerate(small_cases(seed)):
        seeds = SeedTree(seed).child("world", number)
        scheduler = make()
        first, again, other = (
            _run(one, GpuWorld(*case, seeds, record=True), seeds) for one in (scheduler, scheduler, make())
        )
        assert _said(first) == _said(other), "the same seed gave other decisions"
        assert _said(first) == _said(again), "reset() did not forget: a second run took other decisions"
        _check_kernel(make(), GpuWorld(*case, seeds, record=True), seeds, first)


def check_world(
    make: Callable[[GpuWorkload, SpeedModel, GpuOptions, SeedTree], World[GpuView, GpuDecision]],
) -> None:
    """A world offers valid read-only views, refuses what is invalid without changing, and gets all jobs done."""
    for number, case in enumerate(small_cases()):
        world = make(*case, SeedTree(number))
        time_s, steps = 0.0, 0
        started: set[int] = set()
        while (view := world.advance()) is not None:
            steps += 1
            assert steps < MOST_STEPS, "the world does not come to an end"
            assert view.time_s >= time_s, "time went backwards"
            time_s = view.time_s
            _check_view(view, case)
            decisions = first_fit(view, case)
            for wrong in _invalid(view, decisions, case):
                _must_refuse(world, view, wrong)
            try:
                world.apply(decisions)
            except InvalidDecision as error:
                raise AssertionError(f"the world refused valid decisions: {error}") from error
            started.update(int(view.job_id[one.job]) for one in decisions)
        missing = sorted(set(range(case.workload.num_jobs)) - started)
        assert not missing, f"the world came to an end without starting jobs {missing}"


def check_workload(source: GpuSource) -> None:
    """The same seed gives the same sequence, of jobs that can run on the cluster it was made for."""
    arrivals = source.arrivals
    first, again = (source.sequence(7, arrivals, source.cluster, SeedTree(5)) for _ in range(2))
    for name in ("arrival_s", "user", "kind", "workers", "gpus", "cpus", "memory", "types", "work_s", "estimate_s"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), f"the same seed gave another {name}"
    assert (np.diff(first.arrival_s) >= 0).all() and first.arrival_s[0] >= 0, "jobs are not in order of arrival"
    assert len(set(first.job_name)) == first.num_jobs, "names of jobs are not unique"
    try:
        GpuWorld(first, default_speeds(), GpuOptions(source.cluster), SeedTree(0))
    except ConfigError as error:
        raise AssertionError(str(error)) from error


# --- schedulers ---------------------------------------------------------------------------------------------------


def _run(scheduler: GpuScheduler, world: GpuWorld, seeds: SeedTree) -> GpuResult:
    """Run to the end with every assumption about a scheduler checked at every decision."""
    state = global_random_state()
    scheduler.reset(world.info_for(scheduler), seeds.child("scheduler").generator())
    steps = 0
    while (view := world.advance()) is not None:
        steps += 1
        assert steps < MOST_STEPS, "the run does not come to an end: jobs are stopped for ever"
        before = [np.array(part) for part in view]
        decisions = scheduler.decide(view)
        for decision in decisions:
            _check_decision(decision)
        for name, part, old in zip(view._fields, view, before, strict=True):
            assert np.array_equal(np.asarray(part), old), f"decide() changed view.{name}"
        try:
            world.apply(decisions)
        except InvalidDecision as error:
            raise AssertionError(str(error)) from error
    assert global_random_state() == state, "decide() or reset() used numpy's global random state"
    return world.result()


def _check_decision(decision: Any) -> None:
    assert isinstance(decision, GpuDecision), f"{decision!r} is not a GpuDecision"
    assert decision.reason in Reason.__members__.values(), f"{decision.reason!r} is not a Reason"
    assert decision.reason != Reason.UNSTATED, "a decision must say why: give it a Reason"
    assert decision.place in Place.__members__.values(), f"{decision.place!r} is not a Place"
    assert decision.stops or decision.place != Place.UNSTATED, "a start must say why there: give it a Place"


def _said(result: GpuResult) -> tuple[bytes, bytes]:
    """Decisions, and where jobs ran."""
    return result.decision_log.tobytes(), result.rows.tobytes()


def _check_kernel(scheduler: GpuScheduler, world: GpuWorld, seeds: SeedTree, python: GpuResult) -> None:
    scheduler.reset(world.info_for(scheduler), seeds.child("scheduler").generator())
    kernel = scheduler.kernel() if isinstance(scheduler, HasKernel) else None
    if kernel is None:
        return
    try:
        world.run_kernel(kernel)
    except InvalidDecision as error:
        raise AssertionError(f"the kernel: {error}") from error
    compiled = world.result()
    for i, (ours, theirs) in enumerate(zip(python.decision_log, compiled.decision_log, strict=False)):
        for name in ours.dtype.names or ():
            same = ours[name] == theirs[name] or np.isclose(ours[name], theirs[name], rtol=1e-9, equal_nan=True)
            assert same, f"decision {i}: Python says {name} {ours[name]}, the kernel says {theirs[name]}"
        where, there = (_rows(result, int(ours["segment"])) for result in (python, compiled))
        assert where == there, f"decision {i}: Python places (machine, device, workers) {where}, the kernel {there}"
    counts = len(python.decision_log), len(compiled.decision_log)
    assert counts[0] == counts[1], f"{counts[0]} decisions in Python, {counts[1]} by the kernel"


def _rows(result: GpuResult, segment: int) -> list[tuple[int, int, int]]:
    rows = result.rows[result.rows["segment"] == segment]
    return list(zip(*(rows[name].tolist() for name in ("machine", "device", "workers")), strict=True))


# --- worlds -------------------------------------------------------------------------------------------------------


def _check_view(view: GpuView, case: Case) -> None:
    for name, part in zip(view._fields, view, strict=True):
        assert not (isinstance(part, np.ndarray) and part.flags.writeable), f"view.{name} can be written to"
    assert len(view.job_id), "asked for decisions although no job waits"
    assert (view.job_arrival_s <= view.time_s).all(), "a job is in the view before it has arrived"
    assert (np.diff(view.job_arrival_s) >= 0).all(), "waiting jobs are not in order of arrival"
    assert not set(view.job_id.tolist()) & set(view.run_id.tolist()), "a job waits and runs"
    assert min(view.job_left_s.min(), view.run_left_s.min(initial=1.0)) > 0, "a job without work left is in the view"
    assert ((view.device_free >= 0) & (view.device_free <= 1)).all(), "shares of devices are between 0 and 1"
    assert view.machine_cpus_free.min() > -1e-6 < view.machine_memory_free.min(), "less than nothing is free"
    down = ~view.machine_up
    assert not view.device_free[down].any() and not view.machine_cpus_free[down].any(), "a machine that is down is free"
    machines = case.options.cluster.arrays()
    held = np.bincount(view.row_machine, view.row_workers * view.run_cpus[view.row_run], len(machines.cpus))
    free = np.where(view.machine_up, machines.cpus - held, 0.0)
    assert np.allclose(free, view.machine_cpus_free), "what is held and what is free are not all there is"


class _Room:
    """What is free while an answer is put together."""

    def __init__(self, view: GpuView, case: Case) -> None:
        self.view = view
        self.types = case.options.cluster.arrays().type
        self.speed = case.model.speed
        self.devices: Floats = view.device_free.copy()
        self.cpus: Floats = view.machine_cpus_free.copy()
        self.memory: Floats = view.machine_memory_free.copy()

    def take(self, job: int) -> list[int] | None:
        """The first machines that take its workers; None: they do not fit, and nothing is taken."""
        before = self.devices.copy(), self.cpus.copy(), self.memory.copy()
        machines: list[int] = []
        for _ in range(int(self.view.job_workers[job])):
            machine = next((m for m in range(len(self.cpus)) if self._takes(job, m)), -1)
            if machine < 0:
                self.devices, self.cpus, self.memory = before
                return None
            machines.append(machine)
        return machines

    def _takes(self, job: int, m: int) -> bool:
        view, kind = self.view, int(self.types[m])
        mask, gpus = int(view.job_types[job]), float(view.job_gpus[job])
        if not view.machine_up[m] or not (mask == -1 or mask >> kind & 1) or self.speed[view.job_kind[job], kind] <= 0:
            return False
        if self.cpus[m] + SLACK < view.job_cpus[job] or self.memory[m] + SLACK < view.job_memory[job]:
            return False
        wanted = np.flatnonzero(self.devices[m] + SLACK >= min(gpus, 1.0))
        if gpus > 0 and len(wanted) < max(gpus, 1):
            return False
        if gpus >= 1:
            self.devices[m, wanted[: int(gpus)]] = 0.0
        elif gpus > 0:
            self.devices[m, wanted[np.argmin(np.round(self.devices[m, wanted], 9))]] -= gpus
        self.cpus[m] -= view.job_cpus[job]
        self.memory[m] -= view.job_memory[job]
        return True


def first_fit(view: GpuView, case: Case) -> list[GpuDecision]:
    """All jobs that fit, in order of arrival, on the first machines with room."""
    room, found = _Room(view, case), []
    for job in range(len(view.job_id)):
        machines = room.take(job)
        if machines is not None:
            found.append(GpuDecision(job, _machines(machines), False, Reason.FIRST_ARRIVED, Place.FIRST_FIT))
    return found


def _machines(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _invalid(view: GpuView, valid: list[GpuDecision], case: Case) -> Iterator[list[GpuDecision]]:
    """Answers that break one rule each; the valid ones come first in some, so that a world must undo them."""
    jobs, count = len(view.job_id), case.options.cluster.machines
    workers = int(view.job_workers[0])
    yield [GpuDecision(jobs, _machines([0]))]  # no such job
    yield [GpuDecision(-1, _machines([0]))]
    yield [GpuDecision(0, _machines([0] * (workers + 1)))]  # one machine too many
    yield [GpuDecision(0, _machines([0] * (workers - 1)))]
    yield [GpuDecision(0, _machines([count] * workers))]  # no such machine
    yield [GpuDecision(0, _machines([-1] * workers))]
    yield [GpuDecision(len(view.run_id), _machines([]), stops=True)]  # no such run, or no stops at all
    if valid:
        yield [*valid, valid[0]]  # named twice
        yield [*valid, GpuDecision(jobs, _machines([0]))]
    full = np.flatnonzero(view.machine_cpus_free + 1e-6 < view.job_cpus[0])
    if len(full):
        yield [GpuDecision(0, _machines([int(full[0])] * workers))]  # does not fit


def _must_refuse(world: World[GpuView, GpuDecision], view: GpuView, decisions: list[GpuDecision]) -> None:
    before = [np.array(part) for part in view]
    try:
        world.apply(decisions)
    except InvalidDecision:
        after = world.advance()
        assert after is not None, f"the world ended when it refused {decisions}"
        for name, part, old in zip(view._fields, after, before, strict=True):
            assert np.array_equal(np.asarray(part), old), f"the world refused {decisions}, but view.{name} has changed"
        return
    raise AssertionError(f"the world took invalid decisions: {decisions}")
