"""Jobs whose promise was lifted because workers were slower than planned, under schedulers that plan anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dovetail.cluster.elastic import ElasticCluster
from dovetail.core.elastic import WORKER, ElasticDecision, ElasticInfo, ElasticView, Plan, Reason
from dovetail.core.seeds import SeedTree
from dovetail.execution.elastic.controller import SlotController
from dovetail.execution.elastic.messages import Event, Halt, Halted, Notice, Over, Stand, Standing, Started, TimePassed
from dovetail.schedulers import SCHEDULERS
from dovetail.sim.elastic import ElasticOptions, ElasticResult, ElasticScheduler, ElasticWorld
from dovetail.testing.elastic_tiny import ONE_HOST, TinyJob, random_tiny, tiny_workload
from dovetail.workloads.elastic import ElasticWorkload

BATCHES = 10  # of a worker in a slot, if it is as fast as planned
Progress = Callable[[int, int, int], int]  # slot, job, workers -> mini-batches


def live(
    workload: ElasticWorkload, cluster: ElasticCluster, scheduler: ElasticScheduler, progress: Progress
) -> ElasticResult:
    """A run in which workers do what `progress` says.  A decision that is refused, or fails, fails the test."""
    world = ElasticWorld(workload, ElasticOptions(cluster), SeedTree(0), record=True)
    controller = SlotController(
        world,
        scheduler,
        SeedTree(0).generator(),
        total_batches=(BATCHES * workload.work).tolist(),
        slot_batches=[float(BATCHES)] * workload.num_jobs,
        slot_s=1.0,
    )
    now_s, done = 0.0, dict.fromkeys(range(workload.num_jobs), 0)
    stand: dict[int, int] = {}
    events: deque[Event] = deque([Started()])
    while True:
        if not events:
            now_s = controller.next_timer_s
            events.append(TimePassed())
        for instruction in controller.handle(now_s, events.popleft()):
            if isinstance(instruction, Stand):
                stand[instruction.job] = len(instruction.workers)
                if instruction.workers:
                    events.append(Standing(instruction.job))
            elif isinstance(instruction, Halt):
                job = instruction.job
                done[job] = min(done[job] + progress(controller.slot, job, stand[job]), controller._total[job])
                events.append(Halted(job, done[job]))
            elif isinstance(instruction, Notice):
                assert "failed" not in instruction.text, instruction.text
            elif isinstance(instruction, Over):
                return world.result()


def by_slot(view: ElasticView, plan: Plan) -> np.ndarray:
    """Workers in each slot from the present one on."""
    rows = plan.role == WORKER
    return np.bincount(plan.slot[rows] - view.slot, plan.amount[rows], minlength=len(view.worker_free))


class Watched:
    """A scheduler, and what it must not do to jobs that have bookings and no promise any more."""

    def __init__(self, name: str) -> None:
        self._inner = SCHEDULERS.create(name)
        self.reasons: list[Reason] = []  # of its decisions about them
        self.moved = 0  # those that gave up workers of the present slot

    def reset(self, info: ElasticInfo, rng: np.random.Generator) -> None:
        self._inner.reset(info, rng)

    def decide(self, view: ElasticView) -> Sequence[ElasticDecision]:
        decisions = self._inner.decide(view)
        for decision in decisions:
            own = view.booked_job == decision.job
            if view.job_promise[decision.job] < 0 and own.any():
                self._check(view, decision, Plan(*(column[own] for column in view.booked)))
        return decisions

    def _check(self, view: ElasticView, decision: ElasticDecision, booked: Plan) -> None:
        assert not decision.rejected, "a job that has bookings was rejected"
        before, after = by_slot(view, booked), by_slot(view, decision.plan)
        if after.sum() < view.job_work_left[decision.job]:
            assert (after >= before).all(), "a plan that does not complete the job took bookings from it"
        elif after[0] < before[0]:
            assert decision.plan.slot.max() <= booked.slot.max(), "it gave up the present slot to end later"
            self.moved += 1
        self.reasons.append(decision.reason)


@pytest.mark.parametrize("name", ["elastic/oasis-replan", "elastic/learned", "elastic/oasis-replan:patience=0"])
def test_a_late_job_loses_nothing(name: str) -> None:
    """Whatever workers get done; the world refuses what exceeds capacity."""
    reasons: list[Reason] = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        workload, cluster = random_tiny(seed, most_jobs=6, most_slots=10)
        scheduler = Watched(name)
        live(workload, cluster, scheduler, lambda slot, job, workers, rng=rng: int(rng.integers(BATCHES * workers + 1)))
        reasons += scheduler.reasons
    assert len(reasons) > 50
    planned = Reason.LEARNED_PRICE if name == "elastic/learned" else Reason.POSITIVE_PAYOFF
    assert set(reasons) == {planned, Reason.SPARE_CAPACITY}


def slots_of(result: ElasticResult, job: int) -> list[int]:
    return sorted({int(row[0]) for row in result.used if row[1] == job})


def idle_at_first(slot: int, job: int, workers: int) -> int:
    return BATCHES * workers if slot else 0


@pytest.mark.parametrize("name", ["elastic/oasis-replan", "elastic/learned"])
def test_a_late_job_goes_on_where_it_stands(name: str) -> None:
    """Two jobs on two GPUs, a worker each; nobody gets anything done in the first slot."""
    jobs = [TinyJob(work=6, most=1, worth=50), TinyJob(work=8, most=1, worth=50)]
    result = live(tiny_workload(jobs, 12), ONE_HOST, Watched(name), idle_at_first)
    assert slots_of(result, 0) == list(range(7))
    assert (result.finish >= 0).all()


def test_a_late_job_that_is_worth_nothing_any_more_keeps_what_is_booked() -> None:
    """Done in slot 3 it is worth all, in slot 4 nothing: and then its bookings have run out."""
    jobs = [TinyJob(work=4, most=1, worth=50, decay=100.0, due=3.5)]
    result = live(tiny_workload(jobs, 12), ONE_HOST, Watched("elastic/oasis-replan"), idle_at_first)
    assert slots_of(result, 0) == [0, 1, 2, 3]
    assert result.rejected.tolist() == [4]
