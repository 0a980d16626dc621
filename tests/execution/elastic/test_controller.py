"""The controller of slots in virtual time: the simulator's course when progress is ideal, and what it does when not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.elastic import (
    SERVER,
    WORKER,
    ElasticDecision,
    ElasticInfo,
    ElasticView,
    Plan,
    Reason,
    servers_needed,
)
from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.execution.elastic.controller import PATIENCE_S, SlotController
from dovetail.execution.elastic.live_workload import LiveOptions, LiveWorkload, draw
from dovetail.execution.elastic.messages import (
    Complete,
    End,
    Halt,
    Halted,
    Instruction,
    Notice,
    Over,
    Stand,
    Standing,
    Started,
    TimePassed,
    Train,
)
from dovetail.execution.elastic.virtual_cluster import VirtualCluster
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticScheduler, ElasticWorld, run

BATCH_S = {"mlp": 0.013, "cnn": 0.017}
OPTIONS = ElasticOptions(VirtualCluster())
SLOT_S = 1.0


def workload(seed: int, jobs: int = 5, slots: int = 14) -> LiveWorkload:
    """A worker trains a whole number of mini-batches in a slot: so what it did is not rounded."""
    work = draw(LiveOptions(jobs, slots, SLOT_S, pad_s=0.01), BATCH_S, SeedTree(seed))
    step_s, whole_s = SLOT_S / work.slot_batches, SLOT_S / np.rint(work.slot_batches)
    return replace(work, table=replace(work.table, batch_s=work.table.batch_s + whole_s - step_s))


def simulate(work: LiveWorkload, scheduler: ElasticScheduler, seed: int = 0) -> ElasticResult:
    world = ElasticWorld(work.table, OPTIONS, SeedTree(seed), record=True)
    return run(world, scheduler, SeedTree(seed).generator())


class Haphazard:
    """Plans for several slots, promises, changes its mind, rejects: all that a scheduler may do, by chance."""

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self._rng = rng

    def decide(self, view: ElasticView) -> list[ElasticDecision]:
        worker_free, server_free = view.worker_free.copy(), view.server_free.copy()
        decisions = []
        for job in range(len(view.job_id)):
            planned = (view.booked_job == job).any()
            if planned or self._rng.random() < 0.3:
                continue
            if view.job_promise[job] < 0 and self._rng.random() < 0.1:
                decisions.append(ElasticDecision(job, rejected=True, reason=Reason.DRAWN_AT_RANDOM))
                continue
            rows, left = [], int(view.job_work_left[job])
            for ahead in range(int(self._rng.integers(1, 6))):
                if ahead >= len(worker_free) or left <= 0:
                    break
                found = _fit(view, job, worker_free[ahead], server_free[ahead], int(self._rng.integers(1, 5)))
                rows += [(view.slot + ahead, role, host, 1) for role, host in found]
                left -= sum(role == WORKER for role, _ in found)
            promise = max(row[0] for row in rows) if rows and left <= 0 and self._rng.random() < 0.5 else -1
            plan = Plan(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)
            decisions.append(ElasticDecision(job, plan, promise=promise, reason=Reason.DRAWN_AT_RANDOM))
        return decisions


def _fit(view: ElasticView, job: int, workers: np.ndarray, servers: np.ndarray, wanted: int) -> list[tuple[int, int]]:
    """Up to so many workers with their servers, taken from what is free."""
    worker, server = view.job_worker_demand[job], view.job_server_demand[job]
    rows: list[tuple[int, int]] = []
    parameter_servers = 0
    for count in range(min(wanted, int(view.job_max_workers[job]))):
        host = int(np.argmax((workers >= worker - 1e-9).all(axis=1)))
        home = int(np.argmax((servers >= server - 1e-9).all(axis=1)))
        needs = servers_needed(count + 1, worker[-1], server[-1]) > parameter_servers
        if (workers[host] < worker - 1e-9).any() or (needs and (servers[home] < server - 1e-9).any()):
            break
        workers[host] -= worker
        rows.append((WORKER, host))
        if needs:
            servers[home] -= server
            parameter_servers += 1
            rows.append((SERVER, home))
    return rows


class Engine:
    """Carries out instructions in virtual time; workers do `speed` times what the speed model says."""

    def __init__(self, work: LiveWorkload, scheduler: ElasticScheduler, seed: int = 0, speed: float = 1.0) -> None:
        self.world = ElasticWorld(work.table, OPTIONS, SeedTree(seed), record=True)
        self.controller = SlotController(
            self.world,
            scheduler,
            SeedTree(seed).generator(),
            total_batches=work.total_batches.tolist(),
            slot_batches=work.slot_batches.tolist(),
            slot_s=SLOT_S,
            fallback=lambda: SCHEDULERS.create("elastic/fifo"),
        )
        self.work, self.speed = work, speed
        self.now_s = 100.0
        self.done = dict.fromkeys(range(work.table.num_jobs), 0.0)
        self.standing: dict[int, int] = {}
        self.ended: set[int] = set()
        self.notices: list[str] = []
        self.is_over = False

    def run(self) -> ElasticResult:
        todo = self.controller.handle(self.now_s, Started())
        while not self.is_over:
            if not todo:
                self.now_s = self.controller.next_timer_s
                todo = self.controller.handle(self.now_s, TimePassed())
            todo = [more for instruction in todo for more in self.carry_out(instruction)]
        return self.world.result()

    def carry_out(self, instruction: Instruction) -> Sequence[Instruction]:
        controller = self.controller
        if isinstance(instruction, Stand):
            assert instruction.job not in self.ended
            self.standing[instruction.job] = len(instruction.workers)
            return controller.handle(self.now_s, Standing(instruction.job)) if instruction.workers else ()
        if isinstance(instruction, Train):
            assert instruction.until_s == self.now_s + SLOT_S
        elif isinstance(instruction, Halt):
            job = instruction.job
            rate = self.speed * float(self.work.slot_batches[job])
            total = int(self.work.total_batches[job])
            self.done[job] = min(self.done[job] + rate * self.standing[job], total)
            return controller.handle(self.now_s, Halted(job, int(self.done[job] + 1e-6)))
        elif isinstance(instruction, End):
            self.ended.add(instruction.job)
            self.standing[instruction.job] = 0
        elif isinstance(instruction, Notice):
            self.notices.append(instruction.text)
        elif isinstance(instruction, Over):
            self.is_over = True
        return ()


def test_work_in_slots_and_in_mini_batches_agree() -> None:
    work = draw(LiveOptions(50, 20, SLOT_S, pad_s=0.01), BATCH_S, SeedTree(3))
    assert np.ceil(work.total_batches / work.slot_batches - 1e-9).tolist() == work.table.work.tolist()


@given(seed=st.integers(0, 10_000))
def test_with_ideal_progress_it_takes_the_simulators_course(seed: int) -> None:
    work = workload(seed)
    simulated = simulate(work, Haphazard(), seed)
    engine = Engine(work, Haphazard(), seed)
    live = engine.run()
    assert engine.notices == []
    for name in ("finish", "rejected", "promise", "work_left", "admitted", "used"):
        np.testing.assert_array_equal(getattr(live, name), getattr(simulated, name), err_msg=name)
    assert live.total_utility == simulated.total_utility
    assert live.decision_log == simulated.decision_log


@pytest.mark.parametrize("name", SCHEDULERS.names("elastic"))
def test_registered_schedulers_take_the_simulators_course(name: str) -> None:
    work = workload(1, jobs=6)
    simulated = simulate(work, SCHEDULERS.create(name))
    live = Engine(work, SCHEDULERS.create(name)).run()
    assert (simulated.finish >= 0).any()
    np.testing.assert_array_equal(live.finish, simulated.finish)
    np.testing.assert_array_equal(live.used, simulated.used)


class AtOnce:
    """Plans the whole job with one worker, promises its end, and never looks at it again."""

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self.seen: list[tuple[int, bool, int, int]] = []

    def decide(self, view: ElasticView) -> list[ElasticDecision]:
        (admitted,), (left,), (promise,) = view.job_admitted, view.job_work_left, view.job_promise
        self.seen.append((view.slot, bool(admitted), int(left), int(promise)))
        if admitted:
            return []
        slots = np.arange(view.slot, view.slot + int(left))
        nought, one = np.zeros(2 * len(slots), dtype=np.int64), np.ones(2 * len(slots), dtype=np.int64)
        plan = Plan(np.repeat(slots, 2), np.tile([WORKER, SERVER], len(slots)), nought, one)
        return [ElasticDecision(0, plan, promise=int(slots[-1]), reason=Reason.POSITIVE_PAYOFF)]


def test_a_plan_that_ran_out_is_made_again_for_what_is_left() -> None:
    work = workload(2, jobs=1, slots=40)
    scheduler = AtOnce()
    engine = Engine(work, scheduler, speed=0.8)
    result = engine.run()
    total = int(work.table.work[0])
    assert result.finish[0] + 1 == pytest.approx(total / 0.8, abs=1)
    assert engine.controller.late == {0}
    assert result.promise[0] == total - 1 < result.finish[0]  # it is not forgotten
    assert any("cannot keep its promise" in text for text in engine.notices)
    again = [(slot, left) for slot, admitted, left, _ in scheduler.seen if not admitted]
    assert again[0] == (0, total)
    assert again[1][0] == total and 0 < again[1][1] < total  # the first plan had one slot for each worker-slot
    assert all(promise == -1 for slot, admitted, _, promise in scheduler.seen if slot == total)


def test_a_job_that_is_faster_than_planned_gives_back_the_rest() -> None:
    work = workload(2, jobs=1, slots=40)
    result = Engine(work, AtOnce(), speed=2.0).run()
    assert result.finish[0] + 1 == pytest.approx(int(work.table.work[0]) / 2, abs=1)
    assert len(np.unique(result.used[:, 0])) == result.finish[0] + 1


class Failing:
    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None: ...

    def decide(self, view: ElasticView) -> list[ElasticDecision]:
        raise InvalidDecision("none of your business")


def test_a_scheduler_that_fails_is_replaced() -> None:
    work = workload(1)
    engine = Engine(work, Failing())
    result = engine.run()
    assert "the scheduler failed: InvalidDecision: none of your business" in engine.notices[0]
    fifo = simulate(work, SCHEDULERS.create("elastic/fifo"))
    np.testing.assert_array_equal(result.finish, fifo.finish)


def test_a_slot_begins_when_all_stand_or_patience_ends() -> None:
    engine = Engine(workload(2, jobs=1), AtOnce())
    controller = engine.controller
    (stand,) = controller.handle(10.0, Started())
    assert isinstance(stand, Stand)
    assert controller.handle(11.0, TimePassed()) == []
    notice, train = controller.handle(10.0 + PATIENCE_S, TimePassed())
    assert isinstance(notice, Notice) and train == Train(0, 10.0 + PATIENCE_S + SLOT_S)
    assert controller.handle(80.0, Standing(0)) == []  # it is late, and the slot has begun


def test_a_slot_ends_early_when_every_job_is_complete() -> None:
    controller = Engine(workload(2, jobs=1), AtOnce()).controller
    controller.handle(10.0, Started())
    assert controller.handle(11.0, Standing(0)) == [Train(0, 11.0 + SLOT_S)]
    assert controller.handle(11.2, Complete(0)) == [Halt(0)]
    total = controller._total[0]
    assert controller.handle(11.3, Halted(0, total)) == [End(0), Over()]
    assert controller.world.result().finish.tolist() == [0]
