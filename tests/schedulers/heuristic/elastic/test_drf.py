"""elastic/drf on toys: two GPUs and 32 processors, solved by hand."""

from tests.schedulers.heuristic.elastic.playing import play, workers_in

from dovetail.core.elastic import Reason
from dovetail.schedulers.heuristic.elastic.drf import Drf
from dovetail.testing.elastic_tiny import TinyJob


def test_equal_jobs_get_equal_shares():
    result = play(Drf(), [TinyJob(3), TinyJob(3)])
    assert [workers_in(result, slot) for slot in range(3)] == [[1, 1]] * 3
    assert {row.reason for row in result.decision_log} == {Reason.LOWEST_DOMINANT_SHARE}


def test_dominant_shares_are_levelled():
    """A worker of the first takes half of the GPUs, one of the second a quarter of the processors."""
    jobs = [TinyJob(4), TinyJob(4, gpu=0, cpu=8.0), TinyJob(4)]
    assert workers_in(play(Drf(), jobs), 0) == [1, 3, 1]
    assert workers_in(play(Drf(), jobs[:2]), 0) == [2, 3]  # at shares of a half, the one that came first goes on


def test_parameter_servers_count_as_a_resource_of_their_own():
    """Eight workers share the GPUs.  Each of the first needs a server of 3 of 16 processors, its dominant resource."""
    hungry = TinyJob(8, most=8, gpu=0.25, bandwidth=1.0, server_bandwidth=1.0, server_cpu=3.0)
    frugal = TinyJob(8, most=8, gpu=0.25)
    assert workers_in(play(Drf(), [hungry, frugal]), 0) == [3, 5]
    assert workers_in(play(Drf(), [frugal, frugal]), 0) == [4, 4]


def test_nobody_gets_more_than_he_has_work_for():
    assert workers_in(play(Drf(), [TinyJob(1), TinyJob(3)]), 0) == [1, 1]
    assert workers_in(play(Drf(), [TinyJob(1, gpu=0), TinyJob(3)]), 0) == [1, 2]
