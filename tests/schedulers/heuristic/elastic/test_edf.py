"""elastic/edf on toys."""

from tests.schedulers.heuristic.elastic.playing import play

from dovetail.core.elastic import Reason
from dovetail.schedulers.heuristic.elastic.edf import Edf
from dovetail.testing.elastic_tiny import TinyJob


def test_the_job_that_is_due_first():
    result = play(Edf(), [TinyJob(4, due=6), TinyJob(4, due=3)])
    assert result.finish.tolist() == [3, 1]
    assert {row.reason for row in result.decision_log} == {Reason.EARLIEST_DUE}


def test_due_is_counted_from_arrival():
    result = play(Edf(), [TinyJob(4, due=3), TinyJob(4, arrival=1, due=1)])
    assert result.finish.tolist() == [3, 2]


def test_jobs_that_cannot_be_in_time_come_last_if_wanted():
    """The second needs four slots, slots 0 to 3: due in slot 2 it is late, due in slot 3 it is not."""
    for due, finish in ((2.0, [1, 5]), (3.0, [5, 3])):
        jobs = [TinyJob(4, due=6), TinyJob(8, due=due)]
        assert play(Edf(Edf.Params(late_last=True)), jobs).finish.tolist() == finish
        assert play(Edf(), jobs).finish.tolist() == [5, 3]
