"""The elastic world: a run by hand, every rule by its name, and nothing changed by what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dovetail.core.elastic import NOTHING, SERVER, WORKER, ElasticDecision, Plan, Reason
from dovetail.core.errors import InvalidDecision
from dovetail.core.seeds import SeedTree
from dovetail.sim.elastic import ElasticOptions, ElasticWorld
from dovetail.testing.elastic_tiny import ONE_HOST, TinyJob, tiny_workload

SLOTS = 4


def world() -> ElasticWorld:
    """Two jobs on one host of each sort; the first needs 4 worker-slots, 3 workers at most, a server for each."""
    jobs = [TinyJob(work=4, most=3, bandwidth=2.6), TinyJob(work=2, arrival=0)]
    return ElasticWorld(tiny_workload(jobs, SLOTS), ElasticOptions(ONE_HOST), SeedTree(0), record=True)


def plan(*rows: tuple[int, int, int, int]) -> Plan:
    return Plan(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def standing(workers: int, servers: int, *slots: int) -> Plan:
    return plan(*(row for s in slots for row in ((s, WORKER, 0, workers), (s, SERVER, 0, servers))))


def state(of: ElasticWorld) -> list[np.ndarray]:
    calendar = of.calendar
    return [calendar.worker_free.copy(), calendar.server_free.copy(), calendar.promise.copy(), np.array(of.present)]


def refused(decisions: object, says: str, before: list[ElasticDecision] | None = None) -> None:
    one = world()
    one.advance()
    if before is not None:
        one.apply(before)
        one.advance()
    was = state(one)
    with pytest.raises(InvalidDecision, match=says):
        one.apply(decisions)  # type: ignore[arg-type]
    assert all(np.array_equal(a, b) for a, b in zip(was, state(one), strict=True))
    one.apply([])  # it goes on as if nothing had been said


def test_a_run_by_hand():
    one = world()
    view = one.advance()
    assert view is not None and view.slot == 0
    assert view.job_work_left.tolist() == [4, 2]
    done = ElasticDecision(0, standing(2, 2, 0, 1), promise=1, reason=Reason.POSITIVE_PAYOFF, utility=1.0)
    one.apply([done])
    view = one.advance()
    assert view is not None
    assert view.job_work_left.tolist() == [2, 2]
    assert view.job_promise.tolist() == [1, -1]
    assert view.booked_job.tolist() == [0, 0]
    one.apply([ElasticDecision(1, rejected=True, reason=Reason.NO_POSITIVE_PAYOFF)])
    assert one.advance() is None
    result = one.result()
    assert result.finish.tolist() == [1, -1]
    assert result.rejected.tolist() == [-1, 1]
    assert result.used[:, 4].sum() == 8
    assert result.utility[1] == 0.0 < result.utility[0]
    assert [row.job for row in result.decision_log] == [0, 1]


def test_what_is_booked_beyond_completion_is_given_back():
    one = world()
    one.advance()
    one.apply([ElasticDecision(0, standing(2, 2, 0, 1, 2, 3))])
    one.advance()
    one.apply([])
    view = one.advance()
    assert view is not None
    assert view.job_id.tolist() == [1]
    assert (view.worker_free == one.info.worker_capacity).all()


@pytest.mark.parametrize(
    ("rows", "promise", "says"),
    [
        (standing(3, 3, 0), -1, "capacity.*worker host 0 has 2 gpu, but 3 would be in use in slot 0"),
        (standing(2, 1, 0), -1, r"bandwidth.*2 workers at 2\.6 Gbit/s in slot 0 need 2 parameter servers"),
        (plan((0, WORKER, 0, 1)), -1, "bandwidth"),
        (standing(1, 2, 0), -1, "no more parameter servers than workers.*2 parameter servers for 1 workers"),
        (plan((0, WORKER, 0, 3), (0, WORKER, 0, 1), (0, SERVER, 0, 3)), -1, "worker cap.*4 workers in slot 0"),
        (plan((0, WORKER, 0, 4), (0, SERVER, 0, 3)), -1, "the job can use 3 at a time"),
        (plan((0, WORKER, 0, 2**62), (0, WORKER, 0, 2**62)), -1, "the job can use 3 at a time"),
        (standing(1, 1, 0, 1), 2, "completion.*2 of 4 worker-slots are planned by the end of slot 2"),
        (standing(2, 2, 0, 1), 9, "promise.*slot 9 is not between 0 and 3"),
        (standing(1, 1, 4), -1, "slots 0 to 3 can be planned"),
        (plan((0, WORKER, 1, 1), (0, SERVER, 0, 1)), -1, "worker hosts 0 to 0"),
        (plan((0, 2, 0, 1)), -1, "roles are"),
        (plan((0, WORKER, 0, 0)), -1, "at least 1"),
        (Plan(np.zeros(1, int), np.zeros(2, int), np.zeros(1, int), np.ones(1, int)), -1, "not alike"),
        (Plan(np.zeros(1), np.zeros(1), np.zeros(1), np.ones(1)), -1, "whole numbers"),
    ],
)
def test_a_plan_that_breaks_a_rule_is_refused_with_its_name_and_numbers(rows: Plan, promise: int, says: str):
    refused([ElasticDecision(0, rows, promise=promise)], says)


def test_jobs_share_what_there_is():
    two = [ElasticDecision(0, standing(2, 2, 0)), ElasticDecision(1, standing(1, 1, 0))]
    refused(two, "capacity")


def test_a_promise_is_kept():
    promised = [ElasticDecision(0, standing(2, 2, 0, 1), promise=1)]
    for decision, says in (
        (ElasticDecision(0, rejected=True), "completion was promised by the end of slot 1"),
        (ElasticDecision(0, NOTHING), "0 of 2 worker-slots are planned by the end of slot 1"),
        (ElasticDecision(0, standing(2, 2, 2), promise=2), "slot 2 is later than slot 1"),
    ):
        refused([decision], says, before=promised)


@pytest.mark.parametrize(
    ("decisions", "says"),
    [
        (None, "expected a sequence"),
        (iter([]), "expected a sequence"),
        ([NOTHING], "expected an ElasticDecision"),
        ([ElasticDecision(5)], "no job index 5"),
        ([ElasticDecision(True)], "no job index True"),
        ([ElasticDecision(0), ElasticDecision(0)], "two decisions for job 0"),
        ([ElasticDecision(0, rejected=True, promise=2)], "cannot be promised"),
        ([ElasticDecision(0, standing(1, 1, 0), rejected=True)], "cannot have a plan"),
        ([ElasticDecision(0, promise=1.5)], "no slot"),  # type: ignore[arg-type]
        ([ElasticDecision(0, promise=-7)], "no slot"),
        ([ElasticDecision(0, promise=None)], "no slot"),  # type: ignore[arg-type]
        ([ElasticDecision(0, None)], "expected a Plan"),  # type: ignore[arg-type]
        ([ElasticDecision(0, reason=999)], "not a Reason"),  # type: ignore[arg-type]
        ([ElasticDecision(0, utility="much")], "expected a number"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_decision_is_refused(decisions: object, says: str):
    refused(decisions, says)


def test_a_view_cannot_be_written_to():
    view = world().advance()
    assert view is not None
    for part in (*view[1:-4], *view.booked, view.worker_free, view.server_free):
        assert not (isinstance(part, np.ndarray) and part.flags.writeable)
    assert math.isclose(view.worker_free[0, 0, 0], 2.0)
